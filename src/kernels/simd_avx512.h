/* SPDX-License-Identifier: MIT */
/* The vocabulary of simd.h in AVX-512 (F, BW, DQ, VL): 16 floats, 8 doubles; parts are mask registers. */
#ifndef LOCUS_KERNELS_SIMD_AVX512_H
#define LOCUS_KERNELS_SIMD_AVX512_H

#include <immintrin.h>

typedef __m512 vf;
typedef __m512d vd;
typedef __m512i vu;
typedef __mmask16 vf_part;
typedef __mmask8 vd_part;

#define VF_LANES ((size_t)16)
#define VD_LANES ((size_t)8)
#define VU_LANES ((size_t)16)

#define AVX512_WORDS(v, element, suffix) \
    SIMD v v##_zero(void) { \
        return _mm512_setzero_##suffix(); \
    } \
    SIMD v v##_set(element x) { \
        return _mm512_set1_##suffix(x); \
    } \
    SIMD v v##_load(const element *p) { \
        return _mm512_loadu_##suffix(p); \
    } \
    SIMD void v##_store(element *p, v x) { \
        _mm512_storeu_##suffix(p, x); \
    } \
    SIMD v v##_held(v x) { \
        __asm__("" : "+v"(x)); \
        return x; \
    } \
    SIMD v##_part v##_first(size_t n) { \
        return (v##_part)((1u << n) - 1u); \
    } \
    SIMD v v##_load_part(const element *p, v##_part part) { \
        return _mm512_maskz_loadu_##suffix(part, p); \
    } \
    SIMD v v##_load_part_or(const element *p, v##_part part, v other) { \
        return _mm512_mask_loadu_##suffix(other, part, p); \
    } \
    SIMD void v##_store_part(element *p, v x, v##_part part) { \
        _mm512_mask_storeu_##suffix(p, part, x); \
    } \
    SIMD v v##_add(v a, v b) { \
        return _mm512_add_##suffix(a, b); \
    } \
    SIMD v v##_sub(v a, v b) { \
        return _mm512_sub_##suffix(a, b); \
    } \
    SIMD v v##_mul(v a, v b) { \
        return _mm512_mul_##suffix(a, b); \
    } \
    SIMD v v##_div(v a, v b) { \
        return _mm512_div_##suffix(a, b); \
    } \
    SIMD v v##_fma(v a, v b, v c) { \
        return _mm512_fmadd_##suffix(a, b, c); \
    } \
    SIMD v v##_fnma(v a, v b, v c) { \
        return _mm512_fnmadd_##suffix(a, b, c); \
    } \
    SIMD v v##_max(v a, v b) { \
        return _mm512_max_##suffix(a, b); \
    } \
    SIMD v v##_min(v a, v b) { \
        return _mm512_min_##suffix(a, b); \
    } \
    SIMD element v##_sum(v a) { \
        return _mm512_reduce_add_##suffix(a); \
    } \
    SIMD v v##_round(v a) { \
        return _mm512_roundscale_##suffix(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); \
    } \
    SIMD v v##_ldexp(v x, v n) { \
        return _mm512_scalef_##suffix(x, n); \
    } \
    SIMD v v##_zero_below(v x, v limit, v value) { \
        return _mm512_maskz_mov_##suffix(_mm512_cmp_##suffix##_mask(x, limit, _CMP_NLT_UQ), value); \
    }

AVX512_WORDS(vf, float, ps)
AVX512_WORDS(vd, double, pd)

SIMD void vf_deinterleave(vf a, vf b, vf *x, vf *y) {
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    *x = _mm512_permutex2var_ps(a, even, b);
    *y = _mm512_permutex2var_ps(a, _mm512_add_epi32(even, _mm512_set1_epi32(1)), b);
}

SIMD void vf_interleave(vf x, vf y, vf *a, vf *b) {
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    *a = _mm512_permutex2var_ps(x, low, y);
    *b = _mm512_permutex2var_ps(x, _mm512_add_epi32(low, _mm512_set1_epi32(8)), y);
}

SIMD void vd_deinterleave(vd a, vd b, vd *x, vd *y) {
    const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    *x = _mm512_permutex2var_pd(a, even, b);
    *y = _mm512_permutex2var_pd(a, _mm512_add_epi64(even, _mm512_set1_epi64(1)), b);
}

SIMD void vd_interleave(vd x, vd y, vd *a, vd *b) {
    const __m512i low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    *a = _mm512_permutex2var_pd(x, low, y);
    *b = _mm512_permutex2var_pd(x, _mm512_add_epi64(low, _mm512_set1_epi64(4)), y);
}

SIMD void vf_swap(const vf a[2], vf b[2]) {
    b[0] = _mm512_permute_ps(a[0], 0xb1);
    b[1] = _mm512_permute_ps(a[1], 0xb1);
}

SIMD void vd_swap(const vd a[2], vd b[2]) {
    b[0] = _mm512_permute_pd(a[0], 0x55);
    b[1] = _mm512_permute_pd(a[1], 0x55);
}

SIMD void vf_spread(const vf a[2], vf x[2], vf y[2]) {
    const __m512 sign = _mm512_castsi512_ps(_mm512_set1_epi64(INT64_C(0x80000000)));
    for (int i = 0; i < 2; i++) {
        x[i] = _mm512_moveldup_ps(a[i]);
        y[i] = _mm512_xor_ps(_mm512_movehdup_ps(a[i]), sign);
    }
}

