/* SPDX-License-Identifier: MIT */
/* Sequence pooling, sequence by sequence: scores and softmax in double, vectors in float. */
#include "nn/pooling.h"
#include "nn/clones.h"
#include <math.h>

LAB_CLONES static float pooling_dot(size_t count, const float *restrict x, const float *restrict y) {
    float sum[LAB_LANES] = {0};
    const size_t whole = count / LAB_LANES * LAB_LANES;
    float rest = 0.0f;
    for (size_t j = 0; j < whole; j += LAB_LANES)
        for (size_t l = 0; l < LAB_LANES; ++l)
            sum[l] += x[j + l] * y[j + l];
    for (size_t j = whole; j < count; ++j)
        rest += x[j] * y[j];
    return lab_lanes_sum(sum) + rest;
}

LAB_CLONES static void pooling_add(size_t count, float scale, const float *restrict x, float *restrict sum) {
    for (size_t j = 0; j < count; ++j)
        sum[j] += scale * x[j];
}

/* a = softmax(x w + b) */
static void shares_fill(const lab_pooling *pooling, size_t first, size_t end, const float *x, float *shares) {
    const size_t D = pooling->dim;
    float top = -INFINITY;
    double total = 0.0;
    for (size_t t = first; t < end; ++t) {
        shares[t] = pooling_dot(D, x + t * D, pooling->weight) + pooling->bias[0];
        top = shares[t] > top ? shares[t] : top;
    }
    for (size_t t = first; t < end; ++t)
        total += exp((double)shares[t] - (double)top);
    for (size_t t = first; t < end; ++t)
        shares[t] = (float)(exp((double)shares[t] - (double)top) / total);
}

void lab_pooling_forward(const lab_pooling *pooling, lab_rows sequences, const size_t *offsets, const float *x,
                         float *shares, float *y) {
    const size_t D = pooling->dim;
    for (size_t s = sequences.first; s < sequences.first + sequences.count; ++s) {
        memset(y + s * D, 0, D * sizeof *y);
        shares_fill(pooling, offsets[s], offsets[s + 1], x, shares);
        for (size_t t = offsets[s]; t < offsets[s + 1]; ++t)
            pooling_add(D, shares[t], x + t * D, y + s * D);
    }
}

/* y = Σ a_t x_t, a = softmax(score):  dL/dscore_t = a_t (⟨gy, x_t⟩ − ⟨gy, y⟩),  dL/dx_t = a_t gy + dL/dscore_t w. */
void lab_pooling_backward(const lab_pooling *pooling, lab_rows sequences, const lab_pooling_backward_call *call) {
    const size_t D = pooling->dim;
    for (size_t s = sequences.first; s < sequences.first + sequences.count; ++s) {
        const float *gy = call->gy + s * D;
        const float mean = pooling_dot(D, gy, call->y + s * D);
        for (size_t t = call->offsets[s]; t < call->offsets[s + 1]; ++t) {
            const float *x = call->x + t * D;
            const float score = call->shares[t] * (pooling_dot(D, gy, x) - mean);
            float *gx = call->gx + t * D;
            memset(gx, 0, D * sizeof *gx);
            pooling_add(D, call->shares[t], gy, gx);
            pooling_add(D, score, pooling->weight, gx);
            pooling_add(D, score, x, call->sum);
        }
    }
}
