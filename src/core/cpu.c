/* SPDX-License-Identifier: MIT */
/* Instruction sets of the machine, and the mask that forces a lower one.
 *
 * On x86-64 the processor must have the instructions (cpuid) and the operating system must save the registers (xgetbv):
 * both are asked directly, so that nothing depends on a compiler's runtime library. AArch64 always has Advanced SIMD.
 * Everything is a pair of atomics that are valid before any initialisation: 0 means "not asked yet". */
#define _DEFAULT_SOURCE /* syscall */
#include <locus/cpu.h>

#include "core/cpu_words.h"
#include "core/environment.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* XCR0: which register files the operating system saves. Written as bytes: the mnemonic needs -mxsave. */
static unsigned saved_registers(void) {
    unsigned low, high;
    __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static bool has(unsigned word, unsigned bits) {
    return (word & bits) == bits;
}

enum { TILE_DATA = 18, TILE_REGISTERS = 3 << 17 }; /* of XCR0 */

/* Whether Linux would let a process use the registers of tiles; a kernel that does not know the question says no. */
static bool tiles_to_be_had(void) {
#if defined(__linux__) && defined(SYS_arch_prctl)
    unsigned long registers = 0;
    const long request = 0x1021; /* ARCH_GET_XCOMP_SUPP */
    return syscall(SYS_arch_prctl, request, &registers) == 0 && (registers >> TILE_DATA & 1) != 0;
#else
    return false;
#endif
}

bool locus_cpu_take_tiles(void) {
#if defined(__linux__) && defined(SYS_arch_prctl)
    static atomic_uint known; /* 0: not asked yet; 1: no; 2: yes */
    unsigned answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == 0) {               /* two threads may both ask: they get the same answer */
        const long request = 0x1023; /* ARCH_REQ_XCOMP_PERM */
        answer = syscall(SYS_arch_prctl, request, (long)TILE_DATA) == 0 ? 2 : 1;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == 2;
#else
    return false;
#endif
}

unsigned locus_cpu_isas_of(const locus_cpu_words *words) {
    const unsigned fma = 1u << 12, osxsave = 1u << 27, avx = 1u << 28, f16c = 1u << 29; /* leaf 1, ecx */
    const unsigned avx2 = 1u << 5,                                                      /* leaf 7, ebx */
        avx512 = 1u << 16 /* F */ | 1u << 17 /* DQ */ | 1u << 30 /* BW */ | 1u << 31 /* VL */;
    const unsigned amx = 1u << 22 /* BF16 */ | 1u << 24 /* TILE */; /* leaf 7, edx */
    const unsigned bf16 = 1u << 5;                                  /* leaf 7.1, eax */
    const unsigned ymm = 0x06, zmm = 0xE6;
    if (!has(words->ecx_1, fma | osxsave | avx | f16c) || !has(words->saved, ymm) || !has(words->ebx_7, avx2))
        return LOCUS_ISA_SCALAR;
    if (!has(words->saved, zmm) || !has(words->ebx_7, avx512))
        return LOCUS_ISA_SCALAR | LOCUS_ISA_AVX2;
    if (!has(words->eax_7_1, bf16))
        return LOCUS_ISA_SCALAR | LOCUS_ISA_AVX2 | LOCUS_ISA_AVX512;
    return LOCUS_ISA_SCALAR | LOCUS_ISA_AVX2 | LOCUS_ISA_AVX512 | LOCUS_ISA_AVX512_BF16 |
           (words->tiles && has(words->saved, TILE_REGISTERS) && has(words->edx_7, amx) ? LOCUS_ISA_AMX : 0u);
}

static unsigned detect(void) {
    const unsigned osxsave = 1u << 27;
    locus_cpu_words words = {0};
    unsigned eax, ebx, ecx, edx;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        words.ecx_1 = ecx;
    if (has(words.ecx_1, osxsave))
        words.saved = saved_registers();
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        words.ebx_7 = ebx;
        words.edx_7 = edx;
    }
    if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx))
        words.eax_7_1 = eax;
    words.tiles = has(words.saved, TILE_REGISTERS) && tiles_to_be_had();
    return locus_cpu_isas_of(&words);
}
#else
bool locus_cpu_take_tiles(void) {
    return false;
}

