/* SPDX-License-Identifier: MIT */
/* Files of runs: what is written comes back to the bit, twice the same bytes; a file that is wrong anywhere is told in
 * one line and leaves the store as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "io/file.h"
#include "train/checkpoint.h"
#include "train/configuration/config.h"
#include "train/store/run_file.h"
#include "train/store/store_sql.h"
#include "train/train.h"
#include "unit/scratch_folder.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) \
    do { \
        locus_error failed = {0}; \
        if ((call) != LOCUS_OK) { \
            fail_msg("%s: %s", #call, failed.message); \
        } \
    } while (0)

static lab_store *open_memory(void) {
    lab_store *store = NULL;
    OK(lab_store_open(&store, ":memory:", &failed));
    return store;
}

/* ---- a store with something in it ---- */

/* Every text and number is another one; `seed` varies the run. */
static void plant(lab_store *store, const char *name, uint64_t seed, lab_run_state state) {
    lab_train_config config;
    OK(lab_train_config_budget(&config, lab_task_find("copy"), "smoke", LAB_SETUP_PAPER, &failed));
    config.encoding = config.model.encoding = "rope";
    config.seed = seed;
    config.data_seed = 9007199254740991u;
    config.rate_peak = 0.1 + 0.2; /* 17 digits */
    config.test_lengths[0] = 40;
    config.test_length_count = 1;
    char *json = lab_config_json(&config);
    lab_run run = {.name = strdup(name),
                   .task = strdup("copy"),
                   .encoding = strdup("rope"),
                   .setup = strdup("paper"),
                   .embedding_init = strdup(lab_embedding_init_name(config.model.embedding_init)),
                   .budget = strdup("smoke"),
                   .config = strdup(json),
                   .command = strdup("locus train 'a \\ \"b\"'"),
                   .version = strdup("0.1.0 (0123456789)"),
                   .machine = strdup("a machine – 2 threads"),
                   .message = strdup("first\nsecond"),
                   .started = strdup("2026-01-01T00:00:00Z"),
                   .ended = strdup("2026-01-01T00:01:00Z"),
                   .seed = config.seed,
                   .data_seed = config.data_seed,
                   .state = state,
                   .steps_total = 100,
                   .steps_done = 99,
                   .tokens_seen = 1ull << 40,
                   .wall_seconds = 1.0 / 3,
                   .tokens_per_second = 12345.678,
                   .peak_bytes = 1ll << 33,
                   .parameters = 918000};
    cJSON_free(json);
    OK(lab_store_run_insert(store, &run, &failed));
    OK(lab_store_final_set(store, run.id, "test", "accuracy", nextafter(1, 0), &failed));
    OK(lab_store_final_set(store, run.id, "test", "loss", (double)NAN, &failed));
    OK(lab_store_final_set(store, run.id, "test:40", "accuracy", 0.1 * (double)(seed + 1), &failed));
    for (uint64_t step = 25; step <= 100; step += 25) {
        OK(lab_store_measured(store, run.id, step, &(lab_measured){"dev.loss", 1e-300 / (double)step}, 1, &failed));
        OK(lab_store_measured(store, run.id, step, &(lab_measured){"train.loss", step == 50 ? (double)NAN : -0.0}, 1,
                              &failed));
    }
    lab_run_free(&run);
}

static lab_store *plant_three(void) {
    lab_store *store = open_memory();
    plant(store, "one", 0, LAB_RUN_DONE);
    plant(store, "begun", 1, LAB_RUN_STOPPED);
    plant(store, "two", 2, LAB_RUN_DONE);
    return store;
}

static void write_all(lab_store *store, const cJSON *table, const char *path) {
    lab_run *runs;
    size_t count;
    OK(lab_store_runs(store, NULL, &runs, &count, &failed));
    OK(lab_run_file_write(store, runs, count, table, path, &failed));
    lab_runs_free(runs, count);
}

