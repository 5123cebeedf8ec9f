/* SPDX-License-Identifier: MIT */
/* Linear layers on few rows against a plain loop in double: below, at and above the sizes at which another way is
 * taken, panels that don't divide the outputs, with and without bias; what stands behind the last row stays; the bits
 * don't depend on the number of threads. */
#include "nn/linear.h"
#include "threads_only.h"
#include <locus/locus.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BEHIND = 40 };
static const float untouched = 12345.0f;

typedef struct layer {
    lab_linear linear;
    size_t rows;
    float *x, *y;
} layer;

static float *drawn(size_t count, uint32_t purpose) {
    const locus_random random = {11, LOCUS_RANDOM_USER + purpose, 0};
    float *data = malloc((count + 1) * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < count; ++i)
        data[i] = (float)(2.0 * locus_random_uniform(&random, i) - 1.0);
    return data;
}

static layer layer_make(size_t rows, size_t outputs, size_t inputs) {
    layer l = {.linear = {.inputs = inputs, .outputs = outputs}, .rows = rows};
    l.linear.weight = drawn(outputs * inputs, 1);
    l.linear.bias = drawn(outputs, 2);
    l.x = drawn(rows * inputs, 3);
    l.y = malloc((rows * outputs + BEHIND) * sizeof *l.y);
    assert_non_null(l.y);
    for (size_t i = 0; i < rows * outputs + BEHIND; ++i)
        l.y[i] = untouched;
    return l;
}

static void layer_free(layer *l) {
    free(l->linear.weight);
    free(l->linear.bias);
    free(l->x);
    free(l->y);
}

static double wanted(const layer *l, size_t row, size_t output, bool bias) {
    double sum = bias ? (double)l->linear.bias[output] : 0.0;
    for (size_t i = 0; i < l->linear.inputs; ++i)
        sum += (double)l->x[row * l->linear.inputs + i] * (double)l->linear.weight[output * l->linear.inputs + i];
    return sum;
}

static void layer_check(const layer *l, bool bias) {
    const double tolerance = 1e-6 * (sqrt((double)l->linear.inputs) + 2.0);
    for (size_t r = 0; r < l->rows; ++r)
        for (size_t j = 0; j < l->linear.outputs; ++j)
            assert_true(fabs((double)l->y[r * l->linear.outputs + j] - wanted(l, r, j, bias)) <= tolerance);
    for (size_t i = 0; i < BEHIND; ++i)
        assert_true(l->y[l->rows * l->linear.outputs + i] == untouched);
}

static void few_rows_match_plain_loops(void **state) {
    static const size_t rows[] = {1, 2, 7, 8, 9, 31, 64, 65, 130}, outputs[] = {1, 20, 128, 256, 257, 300, 1100},
                        inputs[] = {1, 33, 64};
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r)
        for (size_t o = 0; o < sizeof outputs / sizeof *outputs; ++o)
            for (size_t i = 0; i < sizeof inputs / sizeof *inputs; ++i) {
                layer l = layer_make(rows[r], outputs[o], inputs[i]);
                lab_linear_multiply_few(&l.linear, l.rows, lab_floats(l.x), lab_floats(l.y));
                layer_check(&l, false);
                lab_linear_forward_few(&l.linear, l.rows, lab_floats(l.x), lab_floats(l.y));
                layer_check(&l, true);
                layer_free(&l);
            }
}

static void no_bias_is_none(void **state) {
    layer l = layer_make(3, 40, 24);
    (void)state;
    float *bias = l.linear.bias;
    l.linear.bias = NULL;
    lab_linear_forward_few(&l.linear, l.rows, lab_floats(l.x), lab_floats(l.y));
    layer_check(&l, false);
    l.linear.bias = bias;
    layer_free(&l);
}

static void threads_do_not_matter(void **state) {
    static const size_t rows[] = {1, 8, 40, 100};
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r) {
        layer l = layer_make(rows[r], 900, 70);
        const size_t bytes = rows[r] * 900 * sizeof *l.y;
        float *first = malloc(bytes);
        assert_non_null(first);
        for (size_t threads = 1; threads <= 4; ++threads) {
            assert_int_equal(locus_threads_set(threads), LOCUS_OK);
            lab_linear_forward_few(&l.linear, l.rows, lab_floats(l.x), lab_floats(l.y));
            if (threads == 1)
                memcpy(first, l.y, bytes);
            assert_memory_equal(first, l.y, bytes);
        }
        free(first);
        layer_free(&l);
    }
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_rows_match_plain_loops),
        cmocka_unit_test(no_bias_is_none),
        cmocka_unit_test(threads_do_not_matter),
    };
    threads_only("threads_do_not_matter");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
