/* SPDX-License-Identifier: MIT */
/* Rows of scores before their softmax: one vector's products with many rows, the soft cap and its derivative, and a
 * last factor or bias together with the maximum that the softmax needs anyway.
 *
 * tanh x = −m/(2 + m), m = e^(−2x) − 1 by the arithmetic of exp_vector: with −2x = n ln 2 + r,
 * m = 2^n (r + r² Q(r)) + (2^n − 1). No digits are lost near 0, where n is 0. Beyond TANH_CLAMP it is ±1. */
#ifndef LOCUS_KERNELS_SCORES_BODY_H
#define LOCUS_KERNELS_SCORES_BODY_H

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

/* LANES products at once: as many chains, and one transposition instead of as many horizontal sums. Past the last row
 * it is taken again, so that a product does not depend on its place. */
static void KERNEL(dots)(size_t count, size_t n, const real *x, const real *rows, ptrdiff_t step, real *out) {
    for (size_t first = 0; first < count; first += LANES) {
        const size_t block = count - first < LANES ? count - first : LANES;
        const real *row[LANES];
        vreal sum[LANES];
        SIMD_UNROLL
        for (size_t j = 0; j < LANES; j++) {
            row[j] = rows + (ptrdiff_t)(first + (j < block ? j : block - 1)) * step;
            sum[j] = v_zero();
        }
        size_t i = 0;
        for (; i + LANES <= n; i += LANES) {
            const vreal at = v_load(x + i);
            SIMD_UNROLL
            for (size_t j = 0; j < LANES; j++)
                sum[j] = v_fma(at, v_load(row[j] + i), sum[j]);
        }
        if (i < n) {
            const vpart part = v_first(n - i);
            const vreal at = v_load_part(x + i, part);
            SIMD_UNROLL
            for (size_t j = 0; j < LANES; j++)
                sum[j] = v_fma(at, v_load_part(row[j] + i, part), sum[j]);
        }
        v_transpose(sum);
        for (size_t half = LANES / 2; half > 0; half /= 2) {
            for (size_t j = 0; j < half; j++)
                sum[j] = v_add(sum[j], sum[j + half]);
        }
        if (block == LANES)
            v_store(out + first, sum[0]);
        else
            v_store_part(out + first, sum[0], v_first(block));
    }
}

#endif
