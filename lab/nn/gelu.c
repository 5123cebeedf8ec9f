/* SPDX-License-Identifier: MIT */
/* GELU with bias and dropout in one pass over the rows, forward and backward.
 *
 * With Q the tail of the normal distribution, Q(x) = (1 − erf(x / √2)) / 2, and e = exp(−x²/2):
 *
 *   gelu(x) = x − x Q(x) for x ≥ 0, x Q(−x) below;   gelu'(x) = 1 − Q(x) + x e/√(2π), or Q(−x) + x e/√(2π)
 *   Q(x) = e · t P(t), t = 1 / (1 + p x): relative error 5e-7 in float (coefficients: tools/fit_normal_tail.py)
 *
 * so the exponential serves both. */
#include "nn/activation.h"
#include "nn/exponential.h"

typedef struct normal_tail {
    float exponential, tail; /* e and Q(|x|) */
} normal_tail;

LAB_INLINE normal_tail gelu_tail(float x) {
    const float size = x < 0.0f ? -x : x;
    const float y = -0.5f * size * size, t = 1.0f / (1.0f + 0.21f * size);
    const float e = lab_exponential(y < LAB_EXPONENTIAL_LEAST ? LAB_EXPONENTIAL_LEAST : y);
    float p = -7.165625611e-02f;
    p = p * t + 2.835882755e-01f;
    p = p * t - 3.302527263e-01f;
    p = p * t + 3.494002061e-01f;
    p = p * t - 9.392462619e-02f;
    p = p * t + 1.248724721e-01f;
    p = p * t + 6.919223697e-02f;
    p = p * t + 8.506884835e-02f;
    p = p * t + 8.371157624e-02f;
    return (normal_tail){e, e * (p * t)};
}

/* Not-a-number stays, so that it is noticed. */
LAB_CLONES static void gelu_run(size_t count, const float *restrict u, float *restrict h) {
    for (size_t j = 0; j < count; ++j) {
        const float x = u[j], part = x * gelu_tail(x).tail;
        h[j] = x < 0.0f ? part : x - part;
    }
}

LAB_CLONES static void gelu_back(size_t count, const float *restrict u, float *restrict g) {
    for (size_t j = 0; j < count; ++j) {
        const float x = u[j];
        const normal_tail at = gelu_tail(x);
        g[j] *= (x < 0.0f ? at.tail : 1.0f - at.tail) + x * at.exponential * 0.398942280f;
    }
}

void lab_gelu_forward(lab_rows rows, size_t columns, const float *bias, const lab_dropout *dropout, float *u,
                      float *h) {
    for (size_t r = rows.first; r < rows.first + rows.count; ++r) {
        lab_row_add(columns, bias, u + r * columns);
        gelu_run(columns, u + r * columns, h + r * columns);
        if (dropout->threshold != 0)
            lab_dropout_row(dropout, r, columns, h + r * columns, h + r * columns);
    }
}

/* h = dropout(gelu(u)):  dL/du = dropout(dL/dh) gelu'(u) */
void lab_gelu_backward(lab_rows rows, size_t columns, const float *u, const lab_dropout *dropout, float *g,
                       float *bias_sum) {
    for (size_t r = rows.first; r < rows.first + rows.count; ++r) {
        float *row = g + r * columns;
        if (dropout->threshold != 0)
            lab_dropout_row(dropout, r, columns, row, row);
        gelu_back(columns, u + r * columns, row);
        lab_row_add(columns, row, bias_sum);
    }
}
