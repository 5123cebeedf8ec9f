/* SPDX-License-Identifier: MIT */
/* Files of runs by their bounds: every field as long and as large as it may be is taken, one beyond is refused in a
 * whole sentence; and a run as it is shown. */
#include "train/configuration/budgets.h"
#include "train/configuration/config.h"
#include "train/store/run_file.h"
#include "unit/scratch_folder.h"

#include <cjson/cJSON.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define MOST 9007199254740992.0 /* 2^53 */

static lab_store *store;
static cJSON *whole; /* a file of one run */

static int open_all(void **state) {
    lab_train_config config;
    if (scratch_create(state) != 0 || lab_store_open(&store, ":memory:", NULL) != LOCUS_OK ||
        lab_train_config_budget(&config, lab_task_find("copy"), "smoke", LAB_SETUP_PAPER, NULL) != LOCUS_OK)
        return 1;
    config.encoding = config.model.encoding = "rope";
    char *text = lab_config_json(&config);
    static const char begin[] = "{\"format\": \"locus-runs\", \"version\": 1, \"runs\": [{\"name\": \"one\", "
                                "\"task\": \"copy\", \"encoding\": \"rope\", \"setup\": \"paper\", ",
                      middle[] = "\"budget\": \"smoke\", \"seed\": 0, \"data_seed\": 0, \"command\": \"c\", "
                                 "\"version\": \"v\", \"machine\": \"m\", \"message\": \"\", \"steps_total\": 4, "
                                 "\"steps_done\": 4, \"tokens_seen\": 5, \"wall_seconds\": 0.5, "
                                 "\"tokens_per_second\": 2, \"peak_bytes\": 6, \"parameters\": 7, "
                                 "\"started\": \"s\", \"ended\": \"e\", \"scores\": {\"test\": {\"loss\": 0.5}}, "
                                 "\"curves\": {\"dev.loss\": {\"steps\": [1, 4], \"values\": [2, null]}}, \"config\": ";
    const size_t room = sizeof begin + sizeof middle + strlen(text) + 200;
    char *file = malloc(room);
    snprintf(file, room, "%s\"embedding_init\": \"%s\", %s%s}]}", begin,
             lab_embedding_init_name(config.model.embedding_init), middle, text);
    whole = cJSON_Parse(file);
    free(file);
    cJSON_free(text);
    return whole == NULL;
}

static int close_all(void **state) {
    cJSON_Delete(whole);
    lab_store_close(&store);
    return scratch_remove(state);
}

/* The file with one piece replaced, which is then gone again from the store. `says`: behind the file's name. */
static void expect_text(const char *text, size_t bytes, const char *says) {
    lab_run_file_content content;
    locus_error error = {0};
    char expected[700] = "";
    if (says != NULL)
        snprintf(expected, sizeof expected, "'x.json' %s", says);
    const locus_status status = lab_run_file_take(store, text, bytes, "x.json", &content, &error);
    assert_string_equal(error.message, expected);
    assert_int_equal(status, says != NULL ? LOCUS_ERROR_IO : LOCUS_OK);
    assert_int_equal(content.added, says == NULL);
    cJSON_Delete(content.table);
    lab_run *runs;
    size_t count;
    assert_int_equal(lab_store_runs(store, NULL, &runs, &count, NULL), LOCUS_OK);
    assert_int_equal(count, says == NULL);
    if (count > 0)
        assert_int_equal(lab_store_run_delete(store, runs[0].id, NULL), LOCUS_OK);
    lab_runs_free(runs, count);
}

static void expect(const cJSON *root, const char *says) {
    char *text = cJSON_PrintUnformatted(root);
    expect_text(text, strlen(text), says);
    cJSON_free(text);
}

/* One member of the run is `item`. */
static void expect_member(const char *name, cJSON *item, const char *says) {
    cJSON *root = cJSON_Duplicate(whole, true);
    char line[400];
    cJSON *run = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "runs"), 0);
    cJSON_DeleteItemFromObject(run, name);
    if (item != NULL)
        cJSON_AddItemToObject(run, name, item);
    if (says != NULL)
        snprintf(line, sizeof line, "cannot be imported: run 1: %s", says);
    expect(root, says != NULL ? line : NULL);
    cJSON_Delete(root);
}

static cJSON *letters(size_t count) {
    char *text = malloc(count + 1);
    memset(text, 'a', count);
    text[count] = '\0';
    cJSON *item = cJSON_CreateString(text);
    free(text);
    return item;
}

