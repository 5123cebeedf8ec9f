/* SPDX-License-Identifier: MIT */
/* The parts of a softmax over a row: maximum, exponentials with their sum, and the backward row
 * (p = softmax(s): ds = p·(dp − Σ p dp), with the sum handed in as delta).
 *
 * exp: x = n ln 2 + r, |r| ≤ ln 2 / 2, exp x = 2^n (1 + r + r² Q(r)). Q is a minimax polynomial for the relative error
 * (0.05 of half an ulp), fitted by reweighted least squares in 160 bits; ln 2 is split so that n times its first part
 * is exact. Arguments are clamped to where the result is certainly 0 or ∞; a NaN passes through. Results below the
 * smallest normal number become 0, so that later products never run on denormals. */
#ifndef LOCUS_KERNELS_SOFTMAX_BODY_H
#define LOCUS_KERNELS_SOFTMAX_BODY_H

#if LOCUS_REAL_BITS == 32
#define EXP_LOWEST -87.33654022f /* ln of the smallest normal number */
#define EXP_CLAMP_LOW -104.0f
#define EXP_CLAMP_HIGH 89.5f
#define EXP_LN2_HIGH 0x1.63p-1f /* 9 bits */
#define EXP_LN2_LOW -2.12194440e-4f
#define EXP_TERMS 5
static const real exp_terms[EXP_TERMS] = {0.4999999341f, 0.166665201f, 0.04166839448f, 0.0083687816f, 0.001381445439f};
#else
#define EXP_LOWEST -708.396418532264
#define EXP_CLAMP_LOW -746.0
#define EXP_CLAMP_HIGH 711.0
#define EXP_LN2_HIGH 0x1.62e42feep-1 /* 32 bits */
#define EXP_LN2_LOW 1.90821492927058770002e-10
#define EXP_TERMS 10
static const real exp_terms[EXP_TERMS] = {0.5000000000000010726,     0.1666666666666641019,   0.04166666666652915122,
                                          0.008333333333495622264,   0.001388888894393179152, 0.0001984126950480657387,
                                          0.00002480149275395769425, 2.755758728245738612e-6, 2.76303815713299705e-7,
                                          2.499998944190031266e-8};
#endif

SIMD vreal exp_vector(vreal argument) {
    vreal x = v_max(v_set(EXP_CLAMP_LOW), v_min(v_set(EXP_CLAMP_HIGH), argument)); /* in this order NaN stays NaN */
    vreal n = v_round(v_mul(x, v_set((real)1.44269504088896340736)));
    vreal r = v_fnma(n, v_set(EXP_LN2_LOW), v_fnma(n, v_set(EXP_LN2_HIGH), x));
    vreal q = v_set(exp_terms[EXP_TERMS - 1]);
    SIMD_UNROLL
    for (size_t i = EXP_TERMS - 1; i > 0; i--)
        q = v_fma(q, r, v_set(exp_terms[i - 1]));
    vreal value = v_add(v_fma(v_mul(r, r), q, r), v_set(1));
    return v_zero_below(argument, v_set(EXP_LOWEST), v_ldexp(value, n));
}

static real KERNEL(maximum)(size_t n, const real *x) {
    const vreal lowest = v_set(-(real)INFINITY);
    vreal top[4] = {lowest, lowest, lowest, lowest};
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        SIMD_UNROLL
        for (size_t j = 0; j < 4; j++)
            top[j] = v_max(v_load(x + i + j * LANES), top[j]);
    }
    for (; i + LANES <= n; i += LANES)
        top[0] = v_max(v_load(x + i), top[0]);
    if (i < n)
        top[1] = v_max(v_load_part_or(x + i, v_first(n - i), lowest), top[1]);
    real lane[LANES], result;
    v_store(lane, v_max(v_max(top[0], top[1]), v_max(top[2], top[3])));
    result = lane[0];
    for (size_t j = 1; j < LANES; j++)
        result = lane[j] > result ? lane[j] : result;
    return result;
}

