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

/* Tasks that a pass falls into, all heads together, where there is enough to do. */
#define FORWARD_TASKS 256
#define BACKWARD_TASKS 64
#define SLOT_BYTES_MAX ((size_t)64 << 20)

static locus_status check(const attention_call *call, locus_error *error) {
    if (call->options->mask != LOCUS_MASK_CAUSAL)
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "mask",
                          "'cope' counts the keys from a query back, so the mask must be causal");
    return LOCUS_OK;
}

/* ---- layout ---- */

static void place_slots(contextual_job *job) {
    contextual_slots *slots = &job->slots;
    const size_t table = job->row_count * job->turn.head_dim * locus_dtype_size(job->turn.dtype);
    slots->table = 0;
    slots->sinks = locus_aligned(table);
    slots->terms = slots->sinks + LOCUS_ALIGNMENT;
    slots->bytes = slots->terms;
    for (size_t t = 0; t < job->term_count; t++) {
        const locus_score_term *term = locus_plan_score_term(job->plan, t);
        slots->bytes += locus_aligned(locus_score_slot_bytes(term));
    }
}

static size_t groups_of(const contextual_job *job, size_t units, size_t heads, size_t tasks) {
    const size_t slots = job->turn.heads * job->slots.bytes;
    size_t groups = heads < tasks ? tasks / heads : 1;
    if (locus_plan_limits(job->plan)) /* slots may be smaller, so that more fit */
        return smaller(smaller(groups, slots > 0 ? SLOT_BYTES_MAX / slots + 1 : groups), units);
    while (groups > 1 && groups * slots > SLOT_BYTES_MAX)
        groups /= 2;
    return groups < units ? groups : units;
}

static void init(attention_turn *turn) {
    contextual_job *job = (contextual_job *)turn;
    const locus_plan *plan = turn->plan;
    const locus_attention_options *options = turn->call->options;
    const locus_score_settings *settings = locus_plan_score_settings(plan);
    job->plan = plan;
    locus_attention_sight_init(&job->sight, plan, options);
    job->settled = locus_attention_settle(plan, options);
    job->table = locus_plan_contextual_table(plan);
    job->rows = turn->dtype == LOCUS_FLOAT32 ? (const void *)job->table->float32 : (const void *)job->table->float64;
    job->gate_scale = job->table->scaled ? job->settled.scale : 1;
    job->row_count = job->table->most + 1;
    job->ld_rows = padded(job->row_count, 16);
    job->term_count = locus_plan_score_terms(plan);
    job->sinks = settings ? settings->sinks : NULL;
    job->dropout = turn->call->weighs ? 0 : options->dropout;
    job->drop_weights = job->dropout > 0 && options->dropout_on == LOCUS_DROPOUT_WEIGHTS;
    job->drop_logits = job->dropout > 0 && options->dropout_on == LOCUS_DROPOUT_LOGITS;
    job->dropout_key = options->dropout_key;
    job->biased = options->bias != NULL;
    for (size_t s = 0; s < turn->sequences; s++) {
        const size_t keys = locus_plan_span(plan, s).key_count;
        job->max_keys = keys > job->max_keys ? keys : job->max_keys;
    }
    if (turn->pass == LOCUS_PASS_BACKWARD)
        place_slots(job);
}

static void place(attention_turn *turn, attention_carver *carver) {
    contextual_job *job = (contextual_job *)turn;
    const bool backward = turn->pass == LOCUS_PASS_BACKWARD;
    const size_t range_count = locus_attention_sight_ranges(&job->sight);
    attention_range *ranges = locus_attention_carve(carver, range_count, sizeof *ranges);
    if (!backward)
        locus_attention_cut(&turn->queries, job->plan, false, CONTEXTUAL_PIECE, carver);
    job->groups = backward ? groups_of(job, turn->sequences, turn->kv_heads, BACKWARD_TASKS)
                           : groups_of(job, turn->queries.count, turn->heads, FORWARD_TASKS);
    if (backward && turn->acts_query_key)
        job->own_raw_gradient =
            locus_attention_turn_buffer(turn, carver, turn->query_tokens, turn->heads, turn->head_dim);
    job->row_columns = locus_attention_carve(carver, turn->head_dim * job->ld_rows, locus_dtype_size(turn->dtype));
    job->slot_data = locus_attention_carve(carver, backward ? turn->heads * job->groups : 0, job->slots.bytes);
    if (carver->base)
        locus_attention_sight_place(&job->sight, range_count > 0 ? ranges : NULL);
}

static void take(attention_turn *turn) {
    contextual_job *job = (contextual_job *)turn;
    const attention_call *call = turn->call;
    job->bias = locus_attention_bias_of(call->options->bias);
    job->raw_query = locus_attention_view_of(call->tensors->query);
    if (call->weighs)
        job->choice = locus_attention_choice_of(turn->plan, call->weights);
    if (!call->gradients)
        return;
    job->slots_wanted = call->gradients->parameters != NULL;
    job->raw_g_query = turn->acts_query_key ? locus_attention_view_of(&job->own_raw_gradient) : turn->g_query;
    job->g_bias = locus_attention_bias_of(call->gradients->bias);
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
        const size_t bytes = locus_score_slot_bytes(term);
        for (size_t h = 0; bytes > 0 && h < job->turn.heads; h++)
            term->class->reduce(term, h, job->slot_data + h * job->groups * job->slots.bytes + offset, job->groups,
                                job->slots.bytes, parameters + locus_plan_score_parameters(job->plan, t));
        offset += locus_aligned(bytes);
    }
}

static void fold(attention_turn *turn) {
    const contextual_job *job = (const contextual_job *)turn;
    const locus_score_settings *settings = locus_plan_score_settings(job->plan);
    const locus_tensor *parameters = turn->gradients->parameters;
    if (!parameters || job->groups == 0 || locus_call_cancelled())
        return;
    contextual_fold table = {job, &parameters[job->table->parameter]};
    locus_parallel_for(job->row_count, fold_row, &table);
    if (job->sinks)
        fold_sinks(job, &parameters[settings->sinks_parameter]);
    fold_terms(job, parameters);
}

/* ---- the executor ---- */

static const attention_loops loops = {.job_bytes = sizeof(contextual_job),
                                      .init = init,
                                      .place = place,
                                      .take = take,
                                      .fold = fold,
                                      .float32 = &locus_attention_contextual_float32,
                                      .float64 = &locus_attention_contextual_float64};

const attention_executor locus_attention_contextual = {.check = check,
                                                       .workspace = locus_attention_turn_workspace,
                                                       .run = locus_attention_turn_run,
                                                       .loops = &loops,
                                                       .sums_scores = true,
                                                       .takes_bias = true,
                                                       .weighs = true};
