/* SPDX-License-Identifier: MIT */
/* The kernels' dispatch table: one for each element type, scalar first, overlaid upward by AVX2, AVX-512 or NEON.
 * Bodies are written once over the vocabulary of simd.h and instantiated for each instruction set.
 *
 * `lanes` are a vector's; `tile_rows` are rows of C that gemm does together: done in such pieces it is no slower.
 * All kernels are single-threaded, allocate nothing, read nothing past a buffer's end and accept unaligned data.
 * Letters: M, N, K matrix sizes; D a row's length. `real` is float in kernels_float32 and double in kernels_float64. */
#ifndef LOCUS_KERNELS_H
#define LOCUS_KERNELS_H

#include <locus/cpu.h>
#include <locus/random.h>
#include <stdbool.h>

/* What rotate walks: head h of row r stands at source + r·source_row + h·source_head (target alike) and takes its
 * cosines and sines at cosine + r·table_row + h·table_head, one for each of `pairs`; table_head = 0 where all heads
 * share a table. Heads are the inner loop: a token's whole row is walked once, in order. One head alone: heads = 1,
 * head strides unused.
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

/* What rotate_steps walks: runs of rows, whose heads stand as above and whose pairs are x_0 y_0 x_1 y_1 … alone. The
 * angles of row r of run n are those of base row n plus those of step run.step + r, or run.step if the run stands.
 * Rows of base and steps are (cos, sin), [heads, pairs, 2]. */
typedef struct locus_rotation_run {
    size_t rows, step;
    bool stands;
} locus_rotation_run;

typedef struct locus_rotation_steps {
    size_t count; /* of runs */
    const locus_rotation_run *runs;
    size_t heads, D, pairs;
    ptrdiff_t base_row, step_row;
    ptrdiff_t source_row, source_head;
    ptrdiff_t target_row, target_head;
} locus_rotation_steps;

/* Rows of scores on their way to weights. Row i has scores in its columns [from[i], to[i]), within `columns`, and
 * weights of 0 elsewhere. */
typedef struct locus_softmax_rows {
    size_t rows, columns;
    const size_t *from, *to;
    ptrdiff_t ld;
} locus_softmax_rows;

/* gemm              C[M,N] = (accumulate ? C : 0) + A[M,K]·B[K,N]. Element (m,k) of A stands at a + m·a_row +
 * k·a_column;
 *                   rows of B and C are contiguous, with strides ldb and ldc. For blocks that fit the first two cache
 *                   levels: cut larger matrices. Best with B on a 64-byte boundary and ldb a multiple of a cache line
 *                   that is not a large power of two. An element is one chain of fused multiply-adds in the order of k,
 *                   begun with C or 0: it depends on neither M, N nor the level (scalar lacks the fma on plain x86-64).
 * transpose         target[j,i] = source[i,j], i < rows, j < columns.
 * rotate            (x, y) → scale·(x cos − y sin, x sin + y cos) for the pairs of rows × heads; with sign −1 the other
 * way.
 *                   target may be source.
 * rotate_steps      The same for angles that are sums: the complex numbers (cos, sin) of base and step are multiplied
 *                   first.
 * angles            Cosines and sines of a run of rows from two-level tables in double: row r, pair i gets the complex
 *                   product of coarse[coarse_index[r]·pairs + i] and fine[fine_index[r]·pairs + i] (interleaved cos,
 *                   sin), rounded once. Fastest where neighbouring rows have the same coarse index.
 * phases            The same as complex numbers: (cos, sin) of pair i of row r stands at phase + r·table_stride + 2·i.
 * angle_gradient    Adds Σ_r weight[r]·(gx·y − gy·x) to sum[pairs], in double. With (x, y) the rotated pair and
 *                   g = dL/d(x, y) this is MINUS the gradient of ω where the angle is weight·ω: dL/dω = Σ p·(gy·x −
 *                   gx·y), so hand in −position, or subtract.
 * scale, axpy, dot  y = a·x; y += a·x; Σ x·y.
 * add_wide          sum += x, in double.
 * multiply, add     z = x·y, z = x + y, elementwise. Of all vector kernels an output may be an input.
 * maximum           −∞ for n = 0; NaN is passed over.
 * exp_sum           x = exp(x − shift); returns the sum, in an order that depends on the level. At most 2 ulp; exp(−∞)
 * = 0;
 *                   results below the smallest normal number are 0; NaN stays NaN; +∞ above the largest number. shift
 *                   must not be −∞.
 * softmax_backward  ds = p·(dp − delta).
 * softmax_rows      A step of a softmax whose maximum runs: top' = max(top, s), s = exp(s − top'), total =
 *                   total·factor + Σ s; factor = exp(top − top') where there was a total, else 1, is what the caller
 *                   multiplies with. All of it to the bits of `maximum` and `exp_sum` row by row. A row of −∞ alone has
 *                   weights of 0.
 * softmax_rows_backward
 *                   s = exp(s − log_sum_exp) and g = s·(g − delta), as exp_sum and softmax_backward make them, and both
 *                   0 elsewhere. g NULL: without. A row whose log_sum_exp is −∞ is as if that were 0.
 * soft_cap          x = cap·tanh(x/cap), cap > 0; at most 6 ulp.
 * soft_cap_backward g = g·(1 − (y/cap)²) for y = soft_cap(x): the gradient of x.
 * add_maximum, multiply_maximum
 *                   z = x + y, z = x·y, and its maximum.
 * dots              out[q·ld_out + i] = x[q] · rows[i], each row n long, those of x `ld` apart, the others `step`; q <
 *                   queries, i < count. In an order that depends on the level, but not on a row's place or on counts.
 * dropout_row       Attention dropout: keep[j] = 1/(1 − p) or 0 for keys first … first + n − 1 of row `row`. Key k
 * looks at
 *                   16-bit word k % 8 of Philox block row·2^28 + k/8 (word w: low half of 32-bit word w/2 if w is even,
 *                   else its high half) and is dropped if that is below round(p·65536). 0 ≤ p < 1; first is a multiple
 *                   of 8. The same bits at all levels.
 * random_words      Philox: words[4·i + w] = word w of block first + i. The same bits at all levels. */
