/* SPDX-License-Identifier: MIT */
/* Residual add, dropout, bias and LayerNorm in one pass, forward and backward. A row stays in the first-level cache
 * between its parts, so that each array crosses the memory bus once. Sums over a row run in sixteen lanes, folded
 * pairwise. */
#include "nn/join.h"
#include "nn/clones.h"
#include <math.h>

/* sum = residual + (branch + bias) ⊙ keep, all parts optional; keep NULL means all ones. */
LAB_CLONES static void add_run(size_t count, const float *residual, const float *branch, const float *bias,
                               float *sum) {
    if (residual && bias)
        for (size_t j = 0; j < count; ++j)
            sum[j] = residual[j] + (branch[j] + bias[j]);
    else if (residual)
        for (size_t j = 0; j < count; ++j)
            sum[j] = residual[j] + branch[j];
    else if (bias)
        for (size_t j = 0; j < count; ++j)
            sum[j] = branch[j] + bias[j];
    else if (sum != branch)
        memcpy(sum, branch, count * sizeof *sum);
}

LAB_CLONES static void scale_run(size_t count, float scale, float *x) {
    for (size_t j = 0; j < count; ++j)
        x[j] *= scale;
}

LAB_CLONES static void norm_statistics(size_t dim, double epsilon, const float *x, float *mean, float *inverse) {
    float total[LAB_LANES] = {0}, square[LAB_LANES] = {0};
    size_t whole = dim / LAB_LANES * LAB_LANES;
    float rest = 0.0f;
    for (size_t j = 0; j < whole; j += LAB_LANES)
        for (size_t l = 0; l < LAB_LANES; ++l)
            total[l] += x[j + l];
    for (size_t j = whole; j < dim; ++j)
        rest += x[j];
    float m = (lab_lanes_sum(total) + rest) / (float)dim;
    rest = 0.0f;
    for (size_t j = 0; j < whole; j += LAB_LANES)
        for (size_t l = 0; l < LAB_LANES; ++l)
            square[l] += (x[j + l] - m) * (x[j + l] - m);
    for (size_t j = whole; j < dim; ++j)
        rest += (x[j] - m) * (x[j] - m);
    double variance = (double)(lab_lanes_sum(square) + rest) / (double)dim;
    *mean = m;
    *inverse = (float)(1.0 / sqrt(variance + epsilon));
}

LAB_CLONES static void norm_apply(size_t dim, const lab_norm *norm, float mean, float inverse, const float *restrict x,
                                  float *restrict y) {
    const float *restrict gain = norm->gain, *restrict shift = norm->shift;
    for (size_t j = 0; j < dim; ++j)
        y[j] = (x[j] - mean) * inverse * gain[j] + shift[j];
}

/* sum of one row. */
static void join_row(const lab_join_forward_call *call, size_t dim, size_t r) {
    const float *residual = call->residual ? call->residual + r * dim : NULL;
    const bool drops = call->dropout->threshold != 0, scales = call->branch_scale != 0.0f;
    float *sum = call->sum + r * dim;
    if (call->branch == NULL) {
        add_run(dim, NULL, residual, NULL, sum);
        return;
    }
    const float *branch = call->branch + r * dim;
    if (!drops && !scales) {
        add_run(dim, residual, branch, call->bias, sum);
        return;
    }
    add_run(dim, NULL, branch, call->bias, sum);
    if (drops)
        lab_dropout_row(call->dropout, r, dim, sum, sum);
    if (scales)
        scale_run(dim, call->branch_scale, sum);
    if (residual)
        add_run(dim, residual, sum, NULL, sum);
}

void lab_join_forward(const lab_join_forward_call *call, size_t dim, lab_rows rows) {
    const double epsilon = call->norm->epsilon > 0.0 ? call->norm->epsilon : LAB_NORM_EPSILON;
    for (size_t r = rows.first; r < rows.first + rows.count; ++r) {
        const float *sum = call->sum + r * dim;
        join_row(call, dim, r);
        if (call->norm->gain == NULL)
            continue;
        norm_statistics(dim, epsilon, sum, &call->mean[r], &call->inverse[r]);
        norm_apply(dim, call->norm, call->mean[r], call->inverse[r], sum, call->y + r * dim);
    }
}

/* Of one row: the normalised x̂ and, with g = dL/dy ⊙ gain, the means of g and of g ⊙ x̂. */
typedef struct norm_row {
    float mean, inverse;
    float gradient_mean, product_mean;
} norm_row;

