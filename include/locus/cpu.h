/* SPDX-License-Identifier: MIT */
/* Instruction sets: what the machine has, and a mask that forces a lower level (for tests and comparisons). */
#ifndef LOCUS_CPU_H
#define LOCUS_CPU_H

#include <locus/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kernel levels, one bit each. Scalar is always there. */
typedef enum locus_isa {
    LOCUS_ISA_SCALAR = 1,
    LOCUS_ISA_AVX2 = 2,   /* AVX2 + FMA + F16C */
    LOCUS_ISA_AVX512 = 4, /* AVX-512 F, BW, DQ, VL */
    LOCUS_ISA_NEON = 8,   /* AArch64 Advanced SIMD */
    /* Beside LOCUS_ISA_AVX512, for attention's products of bfloat16 alone: */
    LOCUS_ISA_AVX512_BF16 = 16, /* AVX512-BF16 */
    LOCUS_ISA_AMX = 32          /* AMX tiles of bfloat16; on Linux, which the first call that uses them asks for them */
} locus_isa;

/* All levels that this machine and this build have, as a mask of locus_isa. */
LOCUS_API unsigned locus_cpu_isas(void);

/* Restricts the kernels to the levels in `mask` (scalar is always kept), from the next call on; not while a call runs,
 * which reads it more than once. The environment variable LOCUS_ISA (scalar, avx2, avx512, neon, avx512bf16, amx) sets
 * the same limit at start. AVX512-BF16 of Intel's processors, which is slower than their float32, is used only if the
 * mask leaves out AMX. */
LOCUS_API void locus_cpu_mask_set(unsigned mask);

/* The level in use now: the highest that the machine has and the mask allows, NEON the last: those for bfloat16 alone
 * act beside it. */
LOCUS_API locus_isa locus_cpu_isa(void);

/* ARGUMENT, naming the variable, if LOCUS_ISA or LOCUS_THREADS holds a value that cannot be read. The library ignores
 * such a variable, since it never prints: a program that wants its user to know calls this at its start. An empty
 * variable counts as unset. */
LOCUS_API LOCUS_MUST_USE locus_status locus_environment_check(locus_error *error);

/* "scalar", "avx2", "avx512", "neon", "avx512bf16", "amx". Static storage. */
LOCUS_API const char *locus_isa_name(locus_isa isa);

#ifdef __cplusplus
}
#endif
#endif
