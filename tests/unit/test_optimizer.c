/* SPDX-License-Identifier: MIT */
/* AdamW against the same formulas in double, step by step; clipping, norms, refusals; the learning rate's schedule. */
#include "threads_only.h"
#include "train/optimizer.h"
#include <locus/locus.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 70001, STEPS = 12 };
static float values[COUNT], gradients[COUNT];
static double w[COUNT], m[COUNT], v[COUNT];

static void draw(uint32_t step) {
    locus_random random = {9, LOCUS_RANDOM_USER, step};
    for (size_t i = 0; i < COUNT; ++i)
        gradients[i] = (float)((0.01 + (double)(i % 5)) * locus_random_normal(&random, i));
}

static double reference_step(const lab_optimizer_config *c, double rate, double t) {
    double norm = 0.0;
    for (size_t i = 0; i < COUNT; ++i)
        norm += (double)gradients[i] * (double)gradients[i];
    norm = sqrt(norm);
    double scale = c->clip > 0.0 && norm > c->clip ? c->clip / norm : 1.0;
    for (size_t i = 0; i < COUNT; ++i) {
        const bool coupled = c->decay == LAB_DECAY_COUPLED;
        double g = scale * (double)gradients[i] + (coupled ? c->weight_decay * w[i] : 0.0);
        w[i] -= coupled ? 0.0 : rate * c->weight_decay * w[i];
        m[i] = c->beta1 * m[i] + (1.0 - c->beta1) * g;
        v[i] = c->beta2 * v[i] + (1.0 - c->beta2) * g * g;
        double root = sqrt(v[i]) / sqrt(1.0 - pow(c->beta2, t)) + c->epsilon;
        w[i] -= rate / (1.0 - pow(c->beta1, t)) * m[i] / root;
    }
    return norm;
}

static void follow(double clip, lab_decay_kind decay, double weight_decay) {
    lab_optimizer_config config = lab_optimizer_default();
    lab_optimizer optimizer;
    config.clip = clip;
    config.decay = decay;
    config.weight_decay = weight_decay;
    assert_int_equal(lab_optimizer_create(&optimizer, &config, COUNT, NULL), LOCUS_OK);
    memset(m, 0, sizeof m);
    memset(v, 0, sizeof v);
    for (size_t i = 0; i < COUNT; ++i)
        w[i] = values[i] = (float)(i % 11) - 5.0f;
    for (uint32_t step = 1; step <= STEPS; ++step) {
        double norm = 0.0, rate = 0.01 * step;
        draw(step);
        double wanted = reference_step(&config, rate, (double)step);
        assert_int_equal(lab_optimizer_step(&optimizer, rate, values, gradients, &norm, NULL), LOCUS_OK);
        assert_true(fabs(norm - wanted) < 1e-9 * wanted);
        assert_int_equal(optimizer.step, step);
    }
    for (size_t i = 0; i < COUNT; ++i) {
        assert_true(fabs((double)values[i] - w[i]) < 2e-5);
        assert_true(fabs((double)optimizer.first[i] - m[i]) < 1e-5);
        assert_true(fabs((double)optimizer.second[i] - v[i]) < 1e-5);
    }
    lab_optimizer_destroy(&optimizer);
    assert_null(optimizer.first);
}

static void steps_follow_the_formulas(void **state) {
    (void)state;
    follow(0.0, LAB_DECAY_DECOUPLED, 0.01);
    follow(1.0, LAB_DECAY_DECOUPLED, 0.01);
    follow(0.0, LAB_DECAY_COUPLED, 0.5);
    follow(0.0, LAB_DECAY_COUPLED, 0.0);
    follow(1.0, LAB_DECAY_COUPLED, 1e-3);
}

static void gradients_that_are_not_finite_change_nothing(void **state) {
    (void)state;
    lab_optimizer_config config = lab_optimizer_default();
    lab_optimizer optimizer;
    assert_int_equal(lab_optimizer_create(&optimizer, &config, COUNT, NULL), LOCUS_OK);
    draw(1);
    static float before[COUNT];
    memcpy(before, values, sizeof values);
    const float bad[] = {NAN, INFINITY};
    for (size_t i = 0; i < 2; ++i) {
        locus_error error;
        double norm;
        gradients[COUNT - 1] = bad[i];
        assert_int_equal(lab_optimizer_step(&optimizer, 0.1, values, gradients, &norm, &error), LOCUS_ERROR_NUMERIC);
        assert_int_equal(optimizer.step, 0);
        assert_memory_equal(before, values, sizeof values);
        assert_non_null(strstr(error.message, "not finite"));
    }
    gradients[COUNT - 1] = 3e38f; /* its square is not a float */
    double norm;
    assert_int_equal(lab_optimizer_step(&optimizer, 0.1, values, gradients, &norm, NULL), LOCUS_OK);
    assert_true(fabs(norm / 3e38 - 1.0) < 1e-6);
    lab_optimizer_destroy(&optimizer);
}

