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

/* The reflector I − τvvᵀ that maps x to (β, 0, …, 0): v (v[0] = 1) replaces x. Returns τ; 0 where there is nothing to
 * do. For numbers up to about 1: what is below 1e-140 counts as 0. */
double locus_dense_reflector(size_t length, double *x, double *beta);

/* Eigenvalues of a symmetric matrix, rising, and eigenvectors as the rows of V. A is used up. work: 3n. Reflectors to
 * tridiagonal form and LAPACK's dsteqr, which starts no threads of its own, as dsyev's products may. False if the
 * iteration fails. */
bool locus_dense_symmetric(size_t n, double *A, double *V, double *values, double *work);

/* B = Aᵀ; B does not overlap A. */
void locus_dense_transpose(size_t n, const double *A, double *B);

#endif
