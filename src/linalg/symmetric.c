/* SPDX-License-Identifier: MIT */
/* Eigenvectors of a symmetric matrix: A = Q T Qᵀ by reflectors, T = Z Λ Zᵀ by implicit QR steps. */
#include "linalg/condensed.h"
#include "linalg/dense.h"

size_t locus_dense_symmetric_work(size_t n) {
    return LOCUS_LINE + 2 * locus_padded_size(n) + 6 * locus_padded_stride(n);
}

bool locus_dense_symmetric(size_t n, const double *A, double *X, double *values, double *work) {
    const size_t stride = locus_padded_stride(n);
    double *P = locus_line_begin(work), *Q = P + locus_padded_size(n), *diagonal = Q + locus_padded_size(n);
    double *beside = diagonal + stride, *vectors = beside + stride;
    const locus_rows rows = {P, (ptrdiff_t)stride, locus_padded_width(n)};
    int exponent;
    if (n == 0)
        return true;
    if (!locus_padded_load(n, LOCUS_SYMMETRIC, A, P, &exponent))
        return false;
    locus_tridiagonalise(n, LOCUS_SYMMETRIC, P, Q, diagonal, beside, vectors);
    if (!locus_tridiagonal_values(n, diagonal, beside, &rows))
        return false;
    for (size_t i = 0; i < n; i++) {
        const size_t rank = locus_rank(n, diagonal, i);
        values[rank] = ldexp(diagonal[i], exponent);
        for (size_t r = 0; r < n; r++)
            X[r * n + rank] = P[i * stride + r];
    }
    return true;
}
