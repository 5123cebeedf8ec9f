/* SPDX-License-Identifier: MIT */
/* The vocabulary of simd.h in AVX2 + FMA + F16C: 8 floats, 4 doubles; parts are lane masks read out of a sliding
 * table. */
#ifndef LOCUS_KERNELS_SIMD_AVX2_H
#define LOCUS_KERNELS_SIMD_AVX2_H

#include <immintrin.h>

typedef __m256 vf;
typedef __m256d vd;
typedef __m256i vu;
typedef __m256i vf_part;
typedef struct vd_part {
    __m256i doubles;
    __m128i floats; /* for four floats that are read or written as doubles */
} vd_part;

#define VF_LANES ((size_t)8)
#define VD_LANES ((size_t)4)
#define VU_LANES ((size_t)8)

static const int32_t avx2_sliding_mask[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

SIMD vf_part vf_first(size_t n) {
    return _mm256_loadu_si256((const __m256i *)(const void *)(avx2_sliding_mask + 8 - n));
}

SIMD vd_part vd_first(size_t n) {
    vd_part part;
    part.floats = _mm_loadu_si128((const __m128i *)(const void *)(avx2_sliding_mask + 8 - n));
    part.doubles = _mm256_cvtepi32_epi64(part.floats);
    return part;
}

SIMD vf vf_load_part(const float *p, vf_part part) {
    return _mm256_maskload_ps(p, part);
}

SIMD vf vf_load_part_or(const float *p, vf_part part, vf other) {
    return _mm256_blendv_ps(other, _mm256_maskload_ps(p, part), _mm256_castsi256_ps(part));
}

SIMD void vf_store_part(float *p, vf x, vf_part part) {
    _mm256_maskstore_ps(p, part, x);
}

SIMD vd vd_load_part(const double *p, vd_part part) {
    return _mm256_maskload_pd(p, part.doubles);
}

SIMD vd vd_load_part_or(const double *p, vd_part part, vd other) {
    return _mm256_blendv_pd(other, _mm256_maskload_pd(p, part.doubles), _mm256_castsi256_pd(part.doubles));
}

SIMD void vd_store_part(double *p, vd x, vd_part part) {
    _mm256_maskstore_pd(p, part.doubles, x);
}

#define AVX2_WORDS(v, element, suffix) \
    SIMD v v##_zero(void) { \
        return _mm256_setzero_##suffix(); \
    } \
    SIMD v v##_set(element x) { \
        return _mm256_set1_##suffix(x); \
    } \
    SIMD v v##_load(const element *p) { \
        return _mm256_loadu_##suffix(p); \
    } \
    SIMD void v##_store(element *p, v x) { \
        _mm256_storeu_##suffix(p, x); \
    } \
    SIMD v v##_held(v x) { \
        __asm__("" : "+x"(x)); \
        return x; \
    } \
    SIMD v v##_add(v a, v b) { \
        return _mm256_add_##suffix(a, b); \
    } \
    SIMD v v##_sub(v a, v b) { \
        return _mm256_sub_##suffix(a, b); \
    } \
    SIMD v v##_mul(v a, v b) { \
        return _mm256_mul_##suffix(a, b); \
    } \
    SIMD v v##_div(v a, v b) { \
        return _mm256_div_##suffix(a, b); \
    } \
    SIMD v v##_fma(v a, v b, v c) { \
        return _mm256_fmadd_##suffix(a, b, c); \
    } \
    SIMD v v##_fnma(v a, v b, v c) { \
        return _mm256_fnmadd_##suffix(a, b, c); \
    } \
    SIMD v v##_max(v a, v b) { \
        return _mm256_max_##suffix(a, b); \
    } \
    SIMD v v##_min(v a, v b) { \
        return _mm256_min_##suffix(a, b); \
    } \
    SIMD v v##_round(v a) { \
        return _mm256_round_##suffix(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); \
    } \
    SIMD v v##_zero_below(v x, v limit, v value) { \
        return _mm256_andnot_##suffix(_mm256_cmp_##suffix(x, limit, _CMP_LT_OQ), value); \
    }

