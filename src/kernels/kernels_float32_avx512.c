/* SPDX-License-Identifier: MIT */
/* All kernels for float32 at the avx512 level. */
#if defined(__x86_64__)
#define LOCUS_LEVEL avx512
#define LOCUS_SIMD LOCUS_SIMD_AVX512
#define LOCUS_REAL_BITS 32
#include "kernels/kernels_body.h"
#else
typedef int locus_kernels_float32_avx512_absent;
#endif