static char *text_of(lab_store *store, const cJSON *table) {
    char *text;
    size_t bytes;
    write_all(store, table, scratch_path("runs.json"));
    OK(lab_file_read(scratch_path("runs.json"), &text, &bytes, &failed));
    return text;
}

static size_t runs_in(lab_store *store) {
    lab_run *runs;
    size_t count;
    OK(lab_store_runs(store, NULL, &runs, &count, &failed));
    lab_runs_free(runs, count);
    return count;
}

static locus_status take(lab_store *store, const char *text, lab_run_file_content *content, locus_error *error) {
    return lab_run_file_take(store, text, strlen(text), "x.json", content, error);
}

/* ---- there and back ---- */

static void assert_same_values(lab_store *a, int64_t run_a, lab_store *b, int64_t run_b) {
    static const char *const curves[] = {"dev.loss", "train.loss"};
    lab_final *here, *there;
    size_t count, other;
    OK(lab_store_finals(a, run_a, &here, &count, &failed));
    OK(lab_store_finals(b, run_b, &there, &other, &failed));
    assert_int_equal(count, other);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(here[i].set, there[i].set);
        assert_string_equal(here[i].name, there[i].name);
        assert_true(isnan(here[i].value) ? isnan(there[i].value) : here[i].value == there[i].value);
    }
    free(here);
    free(there);
    for (size_t c = 0; c < 2; c++) {
        lab_metric *one, *two;
        OK(lab_store_metrics(a, run_a, curves[c], &one, &count, &failed));
        OK(lab_store_metrics(b, run_b, curves[c], &two, &other, &failed));
        assert_true(count == 4 && other == 4);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(one[i].step, two[i].step);
            assert_true(isnan(one[i].value) ? isnan(two[i].value) : one[i].value == two[i].value);
        }
        free(one);
        free(two);
    }
}

static void assert_same_rows(const lab_run *a, const lab_run *b) {
    const char *const here[] = {a->name,    a->task,    a->encoding, a->setup,   a->embedding_init,
                                a->budget,  a->config,  a->command,  a->version, a->machine,
                                a->message, a->started, a->ended};
    const char *const there[] = {b->name,    b->task,    b->encoding, b->setup,   b->embedding_init,
                                 b->budget,  b->config,  b->command,  b->version, b->machine,
                                 b->message, b->started, b->ended};
    for (size_t i = 0; i < sizeof here / sizeof *here; i++)
        assert_string_equal(here[i], there[i]);
    assert_true(a->seed == b->seed && a->data_seed == b->data_seed && a->state == b->state);
    assert_true(a->steps_total == b->steps_total && a->steps_done == b->steps_done && a->tokens_seen == b->tokens_seen);
    assert_true(a->wall_seconds == b->wall_seconds && a->tokens_per_second == b->tokens_per_second);
    assert_true(a->peak_bytes == b->peak_bytes && a->parameters == b->parameters);
}

static void test_there_and_back(void **state) {
    (void)state;
    lab_store *store = plant_three(), *other = open_memory();
    cJSON *table = cJSON_Parse("{\"command\": \"locus reproduce\", \"seeds\": [3, 4]}");
    char *text = text_of(store, table);
    lab_run_file_content content;
    OK(take(other, text, &content, &failed));
    assert_true(content.added == 2 && content.known == 0);
    assert_true(cJSON_Compare(content.table, table, true));
    assert_int_equal(runs_in(other), 2); /* the third was not finished */
    static const char *const names[] = {"one", "two"};
    for (size_t i = 0; i < 2; i++) {
        lab_run here, there;
        OK(lab_store_run_find(store, names[i], &here, &failed));
        OK(lab_store_run_find(other, names[i], &there, &failed));
        assert_same_rows(&here, &there);
        assert_same_values(store, here.id, other, there.id);
        assert_true(!here.imported && there.imported);
        lab_run_free(&here);
        lab_run_free(&there);
    }
    char *again = text_of(other, table);
    assert_string_equal(text, again);
    cJSON_Delete(content.table);
    OK(take(other, text, &content, &failed)); /* once more: nothing is new */
    assert_true(content.added == 0 && content.known == 2);
    cJSON_Delete(content.table);
    OK(take(store, text, &content, &failed)); /* nor where they were made: they stay what they are */
    assert_true(content.added == 0 && content.known == 2);
    cJSON_Delete(content.table);
    cJSON_Delete(table);
    free(text);
    free(again);
    lab_store_close(&store);
    lab_store_close(&other);
}

