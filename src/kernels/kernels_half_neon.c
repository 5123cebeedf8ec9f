/* SPDX-License-Identifier: MIT */
/* All kernels for half types at the neon level. */
#if defined(__aarch64__)
#define LOCUS_LEVEL neon
#define LOCUS_SIMD LOCUS_SIMD_NEON
#include "kernels/half_body.h"
#else
typedef int locus_kernels_half_neon_absent;
#endif
