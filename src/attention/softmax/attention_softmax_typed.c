/* SPDX-License-Identifier: MIT */
/* Attention in one element type (kernels/real.h): the bodies. */
#include "attention/attention_work.h"
#include "kernels/half_rows.h"
#include "kernels/real.h"

#include <locus/memory.h>
#include <locus/parallel.h>
#include <string.h>

#include "attention/softmax/attention_backward_body.h"
#include "attention/softmax/attention_bias_gradient_body.h"
#include "attention/softmax/attention_decode_body.h"
#include "attention/softmax/attention_forward_body.h"
#include "attention/softmax/attention_weights_body.h"
