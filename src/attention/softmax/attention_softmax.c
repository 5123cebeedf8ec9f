/* SPDX-License-Identifier: MIT */
/* Softmax attention as an executor: lays the job out, runs whole operators and loops, folds the parameters'
 * gradients. */
#include "attention/attention_executor.h"
#include "attention/attention_whole.h"
#include "attention/attention_work.h"
#include "attention/kind_class.h"
#include "attention/softmax/attention_softmax_weights.h"
#include "core/call.h"

/* Buffers of whole operators | what the loops work in, or those operators before and after them. */
static size_t workspace_bytes(const attention_job *job) {
    attention_job counted = *job;
    attention_whole whole;
    locus_attention_whole_init(&whole, job);
    const size_t loops = locus_attention_job_place(&counted, NULL), around = locus_attention_whole_workspace(&whole);
    return locus_attention_whole_place(&whole, NULL) + (loops > around ? loops : around);
}

static size_t workspace(const locus_plan *plan, const locus_attention_options *options, locus_dtype dtype,
                        locus_pass pass) {
    attention_job job;
    locus_attention_job_init(&job, plan, options, dtype, pass);
    return workspace_bytes(&job);
}

static void take_tensors(attention_job *job, const locus_attention_options *options,
                         const locus_attention_tensors *tensors) {
    job->bias = locus_attention_bias_of(options->bias);
    job->query = locus_attention_view_of(tensors->query);
    job->key = locus_attention_view_of(tensors->key);
    job->value = locus_attention_view_of(tensors->value);
    job->output = locus_attention_view_of(tensors->output);
    job->log_sum_exp = locus_attention_numbers_of(tensors->log_sum_exp);
}

/* Turns what whole operators act on, then lays the loops out in the memory that these have worked in. */
static void begin(attention_job *job, attention_whole *whole, locus_workspace workspace) {
    locus_attention_whole_init(whole, job);
    whole->workspace = (char *)workspace.data + locus_attention_whole_place(whole, workspace.data);
    locus_attention_whole_begin(whole, job, job->slots_wanted);
    locus_attention_job_place(job, whole->workspace);
}

static bool half_keys(const locus_plan *plan, const locus_attention_options *options) {
    return options->turned || !(locus_plan_query_key_whole(plan) || locus_plan_value_whole(plan));
}

static void forward(const locus_plan *plan, const locus_attention_options *options,
                    const locus_attention_tensors *tensors, locus_workspace lent) {
    attention_job job;
    attention_whole whole;
    locus_attention_job_init(&job, plan, options, tensors->key->dtype, LOCUS_PASS_FORWARD);
    take_tensors(&job, options, tensors);
    begin(&job, &whole, lent);
    if (job.dtype == LOCUS_FLOAT32)
        locus_attention_forward_float32(&job);
    else
        locus_attention_forward_float64(&job);
    locus_attention_whole_end_forward(&whole);
}

static bool learns(const locus_operator *op) {
    return op && op->class->slot_bytes(op) > 0;
}

/* What gradients of parameters are made of, whoever wants it besides. */
static void want_learned(attention_job *job) {
    if (!job->slots_wanted)
        return;
    job->wants_query = job->wants_query || learns(job->query_key);
    job->wants_key = job->wants_key || learns(job->query_key);
    job->wants_value = job->wants_value || learns(job->value_operator);
    job->wants_scores = job->content_key || job->slots.bytes > job->slots.terms;
}

static void backward(const locus_plan *plan, const locus_attention_options *options,
                     const locus_attention_tensors *tensors, const locus_attention_gradients *gradients,
                     locus_workspace lent) {
    attention_job job;
    attention_whole whole;
    locus_attention_job_init(&job, plan, options, tensors->query->dtype, LOCUS_PASS_BACKWARD);
    take_tensors(&job, options, tensors);
    job.g_output = job.g_given = locus_attention_view_of(gradients->output);
    job.g_query = locus_attention_view_of(gradients->query);
    job.g_key = locus_attention_view_of(gradients->key);
    job.g_value = locus_attention_view_of(gradients->value);
    job.g_log_sum_exp = locus_attention_numbers_of(gradients->log_sum_exp);
    job.slots_wanted = gradients->parameters != NULL;
    job.wants_query = gradients->query != NULL;
    job.wants_key = gradients->key != NULL;
    job.wants_value = gradients->value != NULL;
    want_learned(&job);
    begin(&job, &whole, lent);
    job.g_bias = locus_attention_bias_of(gradients->bias);
    job.stores_bias = job.g_bias.data && locus_attention_bias_alone(&job.g_bias, job.sequences, job.heads,
                                                                    job.schedule.max_queries, job.schedule.max_keys);
    job.wants_scores = job.wants_scores || job.wants_query || job.wants_key || job.stores_bias;
    if (job.stores_bias)
        locus_attention_bias_clear(&job.g_bias);
    const bool single = job.dtype == LOCUS_FLOAT32;
    (single ? locus_attention_backward_float32 : locus_attention_backward_float64)(&job);
    if (job.g_bias.data && !job.stores_bias)
        (single ? locus_attention_bias_gradient_float32 : locus_attention_bias_gradient_float64)(&job);
    if (gradients->parameters && job.slots.bytes > 0 && !locus_call_cancelled())
        locus_attention_reduce(&job, gradients->parameters);
    locus_attention_whole_end_backward(&whole, gradients->parameters);
}

static const attention_executor executor = {.workspace = workspace,
                                            .half_keys = half_keys,
                                            .forward = forward,
                                            .backward = backward,
                                            .sums_scores = true,
                                            .takes_bias = true,
                                            .weights_workspace = locus_attention_softmax_weights_workspace,
                                            .weights = locus_attention_softmax_weights};

static const locus_attention_kind_info info = {.name = "softmax",
                                               .summary = "softmax of the scores",
                                               .abilities = LOCUS_ATTENTION_MASKS | LOCUS_ATTENTION_SCORES |
                                                            LOCUS_ATTENTION_DROPS_WEIGHTS |
                                                            LOCUS_ATTENTION_DROPS_LOGITS,
                                               .source = "Vaswani et al. 2017"};

const attention_kind_class locus_attention_softmax_class = {
    .info = &info, .executor = &executor, .contextual = &locus_attention_contextual};