AVX2_WORDS(vf, float, ps)
AVX2_WORDS(vd, double, pd)

SIMD float vf_sum(vf a) {
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

SIMD double vd_sum(vd a) {
    __m128d two = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

/* 2^n is applied in two halves, for n beyond the exponents of normal numbers. */
SIMD vf vf_ldexp(vf x, vf n) {
    const __m256i bias = _mm256_set1_epi32(127);
    __m256i exponent = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(exponent, 1);
    __m256i low = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    __m256i high = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(exponent, half), bias), 23);
    return _mm256_mul_ps(_mm256_mul_ps(x, _mm256_castsi256_ps(low)), _mm256_castsi256_ps(high));
}

SIMD vd vd_ldexp(vd x, vd n) {
    const __m128i bias = _mm_set1_epi32(1023);
    __m128i exponent = _mm256_cvtpd_epi32(n), half = _mm_srai_epi32(exponent, 1);
    __m256i low = _mm256_slli_epi64(_mm256_cvtepi32_epi64(_mm_add_epi32(half, bias)), 52);
    __m256i high = _mm256_slli_epi64(_mm256_cvtepi32_epi64(_mm_add_epi32(_mm_sub_epi32(exponent, half), bias)), 52);
    return _mm256_mul_pd(_mm256_mul_pd(x, _mm256_castsi256_pd(low)), _mm256_castsi256_pd(high));
}

SIMD vf avx2_order_pairs(vf a) {
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(a), 0xd8));
}

SIMD void vf_deinterleave(vf a, vf b, vf *x, vf *y) {
    *x = avx2_order_pairs(_mm256_shuffle_ps(a, b, 0x88));
    *y = avx2_order_pairs(_mm256_shuffle_ps(a, b, 0xdd));
}

SIMD void vf_interleave(vf x, vf y, vf *a, vf *b) {
    vf low = _mm256_unpacklo_ps(x, y), high = _mm256_unpackhi_ps(x, y);
    *a = _mm256_permute2f128_ps(low, high, 0x20);
    *b = _mm256_permute2f128_ps(low, high, 0x31);
}

SIMD void vd_deinterleave(vd a, vd b, vd *x, vd *y) {
    *x = _mm256_permute4x64_pd(_mm256_unpacklo_pd(a, b), 0xd8);
    *y = _mm256_permute4x64_pd(_mm256_unpackhi_pd(a, b), 0xd8);
}

SIMD void vd_interleave(vd x, vd y, vd *a, vd *b) {
    vd low = _mm256_unpacklo_pd(x, y), high = _mm256_unpackhi_pd(x, y);
    *a = _mm256_permute2f128_pd(low, high, 0x20);
    *b = _mm256_permute2f128_pd(low, high, 0x31);
}

SIMD void vf_swap(const vf a[2], vf b[2]) {
    b[0] = _mm256_permute_ps(a[0], 0xb1);
    b[1] = _mm256_permute_ps(a[1], 0xb1);
}

SIMD void vd_swap(const vd a[2], vd b[2]) {
    b[0] = _mm256_permute_pd(a[0], 0x5);
    b[1] = _mm256_permute_pd(a[1], 0x5);
}

SIMD void vf_spread(const vf a[2], vf x[2], vf y[2]) {
    const vf sign = _mm256_setr_ps(-0.0f, 0, -0.0f, 0, -0.0f, 0, -0.0f, 0);
    for (int i = 0; i < 2; i++) {
        x[i] = _mm256_moveldup_ps(a[i]);
        y[i] = _mm256_xor_ps(_mm256_movehdup_ps(a[i]), sign);
    }
}

SIMD void vd_spread(const vd a[2], vd x[2], vd y[2]) {
    const vd sign = _mm256_setr_pd(-0.0, 0, -0.0, 0);
    for (int i = 0; i < 2; i++) {
        x[i] = _mm256_movedup_pd(a[i]);
        y[i] = _mm256_xor_pd(_mm256_permute_pd(a[i], 0xf), sign);
    }
}

