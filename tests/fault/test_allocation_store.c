/* SPDX-License-Identifier: MIT */
/* Every allocation of what is made of a store's runs and of an encoding that is folded fails once, one after another:
 * it is told as MEMORY, or done without what is only kept for the next time; nothing leaks (address sanitizer). */
#include "fold/folding.h"
#include "golden/planted_store.h"
#include "report/tables/summary.h"
#include "train/configuration/config.h"
#include "train/store/run_export.h"
#include "train/train.h"

#include <cjson/cJSON.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_allocator.h"
#include "unit/scratch_folder.h"

static lab_store *store, *few;
static char *few_told; /* what is made of them, as JSON */
static lab_run *runs;
static size_t run_count;
static lab_summary summary;

/* A run of each kind that is scored in a way of its own, and one that is not finished. */
static bool is_kept(const lab_run *run) {
    static const char *const names[] = {"copy-0-0-s0",     "copy-0-3-s0",     "tree-copy-2-17-s1",
                                        "cifar10-4-22-s0", "listops-8-49-s0", "repeat-9-355-s0"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        found = found || strcmp(run->name, names[i]) == 0;
    return found;
}

static char *told_of(const lab_summary *of) {
    cJSON *tree = lab_summary_json(of);
    char *text = cJSON_PrintUnformatted(tree);
    assert_non_null(text);
    cJSON_Delete(tree);
    return text;
}

static int open_few(void) {
    lab_summary of_few;
    planted_store_open(&few, scratch_path("few.db"));
    for (size_t i = 0; i < run_count; i++)
        if (!is_kept(&runs[i]) && lab_store_run_delete(few, runs[i].id, NULL) != LOCUS_OK)
            return 1;
    if (lab_summary_create(&of_few, few, &(lab_summary_filter){0}, NULL) != LOCUS_OK)
        return 1;
    few_told = told_of(&of_few);
    lab_summary_free(&of_few);
    return 0;
}

/* A training whose earlier name another one has, too. */
static lab_train_config dealt(size_t shards, size_t kv_heads) {
    lab_train_config config;
    assert_int_equal(lab_train_config_budget(&config, lab_task_find("copy"), "smoke", LAB_SETUP_PAPER, NULL), LOCUS_OK);
    config.encoding = "none";
    config.shards = shards;
    config.model.kv_heads = kv_heads;
    return config;
}

static char earlier[256];

/* The store has the training by its earlier name. */
static void keep_run(void) {
    static char task[] = "copy", none[] = "none", budget[] = "smoke", empty[] = "";
    const lab_train_config config = dealt(2, 0);
    char *json = lab_config_json(&config);
    lab_train_older_name(&config, earlier, sizeof earlier);
    lab_run run = {.name = earlier,
                   .task = task,
                   .encoding = none,
                   .setup = empty,
                   .embedding_init = empty,
                   .budget = budget,
                   .config = json,
                   .command = empty,
                   .version = empty,
                   .machine = empty,
                   .message = empty,
                   .started = empty,
                   .ended = empty};
    assert_int_equal(lab_store_run_insert(store, &run, NULL), LOCUS_OK);
    cJSON_free(json);
}

static int open_store(void **state) {
    if (scratch_create(state) != 0)
        return 1;
    planted_store_open(&store, scratch_path("locus.db"));
    if (lab_store_runs(store, NULL, &runs, &run_count, NULL) != LOCUS_OK || run_count < 4 ||
        lab_summary_create(&summary, store, &(lab_summary_filter){0}, NULL) != LOCUS_OK || open_few() != 0)
        return 1;
    keep_run();
    return 0;
}

static int close_store(void **state) {
    lab_runs_free(runs, run_count);
    lab_summary_free(&summary);
    lab_store_close(&store);
    lab_store_close(&few);
    cJSON_free(few_told);
    return scratch_remove(state);
}

static locus_status export_lines(locus_error *error) {
    const char *path = scratch_path("runs.csv");
    const locus_status status = lab_run_export_csv(store, runs, 3, path, error);
    assert_int_equal(unlink(path) == 0, status == LOCUS_OK);
    return status;
}

static locus_status export_events(locus_error *error) {
    const char *path = scratch_path("board");
    return lab_run_export_events(store, runs, 2, path, error);
}

/* What is made is whole. */
static locus_status make_summary(locus_error *error) {
    lab_summary made;
    const locus_status status = lab_summary_create(&made, few, &(lab_summary_filter){0}, error);
    if (status != LOCUS_OK)
        return status;
    allocator_disarm();
    char *told = told_of(&made);
    assert_string_equal(told, few_told);
    cJSON_free(told);
    lab_summary_free(&made);
    return status;
}

static locus_status show_summary(locus_error *error) {
    lab_shown shown = {0};
    locus_status status = lab_summary_show(&shown, &summary, error);
    if (status == LOCUS_OK)
        status = lab_shown_end(&shown, error);
    lab_shown_free(&shown);
    return status;
}

enum { FOLDS = 5 };
static double folded[FOLDS][256]; /* basis and parameters, where nothing fails */

static void expect_folded(double *wanted, const lab_folding *folding) {
    size_t at = 0;
    const bool first = wanted[0] == 0;
    assert_non_null(folding->target.binding);
    for (size_t t = 0; t <= folding->target.count; t++) {
        const locus_tensor *values = t < folding->target.count ? &folding->target.values[t] : NULL;
        const double *from = values ? values->data : folding->turn;
        const size_t count = values ? locus_tensor_count(values) : folding->shape.heads * 4 * 4;
        assert_true(at + count < sizeof folded[0] / sizeof folded[0][0]);
        if (first)
            memcpy(wanted + 1 + at, from, count * sizeof *from);
        assert_memory_equal(wanted + 1 + at, from, count * sizeof *from);
        at += count;
    }
    wanted[0] = 1;
}

static locus_status fold_one(size_t index, locus_error *error) {
    static const locus_shape shape = {.heads = 2, .head_dim = 4};
    static const struct {
        const char *spec;
        lab_folding_wish wish;
    } folds[FOLDS] = {{"alibi + rope(base=100, learned=on)", {.to = LAB_FOLD_ALGEBRAIC, .random_basis = true}},
                      {"alibi + rope(base=100, learned=on)", {.to = LAB_FOLD_ALGEBRAIC}},
                      {"rope(axes=2, order=chunked)", {.to = LAB_FOLD_ALGEBRAIC}},
                      {"alibi + algebraic(group=seq, init=random)", {.to = LAB_FOLD_ROTARY}},
                      {"algebraic(group=seq, heads=shared, decay=learned:0.9)", {.to = LAB_FOLD_ROTARY, .half = true}}};
    lab_bound source = {0};
    lab_folding folding;
    locus_status status = lab_bound_parse(&source, folds[index].spec, error);
    if (status == LOCUS_OK)
        status = lab_bound_open(&source, &shape, NULL, 4, error);
    if (status == LOCUS_OK) {
        status = lab_folding_open(&folding, &source, &folds[index].wish, error);
        if (status == LOCUS_OK)
            expect_folded(folded[index], &folding);
        lab_folding_close(&folding);
    }
    lab_bound_close(&source);
    return status;
}

static locus_status fold(locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < FOLDS && status == LOCUS_OK; i++)
        status = fold_one(i, error);
    return status;
}

