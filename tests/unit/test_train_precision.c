/* SPDX-License-Identifier: MIT */
/* Trainings with products and, where the library takes them, attentions of bfloat16, one of each architecture and kind
 * of task, and one whose attention is float32: killed and resumed, with one thread and
 * with two, they leave the same; losses are finite, go down, and begin close to those of float32, but are others. */
#include "model/architecture.h"
#include "sanitized.h"
#include "task/problem.h"
#include "task/text_task.h"
#include "text/token_file.h"
#include "train/configuration/config.h"
#include "unit/small_images.h"
#include "unit/training_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char images_path[128], text_path[128];

/* Every fourth token the same, so that something can be learned. */
static void write_tokens(const char *set, size_t count, uint32_t random) {
    int32_t *tokens = malloc(count * sizeof *tokens);
    char *path = lab_token_file_path(text_path, set);
    assert_non_null(tokens);
    for (size_t i = 0; i < count; i++) {
        random = random * 1664525u + 1013904223u;
        tokens[i] = i % 4 == 0 ? 3 : (int32_t)(4 + (random >> 28) % 5);
    }
    const lab_token_file_content content = {12, count, tokens, 2 * (count - 1)};
    assert_int_equal(lab_token_file_write(path, &content, NULL), LOCUS_OK);
    free(path);
    free(tokens);
}

static int setup(void **state) {
    if (training_setup(state) != 0)
        return 1;
    snprintf(images_path, sizeof images_path, "%s/images", training_folder());
    snprintf(text_path, sizeof text_path, "%s/text", training_folder());
    if (mkdir(images_path, 0777) != 0 || mkdir(text_path, 0777) != 0)
        return 1;
    small_images_write(images_path, 9, 30);
    write_tokens("train", 900, 1);
    write_tokens("dev", 120, 2);
    write_tokens("test", 200, 3);
    return 0;
}

/* 24 steps, on as many samples as one takes: what is learned shows. A sanitizer does not look at that: there they are
 * half as many. */
enum { STEPS = SANITIZED(12, 24) };

static lab_train_config tiny(const char *name, const char *encoding) {
    lab_train_config config;
    const lab_task *task = lab_task_find(name);
    const bool images = task->class->architecture == &lab_image_classifier, text = strcmp(name, "text") == 0;
    assert_int_equal(lab_train_config_budget(&config, task, "smoke", LAB_SETUP_PAPER, NULL), LOCUS_OK);
    config.encoding = encoding;
    config.budget = "custom";
    config.model.precision = LAB_BF16;
    config.model.dim = 40; /* not whole blocks of operands */
    config.model.heads = 2;
    config.model.feed_forward = 72;
    config.data.path = images ? images_path : text ? text_path : NULL;
    if (text)
        LAB_TEXT(&config.data)->sequence = 32;
    else if (task->open_sequences != NULL)
        LAB_PROBLEMS(&config.data)->sequence = 32;
    config.train_samples = config.train_samples > 0 ? 8 : 0;
    config.dev_samples = config.test_samples = 8;
    config.greedy_samples = config.greedy_samples > 0 ? 4 : 0;
    config.batch = 8;
    config.epochs = 0;
    config.steps = STEPS;
    config.evaluate_every = STEPS / 4;
    config.rate_peak = 3e-3;
    config.checkpoint_seconds = 0;
    return config;
}

/* train.loss of the first quarter of the steps, and of the last. */
typedef struct losses {
    double first, last;
} losses;

static losses losses_of(const char *name) {
    training_remains remains = training_look(name);
    assert_int_equal(remains.run.state, LAB_RUN_DONE);
    assert_int_equal(remains.counts[0], 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(isfinite(remains.metrics[0][i].value) && isfinite(remains.metrics[3][i].value));
    const losses found = {remains.metrics[0][0].value, remains.metrics[0][3].value};
    training_forget(&remains);
    return found;
}

static void check_case(const char *task, const char *encoding) {
    char whole[64], other[64];
    lab_train_config config = tiny(task, encoding);
    snprintf(whole, sizeof whole, "whole-%s", task);
    snprintf(other, sizeof other, "float32-%s", task);
    training_assert_resumes(&config, task);
    const losses bf16 = losses_of(whole);
    if (IS_SANITIZED)
        return; /* what is learned is nothing to a sanitizer */
    assert_true(bf16.last < bf16.first);
    config.model.precision = LAB_FLOAT32;
    const training_plan plan = {.config = config, .name = other, .threads = 1};
    assert_int_equal(training_run(&plan), LOCUS_OK);
    const losses float32 = losses_of(other);
    assert_true(bf16.first != float32.first);
    assert_true(fabs(bf16.first - float32.first) < 0.02 * float32.first);
}

#define CASE(name, task, encoding) \
    static void name(void **state) { \
        (void)state; \
        check_case(task, encoding); \
    }
CASE(test_words, "reverse", "rope")
CASE(test_content, "copy", "relative(window=8)")
CASE(test_trees, "tree-copy", "algebraic(group=tree:2, decay=0.98)")
CASE(test_images, "cifar10", "algebraic(group=grid:2)")
CASE(test_problems, "addition", "roper")
CASE(test_text, "text", "learned(size=40)")
CASE(test_expressions, "listops", "sinusoidal")

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),       cmocka_unit_test(test_content),  cmocka_unit_test(test_trees),
        cmocka_unit_test(test_images),      cmocka_unit_test(test_problems), cmocka_unit_test(test_text),
        cmocka_unit_test(test_expressions),
    };
    return cmocka_run_group_tests(tests, setup, training_teardown);
}