SIMD void vf_transpose(vf block[8]) {
    vf pairs[8];
    SIMD_UNROLL
    for (size_t i = 0; i < 8; i += 2) {
        pairs[i] = _mm256_unpacklo_ps(block[i], block[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_ps(block[i], block[i + 1]);
    }
    SIMD_UNROLL
    for (size_t j = 0; j < 4; j++) {
        vf columns[2];
        SIMD_UNROLL
        for (size_t g = 0; g < 2; g++) {
            vf a = pairs[4 * g + j / 2], b = pairs[4 * g + j / 2 + 2];
            columns[g] = j % 2 ? _mm256_shuffle_ps(a, b, 0xee) : _mm256_shuffle_ps(a, b, 0x44);
        }
        block[j] = _mm256_permute2f128_ps(columns[0], columns[1], 0x20);
        block[4 + j] = _mm256_permute2f128_ps(columns[0], columns[1], 0x31);
    }
}

SIMD void vd_transpose(vd block[4]) {
    vd even01 = _mm256_unpacklo_pd(block[0], block[1]), odd01 = _mm256_unpackhi_pd(block[0], block[1]);
    vd even23 = _mm256_unpacklo_pd(block[2], block[3]), odd23 = _mm256_unpackhi_pd(block[2], block[3]);
    block[0] = _mm256_permute2f128_pd(even01, even23, 0x20);
    block[1] = _mm256_permute2f128_pd(odd01, odd23, 0x20);
    block[2] = _mm256_permute2f128_pd(even01, even23, 0x31);
    block[3] = _mm256_permute2f128_pd(odd01, odd23, 0x31);
}

SIMD vd vd_load_float(const float *p) {
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
}

SIMD void vd_store_float(float *p, vd x) {
    _mm_storeu_ps(p, _mm256_cvtpd_ps(x));
}

SIMD vd vd_load_float_part(const float *p, vd_part part) {
    return _mm256_cvtps_pd(_mm_maskload_ps(p, part.floats));
}

SIMD void vd_store_float_part(float *p, vd x, vd_part part) {
    _mm_maskstore_ps(p, part.floats, _mm256_cvtpd_ps(x));
}

SIMD vf vf_load_half(const uint16_t *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}

SIMD vf vf_load_bfloat16(const uint16_t *p) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

SIMD void vf_store_half(uint16_t *p, vf x) {
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

SIMD vu vu_set(uint32_t x) {
    return _mm256_set1_epi32((int)x);
}

SIMD vu vu_load(const uint32_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

SIMD vu vu_add(vu a, vu b) {
    return _mm256_add_epi32(a, b);
}

SIMD vu vu_xor(vu a, vu b) {
    return _mm256_xor_si256(a, b);
}

SIMD void vu_multiply(vu a, vu m, vu *high, vu *low) {
    __m256i even = _mm256_mul_epu32(a, m), odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), m);
    *low = _mm256_blend_epi32(even, _mm256_shuffle_epi32(odd, 0xa0), 0xaa);
    *high = _mm256_blend_epi32(_mm256_shuffle_epi32(even, 0xf5), odd, 0xaa);
}

SIMD vu vu_blocks(void) {
    return _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
}

SIMD void vu_store_blocks(uint32_t *p, vu w0, vu w1, vu w2, vu w3) {
    __m256i low01 = _mm256_unpacklo_epi32(w0, w1), high01 = _mm256_unpackhi_epi32(w0, w1);
    __m256i low23 = _mm256_unpacklo_epi32(w2, w3), high23 = _mm256_unpackhi_epi32(w2, w3);
    _mm256_storeu_si256((__m256i *)(void *)p, _mm256_unpacklo_epi64(low01, low23));
    _mm256_storeu_si256((__m256i *)(void *)(p + 8), _mm256_unpackhi_epi64(low01, low23));
    _mm256_storeu_si256((__m256i *)(void *)(p + 16), _mm256_unpacklo_epi64(high01, high23));
    _mm256_storeu_si256((__m256i *)(void *)(p + 24), _mm256_unpackhi_epi64(high01, high23));
}

#endif
