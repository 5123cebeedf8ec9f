/* SPDX-License-Identifier: MIT */
/* Dense loops for matrices of a head's size (tens to hundreds): simple, and never on the path of a token. */
#include "linalg/dense.h"

#include "core/loop_clones.h"

#include <string.h>

/* Four rows of B for each pass over a row of C: a quarter of the loads and stores. */
LOCUS_CLONES
static void locus_dense_multiply_rows(size_t n, const double *A, const double *B, double *C) {
    for (size_t i = 0; i < n; i++) {
        const double *a = A + i * n;
        double *restrict c = C + i * n;
        size_t k = 0;
        for (; k + 4 <= n; k += 4) {
            const double *b0 = B + k * n, *b1 = b0 + n, *b2 = b1 + n, *b3 = b2 + n;
            for (size_t j = 0; j < n; j++)
                c[j] += (a[k] * b0[j] + a[k + 1] * b1[j]) + (a[k + 2] * b2[j] + a[k + 3] * b3[j]);
        }
        for (; k < n; k++)
            locus_dense_axpy(n, a[k], B + k * n, c);
    }
}

void locus_dense_multiply(size_t n, const double *A, const double *B, double *C) {
    memset(C, 0, n * n * sizeof(double));
    locus_dense_multiply_rows(n, A, B, C);
}

void locus_dense_transpose(size_t n, const double *A, double *B) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            B[j * n + i] = A[i * n + j];
}
