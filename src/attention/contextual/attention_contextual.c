/* SPDX-License-Identifier: MIT */
/* See attention_contextual.h: the executor, which lays a call out, runs operators round the loops, and folds gradients.
 * Refused: masks that are not causal; attention_check.h refuses queries that come turned (E needs them as they
 * were). */
#include "attention/contextual/attention_contextual.h"

#include "core/call.h"
#include "core/error.h"
#include "spec/class.h"

#include <locus/memory.h>
#include <locus/parallel.h>
#include <string.h>

/* Tasks that a pass falls into, all heads together, where there is enough to do. */
#define FORWARD_TASKS 256
#define BACKWARD_TASKS 64
#define SLOT_BYTES_MAX ((size_t)64 << 20)

static locus_status check(const locus_plan *plan, const locus_attention_options *options, locus_error *error) {
    (void)plan;
    if (options->mask != LOCUS_MASK_CAUSAL)
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "mask",
                          "'cope' counts the keys from a query back, so the mask must be causal");
    return LOCUS_OK;
}

/* ---- layout ---- */

static size_t aligned(size_t bytes) {
    return padded(bytes, LOCUS_ALIGNMENT);
}

static void place_slots(contextual_job *job) {
    contextual_slots *slots = &job->slots;
    const size_t table = job->row_count * job->turn.head_dim * locus_dtype_size(job->turn.dtype);
    slots->table = 0;
    slots->sinks = aligned(table);
    slots->terms = slots->sinks + LOCUS_ALIGNMENT;
    slots->bytes = slots->terms;
    for (size_t t = 0; t < job->term_count; t++) {
        const locus_score_term *term = locus_plan_score_term(job->plan, t);
        const size_t bytes = term->class->slot_bytes(term);
        job->learned_factor = job->learned_factor || (term->kind == LOCUS_SCORE_FACTOR && bytes > 0);
        slots->bytes += aligned(bytes);
    }
}

static size_t groups_of(const contextual_job *job, size_t units, size_t heads, size_t tasks) {
    size_t groups = heads < tasks ? tasks / heads : 1;
    while (groups > 1 && groups * job->turn.heads * job->slots.bytes > SLOT_BYTES_MAX)
        groups /= 2;
    return groups < units ? groups : units;
}

static void init(contextual_job *job, const locus_plan *plan, const locus_attention_options *options, locus_dtype dtype,
                 locus_pass pass) {
    const locus_score_settings *settings = locus_plan_score_settings(plan);
    memset(job, 0, sizeof *job);
    job->plan = plan;
    locus_attention_turn_init(&job->turn, plan, options, dtype, pass);
    locus_attention_sight_init(&job->sight, plan, options);
    job->settled = locus_attention_settle(plan, options);
    job->table = locus_plan_contextual_table(plan);
    job->rows = dtype == LOCUS_FLOAT32 ? (const void *)job->table->float32 : (const void *)job->table->float64;
    job->gate_scale = job->table->scaled ? job->settled.scale : 1;
    job->row_count = job->table->most + 1;
    job->ld_rows = padded(job->row_count, 16);
    job->term_count = locus_plan_score_terms(plan);
    job->sinks = settings ? settings->sinks : NULL;
    job->dropout = options->dropout;
    job->drop_weights = options->dropout > 0 && options->dropout_on == LOCUS_DROPOUT_WEIGHTS;
    job->drop_logits = options->dropout > 0 && options->dropout_on == LOCUS_DROPOUT_LOGITS;
    job->dropout_key = options->dropout_key;
    job->biased = options->bias != NULL;
    for (size_t s = 0; s < job->turn.sequences; s++) {
        const size_t keys = locus_plan_span(plan, s).key_count;
        job->max_keys = keys > job->max_keys ? keys : job->max_keys;
    }
    if (pass == LOCUS_PASS_BACKWARD)
        place_slots(job);
}

