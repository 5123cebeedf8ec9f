/* SPDX-License-Identifier: MIT */
/* A few rows of floats against many rows of bfloat16, which are read once, where they lie, in the order of memory:
 * products with them, and weighted sums of them. They are widened in registers, so that arithmetic goes on while the
 * next ones come. Every number is made by the same chain as by `dots` and `gemm` from rows that were widened. */
#ifndef LOCUS_KERNELS_HALF_ROWS_BODY_H
#define LOCUS_KERNELS_HALF_ROWS_BODY_H

#include "kernels/fold_body.h"

typedef struct half_rows {
    size_t count, n;
    const float *x;       /* a few rows, or their weights */
    const uint16_t *rows; /* [count][n], `step` apart */
    ptrdiff_t ld, step, ld_out;
    float *out;
} half_rows;

/* The first `left` < LANES floats of a vector; nothing behind them is touched. */
SIMD vf half_load_part(const uint16_t *p, size_t left) {
    uint16_t last[VF_LANES] = {0};
    memcpy(last, p, left * sizeof *last);
    return vf_load_bfloat16(last);
}

/* sum[2·q + j] = products, not yet added up, of x[q], q < height, with row[j]. */
SIMD void half_dots_two(const half_rows *b, const float *x, const uint16_t *const row[2], const size_t height,
                        vf sum[]) {
    size_t i = 0;
    SIMD_UNROLL
    for (size_t s = 0; s < 2 * height; s++)
        sum[s] = vf_zero();
    SIMD_ROLLED
    for (; i + VF_LANES <= b->n; i += VF_LANES) {
        const vf other[2] = {vf_load_bfloat16(row[0] + i), vf_load_bfloat16(row[1] + i)};
        SIMD_UNROLL
        for (size_t s = 0; s < 2 * height; s++)
            sum[s] = vf_fma(vf_load(x + (ptrdiff_t)(s / 2) * b->ld + i), other[s % 2], sum[s]);
    }
    if (VF_LANES == 1 || i == b->n)
        return;
    const size_t left = b->n - i;
    const vf other[2] = {half_load_part(row[0] + i, left), half_load_part(row[1] + i, left)};
    SIMD_UNROLL
    for (size_t s = 0; s < 2 * height; s++)
        sum[s] = vf_fma(vf_load_part(x + (ptrdiff_t)(s / 2) * b->ld + i, vf_first(left)), other[s % 2], sum[s]);
}

/* Once for both heights of a tile: a call costs less than its code twice. */
static __attribute__((noinline)) void KERNEL(half_dots_end)(vf sum[], float product[]) {
    SIMD_UNROLL
    for (size_t j = 0; j < DOTS_TILE; j += VF_LANES)
        dots_reduce(sum + j, product + j);
}

/* Rows [first, first + height) of x, a constant 1 or 4, against the DOTS_TILE / height rows from `at` on. Past the last
 * row that is taken again. */
SIMD void half_dots_tile(const half_rows *b, size_t first, size_t at, const size_t height) {
    const size_t width = DOTS_TILE / height, left = b->count - at < width ? b->count - at : width;
    const float *x = b->x + (ptrdiff_t)first * b->ld;
    float *out = b->out + (ptrdiff_t)first * b->ld_out + at, product[DOTS_TILE];
    vf sum[DOTS_TILE];
    SIMD_ROLLED
    for (size_t j = 0; j < width; j += 2) {
        const size_t last = left - 1, here = at + (j < left ? j : last), next = at + (j < last ? j + 1 : last);
        const uint16_t *const row[2] = {b->rows + (ptrdiff_t)here * b->step, b->rows + (ptrdiff_t)next * b->step};
        vf own[8];
        half_dots_two(b, x, row, height, own);
        SIMD_UNROLL
        for (size_t s = 0; s < 2 * height; s++)
            sum[s / 2 * width + j + s % 2] = own[s];
    }
    KERNEL(half_dots_end)(sum, product);
    for (size_t q = 0; q < height; q++, out += b->ld_out)
        if (left == width) /* a length that is known is a few moves, not a call */
            memcpy(out, product + q * width, width * sizeof *out);
        else
            memcpy(out, product + q * width, left * sizeof *out);
}

static void KERNEL(dots_bfloat16)(size_t queries, size_t count, size_t n, const float *x, ptrdiff_t ld,
                                  const uint16_t *rows, ptrdiff_t step, float *out, ptrdiff_t ld_out) {
    const half_rows block = {count, n, x, rows, ld, step, ld_out, out};
    size_t q = 0;
    for (; VF_LANES > 1 && q + 4 <= queries; q += 4)
        for (size_t row = 0; row < count; row += DOTS_TILE / 4)
            half_dots_tile(&block, q, row, 4);
    for (; q < queries; q++)
        for (size_t row = 0; row < count; row += DOTS_TILE)
            half_dots_tile(&block, q, row, 1);
}

/* `vectors` vectors of row `q` of sums, from `column` on, stay in registers while the many rows go by. Of the last one
 * `left` elements only, where that is not 0 and `vectors` 1. */
SIMD void half_sums_tile(const half_rows *b, size_t q, size_t column, size_t left, const size_t vectors) {
    const float *weight = b->x + (ptrdiff_t)q * b->ld;
    const uint16_t *row = b->rows + column;
    float *out = b->out + (ptrdiff_t)q * b->ld_out + column;
    vf sum[8];
    SIMD_UNROLL
    for (size_t v = 0; v < vectors; v++)
        sum[v] = left ? vf_load_part(out, vf_first(left)) : vf_load(out + v * VF_LANES);
    SIMD_ROLLED
    for (size_t j = 0; j < b->count; j++, row += b->step) {
        const vf own = vf_set(weight[j]);
        SIMD_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sum[v] = vf_fma(own, left ? half_load_part(row, left) : vf_load_bfloat16(row + v * VF_LANES), sum[v]);
    }
    SIMD_UNROLL
    for (size_t v = 0; v < vectors; v++)
        if (left)
            vf_store_part(out, sum[v], vf_first(left));
        else
            vf_store(out + v * VF_LANES, sum[v]);
}

static void KERNEL(sums_bfloat16)(size_t queries, size_t count, size_t n, const float *weight, ptrdiff_t ld,
                                  const uint16_t *rows, ptrdiff_t step, float *out, ptrdiff_t ld_out) {
    const half_rows block = {count, n, weight, rows, ld, step, ld_out, out};
    for (size_t q = 0; q < queries; q++) {
        size_t i = 0;
        for (; i + 8 * VF_LANES <= n; i += 8 * VF_LANES)
            half_sums_tile(&block, q, i, 0, 8);
        for (; VF_LANES > 1 && i + 4 * VF_LANES <= n; i += 4 * VF_LANES)
            half_sums_tile(&block, q, i, 0, 4);
        for (; i + VF_LANES <= n; i += VF_LANES)
            half_sums_tile(&block, q, i, 0, 1);
        if (VF_LANES > 1 && i < n)
            half_sums_tile(&block, q, i, n - i, 1);
    }
}

#endif
