/* SPDX-License-Identifier: MIT */
/* Attention in float64: the bodies instantiated. */
#include "attention/attention_work.h"
#include "kernels/kernels.h"

#include <locus/memory.h>
#include <locus/parallel.h>
#include <math.h>
#include <string.h>

#define real double
#define REAL_DTYPE LOCUS_FLOAT64
#define REAL_NAME(name) name##_float64
#define REAL_EXP exp
#define REAL_LOG log
#define KERNELS locus_kernels_float64
#define KERNELS_GET locus_kernels_float64_get
#define REAL_OF_HALVES 0

#include "attention/softmax/attention_backward_body.h"
#include "attention/softmax/attention_decode_body.h"
#include "attention/softmax/attention_forward_body.h"
