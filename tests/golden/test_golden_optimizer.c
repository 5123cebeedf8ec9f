/* SPDX-License-Identifier: MIT */
/* AdamW, Adam with the decay in the gradient, clipping and rates that fall in stairs beside PyTorch's, step by step. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"
#include "train/optimizer.h"

static double number(const golden_file *golden, size_t index, const char *key) {
    return strtod(golden_text(golden, index, key), NULL);
}

static double whole_number(const golden_file *golden, const char *key) {
    const char *text = lab_safetensors_metadata(&golden->file, key);
    assert_non_null(text);
    return strtod(text, NULL);
}

static void follow(const golden_file *golden, size_t index) {
    const lab_array *gradients = golden_array(golden, index, "gradients"),
                    *after = golden_array(golden, index, "values");
    const size_t steps = (size_t)gradients->shape[0], elements = (size_t)gradients->shape[1];
    const double *rates = golden_array(golden, index, "rates")->data;
    lab_optimizer_config config = lab_optimizer_default();
    config.weight_decay = number(golden, index, "decay");
    config.clip = number(golden, index, "clip");
    config.decay = strcmp(golden_text(golden, index, "kind"), "coupled") == 0 ? LAB_DECAY_COUPLED : LAB_DECAY_DECOUPLED;
    const lab_schedule schedule = {.peak = number(golden, index, "rate"),
                                   .total = steps,
                                   .every = (uint64_t)whole_number(golden, "stair"),
                                   .factor = whole_number(golden, "factor")};
    lab_optimizer optimizer;
    float *values = malloc(elements * sizeof *values);
    assert_non_null(values);
    memcpy(values, golden_array(golden, index, "start")->data, elements * sizeof *values);
    assert_int_equal(lab_optimizer_create(&optimizer, &config, elements, NULL), LOCUS_OK);
    double worst = 0.0;
    for (size_t step = 0; step < steps; step++) {
        const float *gradient = (const float *)gradients->data + step * elements;
        const float *wanted = (const float *)after->data + step * elements;
        const double rate = lab_schedule_rate(&schedule, step);
        double norm;
        assert_true(fabs(rate - rates[step]) <= 1e-12 * rates[step]);
        assert_int_equal(lab_optimizer_step(&optimizer, rate, values, gradient, &norm, NULL), LOCUS_OK);
        for (size_t i = 0; i < elements; i++)
            worst = fmax(worst, fabs((double)values[i] - (double)wanted[i]));
    }
    if (worst > 3e-6)
        fail_msg("case %zu is off by %g", index, worst);
    lab_optimizer_destroy(&optimizer);
    free(values);
}

static void optimizers_are_pytorchs(void **state) {
    (void)state;
    golden_file golden;
    golden_open(&golden, "optimizer");
    for (size_t i = 0; i < golden.count; i++)
        follow(&golden, i);
    golden_close(&golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(optimizers_are_pytorchs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
