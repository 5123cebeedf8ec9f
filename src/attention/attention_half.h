/* SPDX-License-Identifier: MIT */
/* Calls with float16 or bfloat16 tensors: inputs are widened into float32 buffers of the workspace, the executor runs
 * on these, and what it writes is rounded into the caller's tensors. log_sum_exp is float32 already, and weights are
 * written as they are asked for. Keys and values, the most by far in a step of decoding, stay as they are where the
 * executor widens them itself; and all tensors, where its products are of bfloat16 (kernels/bfloat16.h). */
#ifndef LOCUS_ATTENTION_HALF_H
#define LOCUS_ATTENTION_HALF_H

#include "attention/attention_executor.h"

/* Whether tensors are widened, some or all. */
bool locus_attention_half_widens(const attention_call *call);
size_t locus_attention_half_workspace(const attention_call *call);
void locus_attention_half_run(const attention_call *call);

#endif
