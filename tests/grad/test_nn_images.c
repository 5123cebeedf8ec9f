/* SPDX-License-Identifier: MIT */
/* The image model's layers against the same layers written anew in double: values, and gradients by central differences
 * of the double version. What the pooling has found is compared where no two candidates are closer than rounding. */
#include "nn/activation.h"
#include "nn/convolution.h"
#include "nn/loss.h"
#include "nn/pooling.h"
#include <locus/random.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STEP 1e-5

static void fill(float *x, size_t count, uint32_t purpose) {
    locus_random random = {31, LOCUS_RANDOM_USER + purpose, 0};
    for (size_t i = 0; i < count; ++i)
        x[i] = (float)locus_random_normal(&random, i);
}

static void widen(double *to, const float *from, size_t count) {
    for (size_t i = 0; i < count; ++i)
        to[i] = (double)from[i];
}

typedef double scalar_function(void);

static void check_gradient(const char *name, scalar_function *function, double *input, const float *gradient,
                           size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const double kept = input[i];
        input[i] = kept + STEP;
        const double up = function();
        input[i] = kept - STEP;
        const double down = function();
        input[i] = kept;
        const double wanted = (up - down) / (2.0 * STEP), error = fabs(wanted - (double)gradient[i]);
        if (!(error <= 2e-5 * (1.0 + fabs(wanted))))
            fail_msg("%s[%zu]: gradient %g, differences %g", name, i, (double)gradient[i], wanted);
    }
}

/* ---- convolution, ReLU, max-pool ---- */

/* Side 12: the convolution gives 10 rows, of which 9 fill windows. */
enum { IMAGES = 3, CHANNELS = 2, SIDE = 12, FILTERS = 21, GRID = 3, TOKENS = IMAGES * GRID * GRID };
enum { PIXELS = IMAGES * CHANNELS * SIDE * SIDE, WEIGHTS = FILTERS * CHANNELS * 9 };
static double conv_pixels[PIXELS], conv_weight[WEIGHTS], conv_out[TOKENS * FILTERS], conv_sum[TOKENS * FILTERS];

static double response(size_t image, size_t filter, size_t row, size_t column) {
    double total = 0.0;
    for (size_t c = 0; c < CHANNELS; ++c)
        for (size_t r = 0; r < 3; ++r)
            for (size_t k = 0; k < 3; ++k)
                total += conv_pixels[((image * CHANNELS + c) * SIDE + row + r) * SIDE + column + k] *
                         conv_weight[(filter * CHANNELS + c) * 9 + 3 * r + k];
    return total;
}

static double convolution_value(void) {
    double total = 0.0;
    for (size_t t = 0; t < TOKENS; ++t)
        for (size_t f = 0; f < FILTERS; ++f) {
            const size_t image = t / (GRID * GRID), row = t / GRID % GRID, column = t % GRID;
            double best = 0.0;
            for (size_t k = 0; k < 9; ++k)
                best = fmax(best, response(image, f, 3 * row + k / 3, 3 * column + k % 3));
            conv_out[t * FILTERS + f] = best;
            total += best * conv_sum[t * FILTERS + f];
        }
    return total;
}

