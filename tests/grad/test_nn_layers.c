/* SPDX-License-Identifier: MIT */
/* Every layer's gradient against central differences of the same layer written anew in double: the step (1e-5) then
 * costs 1e-9, and what is left is the float rounding of the layer under test. Dropout masks are read off the layer by
 * sending ones through it. */
#include "nn/activation.h"
#include "nn/join.h"
#include "nn/linear.h"
#include <locus/locus.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 64 * 48 };
#define STEP 1e-5

static void fill(float *x, size_t count, uint32_t purpose) {
    locus_random random = {23, LOCUS_RANDOM_USER + purpose, 0};
    for (size_t i = 0; i < count; ++i)
        x[i] = (float)locus_random_normal(&random, i);
}

/* A layer in double: the sum of weights · outputs, as a function of all its inputs. */
typedef double scalar_function(const void *layer);

static double slope(scalar_function *function, const void *layer, double *place) {
    double kept = *place;
    *place = kept + STEP;
    double up = function(layer);
    *place = kept - STEP;
    double down = function(layer);
    *place = kept;
    return (up - down) / (2.0 * STEP);
}

static void check_gradient(const char *name, scalar_function *function, const void *layer, double *input,
                           const float *gradient, size_t count, double tolerance) {
    for (size_t i = 0; i < count; ++i) {
        double wanted = slope(function, layer, &input[i]), error = fabs(wanted - (double)gradient[i]);
        if (error > tolerance * (1.0 + fabs(wanted)))
            fail_msg("%s[%zu]: gradient %g, differences %g", name, i, (double)gradient[i], wanted);
    }
}

static void widen(double *to, const float *from, size_t count) {
    for (size_t i = 0; i < count; ++i)
        to[i] = (double)from[i];
}

/* ---- linear ---- */

typedef struct linear_reference {
    size_t tokens, inputs, outputs;
    double x[MOST], weight[MOST], bias[MOST], weights[MOST]; /* weights of the outputs in the sum */
} linear_reference;

static double linear_value(const void *layer) {
    const linear_reference *l = layer;
    double total = 0.0;
    for (size_t t = 0; t < l->tokens; ++t) {
        for (size_t o = 0; o < l->outputs; ++o) {
            double y = l->bias[o];
            for (size_t i = 0; i < l->inputs; ++i)
                y += l->x[t * l->inputs + i] * l->weight[o * l->inputs + i];
            total += l->weights[t * l->outputs + o] * y;
        }
    }
    return total;
}

static void linear_gradients(void **state) {
    (void)state;
    enum { T = 19, I = 13, O = 21 };
    static linear_reference reference;
    static float x[T * I], weight[O * I], bias[O], y[T * O], gy[T * O], gx[T * I], gw[O * I], gb[O];
    fill(x, T * I, 1), fill(weight, O * I, 2), fill(bias, O, 3), fill(gy, T * O, 4);
    lab_linear linear = {
        .inputs = I, .outputs = O, .weight = weight, .bias = bias, .weight_gradient = gw, .bias_gradient = gb};
    reference = (linear_reference){.tokens = T, .inputs = I, .outputs = O};
    widen(reference.x, x, T * I), widen(reference.weight, weight, O * I);
    widen(reference.bias, bias, O), widen(reference.weights, gy, T * O);

    double total = 0.0;
    lab_linear_forward(&linear, (lab_rows){0, T}, lab_floats(x), lab_floats(y));
    for (size_t i = 0; i < T * O; ++i)
        total += (double)gy[i] * (double)y[i];
    assert_true(fabs(total - linear_value(&reference)) < 1e-3);

    lab_linear_backward(&linear, (lab_rows){0, 7}, lab_floats(gy), lab_floats(gx), false);
    lab_linear_backward(&linear, (lab_rows){7, T - 7}, lab_floats(gy), lab_floats(gx), false);
    lab_product product = lab_linear_weight_product(&linear, T, lab_floats(gy), lab_floats(x));
    lab_products_parallel(&product, 1);
    lab_column_sum((lab_rows){0, T}, O, lab_floats(gy), gb);
    check_gradient("x", linear_value, &reference, reference.x, gx, T * I, 1e-5);
    check_gradient("weight", linear_value, &reference, reference.weight, gw, O * I, 1e-5);
    check_gradient("bias", linear_value, &reference, reference.bias, gb, O, 1e-5);

    static float twice[T * I];
    memcpy(twice, gx, sizeof gx);
    lab_linear_backward(&linear, (lab_rows){0, T}, lab_floats(gy), lab_floats(twice), true);
    for (size_t i = 0; i < T * I; ++i)
        assert_true(fabs((double)twice[i] - 2.0 * (double)gx[i]) < 1e-5);
}

