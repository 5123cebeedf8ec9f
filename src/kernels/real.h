/* SPDX-License-Identifier: MIT */
/* The vocabulary of what is written once and computed in float32 and in float64. Files named *_typed.c (and what they
 * include) are compiled twice, with LOCUS_REAL_BITS 32, which is also what they are without it, and 64:
 *
 *   real             the element type; REAL_DTYPE its locus_dtype
 *   REAL_NAME(name)  name_float32 or name_float64: what other files see, and fields that come in both types
 *   KERNELS          the type of the table of kernels, KERNELS_GET() the one in use
 *   real_exp, …      functions of <math.h> */
#ifndef LOCUS_REAL_H
#define LOCUS_REAL_H

#include "kernels/kernels.h"

#include <math.h>

#ifndef LOCUS_REAL_BITS
#define LOCUS_REAL_BITS 32
#endif

#if LOCUS_REAL_BITS == 32
typedef float real;
#define REAL_DTYPE LOCUS_FLOAT32
#define REAL_NAME(name) name##_float32
#define KERNELS_GET locus_kernels_float32_get
#define real_exp expf
#define real_log logf
#define real_tanh tanhf
#else
typedef double real;
#define REAL_DTYPE LOCUS_FLOAT64
#define REAL_NAME(name) name##_float64
#define KERNELS_GET locus_kernels_float64_get
#define real_exp exp
#define real_log log
#define real_tanh tanh
#endif
#define KERNELS REAL_NAME(locus_kernels)

#endif