static void test_convolution(void **state) {
    (void)state;
    static float pixels[PIXELS], weight[WEIGHTS], tokens[TOKENS * FILTERS], gradient[TOKENS * FILTERS], sum[WEIGHTS];
    static uint8_t places[TOKENS * FILTERS];
    fill(pixels, PIXELS, 1), fill(weight, WEIGHTS, 2), fill(gradient, TOKENS * FILTERS, 3);
    widen(conv_pixels, pixels, PIXELS), widen(conv_weight, weight, WEIGHTS);
    widen(conv_sum, gradient, TOKENS * FILTERS);
    const lab_convolution c = {.channels = CHANNELS, .side = SIDE, .filters = FILTERS, .weight = weight};
    assert_int_equal(lab_convolution_grid(SIDE), GRID);
    assert_int_equal(lab_convolution_grid(32), 10);
    static const size_t few[] = {0, 0, 0, 0, 0, 1, 1, 1, 2}; /* of no window up to two along a side */
    for (size_t side = 0; side < sizeof few / sizeof *few; side++)
        assert_int_equal(lab_convolution_grid(side), few[side]);
    float *scratch = malloc(lab_convolution_scratch(&c) * sizeof *scratch);
    assert_non_null(scratch);
    lab_convolution_forward(&c, (lab_rows){0, 2}, pixels, tokens, places, scratch);
    lab_convolution_forward(&c, (lab_rows){2, 1}, pixels, tokens, places, scratch);
    (void)convolution_value();
    for (size_t i = 0; i < TOKENS * FILTERS; ++i) {
        assert_true(fabs((double)tokens[i] - conv_out[i]) < 1e-5);
        assert_int_equal(places[i] == LAB_POOL_NOWHERE, !(tokens[i] > 0.0f));
    }
    lab_convolution_backward(&c, (lab_rows){0, 1}, pixels, places, gradient, sum, scratch);
    lab_convolution_backward(&c, (lab_rows){1, 2}, pixels, places, gradient, sum, scratch);
    check_gradient("convolution.weight", convolution_value, conv_weight, sum, WEIGHTS);
    static float again[TOKENS * FILTERS]; /* without places, the same tokens */
    lab_convolution_forward(&c, (lab_rows){0, IMAGES}, pixels, again, NULL, scratch);
    assert_memory_equal(again, tokens, sizeof tokens);
    free(scratch);
}

/* Of equal values a window's first is the one that the gradient goes to; what is not positive is none. */
static void test_ties(void **state) {
    (void)state;
    static float pixels[PIXELS], weight[WEIGHTS], tokens[TOKENS * FILTERS];
    static uint8_t places[TOKENS * FILTERS];
    for (size_t i = 0; i < PIXELS; ++i)
        pixels[i] = 0.5f;
    for (size_t i = 0; i < WEIGHTS; ++i)
        weight[i] = i / (CHANNELS * 9) % 2 == 0 ? 0.25f : -0.25f;
    const lab_convolution c = {.channels = CHANNELS, .side = SIDE, .filters = FILTERS, .weight = weight};
    float *scratch = malloc(lab_convolution_scratch(&c) * sizeof *scratch);
    assert_non_null(scratch);
    lab_convolution_forward(&c, (lab_rows){0, IMAGES}, pixels, tokens, places, scratch);
    for (size_t i = 0; i < TOKENS * FILTERS; ++i) {
        assert_int_equal(places[i], i % FILTERS % 2 == 0 ? 0 : LAB_POOL_NOWHERE);
        assert_true(tokens[i] == (i % FILTERS % 2 == 0 ? 0.125f * CHANNELS * 9 : 0.0f));
    }
    free(scratch);
}

/* ---- GELU ---- */

enum { ROWS = 5, COLUMNS = 1300 };
static double gelu_u[ROWS * COLUMNS], gelu_weights[ROWS * COLUMNS], gelu_keep[ROWS * COLUMNS], gelu_shift[COLUMNS];

static double gelu_exact(double x) {
    return 0.5 * x * erfc(-x / sqrt(2.0));
}

static double gelu_value(void) {
    double total = 0.0;
    for (size_t i = 0; i < ROWS * COLUMNS; ++i)
        total += gelu_weights[i] * gelu_keep[i] * gelu_exact(gelu_u[i] + gelu_shift[i % COLUMNS]);
    return total;
}

/* Of one number: central differences of a sum over thousands would cost digits. */
static void check_gelu_slopes(const float *gradient) {
    for (size_t i = 0; i < ROWS * COLUMNS; ++i) {
        const double x = gelu_u[i] + gelu_shift[i % COLUMNS];
        const double slope = (gelu_exact(x + STEP) - gelu_exact(x - STEP)) / (2.0 * STEP);
        assert_true(fabs(gelu_weights[i] * gelu_keep[i] * slope - (double)gradient[i]) <
                    1e-6 * (1.0 + fabs(gelu_weights[i])));
    }
}

