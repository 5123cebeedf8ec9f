/* SPDX-License-Identifier: MIT */
/* See attention_softmax_weights.h: the call's layout, and whole operators on queries and keys. */
#include "attention/softmax/attention_softmax_weights.h"

#include "attention/attention_whole.h"

#include <locus/memory.h>

static void init(attention_weights_job *own, const locus_plan *plan, const locus_attention_options *options,
                 locus_dtype dtype) {
    attention_job *job = &own->job;
    locus_attention_job_init(job, plan, options, dtype, LOCUS_PASS_FORWARD);
    job->value_operator = NULL;
    job->content_value = NULL;
    job->drop_weights = job->drop_logits = false;
    job->dropout = 0;
    own->max_keys = 0;
    for (size_t s = 0; s < job->sequences; s++) {
        const size_t keys = locus_plan_span(plan, s).key_count;
        own->max_keys = keys > own->max_keys ? keys : own->max_keys;
    }
}

static void init_whole(attention_whole *whole, const attention_job *job) {
    locus_attention_whole_init(whole, job);
    whole->value = NULL;
}

/* Lays the loop out from `base` (NULL: counts only) and returns the bytes that it takes. */
static size_t place(attention_weights_job *own, void *base) {
    attention_job *job = &own->job;
    attention_carver carver = {base, 0};
    const size_t size = locus_dtype_size(job->dtype), ranges = locus_attention_sight_ranges(&job->sight);
    attention_range *placed = locus_attention_carve(&carver, ranges, sizeof *placed);
    if (job->content_key)
        job->content_key_columns = locus_attention_carve(&carver, (2 * job->content->window + 1) * job->head_dim, size);
    job->worker_bytes = job->dtype == LOCUS_FLOAT32 ? locus_attention_weights_scratch_float32(own)
                                                    : locus_attention_weights_scratch_float64(own);
    job->workers = locus_attention_carve(&carver, job->concurrency, job->worker_bytes);
    if (base)
        locus_attention_sight_place(&job->sight, ranges > 0 ? placed : NULL);
    return carver.used;
}

size_t locus_attention_softmax_weights_workspace(const locus_plan *plan, const locus_attention_options *options,
                                                 locus_dtype dtype) {
    attention_weights_job own;
    attention_whole whole;
    init(&own, plan, options, dtype);
    init_whole(&whole, &own.job);
    const size_t loops = place(&own, NULL), around = locus_attention_whole_workspace(&whole);
    return locus_attention_whole_place(&whole, NULL) + (loops > around ? loops : around);
}

void locus_attention_softmax_weights(const locus_plan *plan, const locus_attention_options *options,
                                     const locus_attention_weights_call *call, locus_workspace workspace) {
    attention_weights_job own;
    attention_whole whole;
    init(&own, plan, options, call->query->dtype);
    own.choice = locus_attention_choice_of(plan, call);
    own.job.bias = locus_attention_bias_of(options->bias);
    own.job.query = locus_attention_view_of(call->query);
    own.job.key = locus_attention_view_of(call->key);
    init_whole(&whole, &own.job);
    whole.workspace = (char *)workspace.data + locus_attention_whole_place(&whole, workspace.data);
    locus_attention_whole_begin(&whole, &own.job, false);
    place(&own, whole.workspace);
    if (own.job.dtype == LOCUS_FLOAT32)
        locus_attention_weights_rows_float32(&own);
    else
        locus_attention_weights_rows_float64(&own);
}
