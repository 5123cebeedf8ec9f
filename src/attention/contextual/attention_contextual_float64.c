/* SPDX-License-Identifier: MIT */
/* Attention with contextual positions in float64: the bodies instantiated. */
#include "attention/contextual/attention_contextual.h"
#include "kernels/kernels.h"

#include <locus/memory.h>
#include <locus/parallel.h>
#include <math.h>
#include <string.h>

#define real double
#define REAL_DTYPE LOCUS_FLOAT64
#define REAL_NAME(name) name##_float64
#define REAL_TANH tanh
#define KERNELS locus_kernels_float64
#define KERNELS_GET locus_kernels_float64_get

#include "attention/contextual/attention_contextual_backward_body.h"
#include "attention/contextual/attention_contextual_body.h"