static void expect_name(lab_store *of, const lab_train_config *config, const char *expected) {
    char name[256];
    assert_int_equal(lab_train_kept_name(of, config, name, sizeof name, NULL), LOCUS_OK);
    assert_string_equal(name, expected);
}

static void names_that_are_kept(void **state) {
    (void)state;
    char name[256];
    const lab_train_config same = dealt(2, 0), other = dealt(0, 2), plain = dealt(0, 0);
    lab_train_name(&same, name, sizeof name);
    assert_string_not_equal(name, earlier);
    expect_name(NULL, &same, name);
    expect_name(few, &same, name); /* which has no such run */
    expect_name(store, &same, earlier);
    lab_train_name(&other, name, sizeof name);
    expect_name(store, &other, name);
    lab_train_name(&plain, name, sizeof name);
    expect_name(store, &plain, name);
}

/* A training without memory to read it is not another one. */
static locus_status keep_name(locus_error *error) {
    char name[256];
    const lab_train_config config = dealt(2, 0);
    const locus_status status = lab_train_kept_name(store, &config, name, sizeof name, error);
    assert_true(status != LOCUS_OK || strcmp(name, earlier) == 0);
    return status;
}

static void every_failure(void **state) {
    static const struct {
        locus_status (*way)(locus_error *error);
        long least, stride; /* allocations that there are; one in so many fails, but for the first */
    } ways[] = {{export_lines, 3, 1},    {export_events, 10, 1}, {make_summary, 100, 1},
                {show_summary, 400, 41}, {fold, 20, 1},          {keep_name, 50, 1}};
    locus_error none;
    (void)state;
    if (fold(&none) != LOCUS_OK) /* what is to be compared with */
        fail_msg("%s", none.message);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        long point = 0, count = 0;
        for (bool failed = true; failed; point += point < 40 ? 1 : ways[i].stride) {
            locus_error error = {0};
            allocator_arm(point);
            const locus_status status = ways[i].way(&error);
            failed = allocator_disarm();
            const bool told = status == LOCUS_ERROR_MEMORY && error.message[0] != '\0';
            if (status != LOCUS_OK && !told)
                fail_msg("way %zu, allocation %ld: status %d, '%s'", i, point, (int)status, error.message);
            count += told;
        }
        if (point <= ways[i].least || count == 0)
            fail_msg("way %zu: %ld of %ld are told", i, count, point);
    }
}

int main(void) {
    allocator_texts = true;
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_that_are_kept), cmocka_unit_test(every_failure)};
    return cmocka_run_group_tests(tests, open_store, close_store);
}
