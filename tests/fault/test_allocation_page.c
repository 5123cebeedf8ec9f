/* SPDX-License-Identifier: MIT */
/* Every allocation of the parts of a page that look at trained models and draw charts fails once, one after another
 * (one in seven under a sanitizer): either it is told as MEMORY, or the part is the same to the byte. The runs are
 * trained here, two steps of each. */
#include "io/fail.h"
#include "io/file.h"
#include "io/json.h"
#include "page/page.h"
#include "page/report.h"
#include "sanitized.h"
#include "task/word_task.h"
#include "train/train.h"
#include "unit/scratch_folder.h"

#include <locus/parallel.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_allocator.h"

static lab_store *store;
static lab_summary summary;

#define OK(call) \
    do { \
        locus_error wrong = {0}; \
        if ((call) != LOCUS_OK) \
            fail_msg("%s: %s", #call, wrong.message); \
    } while (0)

/* ---- runs ---- */

static bool look(void *context, const lab_progress *progress) {
    (void)context, (void)progress;
    return true;
}

static void train(const char *task, const char *encoding, uint64_t seed) {
    char name[64];
    lab_run run = {0};
    lab_train_config config;
    OK(lab_train_config_budget(&config, lab_task_find(task), "smoke", LAB_SETUP_PAPER, &wrong));
    config.encoding = encoding;
    config.budget = "custom";
    config.seed = seed;
    config.model.dim = 8;
    config.model.heads = 2;
    config.model.feed_forward = 8;
    config.model.encoder_layers = config.model.decoder_layers = 1;
    config.train_samples = config.batch = 4;
    config.dev_samples = config.test_samples = 4;
    config.greedy_samples = 1;
    config.steps = 2;
    config.evaluate_every = 1;
    config.test_length_count = 1;
    config.test_lengths[0] = 9;
    if (strcmp(task, "copy") == 0) {
        LAB_WORDS(&config.data)->length_mean = 6;
        LAB_WORDS(&config.data)->length_deviation = 1;
    } else {
        config.test_length_count = 0;
    }
    snprintf(name, sizeof name, "%s-%c-%d", task, encoding[0], (int)seed);
    const lab_train_request request = {
        .config = config, .folder = scratch_path("."), .name = name, .command = "test", .progress = look};
    OK(lab_train(store, &request, &run, &wrong));
    lab_run_free(&run);
}

static int open_runs(void **state) {
    if (scratch_create(state) != 0)
        return -1;
    OK(lab_store_open(&store, scratch_path("locus.db"), &wrong));
    train("copy", "algebraic(decay=0.9) / none", 1);
    train("copy", "algebraic(decay=0.9) / none", 2);
    train("tree-copy", "algebraic(group=tree:2)", 1);
    OK(lab_summary_create(&summary, store, &(lab_summary_filter){0}, &wrong));
    assert_int_equal(summary.section_count, 2);
    return 0;
}

static int close_runs(void **state) {
    lab_summary_free(&summary);
    lab_store_close(&store);
    return scratch_remove(state);
}

/* ---- one failure after another ---- */

typedef locus_status part_function(lab_page *page, const lab_summary_section *section, size_t number,
                                   locus_error *error);

static char *write_part(part_function *part, const lab_summary_section *section, long point, bool *failed,
                        locus_status *status, locus_error *error) {
    char *text = NULL;
    size_t bytes = 0;
    const lab_report_options options = {.folder = scratch_path(".")};
    lab_page page = {.file = open_memstream(&text, &bytes), .store = store, .options = &options, .summary = &summary};
    assert_non_null(page.file);
    const size_t losses = lab_json_losses();
    if (point >= 0)
        allocator_arm(point);
    *status = part(&page, section, 1, error);
    *failed = point >= 0 && allocator_disarm();
    if (*status == LOCUS_OK && lab_json_losses() != losses) /* the whole page asks */
        *status = lab_fail_memory(error, "a page");
    assert_int_equal(fclose(page.file), 0);
    return text;
}

static void every_failure(part_function *part, const lab_summary_section *section, const char *has) {
    locus_error error = {0};
    locus_status status;
    bool failed;
    long point = 0;
    char *whole = write_part(part, section, -1, &failed, &status, &error);
    if (status != LOCUS_OK)
        fail_msg("%s", error.message);
    if (strstr(whole, has) == NULL)
        fail_msg("expected '%s' in: %s", has, whole);
    do {
        error = (locus_error){0};
        char *text = write_part(part, section, point, &failed, &status, &error);
        if (status != LOCUS_OK && (status != LOCUS_ERROR_MEMORY || error.message[0] == '\0'))
            fail_msg("%s, allocation %ld: status %d, \"%s\"", has, point, (int)status, error.message);
        if (status == LOCUS_OK && strcmp(text, whole) != 0)
            fail_msg("%s, allocation %ld: another part:\n%s", has, point, text);
        free(text);
        point += SANITIZED(7, 1);
    } while (failed);
    assert_true(point > 3);
    free(whole);
}

static const lab_summary_section *section_of(const char *task) {
    return &summary.sections[strcmp(summary.sections[0].task, task) == 0 ? 0 : 1];
}

static locus_status setting(lab_page *page, const lab_summary_section *section, size_t number, locus_error *error) {
    (void)number;
    return lab_page_setting(page, section, error);
}

static void test_words(void **state) {
    (void)state;
    const lab_summary_section *section = section_of("copy");
    every_failure(lab_page_kernels, section, "Drawn is the first layer's encoding. The score is multiplied by 0.9 ");
    every_failure(lab_page_curves, section, "Learning curves");
    every_failure(lab_page_lengths, section, "against");
    every_failure(setting, section, "<dt>Training");
}

static void test_trees(void **state) {
    (void)state;
    const lab_summary_section *section = section_of("tree-copy");
    every_failure(lab_page_angles, section, "rope’s frequencies");
    every_failure(lab_page_bins, section, "depth");
}

/* All of it, of which one allocation in `STRIDE` fails: then there is no file. */
static void test_whole(void **state) {
    enum { STRIDE = SANITIZED(211, 37) };
    (void)state;
    const lab_report_options options = {.folder = scratch_path("."), .title = "whole", .command = "test"};
    char path[1024], *whole = NULL;
    size_t bytes;
    bool failed = true;
    snprintf(path, sizeof path, "%s", scratch_path("whole.html"));
    OK(lab_report_write(store, &options, path, &wrong));
    OK(lab_file_read(path, &whole, &bytes, &wrong));
    assert_int_equal(unlink(path), 0);
    const size_t files = scratch_count();
    for (long point = 0; failed; point += STRIDE) {
        locus_error error = {0};
        char *written = NULL;
        allocator_arm(point);
        const locus_status status = lab_report_write(store, &options, path, &error);
        failed = allocator_disarm();
        if (status == LOCUS_OK) {
            OK(lab_file_read(path, &written, &bytes, &wrong));
            if (strcmp(written, whole) != 0)
                fail_msg("allocation %ld: another page", point);
            free(written);
            assert_int_equal(unlink(path), 0);
        } else if (status != LOCUS_ERROR_MEMORY || error.message[0] == '\0') {
            fail_msg("allocation %ld: status %d, \"%s\"", point, (int)status, error.message);
        }
        assert_int_equal(scratch_count(), files);
    }
    free(whole);
}

int main(void) {
    allocator_texts = true;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words), cmocka_unit_test(test_trees),
                                       cmocka_unit_test(test_whole)};
    if (locus_threads_set(1) != LOCUS_OK) /* which allocation fails must not depend on how they run */
        return 1;
    return cmocka_run_group_tests(tests, open_runs, close_runs);
}