/* Once imported it is known as such until it is deleted, and nobody looks for its checkpoint. */
static void test_mark(void **state) {
    (void)state;
    lab_store *store = plant_three(), *other = NULL;
    char *text = text_of(store, NULL);
    lab_run_file_content content;
    locus_error error = {0};
    lab_run run;
    OK(lab_store_open(&other, scratch_path("marked.db"), &failed));
    OK(take(other, text, &content, &failed));
    assert_null(content.table);
    lab_store_close(&other);
    OK(lab_store_open(&other, scratch_path("marked.db"), &failed));
    OK(lab_store_run_find(other, "one", &run, &failed));
    assert_true(run.imported);
    lab_train_config config;
    lab_model *model;
    assert_int_equal(lab_train_load(&run, "nowhere", &config, &model, &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "the run 'one' was imported"));
    OK(lab_store_run_delete(other, run.id, &failed));
    lab_run_free(&run);
    plant(other, "one", 0, LAB_RUN_DONE);
    OK(lab_store_run_find(other, "one", &run, &failed));
    assert_false(run.imported);
    lab_run_free(&run);
    free(text);
    lab_store_close(&store);
    lab_store_close(&other);
}

/* ---- what is wrong ---- */

/* Text with the first `from` replaced. */
static char *changed(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    assert_non_null(at);
    const size_t bytes = strlen(text) + strlen(to) + 1;
    char *made = malloc(bytes);
    assert_non_null(made);
    snprintf(made, bytes, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return made;
}

static void assert_refused(const char *text, const char *says) {
    lab_store *store = open_memory();
    lab_run_file_content content;
    locus_error error = {0};
    if (take(store, text, &content, &error) != LOCUS_ERROR_IO)
        fail_msg("not refused: %s", says);
    if (strstr(error.message, says) == NULL || strchr(error.message, '\n') != NULL)
        fail_msg("'%s' instead of '%s'", error.message, says);
    assert_int_equal(runs_in(store), 0);
    /* The store is as good as before: no transaction is open. */
    OK(lab_store_begin(store, &failed));
    lab_store_rollback(store);
    lab_store_close(&store);
}

static void test_refused(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        {"\"locus-runs\"", "\"else\"", "'x.json' is no file of runs: it lacks \"format\": \"locus-runs\""},
        {"\"version\": 1,", "\"version\": 2,", "another version than 1"},
        {"\"version\": 1,", "\"version\": 1, \"more\": 0,", "\"more\" is unknown"},
        {"\"version\": 1,", "\"version\": 1, \"table\": 0,", "\"table\" no object"},
        {"\"runs\": [", "\"runs\": [17,", "run 1: it is no object"},
        {"\"runs\": [", "\"runs\" [", "'x.json' is no JSON: line 4"},
        {"\n]\n}\n", "\n]\n}\n0", "something follows in line"},
        {"\"seed\": 2,", "\"seed\": 2.5,", "run 2: \"seed\" is no integer"},
        {"\"seed\": 2,", "\"seed\": -2,", "run 2: \"seed\" is no integer"},
        {"\"seed\": 2,", "\"seed\": 3,", "run 2: \"config\" is of another run"},
        {"\"seed\": 2,", "\"seed\": 2, \"seed\": 2,", "run 2: \"seed\" twice"},
        {"\"seed\": 2,", "\"seed\": 2, \"speed\": 2,", "run 2: \"speed\" is unknown"},
        {"\"seed\": 2,", "", "run 2: \"seed\" is no integer"},
        {"\"name\": \"two\"", "\"name\": \"../two\"", "run 2: \"name\" is no file name"},
        {"\"name\": \"two\"", "\"name\": 2", "run 2: \"name\" is no text"},
        {"\"task\": \"copy\"", "\"task\": \"reverse\"", "run 1: \"config\" is of another run"},
        {"\"wall_seconds\": 0.3", "\"wall_seconds\": 1e999, \"x\": 0.3", "run 1: \"x\" is unknown"},
        {"\"wall_seconds\": 0.3333333333333333", "\"wall_seconds\": 1e999", "run 1: \"wall_seconds\" is no number"},
        {"\"config\": {", "\"config\": [{", "is no JSON: line"},
        {"\"dim\":64", "\"dim\":\"64\"", "run 1: \"config\" is no configuration"},
        {"\"test\": {\"accuracy\":", "\"test\": {\"accuracy\":0,\"accuracy\":", "there twice"},
        {"\"test\": {\"accuracy\":", "\"test\": {\"accuracy\":\"0\",\"x\":", "\"test\", \"accuracy\" is no number"},
        {"\"test\": {", "\"te\\nst\": {", "run 1: \"scores\": \"te?st\" is no set"},
        {"\"steps\":[25,50", "\"steps\":[25,25", "run 1: \"curves\": \"dev.loss\" is no curve"},
        {"\"steps\":[25,50", "\"steps\":[50", "run 1: \"curves\": \"dev.loss\" is no curve"},
    };
    lab_store *store = plant_three();
    char *text = text_of(store, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *bad = changed(text, cases[i].from, cases[i].to);
        assert_refused(bad, cases[i].says);
        free(bad);
    }
    for (size_t length = strlen(text) - 1; length > 0; length -= 1 + length / 7) { /* cut */
        lab_store *other = open_memory();
        lab_run_file_content content;
        if (length < strlen(text) - 1)
            assert_int_equal(lab_run_file_take(other, text, length, "x.json", &content, NULL), LOCUS_ERROR_IO);
        assert_int_equal(runs_in(other), 0);
        lab_store_close(&other);
    }
    free(text);
    lab_store_close(&store);
}

