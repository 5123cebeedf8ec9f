/* SPDX-License-Identifier: MIT */
/* Half types to floats and back. By LOCUS_SIMD (see simd.h) the table locus_kernels_half_{level} comes
 * out.
 *
 * To bfloat16 goes integer arithmetic on a float's bits, the same at all levels: the compiler's vectors serve. */
#ifndef LOCUS_KERNELS_HALF_BODY_H
#define LOCUS_KERNELS_HALF_BODY_H

#include "kernels/kernels_list.h"
#include "kernels/simd.h"

#define LOCUS_INSTANCE LOCUS_LEVEL

#include "kernels/half_rows_body.h"

/* What is left of a whole vector goes through one of its own, so that nothing behind the end is touched. */
static void KERNEL(widen_float16)(size_t n, const uint16_t *x, float *y) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store(y + i, vf_load_half(x + i));
    if (i < n) {
        uint16_t last[VF_LANES] = {0};
        memcpy(last, x + i, (n - i) * sizeof *x);
        vf_store_part(y + i, vf_load_half(last), vf_first(n - i));
    }
}

static void KERNEL(narrow_float16)(size_t n, const float *x, uint16_t *y) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store_half(y + i, vf_load(x + i));
    if (i < n) {
        uint16_t last[VF_LANES];
        vf_store_half(last, vf_load_part(x + i, vf_first(n - i)));
        memcpy(y + i, last, (n - i) * sizeof *y);
    }
}

static void KERNEL(widen_bfloat16)(size_t n, const uint16_t *x, float *y) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store(y + i, vf_load_bfloat16(x + i));
    if (i < n)
        vf_store_part(y + i, half_load_part(x + i, n - i), vf_first(n - i));
}

/* Just under half a step is added, and one more where the bit that stays is odd: a tie then carries into it. */
static void KERNEL(narrow_bfloat16)(size_t n, const float *x, uint16_t *y) {
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        const uint32_t nearest = bits + 0x7fffu + (bits >> 16 & 1u), quiet = bits | 0x400000u;
        y[i] = (uint16_t)(((bits & 0x7fffffffu) > 0x7f800000u ? quiet : nearest) >> 16);
    }
}

#define LOCUS_KERNEL_ENTRY(name) .name = KERNEL(name),
const locus_kernels_half LOCUS_JOIN(locus_kernels_half_, LOCUS_LEVEL) = {
    .isa = (locus_isa)LOCUS_SIMD, LOCUS_HALF_KERNEL_OPERATIONS(LOCUS_KERNEL_ENTRY)};

#endif
