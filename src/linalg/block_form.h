/* SPDX-License-Identifier: MIT */
/* Matrices that are block-diagonal in an orthonormal basis: U B Uᵀ with 2×2 blocks on the pairs (2i, 2i + 1), and for
 * odd n a single last number. Row-major doubles.
 *
 * Take a pair of coordinates as one complex number: γ = g_2I + i g_2I+1, ξ = x_2J + i x_2J+1; a turn by a multiplies by
 * e^{ia}. The 2×2 block (I, J) N = (g_2I, g_2I+1)ᵀ(x_2J, x_2J+1) of a matrix is the same as two complex numbers,
 *
 *     c = γ·conj(ξ)/2 = ((N00 + N11) + i(N10 − N01))/2        N00 = Re c + Re a    N01 = Im a − Im c
 *     a = γ·ξ/2       = ((N00 − N11) + i(N10 + N01))/2        N10 = Im c + Im a    N11 = Re c − Re a
 *
 * on which turns of g and x act by multiplication. An odd last coordinate is a pair whose second half is absent: taken
 * as 0 it stays 0 under what multiplies it by a real number, and absent entries are not written. */
#ifndef LOCUS_BLOCK_FORM_H
#define LOCUS_BLOCK_FORM_H

#include <stddef.h>

typedef struct locus_number {
    double real, imaginary;
} locus_number;

/* One block of a matrix: c turns with a_I − a_J, a with a_I + a_J. */
typedef struct locus_parts {
    locus_number c, a;
} locus_parts;

/* Size of the matrix and which block. */
typedef struct locus_block {
    size_t n, I, J;
} locus_block;

static inline double locus_block_entry(const locus_block *at, const double *matrix, size_t row, size_t column) {
    size_t i = 2 * at->I + row, j = 2 * at->J + column;
    return i < at->n && j < at->n ? matrix[i * at->n + j] : 0.0;
}

static inline locus_parts locus_block_split(const locus_block *at, const double *matrix) {
    double n00 = locus_block_entry(at, matrix, 0, 0), n01 = locus_block_entry(at, matrix, 0, 1);
    double n10 = locus_block_entry(at, matrix, 1, 0), n11 = locus_block_entry(at, matrix, 1, 1);
    return (locus_parts){{(n00 + n11) / 2, (n10 - n01) / 2}, {(n00 - n11) / 2, (n10 + n01) / 2}};
}

static inline void locus_block_join(const locus_block *at, locus_parts value, double *matrix) {
    size_t i = 2 * at->I, j = 2 * at->J, n = at->n;
    matrix[i * n + j] = value.c.real + value.a.real;
    if (j + 1 < n)
        matrix[i * n + j + 1] = value.a.imaginary - value.c.imaginary;
    if (i + 1 < n)
        matrix[(i + 1) * n + j] = value.c.imaginary + value.a.imaginary;
    if (i + 1 < n && j + 1 < n)
        matrix[(i + 1) * n + j + 1] = value.c.real - value.a.real;
}

static inline locus_number locus_number_multiply(locus_number x, locus_number y) {
    return (locus_number){x.real * y.real - x.imaginary * y.imaginary, x.real * y.imaginary + x.imaginary * y.real};
}

/* Angle of block I; an unpaired coordinate has angle 0. */
static inline double locus_block_angle(size_t n, const double *theta, size_t I) {
    return I < n / 2 ? theta[I] : 0.0;
}

/* Blocks [real −imaginary; imaginary real], [n/2] each, and the last number for odd n. */
typedef struct locus_block_form {
    size_t n;
    const double *U, *real, *imaginary;
    double last;
} locus_block_form;

/* W = U B Uᵀ; W overlaps nothing, work holds 2n². */
void locus_block_compose(const locus_block_form *form, double *W, double *work);

/* M = Uᵀ G U, and G = U M Uᵀ. M may be G; work holds 2n². */
void locus_block_to_basis(size_t n, const double *U, const double *G, double *M, double *work);
void locus_block_from_basis(size_t n, const double *U, const double *M, double *G, double *work);

#endif
