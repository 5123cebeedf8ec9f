/* SPDX-License-Identifier: MIT */
/* Kernels of bfloat16.h, in intrinsics: no other processor has these instructions. The two levels differ in the product
 * alone.
 *
 * exp x = 2^y, y = x·log2 e = n + r with n = ⌊y⌋: 2^n · P(r). P is a polynomial of degree 5, P(0) = 1, fitted for the
 * relative error by reweighted least squares: 1e-7, far below the half step of bfloat16 that weights are rounded by. */
#ifndef LOCUS_KERNELS_BFLOAT16_BODY_H
#define LOCUS_KERNELS_BFLOAT16_BODY_H

#include "kernels/bfloat16.h"
#include "kernels/simd.h"

#include <immintrin.h>

#if LOCUS_BFLOAT16_LEVEL == 2
#define BFLOAT16(name) locus_##name##_amx
#define BFLOAT16_ISA LOCUS_ISA_AMX
#include "kernels/bfloat16_tiles_body.h"
#else
#define BFLOAT16(name) locus_##name##_avx512bf16
#define BFLOAT16_ISA LOCUS_ISA_AVX512_BF16
#include "kernels/bfloat16_product_body.h"
#endif

#define LOG2_E 1.44269504f

/* 2^y; 0 outside of `lanes`. */
SIMD __m512 power_of_two(__m512 y, __mmask16 lanes) {
    const __m512 r = _mm512_reduce_ps(y, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); /* y − ⌊y⌋ */
    __m512 p = _mm512_set1_ps(0.001867130050f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.009017030708f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.05579991266f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.2401644439f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.6931512951f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
    const __mmask16 normal = _mm512_mask_cmp_ps_mask(lanes, y, _mm512_set1_ps(-126.0f), _CMP_NLT_UQ);
    return _mm512_maskz_scalef_ps(normal, p, y); /* takes ⌊y⌋ */
}

/* Which of the columns at, at + 1, …, at + 15 are in [from, to). */
SIMD __mmask16 columns_within(size_t at, size_t from, size_t to) {
    const size_t low = from > at ? from - at : 0, high = to > at ? to - at : 0;
    if (low >= 16 || high <= low)
        return 0;
    return (__mmask16)(((1u << (high < 16 ? high : 16)) - 1u) & ~((1u << low) - 1u));
}

SIMD __m512i rounded(__m512 low, __m512 high) {
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/* ---- rows ---- */

static void BFLOAT16(pairs)(size_t count, size_t columns, const uint16_t *rows, ptrdiff_t ld, uint16_t *out,
                            ptrdiff_t panel) {
    for (size_t i = 0; i < count; i += 2, rows += 2 * ld, out += 32)
        for (size_t j = 0; j < columns; j += 16) {
            const __m512i even = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)(rows + j)));
            const __m512i odd = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)(rows + ld + j)));
            _mm512_storeu_si512(out + (ptrdiff_t)(j / 16) * panel, _mm512_or_si512(even, _mm512_slli_epi32(odd, 16)));
        }
}

static bool BFLOAT16(finite)(size_t n, const uint16_t *x) {
    const __m512i exponent = _mm512_set1_epi16(0x7f80);
    __mmask32 found = 0;
    size_t i = 0;
    for (; i + 32 <= n; i += 32)
        found |= _mm512_cmpeq_epi16_mask(_mm512_and_si512(_mm512_loadu_si512(x + i), exponent), exponent);
    if (i < n) {
        const __m512i last = _mm512_maskz_loadu_epi16((1u << (n - i)) - 1u, x + i);
        found |= _mm512_cmpeq_epi16_mask(_mm512_and_si512(last, exponent), exponent);
    }
    return found == 0;
}

static void BFLOAT16(narrow)(size_t count, size_t n, const float *x, ptrdiff_t ld_x, uint16_t *y, ptrdiff_t ld_y) {
    for (size_t i = 0; i < count; i++, x += ld_x, y += ld_y) {
        size_t d = 0;
        for (; d + 32 <= n; d += 32)
            _mm512_storeu_si512(y + d, rounded(_mm512_loadu_ps(x + d), _mm512_loadu_ps(x + d + 16)));
        for (; d < n; d += 16) {
            const __mmask16 lanes = columns_within(d, 0, n);
            const __m512i last = rounded(_mm512_maskz_loadu_ps(lanes, x + d), _mm512_setzero_ps());
            _mm256_mask_storeu_epi16(y + d, lanes, _mm512_castsi512_si256(last));
        }
    }
}

SIMD __m512 widened(__m256i x) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}