static void test_gelu(void **state) {
    (void)state;
    static float u[ROWS * COLUMNS], h[ROWS * COLUMNS], g[ROWS * COLUMNS], bias[COLUMNS], sum[COLUMNS],
        ones[ROWS * COLUMNS], kept[ROWS * COLUMNS];
    static const float nothing[COLUMNS];
    for (int dropped = 0; dropped < 2; ++dropped) {
        const lab_dropout dropout = lab_dropout_make(dropped ? 0.25 : 0.0, (locus_random){7, LOCUS_RANDOM_USER, 3});
        fill(u, ROWS * COLUMNS, 5), fill(g, ROWS * COLUMNS, 6), fill(bias, COLUMNS, 7);
        for (size_t i = 0; i < ROWS * COLUMNS; ++i)
            ones[i] = 10.0f; /* gelu(10) = 10 in float */
        widen(gelu_u, u, ROWS * COLUMNS), widen(gelu_weights, g, ROWS * COLUMNS), widen(gelu_shift, bias, COLUMNS);
        lab_gelu_forward((lab_rows){0, ROWS}, COLUMNS, nothing, &dropout, ones, kept);
        for (size_t i = 0; i < ROWS * COLUMNS; ++i)
            gelu_keep[i] = (double)kept[i] / 10.0;
        lab_gelu_forward((lab_rows){0, ROWS}, COLUMNS, bias, &dropout, u, h);
        for (size_t i = 0; i < ROWS * COLUMNS; ++i) {
            const double wanted = gelu_keep[i] * gelu_exact((double)u[i]);
            assert_true(fabs((double)h[i] - wanted) <= 4e-7 * (1.0 + fabs(wanted)));
        }
        memset(sum, 0, sizeof sum);
        lab_gelu_backward((lab_rows){0, ROWS}, COLUMNS, u, &dropout, g, sum);
        check_gelu_slopes(g);
        check_gradient("gelu.bias", gelu_value, gelu_shift, sum, 8);
    }
}

static void test_gelu_tails(void **state) {
    (void)state;
    const lab_dropout none = lab_dropout_make(0.0, (locus_random){0, 0, 0});
    const float places[] = {-100.0f, -20.0f, -12.0f, -6.5f, -3.0f, -1e-3f, 0.0f, 1e-3f, 3.0f, 6.5f, 20.0f, 100.0f};
    enum { COUNT = sizeof places / sizeof *places };
    static const float nothing[COUNT];
    float u[COUNT], h[COUNT], g[COUNT], sum[COUNT] = {0};
    memcpy(u, places, sizeof u);
    lab_gelu_forward((lab_rows){0, 1}, COUNT, nothing, &none, u, h);
    for (size_t i = 0; i < COUNT; ++i) {
        const double wanted = gelu_exact((double)places[i]);
        assert_true(fabs((double)h[i] - wanted) <= 4e-6 * fabs(wanted) + 1e-33);
        g[i] = 1.0f;
    }
    lab_gelu_backward((lab_rows){0, 1}, COUNT, u, &none, g, sum);
    assert_true(fabsf(g[0]) < 1e-30f && g[COUNT - 1] == 1.0f && fabsf(g[6] - 0.5f) < 1e-7f);
    u[0] = (float)NAN;
    lab_gelu_forward((lab_rows){0, 1}, 1, nothing, &none, u, h);
    assert_true(isnan(h[0]));
}

/* ---- sequence pooling ---- */

enum { SEQUENCES = 3, POOLED = 12, DIM = 19 };
static const size_t pool_offsets[SEQUENCES + 1] = {0, 5, 6, POOLED};
static double pool_x[POOLED * DIM], pool_weight[DIM], pool_weights[SEQUENCES * DIM], pool_out[SEQUENCES * DIM];

