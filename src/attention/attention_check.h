/* SPDX-License-Identifier: MIT */
/* What a call of attention must satisfy before any work begins. Every failure is one clear error. */
#ifndef LOCUS_ATTENTION_CHECK_H
#define LOCUS_ATTENTION_CHECK_H

#include "attention/attention_work.h"

/* The caller's options over the defaults, whatever version of the struct he has (core/sized.h). ARGUMENT for NULL. */
LOCUS_MUST_USE locus_status locus_attention_options_read(locus_attention_options *own,
                                                         const locus_attention_options *given, locus_error *error);

locus_status locus_attention_check_options(const locus_plan *plan, const locus_attention_options *options,
                                           locus_error *error);

/* Encodings that need the causal mask have it. */
locus_status locus_attention_check_mask(const locus_plan *plan, locus_mask mask, locus_error *error);

/* Inputs and results of the forward pass. Backward reads output and log_sum_exp, and needs both. Of weights: query and
 * key. */
locus_status locus_attention_check_tensors(const locus_plan *plan, const locus_attention_tensors *tensors,
                                           locus_pass pass, locus_error *error);
locus_status locus_attention_check_weights(const locus_plan *plan, const locus_attention_weights_call *call,
                                           locus_error *error);
locus_status locus_attention_check_gradients(const locus_plan *plan, const locus_attention_tensors *tensors,
                                             const locus_attention_gradients *gradients, locus_error *error);

#endif
