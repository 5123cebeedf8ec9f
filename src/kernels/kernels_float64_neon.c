/* SPDX-License-Identifier: MIT */
/* All kernels for float64 at the neon level. */
#if defined(__aarch64__)
#define LOCUS_LEVEL neon
#define LOCUS_SIMD LOCUS_SIMD_NEON
#define LOCUS_REAL_BITS 64
#include "kernels/kernels_body.h"
#else
typedef int locus_kernels_float64_neon_absent;
#endif
