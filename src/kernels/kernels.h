/* SPDX-License-Identifier: MIT */
/* The kernels' dispatch table: one for each element type, scalar first, overlaid upward by AVX2, AVX-512 or NEON.
 * Bodies are written once over the vocabulary of simd.h and instantiated for each instruction set.
 *
 * All kernels are single-threaded, allocate nothing, read nothing past a buffer's end and accept unaligned data. Letters:
 * M, N, K matrix sizes; D a row's length. `real` is float in kernels_float32 and double in kernels_float64. */
#ifndef LOCUS_KERNELS_H
#define LOCUS_KERNELS_H

#include <locus/cpu.h>
#include <locus/random.h>
#include <stdbool.h>

/* What rotate walks: head h of row r stands at source + r·source_row + h·source_head (target alike) and takes its cosines
 * and sines at cosine + r·table_row + h·table_head, one for each of `pairs`; table_head = 0 where all heads share a table.
 * Heads are the inner loop: a token's whole row is walked once, in order. One head alone: heads = 1, head strides unused.
 *
 *   half_pairs:  x_0 … x_(pairs−1) | y_0 … y_(pairs−1) | rest      else  x_0 y_0 x_1 y_1 … | rest
 *
 * The rest, elements 2·pairs … D − 1, is multiplied by scale only. */
typedef struct locus_rotation {
    size_t rows, heads, D, pairs;
    bool half_pairs;
    ptrdiff_t table_row, table_head;
    ptrdiff_t source_row, source_head;
    ptrdiff_t target_row, target_head;
} locus_rotation;

#define LOCUS_KERNEL_TABLE(real, name)                                                                                  \
    typedef struct name {                                                                                               \
        locus_isa isa;                                                                                                  \
        size_t lanes;                                                                                                   \
        /* C[M,N] = (accumulate ? C : 0) + A[M,K]·B[K,N]. Element (m,k) of A stands at a + m·a_row + k·a_column, rows of */ \
        /* B and C are contiguous with strides ldb and ldc. For blocks that fit the first two cache levels: cut larger matrices and pack */ \
        /* B to ldb = N, 64-byte aligned, if its stride is a multiple of 1 KiB. An element is one chain of fused multiply- */ \
        /* adds in the order of k, begun with C or 0: it depends on neither M, N nor the level (scalar may lack the fma). */ \
        void (*gemm)(size_t M, size_t N, size_t K, const real *a, ptrdiff_t a_row, ptrdiff_t a_column, const real *b,   \
                     ptrdiff_t ldb, real *c, ptrdiff_t ldc, bool accumulate);                                           \
        /* target[j,i] = source[i,j], i < rows, j < columns */                                                          \
        void (*transpose)(size_t rows, size_t columns, const real *source, ptrdiff_t ld_source, real *target,           \
                          ptrdiff_t ld_target);                                                                         \
        /* Rotates pairs of rows × heads: (x, y) → scale·(x cos − y sin, x sin + y cos); with sign −1 the other way. All */ \
        /* sizes and strides stand in locus_rotation above. target may be source. */                                     \
        void (*rotate)(const locus_rotation *shape, real sign, real scale, const real *cosine, const real *sine,        \
                       const real *source, real *target);                                                               \
        /* Cosines and sines of a run of rows from two-level tables in double: row r, pair i gets the complex product of */ \
        /* coarse[coarse_index[r]·pairs + i] and fine[fine_index[r]·pairs + i] (interleaved cos, sin), rounded once. */    \
        /* Tables that differ between heads: lay the heads' pairs side by side and call it once with pairs = heads·pairs. */ \
        void (*angles)(size_t rows, size_t pairs, const double *coarse, const uint32_t *coarse_index, const double *fine, \
                       const uint32_t *fine_index, real *cosine, real *sine, ptrdiff_t table_stride);                   \
        /* Sums over rows of weight[r]·(gx·y − gy·x) for each pair, added to sum[pairs] in double. With */ \
        /* (x, y) the rotated pair and g = dL/d(x, y) this is MINUS the gradient of the angle's factor `weight` multiplies: */ \
        /* dL/dω = Σ p·(gy·x − gx·y), so hand in −position, or subtract. */                                                  \
        void (*angle_gradient)(size_t rows, size_t pairs, bool half_pairs, const double *weight, const real *y,         \
                               ptrdiff_t y_stride, const real *g, ptrdiff_t g_stride, double *sum);                     \
        /* y[i] = a·x[i]; y += a·x; Σ x·y; elementwise product z = x·y */                                                \
        void (*scale)(size_t n, real a, const real *x, real *y);                                                        \
        void (*axpy)(size_t n, real a, const real *x, real *y);                                                         \
        real (*dot)(size_t n, const real *x, const real *y);                                                            \
        void (*multiply)(size_t n, const real *x, const real *y, real *z);                                              \
        void (*add)(size_t n, const real *x, const real *y, real *z);                                                   \
        real (*maximum)(size_t n, const real *x); /* −∞ for n = 0; NaN is passed over */                                                     \
        /* x[i] = exp(x[i] − shift), returns the sum in index order of lanes; error ≤ 2 ulp; exp(−∞) = 0; */ \
        /* results below the smallest normal number are 0; NaN stays NaN; +∞ above the largest. shift must not be −∞. */               \
        real (*exp_sum)(size_t n, real shift, real *x);                                                                 \
        /* ds[i] = p[i]·(dp[i] − delta) */                                                                               \
        void (*softmax_backward)(size_t n, const real *p, const real *dp, real delta, real *ds);                        \
        /* Attention dropout: keep[j] = 1/(1−p) or 0 for keys first … first + n − 1 of row `row`: 16-bit words of Philox  */ \
        /* block index row·2^28 + key/8, word w = key%8 (low half of 32-bit word w/2 if w is even, else its high half), dropped if below round(p·65536). first is a multiple of 8. */        \
        void (*dropout_row)(size_t n, const locus_random *key, uint64_t row, size_t first, double p, real *keep);       \
        /* Philox for a run of blocks: words[4·i + w] of block first + i */                                               \
        void (*random_words)(size_t blocks, const locus_random *key, uint64_t first, uint32_t *words);                  \
    } name;

LOCUS_KERNEL_TABLE(float, locus_kernels_float32)
LOCUS_KERNEL_TABLE(double, locus_kernels_float64)

/* The tables for the level in use (locus_cpu_isa). Valid before any initialisation. */
const locus_kernels_float32 *locus_kernels_float32_get(void);
const locus_kernels_float64 *locus_kernels_float64_get(void);

/* The table of one level, NULL if this build or machine does not have it: for tests and benches. */
const locus_kernels_float32 *locus_kernels_float32_of(locus_isa isa);
const locus_kernels_float64 *locus_kernels_float64_of(locus_isa isa);

#endif
