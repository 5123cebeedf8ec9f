/* SPDX-License-Identifier: MIT */
/* All kernels for float64 at the avx2 level. */
#if defined(__x86_64__)
#define LOCUS_LEVEL avx2
#define LOCUS_SIMD LOCUS_SIMD_AVX2
#define LOCUS_REAL_BITS 64
#include "kernels/kernels_body.h"
#else
typedef int locus_kernels_float64_avx2_absent;
#endif
