/* SPDX-License-Identifier: MIT */
/* Symmetric and skew matrices by way of condensed forms: tridiagonal, and bidiagonal. Matrices here are padded: rows
 * begin on a cache line, locus_padded_stride(n) doubles apart, locus_padded_rows(n) of them, and what lies beyond n in
 * either direction is 0. So loops over rows have whole vectors, and columns of a power of two do not fall into the same
 * lines of a cache. Vectors are as long as a row. No loop's order depends on the instruction set or on threads. */
#ifndef LOCUS_CONDENSED_H
#define LOCUS_CONDENSED_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOCUS_LINE = 8 }; /* doubles */

typedef enum locus_symmetry { LOCUS_SKEW = -1, LOCUS_SYMMETRIC = 1 } locus_symmetry;

/* Whole lines that hold n. */
static inline size_t locus_padded_width(size_t n) {
    return (n + LOCUS_LINE - 1) / LOCUS_LINE * LOCUS_LINE;
}

/* An odd number of lines. */
static inline size_t locus_padded_stride(size_t n) {
    return ((n + LOCUS_LINE - 1) / LOCUS_LINE | 1) * LOCUS_LINE;
}

static inline size_t locus_padded_rows(size_t n) {
    return (n + 3) / 4 * 4;
}

static inline size_t locus_padded_size(size_t n) {
    return locus_padded_rows(n) * locus_padded_stride(n);
}

/* P = A·2^−exponent for the square A [n, n], read from below its diagonal, and from the diagonal if it is symmetric:
 * the largest element is in [1/2, 1), so that nothing over- or underflows on the way. False if A is not finite. */
bool locus_padded_load(size_t n, locus_symmetry symmetry, const double *A, double *P, int *exponent);

/* The first line's begin at or behind `work`, less than LOCUS_LINE doubles away. */
static inline double *locus_line_begin(double *work) {
    const uintptr_t bytes = LOCUS_LINE * sizeof(double), over = (uintptr_t)work % bytes;
    return over ? work + (bytes - over) / sizeof(double) : work;
}

/* ---- reflectors: A = Q T Qᵀ ---- */

/* T tridiagonal and of A's symmetry: diagonal[k] = T[k,k], beside[k] = T[k+1,k]. A is used up; Qᵀ replaces it. Q is
 * scratch of the same size, as vectors is of 4 rows. For elements of size 1 at most: what is below 1e-140 counts as 0
 * where a reflector would have to be made of it. */
void locus_tridiagonalise(size_t n, locus_symmetry symmetry, double *A, double *Q, double *diagonal, double *beside,
                          double *vectors);

/* ---- plane rotations ---- */

typedef struct locus_rotation {
    double c, s, r;
} locus_rotation;

/* Where the sum of two squares may have lost bits, or been too large. */
locus_rotation locus_rotation_scaled(double f, double g);

/* c·f + s·g = r ≥ 0 and c·g − s·f = 0, whatever the sizes of f and g. */
static inline locus_rotation locus_rotation_make(double f, double g) {
    const double sum = f * f + g * g;
    if (!(sum > 1e-280 && sum < 1e280)) /* a square that is below 1e-308 is then nothing beside the other */
        return locus_rotation_scaled(f, g);
    const double r = sqrt(sum);
    return (locus_rotation){f / r, g / r, r};
}

/* (x, y) ← (c·x + s·y, c·y − s·x) for rows of whole lines, `width` doubles, which do not overlap. */
void locus_rotate_rows(size_t width, double c, double s, double *x, double *y);

/* ---- values of condensed forms ---- */

static inline bool locus_all_finite(size_t count, const double *numbers) {
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += numbers[i] - numbers[i]; /* 0, or NaN */
    return sum == 0.0;
}

/* Rows to be rotated along: number i begins at at + i·stride and has `width` doubles, whole lines. */
typedef struct locus_rows {
    double *at;
    ptrdiff_t stride;
    size_t width;
} locus_rows;

/* The upper bidiagonal B = X Σ Yᵀ with d [m] on and f [m − 1] above its diagonal. */
typedef struct locus_bidiagonal {
    size_t m;
    double *d, *f;
    double floor; /* a value is exact to rounding beside itself, or beside this if it is larger */
} locus_bidiagonal;

/* Singular values: d becomes Σ, ≥ 0, in no order, f is used up. `left` becomes Xᵀ·left and `right` Yᵀ·right (m rows
 * each). With a floor of 0 small values are as exact as large ones, relative to themselves (Demmel and Kahan 1990); a
 * matrix that has been through rounding of size ε·floor itself does not deserve that, and takes half the steps. False
 * if a number is not finite or the iteration fails, as it may where values overflow. */
bool locus_bidiagonal_values(const locus_bidiagonal *B, const locus_rows *left, const locus_rows *right);

/* Eigenvalues of the symmetric tridiagonal T = Z Λ Zᵀ with d [n] on and e [n − 1] beside its diagonal: d becomes Λ, in
 * no order, e is used up. `rows` becomes Zᵀ·rows (n rows). For elements of size 1: what is below 1e-154 counts as 0.
 * False as above. */
bool locus_tridiagonal_values(size_t n, double *d, double *e, const locus_rows *rows);

/* How many numbers are larger, or as large and stand before it. */
static inline size_t locus_rank(size_t count, const double *numbers, size_t i) {
    size_t rank = 0;
    for (size_t j = 0; j < count; j++)
        rank += numbers[j] > numbers[i] || (numbers[j] == numbers[i] && j < i);
    return rank;
}

#endif
