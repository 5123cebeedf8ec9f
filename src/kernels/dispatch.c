/* SPDX-License-Identifier: MIT */
/* Dispatch: the kernel tables of a level, and of the level in use. Tables are constants, so there is nothing to
 * initialise; the level is looked up at every call, since the mask of locus_cpu_mask_set may change. */
#include "core/environment.h"
#include "kernels/bfloat16.h"
#include "kernels/kernels_list.h"

static bool level_present(locus_isa isa) {
    return isa == LOCUS_ISA_SCALAR || (locus_cpu_isas() & (unsigned)isa) != 0;
}

#define LEVEL_CASE_32(level, value) \
    case value: \
        return &locus_kernels_float32_##level;
#define LEVEL_CASE_64(level, value) \
    case value: \
        return &locus_kernels_float64_##level;

#define LEVEL_CASE_HALF(level, value) \
    case value: \
        return &locus_kernels_half_##level;

static const locus_kernels_float32 *built_float32(locus_isa isa) {
    switch ((unsigned)isa) {
        LOCUS_KERNEL_LEVELS(LEVEL_CASE_32)
    default:
        return NULL;
    }
}

static const locus_kernels_float64 *built_float64(locus_isa isa) {
    switch ((unsigned)isa) {
        LOCUS_KERNEL_LEVELS(LEVEL_CASE_64)
    default:
        return NULL;
    }
}

static const locus_kernels_half *built_half(locus_isa isa) {
    switch ((unsigned)isa) {
        LOCUS_KERNEL_LEVELS(LEVEL_CASE_HALF)
    default:
        return NULL;
    }
}

const locus_kernels_float32 *locus_kernels_float32_of(locus_isa isa) {
    return level_present(isa) ? built_float32(isa) : NULL;
}

const locus_kernels_float64 *locus_kernels_float64_of(locus_isa isa) {
    return level_present(isa) ? built_float64(isa) : NULL;
}

const locus_kernels_half *locus_kernels_half_of(locus_isa isa) {
    return level_present(isa) ? built_half(isa) : NULL;
}

const locus_kernels_float32 *locus_kernels_float32_get(void) {
    const locus_kernels_float32 *table = built_float32(locus_cpu_isa());
    return table ? table : &locus_kernels_float32_scalar;
}

const locus_kernels_float64 *locus_kernels_float64_get(void) {
    const locus_kernels_float64 *table = built_float64(locus_cpu_isa());
    return table ? table : &locus_kernels_float64_scalar;
}

const locus_kernels_half *locus_kernels_half_get(void) {
    const locus_kernels_half *table = built_half(locus_cpu_isa());
    return table ? table : &locus_kernels_half_scalar;
}

/* ---- bfloat16: beside the level in use, where that is AVX-512 ---- */

#if defined(LOCUS_WITH_AVX512_BF16)
extern const locus_kernels_bfloat16 locus_kernels_bfloat16_avx512bf16;
#endif
#if defined(LOCUS_WITH_AMX)
extern const locus_kernels_bfloat16 locus_kernels_bfloat16_amx;
#endif

static const locus_kernels_bfloat16 *bfloat16_among(unsigned usable) {
#if defined(LOCUS_WITH_AMX)
    if ((usable & LOCUS_ISA_AMX) && locus_cpu_take_tiles())
        return &locus_kernels_bfloat16_amx;
#endif
#if defined(LOCUS_WITH_AVX512_BF16)
    if (usable & LOCUS_ISA_AVX512_BF16)
        return &locus_kernels_bfloat16_avx512bf16;
#endif
    (void)usable;
    return NULL;
}

const locus_kernels_bfloat16 *locus_kernels_bfloat16_of(locus_isa isa) {
    return bfloat16_among((unsigned)isa & locus_cpu_isas());
}

const locus_kernels_bfloat16 *locus_kernels_bfloat16_get(void) {
    unsigned usable = locus_cpu_isa() == LOCUS_ISA_AVX512 ? locus_cpu_usable() : 0;
    if (!locus_cpu_wants_bfloat16_vectors())
        usable &= ~(unsigned)LOCUS_ISA_AVX512_BF16;
    return bfloat16_among(usable);
}
