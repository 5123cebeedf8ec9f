/* SPDX-License-Identifier: MIT */
/* The landmarks of softmax-free attention and its m × m part: Newton's iteration in double, and its way back. See
 * attention_soft.h. */
#include "attention/soft/attention_soft.h"
#include "core/call.h"
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

size_t locus_attention_soft_landmarks(const attention_soft_job *job, const locus_sequence_span *span) {
    const size_t tokens = span->query_count < span->key_count ? span->query_count : span->key_count;
    return job->most < tokens ? job->most : tokens;
}

/* ---- Newton ---- */

typedef struct soft_norms {
    double one, infinite; /* ‖A‖₁, ‖A‖∞ */
    size_t column, row;   /* where they are reached */
} soft_norms;

/* Elements of A are positive. */
static soft_norms norms_of(size_t m, const double *A) {
    soft_norms norms = {0};
    for (size_t i = 0; i < m; i++) {
        double row = 0, column = 0;
        for (size_t j = 0; j < m; j++) {
            row += fabs(A[i * m + j]);
            column += fabs(A[j * m + i]);
        }
        if (row > norms.infinite) {
            norms.infinite = row;
            norms.row = i;
        }
        if (column > norms.one) {
            norms.one = column;
            norms.column = i;
        }
    }
    return norms;
}

/* C = A·B. */
static void product(size_t m, const double *A, const double *B, double *C) {
    locus_kernels_float64_get()->gemm(m, m, m, A, (ptrdiff_t)m, 1, B, (ptrdiff_t)m, C, (ptrdiff_t)m, false);
}

/* C += Aᵀ·B. */
static void product_left(size_t m, const double *A, const double *B, double *C) {
    locus_kernels_float64_get()->gemm(m, m, m, A, 1, (ptrdiff_t)m, B, (ptrdiff_t)m, C, (ptrdiff_t)m, true);
}

static void transpose(size_t m, const double *A, double *B) {
    locus_kernels_float64_get()->transpose(m, m, A, (ptrdiff_t)m, B, (ptrdiff_t)m);
}

/* An inverse that does not exist (a row of zeros only, beyond where exp underflows) is 0. */
static double first_step(size_t m, const double *A, double *X) {
    const soft_norms norms = norms_of(m, A);
    const double alpha = norms.one > 0 ? 1 / (norms.one * norms.infinite) : 0;
    transpose(m, A, X);
    locus_kernels_float64_get()->scale(m * m, alpha, X, X);
    return alpha;
}

/* next = 2X − X·A·X. */
static void newton_step(size_t m, const double *A, const double *X, double *next, double *work) {
    const locus_kernels_float64 *k = locus_kernels_float64_get();
    product(m, A, X, work);
    product(m, X, work, next);
    k->scale(m * m, -1, next, next);
    k->axpy(m * m, 2, X, next);
}

size_t locus_attention_soft_middle_work(size_t m, size_t iterations, bool backward) {
    return product_of(product_of(m, m), backward ? iterations + 5 : 2);
}

void locus_attention_soft_inverse(size_t m, size_t iterations, const double *A, double *X, double *work) {
    double *next = work, *between = work + m * m;
    first_step(m, A, X);
    for (size_t i = 0; i < iterations && !locus_call_cancelled(); i++) {
        newton_step(m, A, X, next, between);
        memcpy(X, next, m * m * sizeof *X);
    }
}

/* Forward was Y = 2X − X·A·X. With G = dL/dY: dX = 2G − G·(A·X)ᵀ − (X·A)ᵀ·G, and dA −= Xᵀ·G·Xᵀ. */
static void newton_step_backward(size_t m, const double *A, const double *X, double *G, double *dA, double *work) {
    const locus_kernels_float64 *k = locus_kernels_float64_get();
    double *first = work, *second = work + m * m, *third = work + 2 * m * m;
    transpose(m, X, third);
    memset(first, 0, m * m * sizeof *first);
    product_left(m, X, G, first); /* Xᵀ·G */
    product(m, first, third, second);
    k->axpy(m * m, -1, second, dA);
    memcpy(second, G, m * m * sizeof *second);
    k->scale(m * m, -2, second, second);
    product_left(m, A, first, second); /* (X·A)ᵀ·G = Aᵀ·(Xᵀ·G) */
    product(m, G, third, first);       /* G·Xᵀ·Aᵀ */
    transpose(m, A, third);
    k->gemm(m, m, m, first, (ptrdiff_t)m, 1, third, (ptrdiff_t)m, second, (ptrdiff_t)m, true);
    k->scale(m * m, -1, second, G);
}

/* Forward was X₀ = αAᵀ, α = 1/(‖A‖₁‖A‖∞), whose derivative is that of the column and the row where they are reached. */
static void first_step_backward(size_t m, const double *A, double alpha, const double *G, double *dA) {
    const soft_norms norms = norms_of(m, A);
    double slope = 0;
    if (alpha == 0)
        return;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++) {
            dA[i * m + j] += alpha * G[j * m + i];
            slope += G[j * m + i] * A[i * m + j];
        }
    for (size_t i = 0; i < m; i++) {
        dA[i * m + norms.column] -= slope * alpha / norms.one;
        dA[norms.row * m + i] -= slope * alpha / norms.infinite;
    }
}

void locus_attention_soft_inverse_backward(size_t m, size_t iterations, const double *A, double *dX, double *dA,
                                           double *work) {
    double *steps = work, *between = work + (iterations + 1) * m * m;
    const double alpha = first_step(m, A, steps);
    for (size_t i = 0; i < iterations && !locus_call_cancelled(); i++)
        newton_step(m, A, steps + i * m * m, steps + (i + 1) * m * m, between);
    memset(dA, 0, m * m * sizeof *dA);
    for (size_t i = iterations; i-- > 0 && !locus_call_cancelled();)
        newton_step_backward(m, A, steps + i * m * m, dX, dA, between);
    first_step_backward(m, A, alpha, dX, dA);
}
