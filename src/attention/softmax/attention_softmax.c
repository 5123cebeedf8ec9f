/* SPDX-License-Identifier: MIT */
/* Softmax attention as an executor: lays the job out, runs whole operators and loops, folds the parameters'
 * gradients. */
#include "attention/attention_whole.h"
#include "attention/attention_work.h"
#include "attention/kind_class.h"
#include "core/call.h"

/* Buffers of whole operators | what the loops work in, or those operators before and after them. */
static size_t workspace(const attention_call *call) {
    attention_job job;
    attention_whole whole;
    locus_attention_job_init(&job, call);
    locus_attention_whole_init(&whole, &job);
    const size_t loops = locus_attention_job_place(&job, NULL), around = locus_attention_whole_workspace(&whole);
    return locus_attention_whole_place(&whole, NULL) + (loops > around ? loops : around);
}

/* Content terms and weights are made of floats; a batch that is only decoded reads its keys faster than they could be
 * laid out as pairs. */
static const locus_kernels_bfloat16 *pairs(const attention_call *call) {
    if (call->weighs || locus_plan_content_table(call->plan) || locus_attention_decodes_all(call))
        return NULL;
    return locus_kernels_bfloat16_get();
}

static attention_halves halves(const attention_call *call) {
    const bool whole = locus_plan_query_key_whole(call->plan) || locus_plan_value_whole(call->plan);
    if (whole && !call->options->turned)
        return ATTENTION_WIDENED;
    if (call->pairs)
        return ATTENTION_HALF_TENSORS;
    return call->pass == LOCUS_PASS_FORWARD && !call->weighs ? ATTENTION_HALF_KEYS : ATTENTION_WIDENED;
}

static void take_tensors(attention_job *job, const attention_call *call) {
    const locus_attention_tensors *tensors = call->tensors;
    job->bias = locus_attention_bias_of(call->options->bias);
    job->query = locus_attention_view_of(tensors->query);
    job->key = locus_attention_view_of(tensors->key);
    job->value = locus_attention_view_of(tensors->value);
    job->output = locus_attention_view_of(tensors->output);
    job->log_sum_exp = locus_attention_numbers_of(tensors->log_sum_exp);
    job->rows_follow = job->key.token == (ptrdiff_t)job->head_dim && job->value.token == (ptrdiff_t)job->value_dim;
    if (call->weighs)
        job->choice = locus_attention_choice_of(call->plan, call->weights);
}

/* What the caller wants, and what gradients of parameters are made of, whoever wants it besides. */
static void take_gradients(attention_job *job, const locus_attention_gradients *gradients) {
    const bool slots = gradients->parameters != NULL;
    job->g_output = job->g_given = locus_attention_view_of(gradients->output);
    job->g_query = locus_attention_view_of(gradients->query);
    job->g_key = locus_attention_view_of(gradients->key);
    job->g_value = locus_attention_view_of(gradients->value);
    job->g_log_sum_exp = locus_attention_numbers_of(gradients->log_sum_exp);
    job->slots_wanted = slots;
    job->wants_query = gradients->query != NULL || (slots && locus_operator_slot_bytes(job->query_key) > 0);
    job->wants_key = gradients->key != NULL || (slots && locus_operator_slot_bytes(job->query_key) > 0);
    job->wants_value = gradients->value != NULL || (slots && locus_operator_slot_bytes(job->value_operator) > 0);
    job->wants_scores = slots && (job->content_key || job->slots.bytes > job->slots.terms);
}

/* Turns what whole operators act on, then lays the loops out in the memory that these have worked in. */
static void begin(attention_job *job, attention_whole *whole, locus_workspace workspace) {
    locus_attention_whole_init(whole, job);
    whole->workspace = (char *)workspace.data + locus_attention_whole_place(whole, workspace.data);
    locus_attention_whole_begin(whole, job, job->slots_wanted);
    locus_attention_job_place(job, whole->workspace);
}

static void backward(attention_job *job, const locus_attention_gradients *gradients) {
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): who asks for a backward gives them
    job->g_bias = locus_attention_bias_of(gradients->bias);
    job->stores_bias =
        job->g_bias.data && locus_attention_bias_alone(&job->g_bias, job->sequences, job->heads,
                                                       job->schedule.max_queries, job->schedule.max_keys);
    job->wants_scores = job->wants_scores || job->wants_query || job->wants_key || job->stores_bias;
    if (job->stores_bias)
        locus_attention_bias_clear(&job->g_bias);
    job->bodies->backward(job);
    if (job->g_bias.data && !job->stores_bias)
        job->bodies->bias_gradient(job);
    if (gradients->parameters && job->slots.bytes > 0 && !locus_call_cancelled())
        locus_attention_reduce(job, gradients->parameters);
}

static void run(const attention_call *call) {
    attention_job job;
    attention_whole whole;
    locus_attention_job_init(&job, call);
    take_tensors(&job, call);
    if (call->gradients)
        take_gradients(&job, call->gradients);
    begin(&job, &whole, call->workspace);
    if (call->weighs) {
        job.bodies->weights(&job);
    } else if (call->pass == LOCUS_PASS_FORWARD) {
        job.bodies->forward(&job);
        locus_attention_whole_end_forward(&whole);
    } else {
        backward(&job, call->gradients);
        locus_attention_whole_end_backward(&whole, call->gradients->parameters);
    }
}

static const attention_executor executor = {.workspace = workspace,
                                            .run = run,
                                            .pairs = pairs,
                                            .halves = halves,
                                            .sums_scores = true,
                                            .takes_bias = true,
                                            .weighs = true};

static const locus_attention_kind_info info = {.name = "softmax",
                                               .summary = "softmax of the scores",
                                               .abilities = LOCUS_ATTENTION_MASKS | LOCUS_ATTENTION_SCORES |
                                                            LOCUS_ATTENTION_DROPS_WEIGHTS |
                                                            LOCUS_ATTENTION_DROPS_LOGITS,
                                               .source = "Vaswani et al. 2017"};

const attention_kind_class locus_attention_softmax_class = {
    .info = &info, .executor = &executor, .contextual = &locus_attention_contextual};