/* ---- rectifier with bias and dropout ---- */

typedef struct relu_reference {
    size_t tokens, columns;
    double u[MOST], bias[MOST], mask[MOST], weights[MOST];
} relu_reference;

static double relu_value(const void *layer) {
    const relu_reference *l = layer;
    double total = 0.0;
    for (size_t i = 0; i < l->tokens * l->columns; ++i) {
        double x = l->u[i] + l->bias[i % l->columns];
        total += l->weights[i] * (x > 0.0 ? x * l->mask[i] : 0.0);
    }
    return total;
}

/* The forward's result as bfloat16 says the same: `g` and `sum` are what came of the floats, from the gradients
 * `first`. */
static void relu_half_case(const lab_relu *relu, size_t tokens, const float *h, float *first, const float *g,
                           const float *sum) {
    const size_t count = tokens * relu->columns;
    uint16_t *halves = malloc(count * sizeof *halves);
    float *sums = calloc(relu->columns, sizeof *sums);
    assert_true(halves && sums);
    lab_bf16_round_row(count, h, halves);
    lab_relu half = *relu;
    half.h = (lab_numbers){halves, true};
    half.bias_sum = sums;
    lab_relu_backward(&half, (lab_rows){0, tokens}, first);
    assert_memory_equal(first, g, count * sizeof *g);
    assert_memory_equal(sums, sum, relu->columns * sizeof *sum);
    free(halves), free(sums);
}

static void relu_case(double p) {
    enum { T = 23, C = 37 };
    static relu_reference reference;
    static float u[T * C], h[T * C], ones[T * C], bias[C], g[T * C], first[T * C];
    static const float nothing[C];
    float sum[C] = {0};
    lab_dropout dropout = lab_dropout_make(p, (locus_random){1, LOCUS_RANDOM_USER, 2});
    fill(u, T * C, 5), fill(bias, C, 6), fill(g, T * C, 7);
    for (size_t i = 0; i < T * C; ++i)
        ones[i] = 1.0f;
    const lab_relu plain = {.columns = C, .dropout = &dropout, .bias = nothing},
                   biased = {.columns = C, .dropout = &dropout, .bias = bias};
    const lab_relu back = {.columns = C, .dropout = &dropout, .h = lab_floats(h), .bias_sum = sum};
    lab_relu_forward(&plain, (lab_rows){0, T}, ones);
    memcpy(h, u, sizeof u);
    memcpy(first, g, sizeof g);
    lab_relu_forward(&biased, (lab_rows){0, 9}, h);
    lab_relu_forward(&biased, (lab_rows){9, T - 9}, h);
    reference = (relu_reference){.tokens = T, .columns = C};
    widen(reference.u, u, T * C), widen(reference.bias, bias, C);
    widen(reference.mask, ones, T * C), widen(reference.weights, g, T * C);
    double total = 0.0;
    size_t dropped = 0;
    for (size_t i = 0; i < T * C; ++i) {
        total += (double)g[i] * (double)h[i];
        dropped += ones[i] == 0.0f;
        assert_true(ones[i] == 0.0f || fabs((double)ones[i] - 1.0 / (1.0 - p)) < 1e-4);
    }
    assert_true(fabs((double)dropped / (T * C) - p) < 0.06);
    assert_true(fabs(total - relu_value(&reference)) < 1e-3);
    lab_relu_backward(&back, (lab_rows){0, T}, g);
    relu_half_case(&back, T, h, first, g, sum);
    check_gradient("u", relu_value, &reference, reference.u, g, T * C, 1e-5);
    check_gradient("bias", relu_value, &reference, reference.bias, sum, C, 1e-5);
}

/* Every value, on a run of rows. */
static void relu_of_rows(void) {
    enum { T = 3, C = 70 };
    static const float nothing[C];
    float u[T * C], h[T * C];
    const lab_dropout dropout = lab_dropout_make(0, (locus_random){1, LOCUS_RANDOM_USER, 2});
    fill(u, T * C, 8);
    memcpy(h, u, sizeof u);
    lab_relu_forward(&(lab_relu){.columns = C, .dropout = &dropout, .bias = nothing}, (lab_rows){1, T - 1}, h);
    for (size_t i = 0; i < T * C; ++i)
        assert_true(h[i] == (i < C || u[i] > 0.0f ? u[i] : 0.0f));
}

