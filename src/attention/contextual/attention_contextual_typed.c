/* SPDX-License-Identifier: MIT */
/* Attention with contextual positions in one element type (kernels/real.h): the bodies. */
#include "attention/contextual/attention_contextual.h"
#include "kernels/real.h"

#include <locus/memory.h>
#include <locus/parallel.h>
#include <string.h>

#include "attention/contextual/attention_contextual_backward_body.h"
#include "attention/contextual/attention_contextual_body.h"
#include "attention/contextual/attention_contextual_rows_body.h"