/* Lays the job out from `base` (NULL: counts only) and returns the bytes that it takes. */
static size_t place(contextual_job *job, void *base) {
    attention_carver carver = {base, 0};
    attention_turn *turn = &job->turn;
    const bool backward = turn->pass == LOCUS_PASS_BACKWARD, single = turn->dtype == LOCUS_FLOAT32;
    const size_t range_count = locus_attention_sight_ranges(&job->sight);
    attention_range *ranges = locus_attention_carve(&carver, range_count, sizeof *ranges);
    locus_attention_turn_place(turn, &carver);
    if (!backward)
        locus_attention_cut(&job->pieces, job->plan, false, CONTEXTUAL_PIECE, &carver);
    job->groups = backward ? groups_of(job, turn->sequences, turn->kv_heads, BACKWARD_TASKS)
                           : groups_of(job, job->pieces.count, turn->heads, FORWARD_TASKS);
    if (backward && turn->acts_query_key)
        job->own_raw_gradient =
            locus_attention_turn_buffer(turn, &carver, turn->query_tokens, turn->heads, turn->head_dim);
    job->row_columns = locus_attention_carve(&carver, turn->head_dim * job->ld_rows, locus_dtype_size(turn->dtype));
    job->slot_data = locus_attention_carve(&carver, backward ? turn->heads * job->groups : 0, job->slots.bytes);
    job->worker_bytes =
        single ? locus_attention_contextual_scratch_float32(job) : locus_attention_contextual_scratch_float64(job);
    job->workers = locus_attention_carve(&carver, locus_threads(), job->worker_bytes);
    if (base)
        locus_attention_sight_place(&job->sight, range_count > 0 ? ranges : NULL);
    return carver.used;
}

static size_t workspace(const locus_plan *plan, const locus_attention_options *options, locus_dtype dtype,
                        locus_pass pass) {
    contextual_job job;
    init(&job, plan, options, dtype, pass);
    return place(&job, NULL);
}

/* ---- gradients of what is learned ---- */

static const char *slot_of(const contextual_job *job, size_t head, size_t group) {
    return job->slot_data + (head * job->groups + group) * job->slots.bytes;
}

typedef struct contextual_fold {
    const contextual_job *job;
    const locus_tensor *target;
} contextual_fold;

static void fold_row(void *context, size_t index, size_t worker) {
    const contextual_fold *fold = context;
    const contextual_job *job = fold->job;
    const size_t dim = job->turn.head_dim, slots = job->turn.heads * job->groups;
    (void)worker;
    for (size_t i = index * dim; i < (index + 1) * dim; i++) {
        double sum = 0;
        for (size_t s = 0; s < slots; s++) {
            const void *table = job->slot_data + s * job->slots.bytes + job->slots.table;
            sum += job->turn.dtype == LOCUS_FLOAT32 ? (double)((const float *)table)[i] : ((const double *)table)[i];
        }
        locus_tensor_add(fold->target, i, sum);
    }
}

static void fold_sinks(const contextual_job *job, const locus_tensor *target) {
    for (size_t h = 0; h < job->turn.heads; h++) {
        double sum = 0;
        for (size_t g = 0; g < job->groups; g++)
            sum += *(const double *)(const void *)(slot_of(job, h, g) + job->slots.sinks);
        locus_tensor_add(target, h, sum);
    }
}

static void fold_terms(const contextual_job *job, const locus_tensor *parameters) {
    size_t offset = job->slots.terms;
    for (size_t t = 0; t < job->term_count; t++) {
        const locus_score_term *term = locus_plan_score_term(job->plan, t);
        const size_t bytes = term->class->slot_bytes(term);
        for (size_t h = 0; bytes > 0 && h < job->turn.heads; h++)
            term->class->reduce(term, h, job->slot_data + h * job->groups * job->slots.bytes + offset, job->groups,
                                job->slots.bytes, parameters + locus_plan_score_parameters(job->plan, t));
        offset += aligned(bytes);
    }
}

static void fold(const contextual_job *job, const locus_tensor *parameters) {
    const locus_score_settings *settings = locus_plan_score_settings(job->plan);
    contextual_fold table = {job, &parameters[job->table->parameter]};
    locus_parallel_for(job->row_count, fold_row, &table);
    if (job->sinks)
        fold_sinks(job, &parameters[settings->sinks_parameter]);
    fold_terms(job, parameters);
}