/* The first run would do, the second one is another than that of the store: neither is taken. */
static void test_another_run(void **state) {
    (void)state;
    lab_store *store = plant_three(), *other = open_memory();
    char *text = text_of(store, NULL);
    char *twice = changed(text, "\"name\": \"two\"", "\"name\": \"one\"");
    char *score = changed(text, "\"test:40\": {\"accuracy\":0.3", "\"test:40\": {\"accuracy\":0.2");
    lab_run_file_content content;
    locus_error error = {0};
    plant(other, "two", 2, LAB_RUN_DONE);
    assert_int_equal(take(other, score, &content, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "the store has another run 'two'"));
    assert_int_equal(runs_in(other), 1);
    OK(take(other, text, &content, &failed));
    assert_true(content.added == 1 && content.known == 1);
    assert_int_equal(take(other, twice, &content, &error), LOCUS_ERROR_ARGUMENT);
    OK(lab_store_execute(other, "UPDATE evaluation SET metrics = '{'", &failed)); /* what it has cannot be compared */
    assert_int_equal(take(other, text, &content, &error), LOCUS_ERROR_IO);
    free(text);
    free(twice);
    free(score);
    lab_store_close(&store);
    lab_store_close(&other);
}

/* A number that a double does not hold is not written as another one. */
static void test_not_written(void **state) {
    (void)state;
    lab_store *store = open_memory();
    locus_error error = {0};
    plant(store, "one", 1, LAB_RUN_DONE);
    lab_run *runs;
    size_t count;
    OK(lab_store_runs(store, NULL, &runs, &count, &failed));
    runs[0].seed = UINT64_MAX - 3;
    assert_int_equal(lab_run_file_write(store, runs, count, NULL, scratch_path("large.json"), &error),
                     LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "its seed is"));
    lab_run_free(&runs[0]);
    free(runs);
    lab_store_close(&store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_mark),        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_another_run),    cmocka_unit_test(test_not_written),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
