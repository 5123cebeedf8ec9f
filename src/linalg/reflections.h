/* SPDX-License-Identifier: MIT */
/* Products of Householder reflections W = H_0 H_1 … H_{n−1}, H_j = I − 2 u uᵀ, u = v/|v|, v row j of A [n, n].
 * Row-major doubles, nothing allocates. */
#ifndef LOCUS_REFLECTIONS_H
#define LOCUS_REFLECTIONS_H

#include <locus/status.h>

/* NUMERIC if A is not finite or a row is zero. W overlaps nothing; work holds 2n. */
LOCUS_MUST_USE locus_status locus_reflections_multiply(size_t n, const double *A, double *W, double *work);

/* G_A += dL/dA for G_W = dL/dW; work holds 3n² + 2n. */
LOCUS_MUST_USE locus_status locus_reflections_spread(size_t n, const double *A, const double *G_W, double *G_A,
                                                     double *work);

/* Unit vectors whose reflections multiply to W, an orthogonal matrix of determinant (−1)^n, which is used up. work
 * holds 2n. */
void locus_reflections_factor(size_t n, double *W, double *A, double *work);

/* The block form of W's powers, HOUSEHOLDER's of locus_orthogonal_powers; n is at most LOCUS_LARGEST_MATRIX. work
 * holds 4n² + n + locus_skew_work(n). */
LOCUS_MUST_USE locus_status locus_reflections_powers(size_t n, const double *A, double *U, double *theta, size_t *flip,
                                                     double *work);

#endif