/* More columns than one draw of dropout serves: the whole row at once is the row run by run, and ends where it ends. */
static void relu_of_wide_rows(void) {
    enum { C = 2 * LAB_DROPOUT_RUN + 76, MORE = C + LAB_DROPOUT_RUN };
    static float whole[MORE], parts[MORE], bias[MORE];
    for (int dropped = 0; dropped < 2; ++dropped) {
        const lab_dropout dropout = lab_dropout_make(dropped ? 0.3 : 0, (locus_random){1, LOCUS_RANDOM_USER, 2});
        const lab_relu relu = {.columns = C, .dropout = &dropout, .bias = bias};
        fill(whole, MORE, 9), fill(bias, MORE, 10);
        memcpy(parts, whole, sizeof parts);
        lab_relu_row_forward(&relu, 5, 0, C, whole);
        assert_memory_equal(whole + C, parts + C, LAB_DROPOUT_RUN * sizeof(float));
        for (size_t j = 0, count; j < C; j += count) {
            count = C - j < LAB_DROPOUT_RUN ? C - j : LAB_DROPOUT_RUN;
            lab_relu_row_forward(&relu, 5, j, count, parts + j);
        }
        assert_memory_equal(whole, parts, sizeof parts);
    }
}

static void relu_gradients(void **state) {
    (void)state;
    relu_of_rows();
    relu_of_wide_rows();
    relu_case(0.0);
    relu_case(0.3);
}

/* ---- join: residual + dropout(branch + bias), LayerNorm ---- */

typedef struct join_reference {
    size_t tokens, dim;
    bool residual_there, norm_there;
    double residual[MOST], branch[MOST], bias[MOST], mask[MOST], gain[MOST], shift[MOST];
    double y_weights[MOST], stream_weights[MOST];
    bool stream_is_y;
} join_reference;

static double join_row(const join_reference *l, size_t t) {
    double sum[64], mean = 0.0, variance = 0.0, total = 0.0;
    for (size_t j = 0; j < l->dim; ++j) {
        size_t i = t * l->dim + j;
        sum[j] = (l->residual_there ? l->residual[i] : 0.0) + (l->branch[i] + l->bias[j]) * l->mask[i];
        mean += sum[j] / (double)l->dim;
    }
    for (size_t j = 0; j < l->dim; ++j)
        variance += (sum[j] - mean) * (sum[j] - mean) / (double)l->dim;
    for (size_t j = 0; j < l->dim; ++j) {
        size_t i = t * l->dim + j;
        double y = l->norm_there ? (sum[j] - mean) / sqrt(variance + 1e-5) * l->gain[j] + l->shift[j] : sum[j];
        total += l->y_weights[i] * y + l->stream_weights[i] * (l->stream_is_y ? y : sum[j]);
    }
    return total;
}

static double join_value(const void *layer) {
    const join_reference *l = layer;
    double total = 0.0;
    for (size_t t = 0; t < l->tokens; ++t)
        total += join_row(l, t);
    return total;
}

typedef struct join_case {
    size_t dim;
    double p;
    bool residual, norm, bias, carried, stream_is_y;
} join_case;

enum { JT = 5, JD = 48 };
static float residual[JT * JD], branch[JT * JD], bias[JD], gain[JD], shift[JD], sum[JT * JD], y[JT * JD], mean[JT],
    inverse[JT], gy[JT * JD], carry[JT * JD], gbranch[JT * JD], mask[JT * JD];
static join_reference join_oracle;

static void join_prepare(const join_case *c, const lab_dropout *dropout) {
    size_t count = JT * c->dim;
    fill(residual, count, 11), fill(branch, count, 12), fill(bias, c->dim, 13), fill(gain, c->dim, 14);
    fill(shift, c->dim, 15), fill(gy, count, 16), fill(carry, count, 17);
    for (size_t i = 0; i < count; ++i)
        sum[i] = 1.0f;
    lab_norm none = {0};
    lab_join_forward_call ones = {.norm = &none, .dropout = dropout, .branch = sum, .sum = mask};
    lab_join_forward(&ones, c->dim, (lab_rows){0, JT});
    join_oracle = (join_reference){.tokens = JT,
                                   .dim = c->dim,
                                   .residual_there = c->residual,
                                   .norm_there = c->norm,
                                   .stream_is_y = c->stream_is_y};
    widen(join_oracle.residual, residual, count), widen(join_oracle.branch, branch, count);
    widen(join_oracle.mask, mask, count), widen(join_oracle.y_weights, gy, count);
    widen(join_oracle.gain, gain, c->dim), widen(join_oracle.shift, shift, c->dim);
    if (c->bias)
        widen(join_oracle.bias, bias, c->dim);
    if (c->carried)
        widen(join_oracle.stream_weights, carry, count);
}