static double pooling_value(void) {
    double total = 0.0;
    for (size_t s = 0; s < SEQUENCES; ++s) {
        double share[POOLED], norm = 0.0;
        for (size_t t = pool_offsets[s]; t < pool_offsets[s + 1]; ++t) {
            share[t] = 0.25;
            for (size_t j = 0; j < DIM; ++j)
                share[t] += pool_x[t * DIM + j] * pool_weight[j];
            norm += share[t] = exp(share[t]);
        }
        for (size_t j = 0; j < DIM; ++j) {
            double y = 0.0;
            for (size_t t = pool_offsets[s]; t < pool_offsets[s + 1]; ++t)
                y += share[t] / norm * pool_x[t * DIM + j];
            pool_out[s * DIM + j] = y;
            total += y * pool_weights[s * DIM + j];
        }
    }
    return total;
}

static void test_pooling(void **state) {
    (void)state;
    static float x[POOLED * DIM], weight[DIM], y[SEQUENCES * DIM], gy[SEQUENCES * DIM], gx[POOLED * DIM],
        shares[POOLED], sum[DIM];
    float bias = 0.25f;
    fill(x, POOLED * DIM, 8), fill(weight, DIM, 9), fill(gy, SEQUENCES * DIM, 10);
    widen(pool_x, x, POOLED * DIM), widen(pool_weight, weight, DIM), widen(pool_weights, gy, SEQUENCES * DIM);
    const lab_pooling pooling = {.dim = DIM, .weight = weight, .bias = &bias};
    lab_pooling_forward(&pooling, (lab_rows){0, SEQUENCES}, pool_offsets, x, shares, y);
    (void)pooling_value();
    for (size_t i = 0; i < SEQUENCES * DIM; ++i)
        assert_true(fabs((double)y[i] - pool_out[i]) < 1e-5);
    const lab_pooling_backward_call call = {pool_offsets, x, shares, y, gy, gx, sum};
    memset(sum, 0, sizeof sum);
    lab_pooling_backward(&pooling, (lab_rows){0, 1}, &call);
    lab_pooling_backward(&pooling, (lab_rows){1, SEQUENCES - 1}, &call);
    check_gradient("pooling.x", pooling_value, pool_x, gx, POOLED * DIM);
    check_gradient("pooling.weight", pooling_value, pool_weight, sum, DIM);
}

/* ---- label smoothing ---- */

enum { ITEMS = 4, CLASSES = 7 };
static double loss_logits[ITEMS * CLASSES];
static const int32_t loss_targets[ITEMS] = {0, 6, 3, 3};

static double loss_value(void) {
    double total = 0.0;
    for (size_t i = 0; i < ITEMS; ++i) {
        double norm = 0.0;
        for (size_t j = 0; j < CLASSES; ++j)
            norm += exp(loss_logits[i * CLASSES + j]);
        for (size_t j = 0; j < CLASSES; ++j) {
            const double wanted = 0.1 / CLASSES + ((int32_t)j == loss_targets[i] ? 0.9 : 0.0);
            total -= wanted * (loss_logits[i * CLASSES + j] - log(norm));
        }
    }
    return total;
}

static void test_label_smoothing(void **state) {
    (void)state;
    static float logits[ITEMS * CLASSES];
    uint8_t correct[ITEMS];
    double loss = 0.0;
    fill(logits, ITEMS * CLASSES, 11);
    widen(loss_logits, logits, ITEMS * CLASSES);
    lab_loss call = {
        .classes = CLASSES, .targets = loss_targets, .smoothing = 0.1f, .logits = logits, .correct = correct};
    lab_cross_entropy(&call, (lab_rows){0, ITEMS}, &loss);
    assert_true(fabs(loss - loss_value()) < 1e-5);
    call.scale = 1.0f;
    lab_cross_entropy(&call, (lab_rows){0, ITEMS}, &loss);
    check_gradient("smoothed loss", loss_value, loss_logits, logits, ITEMS * CLASSES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolution), cmocka_unit_test(test_ties),    cmocka_unit_test(test_gelu),
        cmocka_unit_test(test_gelu_tails),  cmocka_unit_test(test_pooling), cmocka_unit_test(test_label_smoothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
