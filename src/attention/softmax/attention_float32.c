/* SPDX-License-Identifier: MIT */
/* Attention in float32: the bodies instantiated. */
#include "attention/attention_work.h"
#include "kernels/half_rows.h"
#include "kernels/kernels.h"

#include <locus/memory.h>
#include <locus/parallel.h>
#include <math.h>
#include <string.h>

#define real float
#define REAL_DTYPE LOCUS_FLOAT32
#define REAL_NAME(name) name##_float32
#define REAL_EXP expf
#define REAL_LOG logf
#define KERNELS locus_kernels_float32
#define KERNELS_GET locus_kernels_float32_get
#define REAL_OF_HALVES 1 /* keys and values may lie in a half type */

#include "attention/softmax/attention_backward_body.h"
#include "attention/softmax/attention_decode_body.h"
#include "attention/softmax/attention_forward_body.h"
