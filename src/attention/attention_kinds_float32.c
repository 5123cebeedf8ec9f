/* SPDX-License-Identifier: MIT */
/* Linear, softmax-free and clustered attention in float32: the bodies instantiated. */
#include "attention/clustered/attention_clustered.h"
#include "attention/linear/attention_linear.h"
#include "attention/soft/attention_soft.h"
#include "kernels/kernels.h"

#include <locus/memory.h>
#include <locus/parallel.h>
#include <math.h>
#include <string.h>

#define real float
#define REAL_NAME(name) name##_float32
#define KERNELS locus_kernels_float32
#define KERNELS_GET locus_kernels_float32_get

#include "attention/attention_kinds_body.h"

#include "attention/clustered/attention_clustered_body.h"
#include "attention/linear/attention_linear_body.h"
#include "attention/soft/attention_soft_body.h"
