/* SPDX-License-Identifier: MIT */
/* The vocabulary of simd.h in AArch64 Advanced SIMD: 4 floats, 2 doubles; parts are counts, and go through a small
 * buffer. */
#ifndef LOCUS_KERNELS_SIMD_NEON_H
#define LOCUS_KERNELS_SIMD_NEON_H

#include <arm_neon.h>

typedef float32x4_t vf;
typedef float64x2_t vd;
typedef uint32x4_t vu;
typedef size_t vf_part;
typedef size_t vd_part;

#define VF_LANES ((size_t)4)
#define VD_LANES ((size_t)2)
#define VU_LANES ((size_t)4)

#define NEON_WORDS(v, element, lanes, suffix) \
    SIMD v v##_set(element x) { \
        return vdupq_n_##suffix(x); \
    } \
    SIMD v v##_zero(void) { \
        return vdupq_n_##suffix(0); \
    } \
    SIMD v v##_load(const element *p) { \
        return vld1q_##suffix(p); \
    } \
    SIMD void v##_store(element *p, v x) { \
        vst1q_##suffix(p, x); \
    } \
    SIMD v v##_held(v x) { \
        __asm__("" : "+w"(x)); \
        return x; \
    } \
    SIMD v##_part v##_first(size_t n) { \
        return n; \
    } \
    SIMD v v##_load_part_or(const element *p, v##_part n, v other) { \
        element lane[lanes]; \
        vst1q_##suffix(lane, other); \
        for (size_t i = 0; i < n; i++) \
            lane[i] = p[i]; \
        return vld1q_##suffix(lane); \
    } \
    SIMD v v##_load_part(const element *p, v##_part n) { \
        return v##_load_part_or(p, n, v##_zero()); \
    } \
    SIMD void v##_store_part(element *p, v x, v##_part n) { \
        element lane[lanes]; \
        vst1q_##suffix(lane, x); \
        for (size_t i = 0; i < n; i++) \
            p[i] = lane[i]; \
    } \
    SIMD v v##_add(v a, v b) { \
        return vaddq_##suffix(a, b); \
    } \
    SIMD v v##_sub(v a, v b) { \
        return vsubq_##suffix(a, b); \
    } \
    SIMD v v##_mul(v a, v b) { \
        return vmulq_##suffix(a, b); \
    } \
    SIMD v v##_div(v a, v b) { \
        return vdivq_##suffix(a, b); \
    } \
    SIMD v v##_fma(v a, v b, v c) { \
        return vfmaq_##suffix(c, a, b); \
    } \
    SIMD v v##_fnma(v a, v b, v c) { \
        return vfmsq_##suffix(c, a, b); \
    } \
    SIMD v v##_max(v a, v b) { \
        return vbslq_##suffix(vcgtq_##suffix(a, b), a, b); \
    } \
    SIMD v v##_min(v a, v b) { \
        return vbslq_##suffix(vcltq_##suffix(a, b), a, b); \
    } \
    SIMD element v##_sum(v a) { \
        return vaddvq_##suffix(a); \
    } \
    SIMD v v##_round(v a) { \
        return vrndnq_##suffix(a); \
    } \
    SIMD v v##_zero_below(v x, v limit, v value) { \
        return vbslq_##suffix(vcltq_##suffix(x, limit), v##_zero(), value); \
    } \
    SIMD void v##_deinterleave(v a, v b, v *x, v *y) { \
        *x = vuzp1q_##suffix(a, b); \
        *y = vuzp2q_##suffix(a, b); \
    } \
    SIMD void v##_interleave(v x, v y, v *a, v *b) { \
        *a = vzip1q_##suffix(x, y); \
        *b = vzip2q_##suffix(x, y); \
    } \
    SIMD void v##_swap(const v a[2], v b[2]) { \
        for (int i = 0; i < 2; i++) \
            b[i] = vtrn1q_##suffix(vtrn2q_##suffix(a[i], a[i]), a[i]); \
    } \
    SIMD void v##_spread(const v a[2], v x[2], v y[2]) { \
        for (int i = 0; i < 2; i++) { \
            x[i] = vtrn1q_##suffix(a[i], a[i]); \
            y[i] = vtrn2q_##suffix(vnegq_##suffix(a[i]), a[i]); \
        } \
    }

NEON_WORDS(vf, float, 4, f32)
NEON_WORDS(vd, double, 2, f64)

