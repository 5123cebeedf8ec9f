/* SPDX-License-Identifier: MIT */
/* ReLU with bias and dropout in one pass over the rows, forward and backward. */
#include "nn/activation.h"
#include "nn/clones.h"

LAB_CLONES static void relu_run(size_t count, const float *restrict bias, float *restrict u) {
    for (size_t j = 0; j < count; ++j) {
        float x = u[j] + bias[j];
        u[j] = x < 0.0f ? 0.0f : x; /* not-a-number stays, so that it is noticed */
    }
}

LAB_CLONES static void relu_plain(size_t count, float *restrict u) {
    for (size_t j = 0; j < count; ++j)
        u[j] = u[j] < 0.0f ? 0.0f : u[j];
}

void lab_relu_forward(lab_rows rows, size_t columns, const float *bias, const lab_dropout *dropout, float *u) {
    lab_dropout_bits bits;
    for (size_t r = rows.first; r < rows.first + rows.count; ++r) {
        for (size_t j = 0; j < columns; j += LAB_DROPOUT_RUN) {
            size_t count = columns - j < LAB_DROPOUT_RUN ? columns - j : LAB_DROPOUT_RUN;
            float *row = u + r * columns + j;
            if (bias)
                relu_run(count, bias + j, row);
            else
                relu_plain(count, row);
            if (dropout->threshold == 0)
                continue;
            lab_dropout_draw(dropout, r, columns, j, count, &bits);
            lab_dropout_apply(dropout, &bits, count, row, row);
        }
    }
}

/* h = u > 0 and kept ? u · scale : 0 */
LAB_CLONES static void relu_back(size_t count, const float *restrict h, float scale, float *restrict g) {
    for (size_t j = 0; j < count; ++j)
        g[j] = h[j] > 0.0f ? g[j] * scale : 0.0f;
}

LAB_CLONES static void relu_back_sum(size_t count, const float *restrict h, float scale, float *restrict g,
                                     float *restrict sum) {
    for (size_t j = 0; j < count; ++j) {
        float x = h[j] > 0.0f ? g[j] * scale : 0.0f;
        g[j] = x;
        sum[j] += x;
    }
}

void lab_relu_backward(lab_rows rows, size_t columns, const float *h, const lab_dropout *dropout, float *g,
                       float *bias_sum) {
    float scale = dropout->threshold == 0 ? 1.0f : dropout->scale;
    for (size_t r = rows.first; r < rows.first + rows.count; ++r)
        if (bias_sum)
            relu_back_sum(columns, h + r * columns, scale, g + r * columns, bias_sum);
        else
            relu_back(columns, h + r * columns, scale, g + r * columns);
}
