/* SPDX-License-Identifier: MIT */
/* All kernels for half types at the avx512 level. */
#if defined(__x86_64__)
#define LOCUS_LEVEL avx512
#define LOCUS_SIMD LOCUS_SIMD_AVX512
#include "kernels/half_body.h"
#else
typedef int locus_kernels_half_avx512_absent;
#endif
