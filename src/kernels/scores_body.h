/* SPDX-License-Identifier: MIT */
/* Rows of scores before their softmax: products of a few rows with many rows, the soft cap and its derivative, and a
 * last factor or bias together with the maximum that the softmax needs anyway.
 *
 * tanh x = −m/(2 + m), m = e^(−2x) − 1 by the arithmetic of exp_vector: with −2x = n ln 2 + r,
 * m = 2^n (r + r² Q(r)) + (2^n − 1). No digits are lost near 0, where n is 0. Beyond TANH_CLAMP it is ±1. */
#ifndef LOCUS_KERNELS_SCORES_BODY_H
#define LOCUS_KERNELS_SCORES_BODY_H

#include "kernels/fold_body.h"
#include "kernels/softmax_body.h"

#if LOCUS_REAL_BITS == 32
#define TANH_CLAMP 10.0f
#else
#define TANH_CLAMP 20.0
#endif

SIMD vreal tanh_vector(vreal argument) {
    vreal x = v_max(v_set(-TANH_CLAMP), v_min(v_set(TANH_CLAMP), argument)); /* in this order NaN stays NaN */
    x = v_mul(v_set(-2), x);
    vreal n = v_round(v_mul(x, v_set((real)1.44269504088896340736)));
    vreal r = v_fnma(n, v_set(EXP_LN2_LOW), v_fnma(n, v_set(EXP_LN2_HIGH), x));
    vreal q = v_set(exp_terms[EXP_TERMS - 1]);
    SIMD_UNROLL
    for (size_t i = EXP_TERMS - 1; i > 0; i--)
        q = v_fma(q, r, v_set(exp_terms[i - 1]));
    vreal power = v_ldexp(v_set(1), n);
    vreal m = v_fma(power, v_fma(v_mul(r, r), q, r), v_sub(power, v_set(1)));
    return v_div(v_sub(v_zero(), m), v_add(v_set(2), m));
}

static void KERNEL(soft_cap)(size_t n, real cap, real *x) {
    const vreal top = v_set(cap), inverse = v_set(1 / cap);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        v_store(x + i, v_mul(top, tanh_vector(v_mul(inverse, v_load(x + i)))));
    if (i < n) {
        const vpart part = v_first(n - i);
        v_store_part(x + i, v_mul(top, tanh_vector(v_mul(inverse, v_load_part(x + i, part)))), part);
    }
}

SIMD vreal capped_gradient(vreal inverse, vreal capped, vreal g) {
    const vreal t = v_mul(inverse, capped);
    return v_mul(g, v_fnma(t, t, v_set(1)));
}

static void KERNEL(soft_cap_backward)(size_t n, real cap, const real *capped, real *g) {
    const vreal inverse = v_set(1 / cap);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        v_store(g + i, capped_gradient(inverse, v_load(capped + i), v_load(g + i)));
    if (i < n) {
        const vpart part = v_first(n - i);
        v_store_part(g + i, capped_gradient(inverse, v_load_part(capped + i, part), v_load_part(g + i, part)), part);
    }
}

SIMD real largest_lane(vreal top) {
    real lane[LANES], result;
    v_store(lane, top);
    result = lane[0];
    for (size_t j = 1; j < LANES; j++)
        result = lane[j] > result ? lane[j] : result;
    return result;
}

/* z = x combined with y; the maximum of z, by the rules of `maximum`. */
#define COMBINED_MAXIMUM(name, combine) \
    static real KERNEL(name)(size_t n, const real *x, const real *y, real *z) { \
        const vreal lowest = v_set(-(real)INFINITY); \
        vreal top[2] = {lowest, lowest}; \
        size_t i = 0; \
        for (; i + 2 * LANES <= n; i += 2 * LANES) { \
            SIMD_UNROLL \
            for (size_t j = 0; j < 2; j++) { \
                const vreal value = combine(v_load(x + i + j * LANES), v_load(y + i + j * LANES)); \
                v_store(z + i + j * LANES, value); \
                top[j] = v_max(value, top[j]); \
            } \
        } \
        for (; i < n; i += LANES) { /* lanes that do not exist are −∞, with 1 for a partner */ \
            const vpart part = v_first(n - i < LANES ? n - i : LANES); \
            const vreal value = combine(v_load_part_or(x + i, part, lowest), v_load_part_or(y + i, part, v_set(1))); \
            v_store_part(z + i, value, part); \
            top[0] = v_max(value, top[0]); \
        } \
        return largest_lane(v_max(top[0], top[1])); \
    }
