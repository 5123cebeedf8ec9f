/* SPDX-License-Identifier: MIT */
/* Matrix product of blocks: C[M,N] = (accumulate ? C : 0) + A[M,K]·B[K,N].
 *
 * A tile of rows × vectors of C stays in registers while k runs; A is read by broadcast, so that any strides do, B by
 * vectors. Panels of B (GEMM_DEPTH rows × a tile's width) stay in the first cache level while all row tiles pass over
 * them. Each element is one chain c ← fma(a, b, c) in the order of k, whatever tile it falls into. */
#ifndef LOCUS_KERNELS_GEMM_BODY_H
#define LOCUS_KERNELS_GEMM_BODY_H

/* Rows of a tile of two vectors, and of the four-vector tile that short matrices (a single query) get: as many chains
 * as hide the latency of an fma, within 16 (AVX2) or 32 registers. */
#if LOCUS_SIMD == LOCUS_SIMD_AVX2
#define GEMM_ROWS 6
#define GEMM_WIDE_ROWS 2
#elif LOCUS_SIMD == LOCUS_SIMD_SCALAR
#define GEMM_ROWS 4
#define GEMM_WIDE_ROWS 4
#else
#define GEMM_ROWS 8
#define GEMM_WIDE_ROWS 4
#endif
#define GEMM_DEPTH ((size_t)256)

typedef struct gemm_block {
    size_t M, K;
    const real *a, *b;
    real *c;
    ptrdiff_t a_row, a_column, ldb, ldc;
    bool accumulate;
    vpart last; /* columns of a panel's last vector, where it is not whole */
} gemm_block;

/* rows, vectors and part are constants wherever this is called: part says that the last vector is cut. */
SIMD void gemm_tile(const gemm_block *block, size_t row, const size_t rows, const size_t vectors, const bool part) {
    const real *a = block->a + (ptrdiff_t)row * block->a_row, *b = block->b;
    real *c = block->c + (ptrdiff_t)row * block->ldc;
    const ptrdiff_t a_row = block->a_row, a_column = block->a_column, ldb = block->ldb, ldc = block->ldc;
    const size_t whole = part ? vectors - 1 : vectors;
    const vpart last = block->last;
    vreal sum[GEMM_ROWS][4];
    SIMD_UNROLL
    for (size_t i = 0; i < rows; i++) {
        SIMD_UNROLL
        for (size_t j = 0; j < vectors; j++) {
            const real *at = c + (ptrdiff_t)i * ldc + j * LANES;
            sum[i][j] = !block->accumulate ? v_zero() : j < whole ? v_load(at) : v_load_part(at, last);
        }
    }
    for (size_t k = block->K; k > 0; k--, a += a_column, b += ldb) {
        vreal b_row[4];
        SIMD_UNROLL
        for (size_t j = 0; j < vectors; j++)
            b_row[j] = j < whole ? v_load(b + j * LANES) : v_load_part(b + j * LANES, last);
        SIMD_UNROLL
        for (size_t i = 0; i < rows; i++) {
            vreal a_element = v_set(a[(ptrdiff_t)i * a_row]);
            SIMD_UNROLL
            for (size_t j = 0; j < vectors; j++)
                sum[i][j] = v_fma(a_element, b_row[j], sum[i][j]);
        }
    }
    SIMD_UNROLL
    for (size_t i = 0; i < rows; i++) {
        SIMD_UNROLL
        for (size_t j = 0; j < vectors; j++)
            if (j < whole)
                v_store(c + (ptrdiff_t)i * ldc + j * LANES, sum[i][j]);
            else
                v_store_part(c + (ptrdiff_t)i * ldc + j * LANES, sum[i][j], last);
    }
}

/* All row tiles of one panel. Rows are shared out evenly, so that no tile is left with too few chains. */
#define GEMM_PANEL(name, vectors, part) \
    static void KERNEL(name)(const gemm_block *block) { \
        const size_t tiles = (block->M + GEMM_ROWS - 1) / GEMM_ROWS; \
        for (size_t tile = 0, row = 0; tile < tiles; tile++) { \
            size_t rows = (block->M - row + tiles - tile - 1) / (tiles - tile); \
            switch (rows) { \
                GEMM_CASES(vectors, part) \
            default: \
                break; \
            } \
            row += rows; \
        } \
    }

#define GEMM_CASE(rows, vectors, part) \
    case rows: \
        gemm_tile(block, row, rows, vectors, part); \
        break;
#define GEMM_CASES_2(vectors, part) GEMM_CASE(1, vectors, part) GEMM_CASE(2, vectors, part)
#define GEMM_CASES_4(vectors, part) GEMM_CASES_2(vectors, part) GEMM_CASE(3, vectors, part) GEMM_CASE(4, vectors, part)
#define GEMM_CASES_6(vectors, part) GEMM_CASES_4(vectors, part) GEMM_CASE(5, vectors, part) GEMM_CASE(6, vectors, part)
#define GEMM_CASES_8(vectors, part) GEMM_CASES_6(vectors, part) GEMM_CASE(7, vectors, part) GEMM_CASE(8, vectors, part)

#define GEMM_CASES(vectors, part) LOCUS_JOIN(GEMM_CASES_, GEMM_ROWS)(vectors, part)
GEMM_PANEL(gemm_two, 2, false)
GEMM_PANEL(gemm_two_cut, 2, true)
GEMM_PANEL(gemm_one, 1, false)
GEMM_PANEL(gemm_one_cut, 1, true)
#undef GEMM_CASES
#define GEMM_CASES(vectors, part) LOCUS_JOIN(GEMM_CASES_, GEMM_WIDE_ROWS)(vectors, part)
GEMM_PANEL(gemm_four, 4, false)
#undef GEMM_CASES

/* A slice of at most GEMM_DEPTH in k. */
static void KERNEL(gemm_slice)(gemm_block *block, size_t N) {
    const real *b = block->b;
    real *c = block->c;
    size_t column = 0, left = N;
    while (left > 0) {
        size_t width;
        block->b = b + column;
        block->c = c + column;
        if (left >= 4 * LANES && block->M <= GEMM_WIDE_ROWS) {
            width = 4 * LANES;
            KERNEL(gemm_four)(block);
        } else if (left >= 2 * LANES) {
            width = 2 * LANES;
            KERNEL(gemm_two)(block);
        } else if (left > LANES) {
            width = left;
            block->last = v_first(left - LANES);
            KERNEL(gemm_two_cut)(block);
        } else if (left == LANES) {
            width = left;
            KERNEL(gemm_one)(block);
        } else {
            width = left;
            block->last = v_first(left);
            KERNEL(gemm_one_cut)(block);
        }
        column += width;
        left -= width;
    }
}

static void KERNEL(gemm)(size_t M, size_t N, size_t K, const real *a, ptrdiff_t a_row, ptrdiff_t a_column,
                         const real *b, ptrdiff_t ldb, real *c, ptrdiff_t ldc, bool accumulate) {
    size_t done = 0;
    do { /* once even for K = 0, which leaves C or zeros */
        size_t depth = K - done < GEMM_DEPTH ? K - done : GEMM_DEPTH;
        gemm_block block = {.M = M,
                            .K = depth,
                            .a = a + (ptrdiff_t)done * a_column,
                            .b = b + (ptrdiff_t)done * ldb,
                            .c = c,
                            .a_row = a_row,
                            .a_column = a_column,
                            .ldb = ldb,
                            .ldc = ldc,
                            .accumulate = accumulate || done > 0,
                            .last = v_first(0)};
        KERNEL(gemm_slice)(&block, N);
        done += depth;
    } while (done < K);
}

#endif
