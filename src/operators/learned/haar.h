/* SPDX-License-Identifier: MIT */
/* Random orthogonal matrices for initial values. */
#ifndef LOCUS_HAAR_H
#define LOCUS_HAAR_H

#include <locus/random.h>

#include <stddef.h>

/* Q [n, n], row-major, Haar-distributed over O(n), from the numbers *index … *index + n² − 1 of the stream; *index
 * moves on by n². A row that has to be drawn anew takes numbers 2^48 and more behind. */
void locus_haar_orthogonal(size_t n, const locus_random *random, uint64_t *index, double *Q);

/* Doubles of scratch for locus_haar_blocks. */
size_t locus_haar_work(size_t n);

/* U [n, n] and theta [n/2], angles in [0, π], of a W = U R(θ) Uᵀ that is Haar-distributed over SO(n); R(θ) turns the
 * pairs (2i, 2i + 1). LOCUS_ERROR_NUMERIC if the decomposition fails. */
locus_status locus_haar_blocks(size_t n, const locus_random *random, uint64_t *index, double *U, double *theta,
                               double *work);

/* S = U Λ Uᵀ with Λ the blocks [0 −θ_i; θ_i 0]. S must not overlap U. */
void locus_skew_assemble(size_t n, const double *U, const double *theta, double *S);

#endif
