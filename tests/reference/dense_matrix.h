/* SPDX-License-Identifier: MIT */
/* Small dense matrices in double, row-major [n, n], by the plainest methods that are exact enough. */
#ifndef TESTS_DENSE_MATRIX_H
#define TESTS_DENSE_MATRIX_H

#include <stddef.h>
#include <stdint.h>

void dense_identity(size_t n, double *A);
void dense_multiply(size_t n, const double *A, const double *B, double *C); /* C may be A or B */
void dense_transpose(size_t n, const double *A, double *B);                 /* B may be A */
void dense_solve(size_t n, const double *A, const double *B, double *X);    /* A X = B, by elimination */
void dense_exponential(size_t n, const double *S, double *E);               /* scaling, Taylor, squaring */
void dense_logarithm(size_t n, const double *W, double *L);                 /* the principal one: roots, series */
void dense_power(size_t n, const double *W, int64_t p, double *P);          /* of an orthogonal W, by squaring */
void dense_reflections(size_t n, const double *A, double *W);               /* H_0 … H_{n−1} by the rows of A */
void dense_multiply_wide(size_t n, const long double *A, const long double *B, long double *C); /* C is neither */
void dense_skew(size_t n, const double *A, double scale, double *S); /* scale·(A − Aᵀ) */

#endif
