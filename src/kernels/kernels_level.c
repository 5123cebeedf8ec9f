/* SPDX-License-Identifier: MIT */
/* All kernels in one element type at one level. The build compiles this file for each level of the processor's family
 * (LOCUS_SIMD: LOCUS_SIMD_SCALAR, …, see simd.h) and LOCUS_REAL_BITS 32 and 64. */
#include "kernels/kernels_body.h"
