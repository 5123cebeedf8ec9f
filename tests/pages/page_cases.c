/* SPDX-License-Identifier: MIT */
/* Pages for check_pages.py: of the planted store; of a store whose texts try to leave their places; and of 100 runs
 * with curves of 1,000 points each, which are fifty encodings of two seeds: no other way has more to draw.
 *
 *     page_cases FOLDER        writes planted.html, hostile.html, large.html and their stores there */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "golden/planted_store.h"

#include "page/report.h"

#define OK(call) \
    do { \
        locus_error failed = {0}; \
        if ((call) != LOCUS_OK) { \
            fprintf(stderr, "%s: %s\n", #call, failed.message); \
            exit(1); \
        } \
    } while (0)

enum { RUNS = 100, ENCODINGS = 50, POINTS = 1000 };
static const char hostile[] =
    "x</script><script>document.title='taken'</script><img src=x onerror=alert(1)>\"'&\\u0041";

/* ---- stores ---- */

static int64_t insert(lab_store *store, const char *encoding, const char *text, int number) {
    char name[32];
    snprintf(name, sizeof name, "run-%d", number);
    lab_run run = {.name = name,
                   .task = (char *)"copy",
                   .encoding = (char *)encoding,
                   .setup = (char *)"paper",
                   .embedding_init = (char *)"scaled",
                   .budget = (char *)"quick",
                   .config = (char *)"{\"length_mean\":20,\"length_deviation\":2,\"symbols\":20}",
                   .command = (char *)text,
                   .version = (char *)text,
                   .machine = (char *)text,
                   .message = (char *)text,
                   .seed = (uint64_t)number,
                   .state = LAB_RUN_DONE,
                   .steps_total = POINTS,
                   .steps_done = POINTS,
                   .wall_seconds = 60 + number,
                   .tokens_per_second = 40000 + number,
                   .peak_bytes = 40 << 20,
                   .parameters = 235136,
                   .started = (char *)"2026-11-23T04:37:31Z",
                   .ended = (char *)"2026-11-23T04:38:57Z"};
    OK(lab_store_run_insert(store, &run, &failed));
    OK(lab_store_final_set(store, run.id, "test", "accuracy", 0.5 + 0.004 * number, &failed));
    OK(lab_store_final_set(store, run.id, "test", "greedy_exact", 0.3 + 0.004 * number, &failed));
    return run.id;
}

/* Between 0 and 1, without pattern to the eye. */
static double noise(int i) {
    const double x = sin(12.9898 * i) * 43758.5453;
    return x - floor(x);
}

static void add_curves(lab_store *store, int64_t run, int number, int points) {
    for (int i = 1; i <= points; i++) {
        const double way = (double)i / POINTS, rough = noise(1009 * number + i);
        OK(lab_store_measured(
            store, run, (uint64_t)i,
            &(lab_measured){"dev.accuracy", fmin(1, 1 - exp(-(3 + 0.03 * number) * way) + 0.01 * rough)}, 1, &failed));
        OK(lab_store_measured(
            store, run, (uint64_t)i,
            &(lab_measured){"train.loss", (3 + 0.01 * number) * exp(-4 * way) * (0.9 + 0.2 * rough) + 0.01}, 1,
            &failed));
    }
}

static void fill_large(lab_store *store) {
    for (int i = 0; i < RUNS; i++) {
        char encoding[64];
        snprintf(encoding, sizeof encoding, "rope(base=%d)", 1000 * (i % ENCODINGS + 1));
        add_curves(store, insert(store, encoding, "locus train", i), i, POINTS);
    }
}

static void fill_hostile(lab_store *store) {
    add_curves(store, insert(store, "rope", hostile, 1), 1, 20);
    add_curves(store, insert(store, hostile, hostile, 2), 2, 20);
    add_curves(store, insert(store, "=1+1", hostile, 3), 3, 20);
}

/* ---- pages ---- */

/* `fill` NULL: the planted store. */
static void write_page(const char *folder, const char *name, void (*fill)(lab_store *)) {
    char path[1024];
    lab_store *store = NULL;
    const lab_report_options options = {.command = "locus report"};
    snprintf(path, sizeof path, "%s/%s.db", folder, name);
    if (fill == NULL) {
        planted_store_open(&store, path);
    } else {
        OK(lab_store_open(&store, path, &failed));
        OK(lab_store_begin(store, &failed));
        fill(store);
        OK(lab_store_commit(store, &failed));
    }
    snprintf(path, sizeof path, "%s/%s.html", folder, name);
    OK(lab_report_write(store, &options, path, &failed));
    lab_store_close(&store);
}

int main(int count, char **words) {
    if (count != 2) {
        fputs("usage: page_cases FOLDER\n", stderr);
        return 2;
    }
    write_page(words[1], "planted", NULL);
    write_page(words[1], "hostile", fill_hostile);
    write_page(words[1], "large", fill_large);
    return 0;
}
