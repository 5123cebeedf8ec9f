/* SPDX-License-Identifier: MIT */
/* Softmax cross-entropy and argmax: against double, at extreme logits, with ties, in ranges of rows. */
#include "nn/loss.h"
#include <locus/locus.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 40, CLASSES = 23 };

static double naive(const float *z, size_t target, double *softmax) {
    double total = 0.0;
    for (size_t j = 0; j < CLASSES; ++j)
        total += exp((double)z[j] - (double)z[target]);
    for (size_t j = 0; j < CLASSES; ++j)
        softmax[j] = exp((double)z[j] - (double)z[target]) / total;
    return log(total);
}

static void loss_and_gradient_match_double(void **state) {
    (void)state;
    float logits[ROWS * CLASSES], kept[ROWS * CLASSES];
    int32_t targets[ROWS];
    uint8_t correct[ROWS];
    locus_random random = {5, LOCUS_RANDOM_USER, 0};
    for (size_t i = 0; i < ROWS * CLASSES; ++i)
        logits[i] = kept[i] = (float)(4.0 * locus_random_normal(&random, i));
    for (size_t r = 0; r < ROWS; ++r)
        targets[r] = (int32_t)(r % CLASSES);
    memset(correct, 9, sizeof correct);
    double loss = 0.0, wanted = 0.0, softmax[CLASSES];
    lab_cross_entropy(
        &(lab_loss){.classes = CLASSES, .targets = targets, .scale = 0.25f, .logits = logits, .correct = correct},
        (lab_rows){2, ROWS - 5}, &loss);
    for (size_t r = 0; r < ROWS; ++r) {
        size_t target = (size_t)targets[r];
        bool inside = r >= 2 && r < ROWS - 3;
        double row = naive(kept + r * CLASSES, target, softmax);
        if (inside)
            wanted += row;
        assert_int_equal(correct[r], inside ? lab_argmax(CLASSES, kept + r * CLASSES) == target : 9);
        for (size_t j = 0; j < CLASSES; ++j) {
            double gradient = 0.25 * (softmax[j] - (j == target ? 1.0 : 0.0));
            double value = inside ? gradient : (double)kept[r * CLASSES + j];
            assert_true(fabs((double)logits[r * CLASSES + j] - value) < 1e-7);
        }
    }
    assert_true(fabs(loss - wanted) < 1e-5);
}

static void without_gradient_logits_stay(void **state) {
    (void)state;
    float logits[3] = {1e30f, -1e30f, 0.0f}, kept[3];
    memcpy(kept, logits, sizeof kept);
    int32_t target = 0;
    uint8_t correct = 0;
    double loss = 0.0;
    lab_cross_entropy(
        &(lab_loss){.classes = 3, .targets = &target, .scale = 0.0f, .logits = logits, .correct = &correct},
        (lab_rows){0, 1}, &loss);
    assert_true(loss == 0.0 && correct == 1);
    assert_memory_equal(kept, logits, sizeof kept);
    target = 2;
    lab_cross_entropy(
        &(lab_loss){.classes = 3, .targets = &target, .scale = 0.0f, .logits = logits, .correct = &correct},
        (lab_rows){0, 1}, &loss);
    assert_true(isfinite(loss) && loss > 9e29 && correct == 0);
}

static void a_logit_that_is_no_number_shows(void **state) {
    (void)state;
    float logits[4] = {0.0f, NAN, 1.0f, 2.0f};
    int32_t target = 3;
    uint8_t correct;
    double loss = 0.0;
    lab_cross_entropy(
        &(lab_loss){.classes = 4, .targets = &target, .scale = 1.0f, .logits = logits, .correct = &correct},
        (lab_rows){0, 1}, &loss);
    assert_true(isnan(loss));
}

static void the_first_of_equal_numbers_is_chosen(void **state) {
    (void)state;
    const float x[] = {1.0f, 3.0f, 3.0f, -2.0f};
    assert_int_equal(lab_argmax(4, x), 1);
    assert_int_equal(lab_argmax(1, x), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_and_gradient_match_double),
        cmocka_unit_test(without_gradient_logits_stay),
        cmocka_unit_test(a_logit_that_is_no_number_shows),
        cmocka_unit_test(the_first_of_equal_numbers_is_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
