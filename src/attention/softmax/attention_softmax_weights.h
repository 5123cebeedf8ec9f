/* SPDX-License-Identifier: MIT */
/* Softmax attention's weights as rows: scores of tiles, as in a forward, laid side by side for all keys of the sequence
 *
 *   a_mn = exp(s_mn − max_n s_mn) / (Σ_n exp(…) + exp(z − max)),   z a sink
 *
 * A worker's memory is linear in the keys of one sequence. */
#ifndef LOCUS_ATTENTION_SOFTMAX_WEIGHTS_H
#define LOCUS_ATTENTION_SOFTMAX_WEIGHTS_H

#include "attention/attention_weights.h"
#include "attention/attention_work.h"

typedef struct attention_weights_job {
    attention_job job; /* of a forward without values or dropout, whose schedule is not used */
    attention_choice choice;
    size_t max_keys; /* of a sequence */
} attention_weights_job;

/* Of locus_attention_weights; see attention_executor.h. */
size_t locus_attention_softmax_weights_workspace(const locus_plan *plan, const locus_attention_options *options,
                                                 locus_dtype dtype);
void locus_attention_softmax_weights(const locus_plan *plan, const locus_attention_options *options,
                                     const locus_attention_weights_call *call, locus_workspace workspace);

/* One instance for each element type. */
size_t locus_attention_weights_scratch_float32(const attention_weights_job *job);
size_t locus_attention_weights_scratch_float64(const attention_weights_job *job);
void locus_attention_weights_rows_float32(const attention_weights_job *job);
void locus_attention_weights_rows_float64(const attention_weights_job *job);

#endif
