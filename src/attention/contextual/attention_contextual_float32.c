/* SPDX-License-Identifier: MIT */
/* Attention with contextual positions in float32: the bodies instantiated. */
#include "attention/contextual/attention_contextual.h"
#include "kernels/kernels.h"

#include <locus/memory.h>
#include <locus/parallel.h>
#include <math.h>
#include <string.h>

#define real float
#define REAL_DTYPE LOCUS_FLOAT32
#define REAL_NAME(name) name##_float32
#define REAL_TANH tanhf
#define KERNELS locus_kernels_float32
#define KERNELS_GET locus_kernels_float32_get

#include "attention/contextual/attention_contextual_backward_body.h"
#include "attention/contextual/attention_contextual_body.h"
