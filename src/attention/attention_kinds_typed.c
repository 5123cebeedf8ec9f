/* SPDX-License-Identifier: MIT */
/* Linear, softmax-free and clustered attention in one element type (kernels/real.h): the bodies. */
#include "attention/clustered/attention_clustered.h"
#include "attention/linear/attention_linear.h"
#include "attention/soft/attention_soft.h"
#include "kernels/real.h"

#include <locus/memory.h>
#include <locus/parallel.h>
#include <string.h>

#include "attention/attention_kinds_body.h"

#include "attention/clustered/attention_clustered_body.h"
#include "attention/linear/attention_linear_body.h"
#include "attention/soft/attention_soft_body.h"
