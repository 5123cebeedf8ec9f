/* SPDX-License-Identifier: MIT */
/* The table of kernels for products of bfloat16, where the processor has them: AVX512-BF16 (VDPBF16PS), or AMX
 * (TDPBF16PS), which shares all but the product. There is no scalar level: who finds no table computes in float32.
 *
 * Numbers are bfloat16 as their bits, sums are float. Layouts, K a multiple of 32, with zeros behind what there is:
 *
 *   rows    element (m, k) stands at a + m·lda + k; whole tiles are read: up to the next multiple of 16 rows
 *   pairs   element (k, n) stands at b + (n/16)·panel + (k/2)·32 + (n%16)·2 + k%2: panels of 16 columns, in which two
 *           rows stand side by side. Panels are whole
 *
 * Both instructions take numbers below the smallest normal one for 0. */
#ifndef LOCUS_BFLOAT16_H
#define LOCUS_BFLOAT16_H

#include <locus/cpu.h>
#include <stdbool.h>

enum {
    LOCUS_PAIRS_COLUMNS = 16, /* of a panel */
    LOCUS_PAIRS_DEPTH = 32    /* K is a multiple of it */
};

/* Rows of scores on their way to weights. Row i has scores in its columns [from[i], to[i]), within `columns`, and
 * weights of 0 elsewhere; s stands for scale · score. */
typedef struct locus_bfloat16_scores {
    size_t rows, columns;
    const size_t *from, *to;
    float *score;
    ptrdiff_t ld; /* of scores, and of factors and gradients */
    float scale;
} locus_bfloat16_scores;

/* A step of a softmax whose maximum runs: top' = max(top, s), p = exp(s − top'), total = total·exp(top − top') + Σ p,
 * and so the `dim` elements of each row of `sum`, without p. Weights are keep·p, rounded, up to the next multiple of 32
 * columns. A NaN is passed over by the maximum and stays a NaN in its weight. exp is exact to 2e-7; results below the
 * smallest normal number are 0. */
typedef struct locus_bfloat16_softmax {
    locus_bfloat16_scores scores;
    const float *keep; /* or NULL */
    float *top, *total, *sum;
    ptrdiff_t ld_sum;
    size_t dim;
    uint16_t *weight;
    ptrdiff_t ld_weight;
} locus_bfloat16_softmax;

/* p = exp(s − log_sum_exp), ds = p·(g − delta), both rounded: p and ds as pairs, in which rows are k, up to the next
 * multiple of 32 rows and of 16 columns; ds as rows, too, up to the next multiple of 32 columns. `ready`: scores are p
 * and g is ds already. g NULL: there is no ds. */
typedef struct locus_bfloat16_backward {
    locus_bfloat16_scores scores;
    const float *g, *log_sum_exp, *delta;
    bool ready;
    uint16_t *weight_pairs, *ds_pairs, *ds;
    ptrdiff_t panel, ld_ds;
} locus_bfloat16_backward;

/* begin, end   Around products of a thread, between which nothing else may use the processor's tiles.
 * product      C[M,N] = (accumulate ? C : 0) + A[M,K]·B[K,N], A as rows, B as pairs, C as rows of floats. What an
 *              element is does not depend on M and N.
 * pairs        Rows to pairs: count a multiple of 2, columns of 16.
 * finite       Whether all numbers are.
 * narrow       Rows of floats rounded, to nearest, ties to even; NaN comes out quiet, and what is below the smallest
 *              normal number as 0.
 * dots         out[i] = Σ x[i]·y[i] of `count` rows of n, in float. */
typedef struct locus_kernels_bfloat16 {
    locus_isa isa;
    void (*begin)(void);
    void (*end)(void);
    void (*product)(size_t M, size_t N, size_t K, const uint16_t *a, ptrdiff_t lda, const uint16_t *b, ptrdiff_t panel,
                    float *c, ptrdiff_t ldc, bool accumulate);
    void (*pairs)(size_t count, size_t columns, const uint16_t *rows, ptrdiff_t ld, uint16_t *out, ptrdiff_t panel);
    bool (*finite)(size_t n, const uint16_t *x);
    void (*narrow)(size_t count, size_t n, const float *x, ptrdiff_t ld_x, uint16_t *y, ptrdiff_t ld_y);
    void (*dots)(size_t count, size_t n, const uint16_t *x, ptrdiff_t ld_x, const uint16_t *y, ptrdiff_t ld_y,
                 float *out);
    void (*softmax)(const locus_bfloat16_softmax *rows);
    void (*backward)(const locus_bfloat16_backward *rows);
} locus_kernels_bfloat16;

/* The table of the level in use; NULL: there is none. */
const locus_kernels_bfloat16 *locus_kernels_bfloat16_get(void);

/* That of LOCUS_ISA_AVX512_BF16 or LOCUS_ISA_AMX; NULL if this build or machine does not have it. */
const locus_kernels_bfloat16 *locus_kernels_bfloat16_of(locus_isa isa);

#endif
