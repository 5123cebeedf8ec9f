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

void lab_relu_row_forward(const void *context, size_t row, size_t first, size_t count, float *u) {
    const lab_relu *relu = context;
    lab_dropout_bits bits;
    for (size_t j = 0; j < count; j += LAB_DROPOUT_RUN) {
        const size_t part = count - j < LAB_DROPOUT_RUN ? count - j : LAB_DROPOUT_RUN;
        relu_run(part, relu->bias + first + j, u + j);
        if (relu->dropout->threshold == 0)
            continue;
        lab_dropout_draw(relu->dropout, row, relu->columns, first + j, part, &bits);
        lab_dropout_apply(relu->dropout, &bits, part, u + j, u + j);
    }
}

void lab_relu_forward(const lab_relu *relu, lab_rows rows, float *u) {
    for (size_t r = rows.first; r < rows.first + rows.count; ++r)
        lab_relu_row_forward(relu, r, 0, relu->columns, u + r * relu->columns);
}

/* h = u > 0 and kept ? u · scale : 0 */
LAB_CLONES static void relu_back_halves(size_t count, const uint16_t *restrict h, float scale, float *restrict g,
                                        float *restrict sum) {
    for (size_t j = 0; j < count; ++j) {
        float x = lab_widened(h[j]) > 0.0f ? g[j] * scale : 0.0f;
        g[j] = x;
        sum[j] += x;
    }
}

LAB_CLONES static void relu_back(size_t count, const float *restrict h, float scale, float *restrict g,
                                 float *restrict sum) {
    for (size_t j = 0; j < count; ++j) {
        float x = h[j] > 0.0f ? g[j] * scale : 0.0f;
        g[j] = x;
        sum[j] += x;
    }
}

void lab_relu_row_backward(const void *context, size_t row, size_t first, size_t count, float *g) {
    const lab_relu *relu = context;
    const float scale = relu->dropout->threshold == 0 ? 1.0f : relu->dropout->scale;
    const void *h = lab_numbers_from(relu->h, row * relu->columns + first).data;
    if (relu->h.half)
        relu_back_halves(count, h, scale, g, relu->bias_sum + first);
    else
        relu_back(count, h, scale, g, relu->bias_sum + first);
}

void lab_relu_backward(const lab_relu *relu, lab_rows rows, float *g) {
    for (size_t r = rows.first; r < rows.first + rows.count; ++r)
        lab_relu_row_backward(relu, r, 0, relu->columns, g + r * relu->columns);
}
