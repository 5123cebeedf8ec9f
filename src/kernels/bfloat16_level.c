/* SPDX-License-Identifier: MIT */
/* Products of bfloat16 at one level: the build compiles this file for AVX512_BF16 and for AMX (LOCUS_BFLOAT16_LEVEL: 1
 * or 2), where the compiler has them; else it is empty. */
#include "kernels/bfloat16.h"

#ifdef LOCUS_BFLOAT16_LEVEL
#include "kernels/bfloat16_body.h"
#endif