static void join_check(const join_case *c) {
    size_t count = JT * c->dim;
    lab_dropout dropout = lab_dropout_make(c->p, (locus_random){1, LOCUS_RANDOM_USER + 9, 3});
    join_prepare(c, &dropout);
    lab_norm norm = {.gain = c->norm ? gain : NULL, .shift = shift};
    lab_join_forward_call forward = {.norm = &norm,
                                     .dropout = &dropout,
                                     .bias = c->bias ? bias : NULL,
                                     .residual = c->residual ? residual : NULL,
                                     .branch = branch,
                                     .sum = sum,
                                     .y = y,
                                     .mean = mean,
                                     .inverse = inverse};
    lab_join_forward(&forward, c->dim, (lab_rows){0, 2});
    lab_join_forward(&forward, c->dim, (lab_rows){2, JT - 2});
    double total = 0.0;
    for (size_t i = 0; i < count; ++i) {
        double out = (double)(c->norm ? y[i] : sum[i]);
        total += (double)gy[i] * out;
        if (c->carried)
            total += (double)carry[i] * (c->stream_is_y ? out : (double)sum[i]);
    }
    assert_true(fabs(total - join_value(&join_oracle)) < 1e-3);

    float gain_sum[JD] = {0}, shift_sum[JD] = {0}, bias_sum[JD] = {0};
    lab_join_backward_call backward = {.norm = &norm,
                                       .dropout = &dropout,
                                       .sum = sum,
                                       .mean = mean,
                                       .inverse = inverse,
                                       .gy = gy,
                                       .carry = carry,
                                       .carried = c->carried,
                                       .stream_is_y = c->stream_is_y,
                                       .branch = gbranch,
                                       .gain_sum = gain_sum,
                                       .shift_sum = shift_sum,
                                       .bias_sum = c->bias ? bias_sum : NULL};
    lab_join_backward(&backward, c->dim, (lab_rows){0, 3});
    lab_join_backward(&backward, c->dim, (lab_rows){3, JT - 3});
    check_gradient("branch", join_value, &join_oracle, join_oracle.branch, gbranch, count, 5e-5);
    if (c->residual)
        check_gradient("residual", join_value, &join_oracle, join_oracle.residual, carry, count, 5e-5);
    if (c->bias)
        check_gradient("bias", join_value, &join_oracle, join_oracle.bias, bias_sum, c->dim, 5e-5);
    if (!c->norm)
        return;
    check_gradient("gain", join_value, &join_oracle, join_oracle.gain, gain_sum, c->dim, 5e-5);
    check_gradient("shift", join_value, &join_oracle, join_oracle.shift, shift_sum, c->dim, 5e-5);
}

static void join_gradients(void **state) {
    (void)state;
    static const size_t dims[] = {3, 16, 33, 48};
    for (size_t d = 0; d < sizeof dims / sizeof *dims; ++d) {
        for (unsigned flags = 0; flags < 64; ++flags) {
            join_case c = {.dim = dims[d],
                           .p = flags & 1 ? 0.25 : 0.0,
                           .residual = flags & 2,
                           .norm = flags & 4,
                           .bias = flags & 8,
                           .carried = flags & 16,
                           .stream_is_y = flags & 32};
            join_check(&c);
        }
    }
}

/* A constant added to every column of a row leaves its norm as it is; rows of y have mean 0 and variance 1. */
static void norm_laws(void **state) {
    (void)state;
    enum { D = 40 };
    float x[2 * D], out[2 * D], ones[D], zeros[D] = {0}, m[2], v[2];
    fill(x, D, 21);
    for (size_t j = 0; j < D; ++j) {
        x[D + j] = x[j] + 3.0f;
        ones[j] = 1.0f;
    }
    lab_norm norm = {.gain = ones, .shift = zeros};
    lab_dropout none = lab_dropout_make(0.0, (locus_random){0});
    lab_join_forward_call call = {
        .norm = &norm, .dropout = &none, .branch = x, .sum = x, .y = out, .mean = m, .inverse = v};
    lab_join_forward(&call, D, (lab_rows){0, 2});
    double total = 0.0, square = 0.0;
    for (size_t j = 0; j < D; ++j) {
        assert_true(fabs((double)out[j] - (double)out[D + j]) < 2e-6);
        total += (double)out[j];
        square += (double)out[j] * (double)out[j];
    }
    assert_true(fabs(total / D) < 1e-6 && fabs(square / D - 1.0) < 1e-4);
    assert_true(fabs((double)m[1] - (double)m[0] - 3.0) < 1e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_gradients),
        cmocka_unit_test(relu_gradients),
        cmocka_unit_test(join_gradients),
        cmocka_unit_test(norm_laws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
