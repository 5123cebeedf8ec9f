/* SPDX-License-Identifier: MIT */
/* Linear attention as an executor: layout, and the order of its loops. See attention_linear.h. */
#include "attention/linear/attention_linear.h"

#include "attention/kind_class.h"
#include "core/error.h"

#include <locus/memory.h>
#include <locus/parallel.h>
#include <string.h>

/* ---- layout ---- */

static void init(attention_linear_job *job, const locus_plan *plan, const locus_attention_options *options,
                 locus_dtype dtype, locus_pass pass) {
    memset(job, 0, sizeof *job);
    locus_attention_turn_init(&job->turn, plan, options, dtype, pass);
    job->mask = options->mask;
    job->prefix = options->prefix;
    job->scale = locus_attention_asked_scale(plan, options);
    job->scale = job->scale != 0 ? job->scale : 1;
    job->state_size = job->turn.head_dim * (job->turn.value_dim + 1);
}

static size_t place_backward(attention_linear_job *job, attention_carver *carver) {
    attention_turn *turn = &job->turn;
    const size_t size = locus_dtype_size(turn->dtype), rows = turn->heads * turn->query_tokens;
    const size_t slots = (job->queries.count + turn->sequences) * turn->kv_heads;
    job->query_states = locus_attention_carve(carver, slots * job->state_size, size);
    job->inverse = locus_attention_carve(carver, rows, size);
    job->share = locus_attention_carve(carver, rows, size);
    const locus_tensor scaled =
        turn->acts_value ? turn->own_g_output
                         : locus_attention_turn_buffer(turn, carver, turn->query_tokens, turn->heads, turn->value_dim);
    job->scaled = locus_attention_view_of(&scaled);
    if (turn->acts_query_key) { /* k' of a piece has served when its r is there */
        const locus_tensor rest =
            locus_attention_turn_buffer(turn, carver, turn->query_tokens, turn->heads, turn->head_dim);
        job->rest_query = locus_attention_view_of(&rest);
        job->rest_key = locus_attention_view_of(&turn->own_key);
    }
    return carver->used;
}

/* Lays the job out from `base` (NULL: only counts) and returns the bytes that it takes. */
static size_t place(attention_linear_job *job, void *base) {
    attention_carver carver = {base, 0};
    attention_turn *turn = &job->turn;
    const bool wide = turn->dtype == LOCUS_FLOAT64;
    locus_attention_turn_place(turn, &carver);
    locus_attention_cut(&job->queries, turn->plan, false, LINEAR_PIECE, &carver);
    locus_attention_cut(&job->keys, turn->plan, true, LINEAR_PIECE, &carver);
    job->feature_query = locus_attention_turn_buffer(turn, &carver, turn->query_tokens, turn->heads, turn->head_dim);
    job->feature_key = locus_attention_turn_buffer(turn, &carver, turn->key_tokens, turn->kv_heads, turn->head_dim);
    const size_t slots = (job->keys.count + turn->sequences) * turn->kv_heads;
    job->key_states = locus_attention_carve(&carver, slots * job->state_size, locus_dtype_size(turn->dtype));
    job->worker_bytes =
        wide ? locus_attention_linear_scratch_float64(job) : locus_attention_linear_scratch_float32(job);
    job->workers = locus_attention_carve(&carver, locus_threads(), job->worker_bytes);
    return turn->pass == LOCUS_PASS_BACKWARD ? place_backward(job, &carver) : carver.used;
}

static const locus_attention_kind_info info = {
    .name = "linear",
    .summary = "a feature map instead of the exponential, in linear time, operators behind it",
    .abilities = LOCUS_ATTENTION_MASKS,
    .source = "Katharopoulos et al. 2020; Su et al. 2021"};

/* ---- the executor ---- */

static locus_status check(const locus_plan *plan, const locus_attention_options *options, locus_error *error) {
    const locus_status status = locus_attention_refuse(&info, plan, options, error);
    if (status != LOCUS_OK)
        return status;
    if (options->turned && (locus_plan_query_key_operator(plan) || locus_plan_query_key_whole(plan)))
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "turned",
                          "linear attention turns queries and keys after its feature map; hand them in as they are, "
                          "with turned = false");
    return LOCUS_OK;
}

static size_t workspace(const locus_plan *plan, const locus_attention_options *options, locus_dtype dtype,
                        locus_pass pass) {
    attention_linear_job job;
    init(&job, plan, options, dtype, pass);
    return place(&job, NULL);
}

/* What both passes begin with: φ, then the operators on it. */
static void begin(attention_linear_job *job, const locus_attention_tensors *tensors,
                  const locus_attention_gradients *gradients, void *base) {
    place(job, base);
    locus_attention_turn_take(&job->turn, tensors, gradients);
    if (job->turn.dtype == LOCUS_FLOAT64)
        locus_attention_linear_features_float64(job);
    else
        locus_attention_linear_features_float32(job);
    job->turn.query_source = job->feature_query;
    job->turn.key_source = job->feature_key;
    locus_attention_turn_begin(&job->turn);
}

static void forward(const locus_plan *plan, const locus_attention_options *options,
                    const locus_attention_tensors *tensors, locus_workspace lent) {
    attention_linear_job job;
    init(&job, plan, options, tensors->query->dtype, LOCUS_PASS_FORWARD);
    begin(&job, tensors, NULL, lent.data);
    if (job.turn.dtype == LOCUS_FLOAT64)
        locus_attention_linear_forward_float64(&job);
    else
        locus_attention_linear_forward_float32(&job);
    locus_attention_turn_end_forward(&job.turn);
}

static void backward(const locus_plan *plan, const locus_attention_options *options,
                     const locus_attention_tensors *tensors, const locus_attention_gradients *gradients,
                     locus_workspace lent) {
    attention_linear_job job;
    init(&job, plan, options, tensors->query->dtype, LOCUS_PASS_BACKWARD);
    begin(&job, tensors, gradients, lent.data);
    if (job.turn.dtype == LOCUS_FLOAT64)
        locus_attention_linear_backward_float64(&job);
    else
        locus_attention_linear_backward_float32(&job);
    locus_attention_turn_end_backward(&job.turn);
    if (job.turn.dtype == LOCUS_FLOAT64)
        locus_attention_linear_finish_float64(&job);
    else
        locus_attention_linear_finish_float32(&job);
}

static const attention_executor executor = {
    .check = check, .workspace = workspace, .forward = forward, .backward = backward};

const attention_kind_class locus_attention_linear_class = {.info = &info, .executor = &executor};