#define LOCUS_KERNEL_TABLE(real, name) \
    typedef struct name { \
        locus_isa isa; \
        size_t lanes, tile_rows; \
        void (*gemm)(size_t M, size_t N, size_t K, const real *a, ptrdiff_t a_row, ptrdiff_t a_column, const real *b, \
                     ptrdiff_t ldb, real *c, ptrdiff_t ldc, bool accumulate); \
        void (*transpose)(size_t rows, size_t columns, const real *source, ptrdiff_t ld_source, real *target, \
                          ptrdiff_t ld_target); \
        void (*rotate)(const locus_rotation *shape, real sign, real scale, const real *cosine, const real *sine, \
                       const real *source, real *target); \
        void (*rotate_steps)(const locus_rotation_steps *shape, real sign, real scale, const real *base, \
                             const real *step, const real *source, real *target); \
        void (*angles)(size_t rows, size_t pairs, const double *coarse, const uint32_t *coarse_index, \
                       const double *fine, const uint32_t *fine_index, real *cosine, real *sine, \
                       ptrdiff_t table_stride); \
        void (*phases)(size_t rows, size_t pairs, const double *coarse, const uint32_t *coarse_index, \
                       const double *fine, const uint32_t *fine_index, real *phase, ptrdiff_t table_stride); \
        void (*angle_gradient)(size_t rows, size_t pairs, bool half_pairs, const double *weight, const real *y, \
                               ptrdiff_t y_stride, const real *g, ptrdiff_t g_stride, double *sum); \
        void (*scale)(size_t n, real a, const real *x, real *y); \
        void (*axpy)(size_t n, real a, const real *x, real *y); \
        real (*dot)(size_t n, const real *x, const real *y); \
        void (*multiply)(size_t n, const real *x, const real *y, real *z); \
        void (*add)(size_t n, const real *x, const real *y, real *z); \
        void (*add_wide)(size_t n, const real *x, double *sum); \
        real (*maximum)(size_t n, const real *x); \
        real (*exp_sum)(size_t n, real shift, real *x); \
        void (*softmax_backward)(size_t n, const real *p, const real *dp, real delta, real *ds); \
        void (*softmax_rows)(const locus_softmax_rows *rows, real *score, real *top, real *total, real *factor); \
        void (*softmax_rows_backward)(const locus_softmax_rows *rows, const real *log_sum_exp, const real *delta, \
                                      real *score, real *g); \
        void (*soft_cap)(size_t n, real cap, real *x); \
        void (*soft_cap_backward)(size_t n, real cap, const real *y, real *g); \
        real (*add_maximum)(size_t n, const real *x, const real *y, real *z); \
        real (*multiply_maximum)(size_t n, const real *x, const real *y, real *z); \
        void (*dots)(size_t queries, size_t count, size_t n, const real *x, ptrdiff_t ld, const real *rows, \
                     ptrdiff_t step, real *out, ptrdiff_t ld_out); \
        void (*dropout_row)(size_t n, const locus_random *key, uint64_t row, size_t first, double p, real *keep); \
        void (*random_words)(size_t blocks, const locus_random *key, uint64_t first, uint32_t *words); \
    } name;

LOCUS_KERNEL_TABLE(float, locus_kernels_float32)
LOCUS_KERNEL_TABLE(double, locus_kernels_float64)

/* Half types, as their bits: IEEE binary16 and bfloat16 (the upper half of a float).
 *
 * widen    exact; a signalling NaN may come out quiet.
 * narrow   to nearest, ties to even; above the largest finite number infinity; NaN stays NaN, quiet, with its sign and
 *          the upper bits of its payload. The same bits at all levels.
 * dots     as in the table of float, to its bits, of rows that are bfloat16.
 * sums     out[q] += Σ_i weight[q·ld + i]·rows[i], as gemm makes it of rows that were widened, to its bits. */
typedef struct locus_kernels_half {
    locus_isa isa;
    void (*widen_float16)(size_t n, const uint16_t *x, float *y);
    void (*widen_bfloat16)(size_t n, const uint16_t *x, float *y);
    void (*narrow_float16)(size_t n, const float *x, uint16_t *y);
    void (*narrow_bfloat16)(size_t n, const float *x, uint16_t *y);
    void (*dots_bfloat16)(size_t queries, size_t count, size_t n, const float *x, ptrdiff_t ld, const uint16_t *rows,
                          ptrdiff_t step, float *out, ptrdiff_t ld_out);
    void (*sums_bfloat16)(size_t queries, size_t count, size_t n, const float *weight, ptrdiff_t ld,
                          const uint16_t *rows, ptrdiff_t step, float *out, ptrdiff_t ld_out);
} locus_kernels_half;

/* The tables for the level in use (locus_cpu_isa). Valid before any initialisation. */
const locus_kernels_float32 *locus_kernels_float32_get(void);
const locus_kernels_float64 *locus_kernels_float64_get(void);
const locus_kernels_half *locus_kernels_half_get(void);

/* The table of one level, NULL if this build or machine does not have it: for tests and benches. */
const locus_kernels_float32 *locus_kernels_float32_of(locus_isa isa);
const locus_kernels_float64 *locus_kernels_float64_of(locus_isa isa);
const locus_kernels_half *locus_kernels_half_of(locus_isa isa);

#endif
