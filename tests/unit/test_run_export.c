/* SPDX-License-Identifier: MIT */
/* Runs as other programs read them, whole: comma-separated lines, and event files, which are taken apart again by the
 * wire format's own rules. Of folders of runs, what is none. */
#include "io/file.h"
#include "io/record.h"
#include "train/store/run_export.h"
#include "train/store/run_folder.h"
#include "unit/scratch_folder.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static lab_store *store;

static int open_store(void **state) {
    return scratch_create(state) != 0 || lab_store_open(&store, scratch_path("locus.db"), NULL) != LOCUS_OK;
}

static int close_store(void **state) {
    lab_store_close(&store);
    return scratch_remove(state);
}

static lab_run run_of(char *name, char *started, lab_run_state what) {
    static char config[] = "{}", text[] = "t", quoted[] = "a, \"b\"", none[] = "";
    lab_run run = {.name = name,
                   .task = text,
                   .encoding = quoted,
                   .setup = text,
                   .embedding_init = none,
                   .budget = text,
                   .config = config,
                   .command = text,
                   .version = text,
                   .machine = text,
                   .message = none,
                   .started = started,
                   .ended = text,
                   .seed = UINT32_MAX,
                   .steps_done = 300,
                   .state = what};
    assert_int_equal(lab_store_run_insert(store, &run, NULL), LOCUS_OK);
    return run;
}

static void fill(lab_run runs[3]) {
    /* Where a number takes another byte, and one beside. */
    static const uint64_t steps[] = {0, 127, 128, 129, 255, 256, 16383, 16384, 2097151, 2097152, 4294967296};
    static char names[3][8] = {"first", "second", "third"}, times[3][24] = {"2026-11-24T16:40:49Z", "today", "today"};
    for (size_t i = 0; i < 3; i++)
        runs[i] = run_of(names[i], times[i], i == 1 ? LAB_RUN_STOPPED : LAB_RUN_DONE);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        assert_int_equal(
            lab_store_measured(store, runs[0].id, steps[i], &(lab_measured){"dev.loss", 0.1 * (double)i}, 1, NULL),
            LOCUS_OK);
    assert_int_equal(lab_store_measured(store, runs[0].id, 3, &(lab_measured){"rate", 1e-9}, 1, NULL), LOCUS_OK);
    assert_int_equal(lab_store_measured(store, runs[2].id, 7, &(lab_measured){"a.b.c", -1.5}, 1, NULL), LOCUS_OK);
    assert_int_equal(lab_store_final_set(store, runs[0].id, "test", "loss", (double)INFINITY, NULL), LOCUS_OK);
    assert_int_equal(lab_store_final_set(store, runs[0].id, "test", "accuracy", 0.25, NULL), LOCUS_OK);
    assert_int_equal(lab_store_final_set(store, runs[1].id, "test", "accuracy", 0.5, NULL), LOCUS_OK);
}

/* ---- event files ---- */

static uint64_t little(const unsigned char *at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static uint64_t varint(const unsigned char **at) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(shift < 64);
        value |= (uint64_t)(**at & 0x7F) << shift;
        if ((*(*at)++ & 0x80) == 0)
            return value;
    }
}

/* Fields of a message by their numbers; those of `inner` are messages on the way down to a value. */
static void tell(FILE *out, const unsigned char *at, const unsigned char *end, const unsigned *inner) {
    while (at < end) {
        const uint64_t key = varint(&at), bits = key % 8 == 1   ? little(at, 8)
                                                 : key % 8 == 5 ? little(at, 4)
                                                                : varint(&at);
        const uint32_t narrow = (uint32_t)bits;
        double wide;
        float single;
        memcpy(&wide, &bits, sizeof wide);
        memcpy(&single, &narrow, sizeof single);
        fprintf(out, " %" PRIu64 ":", key / 8);
        switch (key % 8) {
        case 0:
            fprintf(out, "%" PRIu64, bits);
            break;
        case 1:
            fprintf(out, "%.0f", wide);
            at += 8;
            break;
        case 2:
            assert_true(bits <= (uint64_t)(end - at));
            if (key / 8 == *inner)
                tell(out, at, at + bits, inner + 1);
            else
                fprintf(out, "%.*s", (int)bits, (const char *)at);
            at += bits;
            break;
        default:
            assert_int_equal(key % 8, 5);
            fprintf(out, "%.7g", (double)single);
            at += 4;
        }
    }
    assert_true(at == end);
}