SIMD void vd_spread(const vd a[2], vd x[2], vd y[2]) {
    const __m512d sign = _mm512_setr_pd(-0.0, 0, -0.0, 0, -0.0, 0, -0.0, 0);
    for (int i = 0; i < 2; i++) {
        x[i] = _mm512_movedup_pd(a[i]);
        y[i] = _mm512_xor_pd(_mm512_permute_pd(a[i], 0xff), sign);
    }
}

/* A square of 4 × 4 quarters: in[g] holds quarters g0 … g3, out[l] gets 0l … 3l. */
SIMD void avx512_transpose_quarters(const vf in[4], vf *out0, vf *out1, vf *out2, vf *out3) {
    __m512 even01 = _mm512_shuffle_f32x4(in[0], in[1], 0x88), even23 = _mm512_shuffle_f32x4(in[2], in[3], 0x88);
    __m512 odd01 = _mm512_shuffle_f32x4(in[0], in[1], 0xdd), odd23 = _mm512_shuffle_f32x4(in[2], in[3], 0xdd);
    *out0 = _mm512_shuffle_f32x4(even01, even23, 0x88);
    *out1 = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
    *out2 = _mm512_shuffle_f32x4(even01, even23, 0xdd);
    *out3 = _mm512_shuffle_f32x4(odd01, odd23, 0xdd);
}

/* 4 × 4 squares within the quarters first, then the square of quarters. */
SIMD void vf_transpose(vf block[16]) {
    vf pairs[16];
    SIMD_UNROLL
    for (size_t i = 0; i < 16; i += 2) {
        pairs[i] = _mm512_unpacklo_ps(block[i], block[i + 1]);
        pairs[i + 1] = _mm512_unpackhi_ps(block[i], block[i + 1]);
    }
    SIMD_UNROLL
    for (size_t j = 0; j < 4; j++) {
        vf columns[4];
        SIMD_UNROLL
        for (size_t g = 0; g < 4; g++) {
            __m512d a = _mm512_castps_pd(pairs[4 * g + j / 2]), b = _mm512_castps_pd(pairs[4 * g + j / 2 + 2]);
            columns[g] = _mm512_castpd_ps(j % 2 ? _mm512_unpackhi_pd(a, b) : _mm512_unpacklo_pd(a, b));
        }
        avx512_transpose_quarters(columns, &block[j], &block[4 + j], &block[8 + j], &block[12 + j]);
    }
}

SIMD void vd_transpose(vd block[8]) {
    vf columns[2][4], out[8];
    SIMD_UNROLL
    for (size_t g = 0; g < 4; g++) {
        columns[0][g] = _mm512_castpd_ps(_mm512_unpacklo_pd(block[2 * g], block[2 * g + 1]));
        columns[1][g] = _mm512_castpd_ps(_mm512_unpackhi_pd(block[2 * g], block[2 * g + 1]));
    }
    avx512_transpose_quarters(columns[0], &out[0], &out[2], &out[4], &out[6]);
    avx512_transpose_quarters(columns[1], &out[1], &out[3], &out[5], &out[7]);
    SIMD_UNROLL
    for (size_t i = 0; i < 8; i++)
        block[i] = _mm512_castps_pd(out[i]);
}

SIMD vd vd_load_float(const float *p) {
    return _mm512_cvtps_pd(_mm256_loadu_ps(p));
}

SIMD void vd_store_float(float *p, vd x) {
    _mm256_storeu_ps(p, _mm512_cvtpd_ps(x));
}

SIMD vd vd_load_float_part(const float *p, vd_part part) {
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(part, p));
}

SIMD void vd_store_float_part(float *p, vd x, vd_part part) {
    _mm256_mask_storeu_ps(p, part, _mm512_cvtpd_ps(x));
}

SIMD vf vf_load_half(const uint16_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

SIMD vf vf_load_bfloat16(const uint16_t *p) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

SIMD void vf_store_half(uint16_t *p, vf x) {
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

SIMD vu vu_set(uint32_t x) {
    return _mm512_set1_epi32((int)x);
}

SIMD vu vu_load(const uint32_t *p) {
    return _mm512_loadu_si512(p);
}

SIMD vu vu_add(vu a, vu b) {
    return _mm512_add_epi32(a, b);
}

SIMD vu vu_xor(vu a, vu b) {
    return _mm512_xor_si512(a, b);
}

SIMD void vu_multiply(vu a, vu m, vu *high, vu *low) {
    __m512i even = _mm512_mul_epu32(a, m), odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), m);
    *low = _mm512_mask_shuffle_epi32(even, 0xaaaa, odd, (_MM_PERM_ENUM)0xa0);
    *high = _mm512_mask_shuffle_epi32(odd, 0x5555, even, (_MM_PERM_ENUM)0xf5);
}

SIMD vu vu_blocks(void) {
    return _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
}

SIMD void vu_store_blocks(uint32_t *p, vu w0, vu w1, vu w2, vu w3) {
    __m512i low01 = _mm512_unpacklo_epi32(w0, w1), high01 = _mm512_unpackhi_epi32(w0, w1);
    __m512i low23 = _mm512_unpacklo_epi32(w2, w3), high23 = _mm512_unpackhi_epi32(w2, w3);
    _mm512_storeu_si512(p, _mm512_unpacklo_epi64(low01, low23));
    _mm512_storeu_si512(p + 16, _mm512_unpackhi_epi64(low01, low23));
    _mm512_storeu_si512(p + 32, _mm512_unpacklo_epi64(high01, high23));
    _mm512_storeu_si512(p + 48, _mm512_unpackhi_epi64(high01, high23));
}

#endif
