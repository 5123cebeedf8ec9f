/* SPDX-License-Identifier: MIT */
/* Calls with float16 or bfloat16 tensors: inputs are widened into float32 buffers of the workspace, the executor runs
 * on these, and what it writes is rounded into the caller's tensors. log_sum_exp is float32 already. Keys and
 * values, the most by far in a step of decoding, stay as they are where the executor widens them itself. */
#ifndef LOCUS_ATTENTION_HALF_H
#define LOCUS_ATTENTION_HALF_H

#include "attention/attention_executor.h"

size_t locus_attention_half_workspace(const attention_executor *executor, const locus_plan *plan,
                                      const locus_attention_options *options, locus_dtype dtype, locus_pass pass);
void locus_attention_half_forward(const attention_executor *executor, const locus_plan *plan,
                                  const locus_attention_options *options, const locus_attention_tensors *tensors,
                                  locus_workspace workspace);
/* The same for weights, of which query and key are widened. */
size_t locus_attention_half_weights_workspace(const attention_executor *executor, const locus_plan *plan,
                                              const locus_attention_options *options);
void locus_attention_half_weights(const attention_executor *executor, const locus_plan *plan,
                                  const locus_attention_options *options, const locus_attention_weights_call *call,
                                  locus_workspace workspace);
void locus_attention_half_backward(const attention_executor *executor, const locus_plan *plan,
                                   const locus_attention_options *options, const locus_attention_tensors *tensors,
                                   const locus_attention_gradients *gradients, locus_workspace workspace);

#endif