static void texts(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t most;
        bool free, optional;
    } fields[] = {
        {"name", 200, true, false},
        {"task", 64, false, false},
        {"encoding", LAB_SPEC_SIZE - 1, false, false},
        {"setup", 64, false, false},
        {"embedding_init", 64, false, false},
        {"budget", 64, false, false},
        {"command", 65536, true, false},
        {"version", 256, true, false},
        {"machine", 1024, true, false},
        {"message", 65536, true, false},
        {"started", 64, true, false},
        {"ended", 64, true, false},
        {"note", 65536, true, true},
        {"parent", 256, true, true},
    };
    for (size_t i = 0; i < COUNT(fields); i++) {
        char says[120];
        snprintf(says, sizeof says, "\"%s\" is no text of at most %zu bytes", fields[i].name, fields[i].most);
        expect_member(fields[i].name, letters(fields[i].most + 1), says);
        expect_member(fields[i].name, cJSON_CreateNumber(1), says);
        expect_member(fields[i].name, cJSON_CreateNull(), says);
        expect_member(fields[i].name, NULL, fields[i].optional ? NULL : says);
        if (fields[i].free) {
            expect_member(fields[i].name, letters(fields[i].most), NULL);
            expect_member(fields[i].name, letters(1), NULL);
        }
    }
    static const char no_name[] =
        "\"name\" is no file name: at most 200 bytes, no '/', no '.' in front, nothing that a "
        "terminal would not show";
    expect_member("name", cJSON_CreateString(""), no_name);
    expect_member("name", cJSON_CreateString("a/b"), no_name);
    expect_member("message", cJSON_CreateString(""), NULL);
    static const char other[] = "\"config\" is of another run than the fields beside it";
    expect_member("setup", cJSON_CreateString("code"), other);
    expect_member("embedding_init", cJSON_CreateString("x"), other);
    expect_member("seed", cJSON_CreateNumber(1), other);
    expect_member("data_seed", cJSON_CreateNumber(1), other);
    expect_member("config", cJSON_CreateArray(), "\"config\" is no object");
    expect_member("config", cJSON_CreateObject(), "\"config\" is no configuration that this version knows");
    expect_member("task", letters(64), "\"config\" is no configuration that this version knows");
    expect_member("colour", letters(2), "\"colour\" is unknown");
}

static void numbers(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool real;
    } fields[] = {{"steps_total", false},      {"steps_done", false}, {"tokens_seen", false},
                  {"peak_bytes", false},       {"parameters", false}, {"wall_seconds", true},
                  {"tokens_per_second", true}, {"seed", false},       {"data_seed", false}};
    for (size_t i = 0; i < COUNT(fields); i++) {
        char says[120];
        const bool seed = strstr(fields[i].name, "seed") != NULL;
        snprintf(says, sizeof says, "\"%s\" is no %s from 0 to 2^53", fields[i].name,
                 fields[i].real ? "number" : "integer");
        expect_member(fields[i].name, cJSON_CreateNumber(0), NULL);
        if (!seed)
            expect_member(fields[i].name, cJSON_CreateNumber(MOST), NULL);
        expect_member(fields[i].name, cJSON_CreateNumber(MOST + 2), says);
        expect_member(fields[i].name, cJSON_CreateNumber(-1), says);
        if (!seed)
            expect_member(fields[i].name, cJSON_CreateNumber(0.5), fields[i].real ? NULL : says);
        expect_member(fields[i].name, cJSON_CreateString("1"), says);
        expect_member(fields[i].name, cJSON_CreateNull(), says);
        expect_member(fields[i].name, NULL, says);
    }
}

static cJSON *parsed(const char *text) {
    cJSON *item = cJSON_Parse(text);
    assert_non_null(item);
    return item;
}

/* An object with so many members. */
static cJSON *many(size_t count, const char *each) {
    cJSON *object = cJSON_CreateObject();
    for (size_t i = 0; i < count; i++) {
        char name[24];
        snprintf(name, sizeof name, "m%zu", i);
        cJSON_AddItemToObject(object, name, parsed(each));
    }
    return object;
}

#define LONGEST "a123456789b123456789c123456789d123456789e123456789f123456789wxyz"
#define SHOWN "a123456789b123456789c123456789d123456789e123456789f123456789"

