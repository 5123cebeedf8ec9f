/* SPDX-License-Identifier: MIT */
/* The vocabulary of simd.h with one lane: plain C, right on any machine. */
#ifndef LOCUS_KERNELS_SIMD_SCALAR_H
#define LOCUS_KERNELS_SIMD_SCALAR_H

typedef float vf;
typedef double vd;
typedef uint32_t vu;
typedef size_t vf_part;
typedef size_t vd_part;

#define VF_LANES ((size_t)1)
#define VD_LANES ((size_t)1)
#define VU_LANES ((size_t)1)

/* A library call for each fma would cost more than its exactness is worth here. */
#if defined(FP_FAST_FMAF)
#define SCALAR_FMAF(a, b, c) fmaf(a, b, c)
#else
#define SCALAR_FMAF(a, b, c) ((a) * (b) + (c))
#endif
#if defined(FP_FAST_FMA)
#define SCALAR_FMA(a, b, c) fma(a, b, c)
#else
#define SCALAR_FMA(a, b, c) ((a) * (b) + (c))
#endif

#define SCALAR_WORDS(v, element, FMA) \
    SIMD v v##_zero(void) { \
        return 0; \
    } \
    SIMD v v##_set(element x) { \
        return x; \
    } \
    SIMD v v##_load(const element *p) { \
        return *p; \
    } \
    SIMD void v##_store(element *p, v x) { \
        *p = x; \
    } \
    SIMD v v##_held(v x) { \
        return x; \
    } \
    SIMD v##_part v##_first(size_t n) { \
        return n; \
    } \
    SIMD v v##_load_part_or(const element *p, v##_part n, v other) { \
        return n ? *p : other; \
    } \
    SIMD v v##_load_part(const element *p, v##_part n) { \
        return n ? *p : 0; \
    } \
    SIMD void v##_store_part(element *p, v x, v##_part n) { \
        if (n) \
            *p = x; \
    } \
    SIMD v v##_add(v a, v b) { \
        return a + b; \
    } \
    SIMD v v##_sub(v a, v b) { \
        return a - b; \
    } \
    SIMD v v##_mul(v a, v b) { \
        return a * b; \
    } \
    SIMD v v##_div(v a, v b) { \
        return a / b; \
    } \
    SIMD v v##_fma(v a, v b, v c) { \
        return FMA(a, b, c); \
    } \
    SIMD v v##_fnma(v a, v b, v c) { \
        return FMA(-a, b, c); \
    } \
    SIMD v v##_max(v a, v b) { \
        return a > b ? a : b; \
    } \
    SIMD v v##_min(v a, v b) { \
        return a < b ? a : b; \
    } \
    SIMD element v##_sum(v a) { \
        return a; \
    } \
    SIMD v v##_zero_below(v x, v limit, v value) { \
        return x < limit ? 0 : value; \
    } \
    SIMD void v##_deinterleave(v a, v b, v *x, v *y) { \
        *x = a; \
        *y = b; \
    } \
    SIMD void v##_interleave(v x, v y, v *a, v *b) { \
        *a = x; \
        *b = y; \
    } \
    SIMD void v##_swap(const v a[2], v b[2]) { \
        b[0] = a[1]; \
        b[1] = a[0]; \
    } \
    SIMD void v##_spread(const v a[2], v x[2], v y[2]) { \
        x[0] = x[1] = a[0]; \
        y[0] = -a[1]; \
        y[1] = a[1]; \
    } \
    SIMD void v##_transpose(v block[1]) { \
        (void)block; \
    }

SCALAR_WORDS(vf, float, SCALAR_FMAF)
SCALAR_WORDS(vd, double, SCALAR_FMA)

/* Adding and taking away 1.5·2^23 leaves the nearest integer: rint would be a library call on plain x86-64. */
SIMD vf vf_round(vf x) {
    return (x + 0x1.8p23f) - 0x1.8p23f;
}

SIMD vd vd_round(vd x) {
    return (x + 0x1.8p52) - 0x1.8p52;
}

