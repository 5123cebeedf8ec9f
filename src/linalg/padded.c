/* SPDX-License-Identifier: MIT */
/* Padded matrices from plain ones, scaled by a power of two. */
#include "linalg/condensed.h"

#include "core/loop_clones.h"

#include <string.h>

/* The largest |x|; NaN if any is not finite. */
LOCUS_CLONES
static double locus_padded_largest(size_t lines, const double *x) {
    double largest[LOCUS_LINE] = {0}, odd[LOCUS_LINE] = {0};
    for (size_t i = 0; i < lines; i++)
        for (size_t lane = 0; lane < LOCUS_LINE; lane++) {
            const double value = x[i * LOCUS_LINE + lane], size = fabs(value);
            largest[lane] = size > largest[lane] ? size : largest[lane];
            odd[lane] += value - value; /* 0, or NaN */
        }
    double all = 0;
    for (size_t lane = 0; lane < LOCUS_LINE; lane++)
        all = fmax(all, largest[lane]);
    for (size_t lane = 0; lane < LOCUS_LINE; lane++)
        all += odd[lane];
    return all;
}

/* x·2^−exponent, in two steps: 2^−exponent alone may not be a normal number. */
LOCUS_CLONES
static void locus_padded_scale(size_t count, double *x, int exponent) {
    const double half = ldexp(1.0, -(exponent / 2)), rest = ldexp(1.0, -(exponent - exponent / 2));
    for (size_t i = 0; i < count / LOCUS_LINE * LOCUS_LINE; i++)
        x[i] = x[i] * half * rest;
}

bool locus_padded_load(size_t n, locus_symmetry symmetry, const double *A, double *P, int *exponent) {
    const size_t stride = locus_padded_stride(n), size = locus_padded_size(n);
    const double sign = symmetry;
    memset(P, 0, size * sizeof *P);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            P[i * stride + j] = A[i * n + j];
            P[j * stride + i] = sign * A[i * n + j];
        }
        if (symmetry == LOCUS_SYMMETRIC)
            P[i * (stride + 1)] = A[i * (n + 1)];
    }
    const double largest = locus_padded_largest(size / LOCUS_LINE, P);
    if (!isfinite(largest))
        return false;
    (void)frexp(largest, exponent);
    if (*exponent != 0)
        locus_padded_scale(size, P, *exponent);
    return true;
}