static real KERNEL(exp_sum)(size_t n, real shift, real *x) {
    const vreal subtract = v_set(shift);
    vreal sum[4] = {v_zero(), v_zero(), v_zero(), v_zero()};
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        SIMD_UNROLL
        for (size_t j = 0; j < 4; j++) {
            vreal value = exp_vector(v_sub(v_load(x + i + j * LANES), subtract));
            v_store(x + i + j * LANES, value);
            sum[j] = v_add(sum[j], value);
        }
    }
    for (; i + LANES <= n; i += LANES) {
        vreal value = exp_vector(v_sub(v_load(x + i), subtract));
        v_store(x + i, value);
        sum[0] = v_add(sum[0], value);
    }
    if (i < n) { /* lanes that do not exist are −∞ and add nothing */
        const vpart part = v_first(n - i);
        vreal value = exp_vector(v_sub(v_load_part_or(x + i, part, v_set(-(real)INFINITY)), subtract));
        v_store_part(x + i, value, part);
        sum[1] = v_add(sum[1], value);
    }
    return v_sum(v_add(v_add(sum[0], sum[1]), v_add(sum[2], sum[3])));
}

static void KERNEL(softmax_backward)(size_t n, const real *p, const real *dp, real delta, real *ds) {
    const vreal subtract = v_set(delta);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        v_store(ds + i, v_mul(v_load(p + i), v_sub(v_load(dp + i), subtract)));
    if (i < n) {
        const vpart part = v_first(n - i);
        v_store_part(ds + i, v_mul(v_load_part(p + i, part), v_sub(v_load_part(dp + i, part), subtract)), part);
    }
}

/* ---- rows of a strip ---- */

enum { SOFTMAX_ROWS = 16 }; /* whose maxima are found before any weight is made: no row waits for its own */

SIMD void clear_columns(real *x, size_t from, size_t to) {
    for (; from + LANES <= to; from += LANES)
        v_store(x + from, v_zero());
    if (from < to)
        v_store_part(x + from, v_zero(), v_first(to - from));
}

static void KERNEL(softmax_run)(const locus_softmax_rows *rows, size_t first, size_t end, real *score, real *top,
                                real *total, real *factor) {
    for (size_t i = first; i < end; i++) {
        const real peak = KERNEL(maximum)(rows->to[i] - rows->from[i], score + (ptrdiff_t)i * rows->ld + rows->from[i]);
        const real old = top[i];
        top[i] = peak > old ? peak : old;
        factor[i] = top[i] != old && total[i] != 0 ? real_exp(old - top[i]) : 1;
    }
    for (size_t i = first; i < end; i++) {
        real *row = score + (ptrdiff_t)i * rows->ld;
        const size_t from = rows->from[i], to = rows->to[i];
        total[i] =
            factor[i] * total[i] + KERNEL(exp_sum)(to - from, top[i] == -(real)INFINITY ? 0 : top[i], row + from);
        clear_columns(row, 0, from);
        clear_columns(row, to, rows->columns);
    }
}

static void KERNEL(softmax_rows)(const locus_softmax_rows *rows, real *score, real *top, real *total, real *factor) {
    for (size_t i = 0, end; i < rows->rows; i = end) {
        end = rows->rows - i < SOFTMAX_ROWS ? rows->rows : i + SOFTMAX_ROWS;
        KERNEL(softmax_run)(rows, i, end, score, top, total, factor);
    }
}

static void KERNEL(softmax_rows_backward)(const locus_softmax_rows *rows, const real *log_sum_exp, const real *delta,
                                          real *score, real *g) {
    for (size_t i = 0; i < rows->rows; i++) {
        real *p = score + (ptrdiff_t)i * rows->ld, *ds = g ? g + (ptrdiff_t)i * rows->ld : NULL;
        const vreal shift = v_set(log_sum_exp[i] == -(real)INFINITY ? 0 : log_sum_exp[i]), subtract = v_set(delta[i]);
        const size_t from = rows->from[i], to = rows->to[i];
        size_t j = from;
        for (; j + LANES <= to; j += LANES) {
            const vreal weight = exp_vector(v_sub(v_load(p + j), shift));
            v_store(p + j, weight);
            if (ds)
                v_store(ds + j, v_mul(weight, v_sub(v_load(ds + j), subtract)));
        }
        if (j < to) {
            const vpart part = v_first(to - j);
            const vreal weight = exp_vector(v_sub(v_load_part(p + j, part), shift));
            v_store_part(p + j, weight, part);
            if (ds)
                v_store_part(ds + j, v_mul(weight, v_sub(v_load_part(ds + j, part), subtract)), part);
        }
        clear_columns(p, 0, from);
        clear_columns(p, to, rows->columns);
        if (ds) {
            clear_columns(ds, 0, from);
            clear_columns(ds, to, rows->columns);
        }
    }
}

#endif