static void threads_do_not_change_bits(void **state) {
    (void)state;
    static float kept[COUNT];
    for (size_t run = 0; run < 2; ++run) {
        lab_optimizer_config config = lab_optimizer_default();
        lab_optimizer optimizer;
        double norm;
        config.clip = 0.5;
        assert_int_equal(locus_threads_set(run == 0 ? 1 : 4), LOCUS_OK);
        assert_int_equal(lab_optimizer_create(&optimizer, &config, COUNT, NULL), LOCUS_OK);
        for (size_t i = 0; i < COUNT; ++i)
            values[i] = 1.0f;
        draw(3);
        assert_int_equal(lab_optimizer_step(&optimizer, 0.1, values, gradients, &norm, NULL), LOCUS_OK);
        if (run == 0)
            memcpy(kept, values, sizeof values);
        lab_optimizer_destroy(&optimizer);
    }
    assert_memory_equal(kept, values, sizeof values);
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
}

static void bad_settings_are_refused(void **state) {
    (void)state;
    /* beta1, beta2, epsilon, weight decay, clip: each as low as it may be, lower, and no number; betas at 1, too. */
    for (size_t i = 0; i < 5; i++) {
        const double tried[4] = {0.0, -1e-9, (double)NAN, 1.0};
        const locus_status other = i < 2 ? LOCUS_ERROR_ARGUMENT : LOCUS_OK;
        const locus_status wanted[4] = {LOCUS_OK, LOCUS_ERROR_ARGUMENT, LOCUS_ERROR_ARGUMENT, other};
        for (size_t t = 0; t < 4; t++) {
            lab_optimizer optimizer;
            lab_optimizer_config config = lab_optimizer_default();
            locus_error error = {0};
            double *const settings[5] = {&config.beta1, &config.beta2, &config.epsilon, &config.weight_decay,
                                         &config.clip};
            *settings[i] = tried[t];
            assert_int_equal(lab_optimizer_create(&optimizer, &config, 4, &error), wanted[t]);
            assert_int_equal(optimizer.first != NULL, wanted[t] == LOCUS_OK);
            if (wanted[t] != LOCUS_OK)
                assert_string_equal(error.argument, i < 2 ? "beta" : "optimizer");
            lab_optimizer_destroy(&optimizer);
        }
    }
}

static void schedule_rises_and_falls(void **state) {
    (void)state;
    lab_schedule s = {.initial = 1e-7, .peak = 5e-4, .final = 1e-9, .warmup = 100, .total = 1100};
    assert_true(lab_schedule_rate(&s, 0) == 1e-7);
    assert_true(fabs(lab_schedule_rate(&s, 50) - (1e-7 + (5e-4 - 1e-7) / 2)) < 1e-12);
    assert_true(lab_schedule_rate(&s, 100) == 5e-4);
    assert_true(fabs(lab_schedule_rate(&s, 600) - (5e-4 + 1e-9) / 2) < 1e-12);
    assert_true(lab_schedule_rate(&s, 1100) == 1e-9 && lab_schedule_rate(&s, 999999) == 1e-9);
    for (uint64_t step = 101; step < 1100; ++step)
        assert_true(lab_schedule_rate(&s, step) < lab_schedule_rate(&s, step - 1));
    lab_schedule flat = {.initial = 1.0, .peak = 1.0, .final = 1.0, .warmup = 0, .total = 0};
    assert_true(lab_schedule_rate(&flat, 0) == 1.0);
}

/* A tenth every 6 steps behind a warm-up of 4. */
static void stairs_fall(void **state) {
    (void)state;
    const lab_schedule s = {
        .initial = 0.0, .peak = 1e-3, .final = 7.0, .warmup = 4, .total = 20, .every = 6, .factor = 0.1};
    for (uint64_t step = 0; step < 4; ++step)
        assert_true(fabs(lab_schedule_rate(&s, step) - 1e-3 * (double)step / 4.0) < 1e-18);
    static const double wanted[] = {1e-3, 1e-4, 1e-5, 1e-6};
    for (uint64_t step = 4; step < 28; ++step)
        assert_true(fabs(lab_schedule_rate(&s, step) / wanted[(step - 4) / 6] - 1.0) < 1e-12);
    const lab_schedule each = {.peak = 8.0, .total = 20, .every = 1, .factor = 0.5}; /* and no warm-up */
    for (uint64_t step = 0; step < 24; ++step)
        assert_true(fabs(lab_schedule_rate(&each, step) / ldexp(8.0, -(int)step) - 1.0) < 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_follow_the_formulas),  cmocka_unit_test(gradients_that_are_not_finite_change_nothing),
        cmocka_unit_test(threads_do_not_change_bits), cmocka_unit_test(bad_settings_are_refused),
        cmocka_unit_test(schedule_rises_and_falls),   cmocka_unit_test(stairs_fall),
    };
    threads_only("threads_do_not_change_bits");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