static void check_events(const char *name, const char *expected) {
    static const unsigned inner[] = {5, 1, 0};
    char path[64], *file = NULL, *text = NULL;
    size_t bytes = 0, length = 0;
    snprintf(path, sizeof path, "board/%s/events.out.tfevents.0.locus", name);
    assert_int_equal(lab_file_read(scratch_path(path), &file, &bytes, NULL), LOCUS_OK);
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    for (const unsigned char *at = (unsigned char *)file, *end = at + bytes; at < end;) {
        const uint64_t size = little(at, 8);
        assert_true(size <= (uint64_t)(end - at - 16));
        tell(out, at + 12, at + 12 + size, inner);
        fputc('\n', out);
        at += size + 16;
    }
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, expected);
    free(text);
    free(file);
}

static void exports_are_whole(void **state) {
    (void)state;
    lab_run runs[3];
    locus_error error = {0};
    char *text = NULL;
    size_t bytes;
    fill(runs);
    if (lab_run_export_csv(store, runs, 3, scratch_path("runs.csv"), &error) != LOCUS_OK ||
        lab_run_export_events(store, runs, 3, scratch_path("board"), &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(lab_file_read(scratch_path("runs.csv"), &text, &bytes, NULL), LOCUS_OK);
#define EVENT(step, rest) " 1:1795538449 2:" step " " rest "\n" /* 2026-11-24 16:40:49 UTC */
#define VALUE(step, tag, value) EVENT(step, "5: 1: 1:" tag " 2:" value)
#define LINE(name, rest) name ",t,\"a, \"\"b\"\"\",t,t,,4294967295," rest "\n"
    assert_string_equal(
        text,
        "run,task,encoding,budget,setup,embedding_init,seed,kind,set,name,step,value\n" LINE(
            "first", "score,test,accuracy,,0.25") LINE("first", "score,test,loss,,") LINE("first", "curve,dev,loss,0,0")
            LINE("first", "curve,dev,loss,127,0.1") LINE("first", "curve,dev,loss,128,0.2")
                LINE("first", "curve,dev,loss,129,0.30000000000000004") LINE("first", "curve,dev,loss,255,0.4")
                    LINE("first", "curve,dev,loss,256,0.5") LINE("first", "curve,dev,loss,16383,0.6000000000000001")
                        LINE("first", "curve,dev,loss,16384,0.7000000000000001")
                            LINE("first", "curve,dev,loss,2097151,0.8") LINE("first", "curve,dev,loss,2097152,0.9")
                                LINE("first", "curve,dev,loss,4294967296,1") LINE("first", "curve,,rate,3,1e-09")
                                    LINE("third", "curve,a,b.c,7,-1.5"));
    free(text);
    check_events("first",
                 EVENT("0", "3:brain.Event:2") VALUE("300", "final/test/accuracy", "0.25")
                     VALUE("300", "final/test/loss", "nan") VALUE("0", "dev/loss", "0") VALUE("127", "dev/loss", "0.1")
                         VALUE("128", "dev/loss", "0.2") VALUE("129", "dev/loss", "0.3") VALUE("255", "dev/loss", "0.4")
                             VALUE("256", "dev/loss", "0.5") VALUE("16383", "dev/loss", "0.6")
                                 VALUE("16384", "dev/loss", "0.7") VALUE("2097151", "dev/loss", "0.8")
                                     VALUE("2097152", "dev/loss", "0.9") VALUE("4294967296", "dev/loss", "1")
                                         VALUE("3", "rate", "1e-09"));
    check_events("third", " 1:0 2:0 3:brain.Event:2\n 1:0 2:7 5: 1: 1:a/b.c 2:-1.5\n");
    assert_int_equal(lab_file_read(scratch_path("board/second/events.out.tfevents.0.locus"), &text, &bytes, NULL),
                     LOCUS_ERROR_IO);
}

/* Names that no folder has, a folder that is not there and a file in its place: nothing is to be moved. */
static void nothing_is_moved(void **state) {
    (void)state;
    char folder[1024], longest[5000];
    locus_error error = {0};
    snprintf(folder, sizeof folder, "%s", scratch_path("."));
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    scratch_write("file", "1", 1);
    const char *const names[] = {"../file", "", ".", "a/b", longest, "nowhere", "file"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(lab_run_move(folder, names[i], "moved", &error), LOCUS_OK);
        assert_int_not_equal(access(scratch_path("moved"), F_OK), 0);
    }
    assert_int_equal(access(scratch_path("file"), F_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(exports_are_whole), cmocka_unit_test(nothing_is_moved)};
    return cmocka_run_group_tests(tests, open_store, close_store);
}