static void BFLOAT16(dots)(size_t count, size_t n, const uint16_t *x, ptrdiff_t ld_x, const uint16_t *y, ptrdiff_t ld_y,
                           float *out) {
    for (size_t i = 0; i < count; i++, x += ld_x, y += ld_y) {
        __m512 sum = _mm512_setzero_ps();
        for (size_t d = 0; d < n; d += 16) {
            const __mmask16 lanes = columns_within(d, 0, n);
            sum = _mm512_fmadd_ps(widened(_mm256_maskz_loadu_epi16(lanes, x + d)),
                                  widened(_mm256_maskz_loadu_epi16(lanes, y + d)), sum);
        }
        out[i] = _mm512_reduce_add_ps(sum);
    }
}

/* ---- the softmax of a forward ---- */

SIMD float row_maximum(const float *score, size_t from, size_t to) {
    const __m512 lowest = _mm512_set1_ps(-INFINITY);
    __m512 top[2] = {lowest, lowest};
    for (size_t j = from - from % 16, k = 0; j < to; j += 16, k ^= 1) {
        const __m512 s = _mm512_mask_loadu_ps(lowest, columns_within(j, from, to), score + j);
        top[k] = _mm512_max_ps(s, top[k]); /* a NaN in s gives top */
    }
    return _mm512_reduce_max_ps(_mm512_max_ps(top[0], top[1]));
}

/* The same of a row whose columns are all there, a multiple of 32. */
SIMD float whole_maximum(const float *score, size_t columns) {
    __m512 top[2] = {_mm512_set1_ps(-INFINITY), _mm512_set1_ps(-INFINITY)};
    for (size_t j = 0; j < columns; j += 32) {
        top[0] = _mm512_max_ps(_mm512_loadu_ps(score + j), top[0]);
        top[1] = _mm512_max_ps(_mm512_loadu_ps(score + j + 16), top[1]);
    }
    return _mm512_reduce_max_ps(_mm512_max_ps(top[0], top[1]));
}

/* Weights of a row; returns their sum before `keep`. `whole` is a constant: all columns are there, a multiple of 32. */
SIMD float weigh_row(const locus_bfloat16_softmax *s, size_t i, float shift, const bool whole) {
    const float *score = s->scores.score + (ptrdiff_t)i * s->scores.ld;
    const float *keep = s->keep ? s->keep + (ptrdiff_t)i * s->scores.ld : NULL;
    const size_t from = s->scores.from[i], to = s->scores.to[i];
    const __m512 slope = _mm512_set1_ps(s->scores.scale * LOG2_E), base = _mm512_set1_ps(shift * LOG2_E);
    uint16_t *weight = s->weight + (ptrdiff_t)i * s->ld_weight;
    __m512 sum[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    for (size_t j = 0; j < s->scores.columns; j += 32) {
        __m512 p[2];
        SIMD_UNROLL
        for (size_t k = 0; k < 2; k++) {
            const size_t at = j + 16 * k;
            const __mmask16 lanes = whole ? (__mmask16)0xffff : columns_within(at, from, to);
            const __m512 x = whole ? _mm512_loadu_ps(score + at) : _mm512_maskz_loadu_ps(lanes, score + at);
            p[k] = power_of_two(_mm512_fmsub_ps(x, slope, base), lanes);
            sum[k] = _mm512_add_ps(sum[k], p[k]);
            if (keep)
                p[k] = _mm512_maskz_mul_ps(lanes, p[k], _mm512_maskz_loadu_ps(lanes, keep + at));
        }
        _mm512_storeu_si512(weight + j, rounded(p[0], p[1]));
    }
    return _mm512_reduce_add_ps(_mm512_add_ps(sum[0], sum[1]));
}

static void rescale_row(const locus_bfloat16_softmax *s, size_t i, float factor) {
    float *sum = s->sum + (ptrdiff_t)i * s->ld_sum;
    const __m512 by = _mm512_set1_ps(factor);
    for (size_t d = 0; d < s->dim; d += 16) {
        const __mmask16 lanes = columns_within(d, 0, s->dim);
        _mm512_mask_storeu_ps(sum + d, lanes, _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, sum + d), by));
    }
}

SIMD bool is_whole(const locus_bfloat16_scores *s, size_t i) {
    return s->from[i] == 0 && s->to[i] == s->columns && s->columns % 32 == 0;
}

enum { SOFTMAX_ROWS = 64 }; /* whose maxima are found before any weight is made: no row waits for its own */

