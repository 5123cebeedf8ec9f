/* SPDX-License-Identifier: MIT */
/* Every allocation of what is made of a store's runs and of an encoding that is folded fails once, one after another:
 * it is told as MEMORY, or done without what is only kept for the next time; nothing leaks (address sanitizer). */
#include "fold/folding.h"
#include "golden/planted_store.h"
#include "report/tables/summary.h"
#include "train/store/run_export.h"

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

static lab_store *store;
static lab_run *runs;
static size_t run_count;
static lab_summary summary;

static int open_store(void **state) {
    if (scratch_create(state) != 0)
        return 1;
    planted_store_open(&store, scratch_path("locus.db"));
    return lab_store_runs(store, NULL, &runs, &run_count, NULL) != LOCUS_OK || run_count < 4 ||
           lab_summary_create(&summary, store, &(lab_summary_filter){0}, NULL) != LOCUS_OK;
}

static int close_store(void **state) {
    lab_runs_free(runs, run_count);
    lab_summary_free(&summary);
    lab_store_close(&store);
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

static locus_status show_summary(locus_error *error) {
    lab_shown shown = {0};
    locus_status status = lab_summary_show(&shown, &summary, error);
    if (status == LOCUS_OK)
        status = lab_shown_end(&shown, error);
    lab_shown_free(&shown);
    return status;
}

static locus_status fold(locus_error *error) {
    static const locus_shape shape = {.heads = 2, .head_dim = 4};
    static const lab_folding_wish wish = {.to = LAB_FOLD_ALGEBRAIC, .random_basis = true};
    lab_bound source = {0};
    lab_folding folding;
    locus_status status = lab_bound_parse(&source, "alibi + rope(base=100, learned=on)", error);
    if (status == LOCUS_OK)
        status = lab_bound_open(&source, &shape, NULL, 4, error);
    if (status == LOCUS_OK) {
        status = lab_folding_open(&folding, &source, &wish, error);
        lab_folding_close(&folding);
    }
    lab_bound_close(&source);
    return status;
}

static void every_failure(void **state) {
    static const struct {
        locus_status (*way)(locus_error *error);
        long least, stride; /* allocations that there are; one in so many fails, but for the first */
    } ways[] = {{export_lines, 3, 1}, {export_events, 10, 1}, {show_summary, 400, 41}, {fold, 20, 1}};
    (void)state;
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_failure)};
    return cmocka_run_group_tests(tests, open_store, close_store);
}
