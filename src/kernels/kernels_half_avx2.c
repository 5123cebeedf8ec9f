/* SPDX-License-Identifier: MIT */
/* All kernels for half types at the avx2 level. */
#if defined(__x86_64__)
#define LOCUS_LEVEL avx2
#define LOCUS_SIMD LOCUS_SIMD_AVX2
#include "kernels/half_body.h"
#else
typedef int locus_kernels_half_avx2_absent;
#endif