COMBINED_MAXIMUM(add_maximum, v_add)
COMBINED_MAXIMUM(multiply_maximum, v_mul)
#undef COMBINED_MAXIMUM

/* ---- products of rows with rows ---- */

typedef struct dots_block {
    size_t count, n;
    const real *x, *rows;
    ptrdiff_t ld, step, ld_out;
    real *out;
} dots_block;

/* Rows [first, first + height) of x, a constant 1, 2 or 4, against the DOTS_TILE / height rows from `row` on. Each of
 * these is read once, from end to end before the next one: rows that follow one another come from memory as fast as it
 * can be read, all of them a vector at a time by half of that. Without vectors arithmetic is what takes time, and all
 * rows' chains go on together. Past the last row that is taken again, so that a product does not depend on its
 * place. */
SIMD void dots_tile(const dots_block *b, size_t first, size_t row, const size_t height) {
    const size_t together = LANES == 1 ? DOTS_TILE / height : 1;
    const size_t width = DOTS_TILE / height, left = b->count - row < width ? b->count - row : width;
    const ptrdiff_t ld = b->ld;
    const real *x = b->x + (ptrdiff_t)first * ld, *at[DOTS_TILE];
    vreal sum[DOTS_TILE];
    real product[DOTS_TILE];
    size_t i = 0;
    SIMD_UNROLL
    for (size_t j = 0; j < width; j++)
        at[j] = b->rows + (ptrdiff_t)(row + (j < left ? j : left - 1)) * b->step;
    SIMD_UNROLL
    for (size_t j = 0; j < DOTS_TILE; j++)
        sum[j] = v_zero();
    SIMD_UNROLL
    for (size_t from = 0; from < width; from += together)
        for (i = 0; i + LANES <= b->n; i += LANES) {
            vreal own[4];
            SIMD_UNROLL
            for (size_t q = 0; q < height; q++)
                own[q] = v_load(x + (ptrdiff_t)q * ld + i);
            SIMD_UNROLL
            for (size_t j = from; j < from + together; j++) {
                const vreal other = v_load(at[j] + i);
                SIMD_UNROLL
                for (size_t q = 0; q < height; q++)
                    sum[q * width + j] = v_fma(own[q], other, sum[q * width + j]);
            }
        }
    if (i < b->n) {
        const vpart part = v_first(b->n - i);
        SIMD_UNROLL
        for (size_t j = 0; j < width; j++) {
            const vreal other = v_load_part(at[j] + i, part);
            SIMD_UNROLL
            for (size_t q = 0; q < height; q++)
                sum[q * width + j] = v_fma(v_load_part(x + (ptrdiff_t)q * ld + i, part), other, sum[q * width + j]);
        }
    }
    SIMD_UNROLL
    for (size_t j = 0; j < DOTS_TILE; j += LANES)
        dots_reduce(sum + j, product + j);
    real *out = b->out + (ptrdiff_t)first * b->ld_out + row;
    for (size_t q = 0; q < height; q++, out += b->ld_out)
        if (left == width) /* a length that is known is a few moves, not a call */
            memcpy(out, product + q * width, width * sizeof(real));
        else
            memcpy(out, product + q * width, left * sizeof(real));
}

static void KERNEL(dots)(size_t queries, size_t count, size_t n, const real *x, ptrdiff_t ld, const real *rows,
                         ptrdiff_t step, real *out, ptrdiff_t ld_out) {
    const dots_block block = {count, n, x, rows, ld, step, ld_out, out};
    size_t q = 0;
    for (; q + 4 <= queries; q += 4)
        for (size_t row = 0; row < count; row += DOTS_TILE / 4)
            dots_tile(&block, q, row, 4);
    for (; q + 2 <= queries; q += 2)
        for (size_t row = 0; row < count; row += DOTS_TILE / 2)
            dots_tile(&block, q, row, 2);
    for (size_t row = 0; q < queries && row < count; row += DOTS_TILE)
        dots_tile(&block, q, row, 1);
}

#endif