static unsigned detect(void) {
#if defined(__aarch64__)
    return LOCUS_ISA_SCALAR | LOCUS_ISA_NEON;
#else
    return LOCUS_ISA_SCALAR;
#endif
}
#endif

#define EVERY_ISA \
    (LOCUS_ISA_SCALAR | LOCUS_ISA_AVX2 | LOCUS_ISA_AVX512 | LOCUS_ISA_NEON | LOCUS_ISA_AVX512_BF16 | LOCUS_ISA_AMX)

unsigned locus_cpu_isas(void) {
    static atomic_uint known;
    unsigned isas = atomic_load_explicit(&known, memory_order_relaxed);
    if (isas == 0) { /* two threads may both ask: they get the same answer */
        isas = detect();
        atomic_store_explicit(&known, isas, memory_order_relaxed);
    }
    return isas;
}

/* LOCUS_ISA names the highest level allowed; a name that is not known limits nothing
 * (locus_environment_check tells). */
static unsigned environment_mask(void) {
    const char *name = getenv("LOCUS_ISA");
    const unsigned mask = name ? locus_environment_isa(name) : 0;
    return mask ? mask : EVERY_ISA;
}

static atomic_uint mask_in_use;

void locus_cpu_mask_set(unsigned mask) {
    atomic_store_explicit(&mask_in_use, mask | LOCUS_ISA_SCALAR, memory_order_relaxed);
}

unsigned locus_cpu_usable(void) {
    unsigned mask = atomic_load_explicit(&mask_in_use, memory_order_relaxed);
    if (mask == 0) { /* only if no mask was set meanwhile: the environment must not undo it */
        unsigned fresh = environment_mask();
        mask = atomic_compare_exchange_strong(&mask_in_use, &mask, fresh) ? fresh : mask;
    }
    return mask & locus_cpu_isas();
}

#if defined(__x86_64__)
/* Asked once: a virtual machine takes long over cpuid. */
static bool is_intel(void) {
    static atomic_uint known; /* 0: not asked yet; 1: no; 2: yes */
    unsigned answer = atomic_load_explicit(&known, memory_order_relaxed), eax, ebx = 0, ecx = 0, edx = 0;
    if (answer == 0) {
        (void)__get_cpuid(0, &eax, &ebx, &ecx, &edx);
        answer = ebx == signature_INTEL_ebx && ecx == signature_INTEL_ecx && edx == signature_INTEL_edx ? 2 : 1;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == 2;
}
#else
static bool is_intel(void) {
    return false;
}
#endif

bool locus_cpu_wants_bfloat16_vectors(void) {
    const unsigned usable = locus_cpu_usable(); /* reads the environment, if nobody has */
    const unsigned mask = atomic_load_explicit(&mask_in_use, memory_order_relaxed);
    return (usable & LOCUS_ISA_AVX512_BF16) && (!(mask & LOCUS_ISA_AMX) || !is_intel());
}

locus_isa locus_cpu_isa(void) {
    const unsigned usable = locus_cpu_usable();
    if (usable & LOCUS_ISA_AVX512)
        return LOCUS_ISA_AVX512;
    if (usable & LOCUS_ISA_AVX2)
        return LOCUS_ISA_AVX2;
    return usable & LOCUS_ISA_NEON ? LOCUS_ISA_NEON : LOCUS_ISA_SCALAR;
}

const char *locus_isa_name(locus_isa isa) {
    switch (isa) {
    case LOCUS_ISA_SCALAR:
        return "scalar";
    case LOCUS_ISA_AVX2:
        return "avx2";
    case LOCUS_ISA_AVX512:
        return "avx512";
    case LOCUS_ISA_NEON:
        return "neon";
    case LOCUS_ISA_AVX512_BF16:
        return "avx512bf16";
    case LOCUS_ISA_AMX:
        return "amx";
    }
    return "unknown";
}