/* ---- the calls ---- */

static void begin(contextual_job *job, const locus_attention_options *options, const locus_attention_tensors *tensors,
                  const locus_attention_gradients *gradients, locus_workspace lent) {
    place(job, lent.data);
    job->bias = locus_attention_bias_of(options->bias);
    locus_attention_turn_take(&job->turn, tensors, gradients);
    locus_attention_turn_begin(&job->turn);
    job->raw_query = locus_attention_view_of(tensors->query);
}

static void forward(const locus_plan *plan, const locus_attention_options *options,
                    const locus_attention_tensors *tensors, locus_workspace lent) {
    contextual_job job;
    init(&job, plan, options, tensors->query->dtype, LOCUS_PASS_FORWARD);
    begin(&job, options, tensors, NULL, lent);
    if (job.turn.dtype == LOCUS_FLOAT32)
        locus_attention_contextual_forward_float32(&job);
    else
        locus_attention_contextual_forward_float64(&job);
    locus_attention_turn_end_forward(&job.turn);
}

static void backward(const locus_plan *plan, const locus_attention_options *options,
                     const locus_attention_tensors *tensors, const locus_attention_gradients *gradients,
                     locus_workspace lent) {
    contextual_job job;
    init(&job, plan, options, tensors->query->dtype, LOCUS_PASS_BACKWARD);
    begin(&job, options, tensors, gradients, lent);
    job.slots_wanted = gradients->parameters != NULL;
    job.raw_g_query = job.turn.acts_query_key ? locus_attention_view_of(&job.own_raw_gradient) : job.turn.g_query;
    const bool single = job.turn.dtype == LOCUS_FLOAT32;
    (single ? locus_attention_contextual_backward_float32 : locus_attention_contextual_backward_float64)(&job);
    job.g_bias = locus_attention_bias_of(gradients->bias);
    if (job.g_bias.data)
        (single ? locus_attention_contextual_bias_gradient_float32
                : locus_attention_contextual_bias_gradient_float64)(&job);
    if (gradients->parameters && job.groups > 0 && !locus_call_cancelled())
        fold(&job, gradients->parameters);
    locus_attention_turn_end_backward(&job.turn);
    if (job.turn.acts_query_key && gradients->query)
        (single ? locus_attention_contextual_finish_float32 : locus_attention_contextual_finish_float64)(&job);
}

/* ---- weights ---- */

static void init_weights(contextual_job *job, const locus_plan *plan, const locus_attention_options *options,
                         locus_dtype dtype) {
    init(job, plan, options, dtype, LOCUS_PASS_FORWARD);
    job->dropout = 0;
    job->drop_weights = job->drop_logits = false;
    job->turn.without_values = true;
    job->turn.acts_value = false;
    job->weighs = true;
}

static size_t weights_workspace(const locus_plan *plan, const locus_attention_options *options, locus_dtype dtype) {
    contextual_job job;
    init_weights(&job, plan, options, dtype);
    return place(&job, NULL);
}

static void weights(const locus_plan *plan, const locus_attention_options *options,
                    const locus_attention_weights_call *call, locus_workspace lent) {
    const locus_attention_tensors tensors = {.query = call->query, .key = call->key};
    contextual_job job;
    init_weights(&job, plan, options, call->query->dtype);
    job.choice = locus_attention_choice_of(plan, call);
    begin(&job, options, &tensors, NULL, lent);
    if (job.turn.dtype == LOCUS_FLOAT32)
        locus_attention_contextual_weights_float32(&job);
    else
        locus_attention_contextual_weights_float64(&job);
}

const attention_executor locus_attention_contextual = {.check = check,
                                                       .workspace = workspace,
                                                       .weights_workspace = weights_workspace,
                                                       .weights = weights,
                                                       .forward = forward,
                                                       .backward = backward,
                                                       .sums_scores = true,
                                                       .takes_bias = true};