/* 2^n is applied in two halves, for n beyond the exponents of normal numbers. */
SIMD vf vf_ldexp(vf x, vf n) {
    const int32x4_t bias = vdupq_n_s32(127);
    int32x4_t exponent = vcvtq_s32_f32(n), half = vshrq_n_s32(exponent, 1);
    int32x4_t low = vshlq_n_s32(vaddq_s32(half, bias), 23);
    int32x4_t high = vshlq_n_s32(vaddq_s32(vsubq_s32(exponent, half), bias), 23);
    return vmulq_f32(vmulq_f32(x, vreinterpretq_f32_s32(low)), vreinterpretq_f32_s32(high));
}

SIMD vd vd_ldexp(vd x, vd n) {
    const int64x2_t bias = vdupq_n_s64(1023);
    int64x2_t exponent = vcvtq_s64_f64(n), half = vshrq_n_s64(exponent, 1);
    int64x2_t low = vshlq_n_s64(vaddq_s64(half, bias), 52);
    int64x2_t high = vshlq_n_s64(vaddq_s64(vsubq_s64(exponent, half), bias), 52);
    return vmulq_f64(vmulq_f64(x, vreinterpretq_f64_s64(low)), vreinterpretq_f64_s64(high));
}

SIMD void vf_transpose(vf block[4]) {
    float64x2_t even01 = vreinterpretq_f64_f32(vtrn1q_f32(block[0], block[1]));
    float64x2_t odd01 = vreinterpretq_f64_f32(vtrn2q_f32(block[0], block[1]));
    float64x2_t even23 = vreinterpretq_f64_f32(vtrn1q_f32(block[2], block[3]));
    float64x2_t odd23 = vreinterpretq_f64_f32(vtrn2q_f32(block[2], block[3]));
    block[0] = vreinterpretq_f32_f64(vtrn1q_f64(even01, even23));
    block[1] = vreinterpretq_f32_f64(vtrn1q_f64(odd01, odd23));
    block[2] = vreinterpretq_f32_f64(vtrn2q_f64(even01, even23));
    block[3] = vreinterpretq_f32_f64(vtrn2q_f64(odd01, odd23));
}

SIMD void vd_transpose(vd block[2]) {
    vd first = vtrn1q_f64(block[0], block[1]);
    block[1] = vtrn2q_f64(block[0], block[1]);
    block[0] = first;
}

SIMD vd vd_load_float(const float *p) {
    return vcvt_f64_f32(vld1_f32(p));
}

SIMD void vd_store_float(float *p, vd x) {
    vst1_f32(p, vcvt_f32_f64(x));
}

SIMD vd vd_load_float_part(const float *p, vd_part n) {
    double lane[2] = {0, 0};
    for (size_t i = 0; i < n; i++)
        lane[i] = (double)p[i];
    return vld1q_f64(lane);
}

SIMD void vd_store_float_part(float *p, vd x, vd_part n) {
    float lane[2];
    vst1_f32(lane, vcvt_f32_f64(x));
    for (size_t i = 0; i < n; i++)
        p[i] = lane[i];
}

SIMD vf vf_load_half(const uint16_t *p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

SIMD vf vf_load_bfloat16(const uint16_t *p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
}

SIMD void vf_store_half(uint16_t *p, vf x) {
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(x)));
}

SIMD vu vu_set(uint32_t x) {
    return vdupq_n_u32(x);
}

SIMD vu vu_load(const uint32_t *p) {
    return vld1q_u32(p);
}

SIMD vu vu_add(vu a, vu b) {
    return vaddq_u32(a, b);
}

SIMD vu vu_xor(vu a, vu b) {
    return veorq_u32(a, b);
}

SIMD void vu_multiply(vu a, vu m, vu *high, vu *low) {
    uint32x4_t first = vreinterpretq_u32_u64(vmull_u32(vget_low_u32(a), vget_low_u32(m)));
    uint32x4_t second = vreinterpretq_u32_u64(vmull_high_u32(a, m));
    *low = vuzp1q_u32(first, second);
    *high = vuzp2q_u32(first, second);
}

SIMD vu vu_blocks(void) {
    static const uint32_t lane[4] = {0, 1, 2, 3};
    return vld1q_u32(lane);
}

SIMD void vu_store_blocks(uint32_t *p, vu w0, vu w1, vu w2, vu w3) {
    uint32x4x4_t words = {{w0, w1, w2, w3}};
    vst4q_u32(p, words);
}

#endif
