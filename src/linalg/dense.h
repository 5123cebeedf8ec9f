/* SPDX-License-Identifier: MIT */
/* The few dense loops in double that the decompositions share. Rows are contiguous; loops run along rows, so that any
 * compiler can use vectors without reordering a sum. */
#ifndef LOCUS_DENSE_H
#define LOCUS_DENSE_H

#include <stdbool.h>
#include <stddef.h>

/* y += a·x; x and y do not overlap */
static inline void locus_dense_axpy(size_t n, double a, const double *restrict x, double *restrict y) {
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* C = A·B, all [n, n]; C overlaps neither. */
void locus_dense_multiply(size_t n, const double *A, const double *B, double *C);

/* Eigenvalues of a symmetric matrix, falling, and eigenvectors as the columns of X, which may be A; what is below the
 * diagonal is read. False if A is not finite or the iteration fails. */
size_t locus_dense_symmetric_work(size_t n);
bool locus_dense_symmetric(size_t n, const double *A, double *X, double *values, double *work);

/* B = Aᵀ; B does not overlap A. */
void locus_dense_transpose(size_t n, const double *A, double *B);

#endif