static void scores(void **state) {
    (void)state;
    static const char none[] = "\"scores\" is no object of at most 512 sets";
    expect_member("scores", many(512, "{}"), NULL);
    expect_member("scores", many(513, "{}"), none);
    expect_member("scores", cJSON_CreateArray(), none);
    expect_member("scores", NULL, none);
    cJSON *sets = cJSON_CreateObject();
    cJSON_AddItemToObject(sets, "test", many(128, "1"));
    expect_member("scores", sets, NULL);
    sets = cJSON_CreateObject();
    cJSON_AddItemToObject(sets, "test", many(129, "1"));
    expect_member("scores", sets, "\"scores\": \"test\" is no set of at most 128 scores, or is there twice");
    static const struct {
        const char *text, *set, *score;
    } cases[] = {
        {"{\"" LONGEST "\": {\"" LONGEST "\": null}}", NULL, NULL},
        {"{\"" LONGEST "!\": {}}", SHOWN, NULL},
        {"{\"\": {}}", "", NULL},
        {"{\"a/b\": {}}", "a/b", NULL},
        {"{\"test\": []}", "test", NULL},
        {"{\"test\": {}, \"test\": {}}", "test", NULL},
        {"{\"test\": {\"" LONGEST "!\": 1}}", "test", SHOWN},
        {"{\"test\": {\"\": 1}}", "test", ""},
        {"{\"test\": {\"loss\": \"1\"}}", "test", "loss"},
        {"{\"test\": {\"loss\": 1, \"loss\": 1}}", "test", "loss"},
        {"{\"test\": {\"loss\": true}}", "test", "loss"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char says[300];
        if (cases[i].score != NULL)
            snprintf(says, sizeof says, "\"scores\": \"%s\", \"%s\" is no number, or is there twice", cases[i].set,
                     cases[i].score);
        else if (cases[i].set != NULL)
            snprintf(says, sizeof says, "\"scores\": \"%s\" is no set of at most 128 scores, or is there twice",
                     cases[i].set);
        expect_member("scores", parsed(cases[i].text), cases[i].set != NULL ? says : NULL);
    }
}

static void curves(void **state) {
    (void)state;
    static const char none[] = "\"curves\" is no object of at most 128 curves";
    expect_member("curves", many(128, "{\"steps\": [], \"values\": []}"), NULL);
    expect_member("curves", many(129, "{\"steps\": [], \"values\": []}"), none);
    expect_member("curves", cJSON_CreateArray(), none);
    expect_member("curves", NULL, none);
    static const struct {
        const char *text, *curve;
    } cases[] = {
        {"{\"" LONGEST "\": {\"values\": [1, null], \"steps\": [0, 9007199254740992]}}", NULL},
        {"{\"" LONGEST "!\": {\"steps\": [], \"values\": []}}", SHOWN},
        {"{\"\": {\"steps\": [], \"values\": []}}", ""},
        {"{\"c\": {\"steps\": [1], \"values\": [1]}, \"c\": {\"steps\": [1], \"values\": [1]}}", "c"},
        {"{\"c\": {\"steps\": [1]}}", "c"},
        {"{\"c\": {\"values\": [1]}}", "c"},
        {"{\"c\": {\"steps\": 1, \"values\": [1]}}", "c"},
        {"{\"c\": {\"steps\": [1], \"values\": 1}}", "c"},
        {"{\"c\": {\"steps\": [1], \"values\": [1], \"more\": []}}", "c"},
        {"{\"c\": {\"steps\": [1, 1], \"values\": [1, 1]}}", "c"},
        {"{\"c\": {\"steps\": [2, 1], \"values\": [1, 1]}}", "c"},
        {"{\"c\": {\"steps\": [1, 2], \"values\": [1]}}", "c"},
        {"{\"c\": {\"steps\": [1], \"values\": [1, 2]}}", "c"},
        {"{\"c\": {\"steps\": [-1], \"values\": [1]}}", "c"},
        {"{\"c\": {\"steps\": [0.5], \"values\": [1]}}", "c"},
        {"{\"c\": {\"steps\": [9007199254740994], \"values\": [1]}}", "c"},
        {"{\"c\": {\"steps\": [1], \"values\": [\"1\"]}}", "c"},
        {"{\"c\": []}", "c"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char says[300];
        if (cases[i].curve != NULL)
            snprintf(says, sizeof says,
                     "\"curves\": \"%s\" is no curve (ascending steps and as many values), or is there twice",
                     cases[i].curve);
        expect_member("curves", parsed(cases[i].text), cases[i].curve != NULL ? says : NULL);
    }
}

/* The list of runs between these texts. */
static void expect_file(const char *before, const char *behind, const char *says) {
    char *runs = cJSON_PrintUnformatted(cJSON_GetObjectItem(whole, "runs"));
    const size_t room = strlen(runs) + strlen(before) + strlen(behind) + 1;
    char *text = malloc(room);
    snprintf(text, room, "%s%s%s", before, runs, behind);
    expect_text(text, strlen(text), says);
    free(text);
    cJSON_free(runs);
}

static void files(void **state) {
    (void)state;
#define HEAD "{\"format\": \"locus-runs\", \"version\": 1, "
    static const char lacks[] = "is no file of runs: it lacks \"format\": \"locus-runs\"",
                      version[] = "is a file of runs of another version than 1: use the newer locus",
                      neither[] = "cannot be imported: \"runs\" is no list, or \"table\" no object";
    expect_file(HEAD "\"runs\": ", "}", NULL);
    expect_file(HEAD "\"table\": {}, \"runs\": ", "} \t\r\n\n", NULL);
    expect_file("{\"format\": \"locus-run\", \"version\": 1, \"runs\": ", "}", lacks);
    expect_file("{\"format\": 1, \"version\": 1, \"runs\": ", "}", lacks);
    expect_file("{\"version\": 1, \"runs\": ", "}", lacks);
    expect_file("", "", lacks);
    expect_file("{\"format\": \"locus-runs\", \"version\": 2, \"runs\": ", "}", version);
    expect_file("{\"format\": \"locus-runs\", \"version\": 0.5, \"runs\": ", "}", version);
    expect_file("{\"format\": \"locus-runs\", \"version\": \"1\", \"runs\": ", "}", version);
    expect_file("{\"format\": \"locus-runs\", \"runs\": ", "}", version);
    expect_file(HEAD "\"table\": [], \"runs\": ", "}", neither);
    expect_file(HEAD "\"table\": ", "}", neither);
    expect_file(HEAD "\"runs\": {\"a\": ", "}}", neither);
    expect_file(HEAD "\"runs\": ", ", \"run\": 1}", "cannot be imported: \"run\" is unknown, or there twice");
    expect_file(HEAD "\"runs\": ", ", \"runs\": []}", "cannot be imported: \"runs\" is unknown, or there twice");
    expect_file(HEAD "\"runs\": ", "}\n\n x", "is no JSON: something follows in line 3");
    expect_file(HEAD "\n\"runs\": ", "\n,}", "is no JSON: line 3 cannot be read");
    static const char zero[] = HEAD "\"runs\": []}\0";
    expect_text(zero, sizeof zero - 1, "is no JSON: something follows in line 1");
    static const char twice[] = HEAD "\"runs\": [{\"name\": \"a\", \"name\": \"a\"}]}",
                      number[] = HEAD "\"runs\": [1]}";
    expect_text(twice, sizeof twice - 1, "cannot be imported: run 1: \"name\" twice");
    expect_text(number, sizeof number - 1, "cannot be imported: run 1: it is no object");
    expect_text("", 0, "is no JSON: line 1 cannot be read");
    expect_text("", LAB_RUN_FILE_MOST_BYTES + 1, "is larger than a file of runs may be, 64 MiB");
}

/* ---- out of a store ---- */

static lab_run planted(void) {
    static char text[] = "t", name[] = "a-run", config[] = "{\"dim\":8}", empty[] = "";
    lab_run run = {.name = name,
                   .task = text,
                   .encoding = text,
                   .setup = text,
                   .embedding_init = text,
                   .budget = text,
                   .config = config,
                   .command = text,
                   .version = text,
                   .machine = text,
                   .message = empty,
                   .started = text,
                   .ended = text,
                   .state = LAB_RUN_DONE};
    return run;
}

static void what_cannot_be_written(void **state) {
    (void)state;
    static const char *const names[] = {"steps_total", "steps_done", "tokens_seen", "peak_bytes", "parameters"};
    for (size_t i = 0; i < 2 * COUNT(names); i++) {
        lab_run run = planted();
        uint64_t *const above[] = {&run.steps_total, &run.steps_done, &run.tokens_seen};
        int64_t *const below[] = {&run.peak_bytes, &run.parameters};
        const size_t field = i % COUNT(names);
        const bool good = i < COUNT(names);
        char says[160] = "";
        if (field < COUNT(above))
            *above[field] = good ? UINT64_C(1) << 53 : (UINT64_C(1) << 53) + 2;
        else
            *below[field - COUNT(above)] = good ? INT64_C(1) << 53 : -1;
        if (!good)
            snprintf(says, sizeof says, "the run 'a-run' cannot be written as JSON: its %s is below 0 or above 2^53",
                     names[field]);
        locus_error error = {0};
        assert_int_equal(lab_run_file_write(store, &run, 1, NULL, scratch_path("runs.json"), &error),
                         good ? LOCUS_OK : LOCUS_ERROR_ARGUMENT);
        assert_string_equal(error.message, says);
        assert_string_equal(error.argument, good ? "" : "runs");
    }
    static char list[] = "[]", none[] = "dim";
    char *const configs[] = {list, none};
    for (size_t i = 0; i < COUNT(configs); i++) {
        lab_run run = planted();
        locus_error error = {0};
        run.config = configs[i];
        assert_int_equal(lab_run_file_write(store, &run, 1, NULL, scratch_path("runs.json"), &error),
                         LOCUS_ERROR_ARGUMENT);
        assert_string_equal(error.message, "the run 'a-run' cannot be written as JSON: its configuration is none");
    }
}

static void shown(void **state) {
    (void)state;
    static char note[] = "a note", parent[] = "before", config[] = "no JSON";
    static const char begin[] = "\"name\":\"a-run\",\"task\":\"t\",\"encoding\":\"t\",\"setup\":\"t\","
                                "\"embedding_init\":\"t\",\"budget\":\"t\",\"state\":\"",
                      middle[] = "\",\"message\":\"\",\"command\":\"t\",\"version\":\"t\",\"machine\":\"t\","
                                 "\"started\":\"t\",\"ended\":\"t\",",
                      ends[] = "\"seed\":1,\"data_seed\":2,\"steps_total\":3,\"steps_done\":4,\"tokens_seen\":5,"
                               "\"wall_seconds\":0.5,\"tokens_per_second\":0.25,\"peak_bytes\":6,\"parameters\":7,";
    static const char *const states[] = {"started", "done", "stopped", "failed"};
    for (unsigned i = 0; i < COUNT(states); i++) {
        lab_run run = planted();
        run.state = (lab_run_state)i;
        run.seed = 1;
        run.data_seed = 2;
        run.steps_total = 3;
        run.steps_done = 4;
        run.tokens_seen = 5;
        run.wall_seconds = 0.5;
        run.tokens_per_second = 0.25;
        run.peak_bytes = 6;
        run.parameters = 7;
        assert_int_equal(lab_store_run_insert(store, &run, NULL), LOCUS_OK);
        if (i == 1) {
            run.note = note;
            run.parent = parent;
            run.config = config;
            assert_int_equal(lab_store_final_set(store, run.id, "test", "loss", 1.5, NULL), LOCUS_OK);
            assert_int_equal(lab_store_final_set(store, run.id, "dev", "loss", 2, NULL), LOCUS_OK);
            assert_int_equal(lab_store_final_set(store, run.id, "test", "exact", 0, NULL), LOCUS_OK);
        }
        char expected[1200];
        snprintf(expected, sizeof expected, "{\"id\":%d,%s%s%s%s%s%s", (int)run.id, begin, states[i], middle,
                 i == 1 ? "\"note\":\"a note\",\"parent\":\"before\"," : "", ends,
                 i == 1
                     ? "\"config\":\"no JSON\",\"scores\":{\"dev\":{\"loss\":2},\"test\":{\"exact\":0,\"loss\":1.5}}}"
                     : "\"config\":{\"dim\":8},\"scores\":{}}");
        cJSON *root = lab_run_json(store, &run, NULL);
        char *text = cJSON_PrintUnformatted(root);
        assert_string_equal(text, expected);
        cJSON_free(text);
        cJSON_Delete(root);
        assert_int_equal(lab_store_run_delete(store, run.id, NULL), LOCUS_OK);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),  cmocka_unit_test(numbers), cmocka_unit_test(scores),
        cmocka_unit_test(curves), cmocka_unit_test(files),   cmocka_unit_test(what_cannot_be_written),
        cmocka_unit_test(shown),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