/* The exponent is taken from the sum's bits, not by a conversion, which NaN must not reach. 2^n is applied in two
 * halves, for n beyond the exponents of normal numbers. */
SIMD vf vf_ldexp(vf x, vf n) {
    float shifted = n + 0x1.8p23f, low, high;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    int32_t exponent = (int16_t)(uint16_t)(bits & 0xffffu), half = exponent >> 1;
    uint32_t low_bits = (uint32_t)(half + 127) << 23, high_bits = (uint32_t)(exponent - half + 127) << 23;
    memcpy(&low, &low_bits, sizeof low);
    memcpy(&high, &high_bits, sizeof high);
    return x * low * high;
}

SIMD vd vd_ldexp(vd x, vd n) {
    double shifted = n + 0x1.8p52, low, high;
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    int64_t exponent = (int16_t)(uint16_t)(bits & 0xffffu), half = exponent >> 1;
    uint64_t low_bits = (uint64_t)(half + 1023) << 52, high_bits = (uint64_t)(exponent - half + 1023) << 52;
    memcpy(&low, &low_bits, sizeof low);
    memcpy(&high, &high_bits, sizeof high);
    return x * low * high;
}

SIMD vd vd_load_float(const float *p) {
    return (double)*p;
}

SIMD void vd_store_float(float *p, vd x) {
    *p = (float)x;
}

SIMD vd vd_load_float_part(const float *p, vd_part n) {
    return n ? (double)*p : 0;
}

SIMD void vd_store_float_part(float *p, vd x, vd_part n) {
    if (n)
        *p = (float)x;
}

SIMD float scalar_from_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

SIMD uint32_t scalar_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Exponents are biased by 15 in a half, by 127 in a float; below 2^−14 a half counts steps of 2^−24. */
SIMD vf vf_load_half(const uint16_t *p) {
    const uint32_t sign = (uint32_t)(*p & 0x8000u) << 16, rest = *p & 0x7fffu;
    if (rest > 0x7c00u)
        return scalar_from_bits(sign | 0x7fc00000u | rest << 13);
    if (rest == 0x7c00u)
        return scalar_from_bits(sign | 0x7f800000u);
    if (rest >= 0x0400u)
        return scalar_from_bits(sign | ((rest << 13) + (112u << 23)));
    return scalar_from_bits(sign | scalar_bits((float)rest * 0x1p-24f));
}

SIMD vf vf_load_bfloat16(const uint16_t *p) {
    return scalar_from_bits((uint32_t)*p << 16);
}

/* Below 2^−14 the sum with 1/2, whose last bit is 2^−24, rounds: its last 16 bits are the half. A carry out of the
 * largest half gives infinity. */
SIMD void vf_store_half(uint16_t *p, vf x) {
    const uint32_t bits = scalar_bits(x), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    uint32_t half;
    if (rest > 0x7f800000u)
        half = 0x7e00u | (rest >> 13 & 0x3ffu);
    else if (rest >= 0x47800000u)
        half = 0x7c00u;
    else if (rest >= 0x38800000u)
        half = (rest - (112u << 23) + 0xfffu + (rest >> 13 & 1u)) >> 13;
    else
        half = scalar_bits(scalar_from_bits(rest) + 0.5f);
    *p = (uint16_t)(sign | half);
}

SIMD vu vu_set(uint32_t x) {
    return x;
}

SIMD vu vu_load(const uint32_t *p) {
    return *p;
}

SIMD vu vu_add(vu a, vu b) {
    return a + b;
}

SIMD vu vu_xor(vu a, vu b) {
    return a ^ b;
}

SIMD void vu_multiply(vu a, vu m, vu *high, vu *low) {
    uint64_t product = (uint64_t)a * m;
    *high = (uint32_t)(product >> 32);
    *low = (uint32_t)product;
}

SIMD vu vu_blocks(void) {
    return 0;
}

SIMD void vu_store_blocks(uint32_t *p, vu w0, vu w1, vu w2, vu w3) {
    p[0] = w0;
    p[1] = w1;
    p[2] = w2;
    p[3] = w3;
}

#endif
