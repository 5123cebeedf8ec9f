/* SPDX-License-Identifier: MIT */
/* Eigenvectors of a symmetric matrix: A = Q T Qᵀ by reflectors (Golub and Van Loan, Matrix computations, section
 * 8.3.1), T = Z Λ Zᵀ by implicit QR steps (LAPACK dsteqr). A head's block is too small for blocked or threaded
 * products. */
#include "linalg/dense.h"

#include <lapacke.h>
#include <string.h>

/* A ← H A H on the trailing block that begins at `from`: A − v pᵀ − p vᵀ with p = τAv − (τ²/2)(vᵀAv) v. */
static void reflect_both(size_t n, size_t from, double *A, const double *v, double tau, double *p) {
    const size_t length = n - from;
    double along = 0;
    memset(p, 0, length * sizeof *p);
    for (size_t i = 0; i < length; i++)
        locus_dense_axpy(length, tau * v[i], A + (from + i) * n + from, p);
    for (size_t i = 0; i < length; i++)
        along += p[i] * v[i];
    locus_dense_axpy(length, -tau / 2 * along, v, p);
    for (size_t i = 0; i < length; i++) {
        double *row = A + (from + i) * n + from;
        locus_dense_axpy(length, -v[i], p, row);
        locus_dense_axpy(length, -p[i], v, row);
    }
}

/* V ← H V: rows from `from` on. */
static void reflect_rows(size_t n, size_t from, double *V, const double *v, double tau, double *sum) {
    memset(sum, 0, n * sizeof *sum);
    for (size_t i = 0; i < n - from; i++)
        locus_dense_axpy(n, tau * v[i], V + (from + i) * n, sum);
    for (size_t i = 0; i < n - from; i++)
        locus_dense_axpy(n, -v[i], sum, V + (from + i) * n);
}

bool locus_dense_symmetric(size_t n, double *A, double *V, double *values, double *work) {
    double *beside = work, *v = work + n, *sum = work + 2 * n;
    memset(V, 0, n * n * sizeof *V);
    for (size_t i = 0; i < n; i++)
        V[i * n + i] = 1;
    for (size_t k = 0; k + 1 < n; k++) {
        for (size_t i = k + 1; i < n; i++)
            v[i - k - 1] = A[i * n + k];
        const double tau = locus_dense_reflector(n - k - 1, v, &beside[k]);
        if (tau == 0)
            continue;
        reflect_both(n, k + 1, A, v, tau, sum);
        reflect_rows(n, k + 1, V, v, tau, sum);
    }
    for (size_t i = 0; i < n; i++)
        values[i] = A[i * n + i];
    const lapack_int size = (lapack_int)n; /* V's rows are Q's columns: Q in column order */
    return LAPACKE_dsteqr_work(LAPACK_COL_MAJOR, 'V', size, values, beside, V, size, work + n) == 0;
}
