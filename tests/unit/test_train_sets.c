/* SPDX-License-Identifier: MIT */
/* How much of its sets a training reads: of a text all that there is to score unless fewer are asked for, but no more
 * to train on than it has; of problems as many as are asked for, or endlessly many. */
#include "task/problem.h"
#include "task/text_task.h"
#include "train/configuration/config.h"
#include "train/feed/train_data.h"
#include "train/train.h"
#include "unit/scratch_folder.h"
#include "unit/small_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static char folder[512]; /* sets of 300 tokens */

static int create(void **state) {
    return scratch_create(state) || small_text_create(folder, sizeof folder);
}

static lab_train_config config_of(const char *task, size_t sequence) {
    lab_train_config config;
    locus_error error;
    assert_int_equal(lab_train_config_budget(&config, lab_task_find(task), "smoke", LAB_SETUP_PAPER, &error), LOCUS_OK);
    config.data.path = folder;
    if (strcmp(task, "text") == 0)
        LAB_TEXT(&config.data)->sequence = sequence;
    else
        LAB_PROBLEMS(&config.data)->sequence = sequence;
    return config;
}

static lab_dataset set_of(const lab_train_config *config, lab_set which) {
    const lab_train_set_request request = lab_train_set_ask(config, which);
    lab_dataset set;
    locus_error error;
    if (lab_train_set(&set, config, &request, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return set;
}

/* Windows of 11 tokens share one with the next: 300 tokens make ⌈299 / 10⌉ = 30, of which the last has 10. */
static void test_text(void **state) {
    (void)state;
    lab_train_config config = config_of("text", 11);
    static const struct {
        size_t asked, scored;
    } cases[] = {{0, 30}, {1, 1}, {7, 7}, {29, 29}, {30, 30}, {31, 30}, {1000, 30}};
    int32_t tokens[16];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        config.dev_samples = config.test_samples = cases[i].asked;
        for (int which = LAB_SET_DEV; which <= LAB_SET_TEST; which++) {
            lab_dataset set = set_of(&config, (lab_set)which);
            assert_int_equal(set.samples, cases[i].scored);
            assert_int_equal(set.sequences.count, 30);
            assert_int_equal(set.sequences.read(&set.sequences, 0, tokens), 11);
            assert_int_equal(set.sequences.read(&set.sequences, 29, tokens), 10);
            assert_int_equal(tokens[0], 'a' + (290 * (which + 1) + 290 / 7) % 26); /* small_text.c */
            lab_dataset_destroy(&set);
        }
    }
    config.train_samples = 0;
    lab_dataset all = set_of(&config, LAB_SET_TRAIN);
    assert_int_equal(all.samples, 30);
    lab_dataset_destroy(&all);
    config.train_samples = 30;
    all = set_of(&config, LAB_SET_TRAIN);
    assert_int_equal(all.samples, 30);
    lab_dataset_destroy(&all);
    config.train_samples = 31;
    locus_error error;
    const lab_train_set_request request = lab_train_set_ask(&config, LAB_SET_TRAIN);
    assert_int_equal(lab_train_set(&all, &config, &request, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "31 sequences of 11 tokens: the train set in"));
    assert_non_null(strstr(error.message, "has 30"));
}

/* The default of the budget: a text's test set is scored whole. */
static void test_whole_by_default(void **state) {
    (void)state;
    const lab_train_config config = config_of("text", 129);
    assert_int_equal(config.test_samples, 0);
    lab_dataset set = set_of(&config, LAB_SET_TEST);
    assert_int_equal(set.samples, 3); /* ⌈299 / 128⌉ */
    lab_dataset_destroy(&set);
}

static void test_problems(void **state) {
    (void)state;
    static const char *const tasks[] = {"addition", "substring-index", "substring-search"};
    for (size_t i = 0; i < 3; i++) {
        lab_train_config config = config_of(tasks[i], 65);
        config.test_samples = 5;
        lab_dataset set = set_of(&config, LAB_SET_TEST);
        assert_int_equal(set.samples, 5);
        assert_true(set.sequences.count == 5 && set.sequences.length == 65);
        lab_dataset_destroy(&set);
        config.train_samples = 0;
        set = set_of(&config, LAB_SET_TRAIN);
        assert_int_equal(set.samples, 0);
        assert_true(set.sequences.count == UINT64_MAX);
        lab_dataset_destroy(&set);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_whole_by_default),
        cmocka_unit_test(test_problems),
    };
    return cmocka_run_group_tests(tests, create, scratch_remove);
}