static void softmax_rows(const locus_bfloat16_softmax *s, size_t first, size_t end) {
    float shift[SOFTMAX_ROWS];
    for (size_t i = first; i < end; i++) {
        const float *score = s->scores.score + (ptrdiff_t)i * s->scores.ld;
        const float peak =
            s->scores.scale * (is_whole(&s->scores, i) ? whole_maximum(score, s->scores.columns)
                                                       : row_maximum(score, s->scores.from[i], s->scores.to[i]));
        const float old = s->top[i], top = peak > old ? peak : old;
        if (top != old && s->total[i] != 0) {
            const float factor = expf(old - top);
            s->total[i] *= factor;
            rescale_row(s, i, factor);
        }
        s->top[i] = top;
        shift[i - first] = top == -INFINITY ? 0.0f : top; /* a row of −∞ alone has no weights, not NaN */
    }
    for (size_t i = first; i < end; i++)
        s->total[i] += is_whole(&s->scores, i) ? weigh_row(s, i, shift[i - first], true)
                                               : weigh_row(s, i, shift[i - first], false);
}

static void BFLOAT16(softmax)(const locus_bfloat16_softmax *s) {
    for (size_t i = 0; i < s->scores.rows; i += SOFTMAX_ROWS)
        softmax_rows(s, i, s->scores.rows - i < SOFTMAX_ROWS ? s->scores.rows : i + SOFTMAX_ROWS);
}

/* ---- a backward ---- */

typedef struct weight_and_gradient {
    __m512 p, ds;
} weight_and_gradient;

/* Columns at … at + 15 of row i; zeros behind the last row. */
SIMD weight_and_gradient backward_vector(const locus_bfloat16_backward *b, size_t i, size_t at) {
    weight_and_gradient x = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    if (i >= b->scores.rows)
        return x;
    const __mmask16 lanes = columns_within(at, b->scores.from[i], b->scores.to[i]);
    const ptrdiff_t place = (ptrdiff_t)i * b->scores.ld + (ptrdiff_t)at;
    const __m512 s = _mm512_maskz_loadu_ps(lanes, b->scores.score + place);
    const __m512 g = b->g ? _mm512_maskz_loadu_ps(lanes, b->g + place) : _mm512_setzero_ps();
    if (b->ready)
        return (weight_and_gradient){s, g};
    const float shift = b->log_sum_exp[i] == -INFINITY ? 0.0f : b->log_sum_exp[i] * LOG2_E;
    x.p = power_of_two(_mm512_fmsub_ps(s, _mm512_set1_ps(b->scores.scale * LOG2_E), _mm512_set1_ps(shift)), lanes);
    x.ds = _mm512_maskz_mul_ps(lanes, x.p, _mm512_sub_ps(g, _mm512_set1_ps(b->delta[i])));
    return x;
}

/* Even rows in the low halves of words, odd ones in the high. */
SIMD void store_pairs(uint16_t *to, __m512 even, __m512 odd) {
    const __m512i each = rounded(even, odd);
    const __m512i low = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(each));
    const __m512i high = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(each, 1));
    _mm512_storeu_si512(to, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
}

static void BFLOAT16(backward)(const locus_bfloat16_backward *b) {
    const size_t rows = (b->scores.rows + 31) / 32 * 32, columns = b->scores.columns;
    for (size_t i = 0; i < rows; i += 2)
        for (size_t j = 0; j < columns; j += 32) {
            weight_and_gradient even[2], odd[2];
            SIMD_UNROLL
            for (size_t k = 0; k < 2; k++) {
                const size_t at = j + 16 * k;
                const ptrdiff_t place = (ptrdiff_t)(at / 16) * b->panel + (ptrdiff_t)i * 16;
                even[k] = backward_vector(b, i, at);
                odd[k] = backward_vector(b, i + 1, at);
                if (at >= columns)
                    continue;
                store_pairs(b->weight_pairs + place, even[k].p, odd[k].p);
                if (b->g)
                    store_pairs(b->ds_pairs + place, even[k].ds, odd[k].ds);
            }
            if (!b->g)
                continue;
            if (i < b->scores.rows)
                _mm512_storeu_si512(b->ds + (ptrdiff_t)i * b->ld_ds + j, rounded(even[0].ds, even[1].ds));
            if (i + 1 < b->scores.rows)
                _mm512_storeu_si512(b->ds + (ptrdiff_t)(i + 1) * b->ld_ds + j, rounded(odd[0].ds, odd[1].ds));
        }
}

const locus_kernels_bfloat16 BFLOAT16(kernels_bfloat16) = {.isa = BFLOAT16_ISA,
                                                           .begin = BFLOAT16(begin),
                                                           .end = BFLOAT16(end),
                                                           .product = BFLOAT16(product),
                                                           .pairs = BFLOAT16(pairs),
                                                           .finite = BFLOAT16(finite),
                                                           .narrow = BFLOAT16(narrow),
                                                           .dots = BFLOAT16(dots),
                                                           .softmax = BFLOAT16(softmax),
                                                           .backward = BFLOAT16(backward)};

#endif