/* y = x̂ gain + shift. Adds dL/dgain and dL/dshift to the sums. */
LAB_CLONES static void norm_sums(size_t dim, const lab_norm *norm, const float *restrict x, const float *restrict gy,
                                 norm_row *row, float *restrict gain_sum, float *restrict shift_sum) {
    const float *restrict gain = norm->gain;
    const float mean = row->mean, inverse = row->inverse;
    float sum[LAB_LANES] = {0}, product[LAB_LANES] = {0}, sum_rest = 0.0f, product_rest = 0.0f;
    size_t whole = dim / LAB_LANES * LAB_LANES;
    for (size_t j = 0; j < dim; ++j) {
        shift_sum[j] += gy[j];
        gain_sum[j] += gy[j] * ((x[j] - mean) * inverse);
    }
    for (size_t j = 0; j < whole; j += LAB_LANES) /* GCC makes one loop with both sums four times slower */
        for (size_t l = 0; l < LAB_LANES; ++l)
            sum[l] += gy[j + l] * gain[j + l];
    for (size_t j = 0; j < whole; j += LAB_LANES)
        for (size_t l = 0; l < LAB_LANES; ++l)
            product[l] += gy[j + l] * gain[j + l] * ((x[j + l] - mean) * inverse);
    for (size_t j = whole; j < dim; ++j) {
        sum_rest += gy[j] * gain[j];
        product_rest += gy[j] * gain[j] * ((x[j] - mean) * inverse);
    }
    row->gradient_mean = (lab_lanes_sum(sum) + sum_rest) / (float)dim;
    row->product_mean = (lab_lanes_sum(product) + product_rest) / (float)dim;
}

/* x̂ = (x − mean(x)) / sqrt(var(x) + ε):  dL/dx = inverse · (g − mean(g) − x̂ · mean(g x̂)), plus `extra` if not NULL.
 * gx may be `extra` or `gy`. */
LAB_CLONES static void norm_input(size_t dim, const lab_norm *norm, const float *restrict x, const float *gy,
                                  const float *extra, const norm_row *row, float *gx) {
    const float *restrict gain = norm->gain;
    float mean = row->mean, inverse = row->inverse, first = row->gradient_mean, second = row->product_mean;
    if (extra)
        for (size_t j = 0; j < dim; ++j)
            gx[j] = extra[j] + inverse * (gy[j] * gain[j] - first - (x[j] - mean) * inverse * second);
    else
        for (size_t j = 0; j < dim; ++j)
            gx[j] = inverse * (gy[j] * gain[j] - first - (x[j] - mean) * inverse * second);
}

/* dL/d(sum) of one row, into carry. The stream is y: both gradients pass through the norm, together in carry where
 * there is only one of them, or no room for their sum; the stream is sum: only gy does. */
static void join_sum_row(const lab_join_backward_call *call, size_t dim, size_t r, float *total) {
    const float *gy = call->gy ? call->gy + r * dim : NULL;
    float *carry = call->carry + r * dim;
    const float *carried = call->carried ? carry : NULL;
    if (call->stream_is_y && carried && !(gy && total)) {
        if (gy)
            add_run(dim, carried, gy, NULL, carry);
        gy = carry;
        carried = NULL;
    }
    if (gy == NULL)
        return;
    if (call->norm->gain == NULL) {
        add_run(dim, carried, gy, NULL, carry);
        return;
    }
    norm_row row = {.mean = call->mean[r], .inverse = call->inverse[r]};
    const float *x = call->sum + r * dim;
    const float *before = call->stream_is_y ? carried : NULL, *after = call->stream_is_y ? NULL : carried;
    if (before) {
        add_run(dim, before, gy, NULL, total);
        gy = total;
    }
    norm_sums(dim, call->norm, x, gy, &row, call->gain_sum, call->shift_sum);
    norm_input(dim, call->norm, x, gy, after, &row, carry);
}

/* sum = residual + scale dropout(branch + bias). The row of total gradients is kept where the branch's gradient goes
 * next. */
void lab_join_backward(const lab_join_backward_call *call, size_t dim, lab_rows rows) {
    for (size_t r = rows.first; r < rows.first + rows.count; ++r) {
        float *branch = call->branch ? call->branch + r * dim : NULL;
        const float *carry = call->carry + r * dim;
        join_sum_row(call, dim, r, branch);
        if (branch == NULL)
            continue;
        if (call->dropout->threshold != 0)
            lab_dropout_row(call->dropout, r, dim, carry, branch);
        else
            add_run(dim, NULL, carry, NULL, branch);
        if (call->branch_scale != 0.0f)
            scale_run(dim, call->branch_scale, branch);
        if (call->bias_sum)
            lab_row_add(dim, branch, call->bias_sum);
    }
}
