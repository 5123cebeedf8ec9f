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

/* ---- many classes ---- */

enum { MANY = 8001 };

/* Wanted loss and gradient of one row, in double. */
static double many_naive(const float *z, size_t classes, const lab_loss *call, double *gradient) {
    const size_t target = (size_t)*call->targets;
    const double smoothing = (double)call->smoothing;
    double total = 0.0, mean = 0.0;
    for (size_t j = 0; j < classes; ++j) {
        total += exp((double)z[j] - (double)z[target]);
        mean += (double)z[j] / (double)classes;
    }
    for (size_t j = 0; j < classes; ++j)
        gradient[j] = (double)call->scale * (exp((double)z[j] - (double)z[target]) / total -
                                             (j == target ? 1.0 - smoothing : 0.0) - smoothing / (double)classes);
    return log(total) + smoothing * ((double)z[target] - mean);
}

static void check_many(size_t classes, float smoothing, float size) {
    static float logits[MANY], kept[MANY];
    static double gradient[MANY];
    const locus_random random = {6, LOCUS_RANDOM_USER, (uint32_t)classes};
    const int32_t target = (int32_t)(classes / 3);
    uint8_t correct;
    double loss = 0.0, plain = 0.0;
    size_t best = 0;
    for (size_t j = 0; j < classes; ++j)
        logits[j] = kept[j] = (float)((double)size * locus_random_normal(&random, j));
    for (size_t j = 0; j < classes; ++j)
        best = kept[j] > kept[best] ? j : best;
    assert_int_equal(lab_argmax(classes, kept), best);
    lab_loss call = {
        .classes = classes, .targets = &target, .smoothing = smoothing, .logits = logits, .correct = &correct};
    lab_cross_entropy(&call, (lab_rows){0, 1}, &plain);
    assert_memory_equal(logits, kept, classes * sizeof *kept);
    call.scale = 0.5f;
    lab_cross_entropy(&call, (lab_rows){0, 1}, &loss);
    const double wanted = many_naive(kept, classes, &call, gradient);
    assert_int_equal(correct, best == (size_t)target);
    assert_true(plain == loss && fabs(loss - wanted) < 2e-6 * (1.0 + wanted));
    for (size_t j = 0; j < classes; ++j)
        assert_true(fabs((double)logits[j] - gradient[j]) <
                    1e-9 + 2e-6 * fabs(gradient[j]) + (j == (size_t)target) * 1e-7);
}

static void many_classes_match_double(void **state) {
    (void)state;
    static const size_t counts[] = {127, 128, 129, 143, 511, 512, 513, 1111, MANY};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        check_many(counts[i], 0.0f, 1.0f);
        check_many(counts[i], 0.1f, 4.0f);
        check_many(counts[i], 0.0f, 60.0f); /* most weights vanish */
    }
}

static void many_classes_have_a_first_and_show_what_is_no_number(void **state) {
    (void)state;
    static float x[MANY];
    const int32_t target = 5;
    uint8_t correct;
    for (size_t j = 0; j < MANY; ++j)
        x[j] = -2.0f;
    assert_int_equal(lab_argmax(MANY, x), 0);
    x[7000] = x[MANY - 1] = 1.0f;
    assert_int_equal(lab_argmax(MANY, x), 7000);
    x[900] = 1.0f;
    assert_int_equal(lab_argmax(MANY, x), 900);
    for (size_t at = 0; at < 3; ++at) {
        double loss = 0.0;
        x[at * 4000] = NAN;
        lab_cross_entropy(
            &(lab_loss){.classes = MANY, .targets = &target, .scale = 0.0f, .logits = x, .correct = &correct},
            (lab_rows){0, 1}, &loss);
        assert_true(isnan(loss));
        x[at * 4000] = -2.0f;
    }
}

/* One row of many classes: every number 0 but some; its loss. With `scale` the numbers become gradients. */
static double many_loss(float *x, size_t at, float number, int32_t target, float scale) {
    uint8_t correct;
    double loss = 0.0;
    memset(x, 0, MANY * sizeof *x);
    x[at] = number;
    lab_cross_entropy(
        &(lab_loss){.classes = MANY, .targets = &target, .scale = scale, .logits = x, .correct = &correct},
        (lab_rows){0, 1}, &loss);
    return loss;
}

/* Infinite and huge logits: a class of −∞ has no weight, one of +∞ is no distribution; a number that is none may have
 * any bits behind its sign and exponent. */
static void many_classes_at_the_ends_of_numbers(void **state) {
    (void)state;
    static float x[MANY];
    const uint32_t odd_bits = 0x7fc000ffu;
    float odd;
    memcpy(&odd, &odd_bits, sizeof odd);
    assert_true(fabs(many_loss(x, 700, -INFINITY, 3, 0.0f) - log(MANY - 1.0)) < 1e-6);
    assert_true(fabs(many_loss(x, 700, -INFINITY, 3, 1.0f) - log(MANY - 1.0)) < 1e-6);
    assert_true(fabsf(x[700]) < 1e-37f && fabs((double)x[0] - 1.0 / (MANY - 1.0)) < 1e-9);
    assert_true(isinf(many_loss(x, 3, -INFINITY, 3, 0.0f)));
    assert_true(isnan(many_loss(x, 700, INFINITY, 700, 0.0f)));
    assert_true(isnan(many_loss(x, 700, odd, 3, 0.0f)));
    assert_true(many_loss(x, 700, 3e38f, 700, 1.0f) < 1e-30);
    assert_true(fabsf(x[700]) < 1e-6f && fabsf(x[0]) < 1e-30f);
    assert_true(fabs(many_loss(x, 700, 3e38f, 3, 0.0f) - 3e38) < 1e32);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_and_gradient_match_double),
        cmocka_unit_test(without_gradient_logits_stay),
        cmocka_unit_test(a_logit_that_is_no_number_shows),
        cmocka_unit_test(the_first_of_equal_numbers_is_chosen),
        cmocka_unit_test(many_classes_match_double),
        cmocka_unit_test(many_classes_have_a_first_and_show_what_is_no_number),
        cmocka_unit_test(many_classes_at_the_ends_of_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
