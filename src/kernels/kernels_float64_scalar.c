/* SPDX-License-Identifier: MIT */
/* All kernels for float64 at the scalar level. */
#define LOCUS_LEVEL scalar
#define LOCUS_SIMD LOCUS_SIMD_SCALAR
#define LOCUS_REAL_BITS 64
#include "kernels/kernels_body.h"
