/* SPDX-License-Identifier: MIT */
/* All kernels for half types at the scalar level. */
#define LOCUS_LEVEL scalar
#define LOCUS_SIMD LOCUS_SIMD_SCALAR
#include "kernels/half_body.h"
