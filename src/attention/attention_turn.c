/* SPDX-License-Identifier: MIT */
/* See attention_turn.h. What comes here has passed the checks of attention.c: nothing can fail but callbacks of
 * registered encodings. */
#include "attention/attention_turn.h"

#include "core/call.h"
#include "core/error.h"

#include <locus/parallel.h>
#include <stddef.h>
#include <string.h>

/* ---- pieces ---- */

static size_t tokens_of(const locus_plan *plan, bool keys, size_t sequence) {
    const locus_sequence_span span = locus_plan_span(plan, sequence);
    return keys ? span.key_count : span.query_count;
}

/* Of a plan of limits. A sequence of n tokens has ⌈n / length⌉, at most (n + length − 1)/length. */
static size_t most_pieces(const locus_limits *limits, bool keys, size_t length) {
    const size_t tokens = keys ? limits->keys : limits->queries;
    const size_t longest = keys ? limits->longest_key : limits->longest_query;
    const size_t sequences = smaller(limits->sequences, tokens);
    return smaller((tokens + sequences * (length - 1)) / length, sequences * ((longest + length - 1) / length));
}

void locus_attention_cut(attention_cut *cut, const locus_plan *plan, bool keys, size_t length,
                         attention_carver *carver) {
    const size_t sequences = locus_plan_sequences(plan);
    cut->length = length;
    cut->count = 0;
    for (size_t s = 0; s < sequences; s++)
        cut->count += (tokens_of(plan, keys, s) + length - 1) / length;
    if (locus_plan_limits(plan))
        cut->count = most_pieces(locus_plan_limits(plan), keys, length);
    cut->pieces = locus_attention_carve(carver, cut->count, sizeof *cut->pieces);
    cut->of = locus_attention_carve(carver, sequences + 1, sizeof *cut->of);
    if (!carver->base)
        return;
    size_t at = 0;
    for (size_t s = 0; s < sequences; s++) {
        const size_t count = tokens_of(plan, keys, s);
        cut->of[s] = at;
        for (size_t first = 0; first < count; first += length) {
            const size_t left = count - first;
            cut->pieces[at++] = (attention_piece){s, first / length, first, left < length ? left : length};
        }
    }
    cut->of[sequences] = at;
}

/* ---- buffers ---- */

locus_tensor locus_attention_turn_buffer(const attention_turn *turn, attention_carver *carver, size_t tokens,
                                         size_t heads, size_t dim) {
    const int64_t shape[] = {(int64_t)tokens, (int64_t)heads, (int64_t)dim};
    locus_tensor tensor = locus_tensor_view(NULL, turn->dtype, 3, shape);
    tensor.data = locus_attention_carve(carver, tokens * heads * dim, locus_dtype_size(turn->dtype));
    tensor.stride[0] = (int64_t)dim;
    tensor.stride[1] = (int64_t)(tokens * dim);
    return tensor;
}

/* ---- layout ---- */

/* Memory for any kind's struct. */
typedef union turn_room {
    max_align_t aligned;
    char bytes[ATTENTION_TURN_JOB];
} turn_room;

static attention_turn *init(const attention_call *call, turn_room *room) {
    const locus_plan *plan = call->plan;
    const locus_shape *shape = locus_plan_shape(plan);
    const attention_loops *loops = call->executor->loops;
    attention_turn *turn = (attention_turn *)(void *)room;
    memset(turn, 0, loops->job_bytes);
    turn->loops = loops;
    turn->bodies = call->dtype == LOCUS_FLOAT64 ? loops->float64 : loops->float32;
    turn->call = call;
    turn->plan = plan;
    turn->dtype = call->dtype;
    turn->pass = call->pass;
    turn->heads = shape->heads;
    turn->kv_heads = locus_plan_kv_heads(plan);
    turn->group = turn->heads / turn->kv_heads;
    turn->head_dim = shape->head_dim;
    turn->value_dim = shape->value_dim;
    turn->sequences = locus_plan_sequences(plan);
    turn->query_tokens = locus_plan_query_tokens(plan);
    turn->key_tokens = locus_plan_key_tokens(plan);
    turn->without_values = call->weighs;
    turn->turns = !call->options->turned;
    turn->acts_query_key = turn->turns && (locus_plan_query_key_operator(plan) || locus_plan_query_key_whole(plan));
    turn->acts_value =
        turn->turns && !call->weighs && (locus_plan_value_operator(plan) || locus_plan_value_whole(plan));
    if (call->pass == LOCUS_PASS_BACKWARD) {
        turn->query_key_learns = turn->acts_query_key && locus_operator_learns(locus_plan_query_key_operator(plan),
                                                                               locus_plan_query_key_whole(plan));
        turn->value_learns =
            turn->acts_value && locus_operator_learns(locus_plan_value_operator(plan), locus_plan_value_whole(plan));
    }
    loops->init(turn);
    return turn;
}

static size_t around_bytes(const attention_turn *turn) {
    size_t most = 0;
    for (locus_role role = LOCUS_ROLE_QUERY; turn->turns && role <= LOCUS_ROLE_OUTPUT; role++) {
        const size_t bytes = locus_apply_workspace(turn->plan, role, turn->dtype, NULL);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void place_buffers(attention_turn *turn, attention_carver *carver) {
    const bool backward = turn->pass == LOCUS_PASS_BACKWARD;
    const size_t queries = turn->query_tokens, keys = turn->key_tokens;
    if (turn->acts_query_key) {
        turn->own_query = locus_attention_turn_buffer(turn, carver, queries, turn->heads, turn->head_dim);
        turn->own_key = locus_attention_turn_buffer(turn, carver, keys, turn->kv_heads, turn->head_dim);
    }
    if (turn->turns && !turn->without_values)
        turn->own_value = locus_attention_turn_buffer(turn, carver, keys, turn->kv_heads, turn->value_dim);
    if (turn->acts_value && backward)
        turn->own_g_output = locus_attention_turn_buffer(turn, carver, queries, turn->heads, turn->value_dim);
    if (turn->query_key_learns) {
        turn->own_g_query = locus_attention_turn_buffer(turn, carver, queries, turn->heads, turn->head_dim);
        turn->own_g_key = locus_attention_turn_buffer(turn, carver, keys, turn->kv_heads, turn->head_dim);
    }
    if (turn->value_learns) {
        turn->own_output = locus_attention_turn_buffer(turn, carver, queries, turn->heads, turn->value_dim);
        turn->own_g_value = locus_attention_turn_buffer(turn, carver, keys, turn->kv_heads, turn->value_dim);
    }
    turn->around.bytes = around_bytes(turn);
    turn->around.data = locus_attention_carve(carver, turn->around.bytes, 1);
}

/* Lays the call out from `base` (NULL: only counts) and returns the bytes that it takes. */
static size_t place(attention_turn *turn, void *base) {
    attention_carver carver = {base, 0};
    place_buffers(turn, &carver);
    if (turn->loops->piece > 0) {
        locus_attention_cut(&turn->queries, turn->plan, false, turn->loops->piece, &carver);
        locus_attention_cut(&turn->keys, turn->plan, true, turn->loops->piece, &carver);
    }
    turn->loops->place(turn, &carver);
    turn->worker_bytes = turn->bodies->scratch(turn);
    turn->workers = locus_attention_carve(&carver, locus_threads(), turn->worker_bytes);
    return carver.used;
}

static const locus_tensor *target(const locus_tensor *given, bool learned, const locus_tensor *own) {
    return given ? given : learned ? own : NULL;
}

static void take_tensors(attention_turn *turn) {
    const locus_attention_tensors *tensors = turn->call->tensors;
    const locus_attention_gradients *gradients = turn->call->gradients;
    turn->given = tensors;
    turn->gradients = gradients;
    turn->query_source = *tensors->query;
    turn->key_source = *tensors->key;
    turn->value = locus_attention_view_of(tensors->value);
    turn->output = locus_attention_view_of(tensors->output);
    turn->log_sum_exp = locus_attention_numbers_of(tensors->log_sum_exp);
    if (!gradients)
        return;
    turn->g_output = locus_attention_view_of(gradients->output);
    turn->to_query = target(gradients->query, turn->query_key_learns && gradients->parameters, &turn->own_g_query);
    turn->to_key = target(gradients->key, turn->query_key_learns && gradients->parameters, &turn->own_g_key);
    turn->to_value = target(gradients->value, turn->value_learns && gradients->parameters, &turn->own_g_value);
    turn->g_query = locus_attention_view_of(turn->to_query);
    turn->g_key = locus_attention_view_of(turn->to_key);
    turn->g_value = locus_attention_view_of(turn->to_value);
    turn->wants_query = turn->to_query != NULL;
    turn->wants_key = turn->to_key != NULL;
    turn->wants_value = turn->to_value != NULL;
}

/* ---- before and after the loops ---- */

/* What stands around is part of the same call, in a workspace of its own; the call knows whether it was cancelled. */
static locus_execution execution_of(const attention_turn *turn) {
    locus_execution execution = locus_execution_default();
    execution.workspace = turn->around;
    return execution;
}

/* A callback of a registered encoding may have failed, with any status; a call knows itself that it was cancelled. */
static void pass_on(locus_status status, const locus_error *error) {
    if (status != LOCUS_OK)
        locus_call_fail(error);
}

static attention_view apply(const attention_turn *turn, locus_role role, locus_direction direction,
                            const locus_tensor *x, const locus_tensor *y) {
    const locus_execution execution = execution_of(turn);
    locus_error error;
    pass_on(locus_apply(turn->plan, role, direction, x, y, &execution, &error), &error);
    return locus_attention_view_of(y);
}

static void begin(attention_turn *turn) {
    turn->query = locus_attention_view_of(&turn->query_source);
    turn->key = locus_attention_view_of(&turn->key_source);
    if (turn->acts_query_key) {
        turn->query = apply(turn, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &turn->query_source, &turn->own_query);
        turn->key = apply(turn, LOCUS_ROLE_KEY, LOCUS_FORWARD, &turn->key_source, &turn->own_key);
    }
    if (turn->turns && !turn->without_values)
        turn->value = apply(turn, LOCUS_ROLE_VALUE, LOCUS_FORWARD, turn->given->value, &turn->own_value);
    if (turn->acts_value && turn->gradients)
        turn->g_output = apply(turn, LOCUS_ROLE_OUTPUT, LOCUS_INVERSE, turn->gradients->output, &turn->own_g_output);
}

static void end_forward(const attention_turn *turn) {
    if (turn->acts_value)
        apply(turn, LOCUS_ROLE_OUTPUT, LOCUS_FORWARD, turn->given->output, turn->given->output);
}

/* gy becomes gx in its place, unless another buffer is given; NULL: not wanted. */
static void apply_backward(const attention_turn *turn, locus_role role, const locus_tensor *x, const locus_tensor *gy,
                           const locus_tensor *gx) {
    if (!gy)
        return;
    const locus_apply_gradients all = {.x = x,
                                       .gy = gy,
                                       .gx = gx,
                                       .parameters = turn->gradients->parameters,
                                       .parameter_count = turn->gradients->parameter_count};
    const locus_execution execution = execution_of(turn);
    locus_error error;
    pass_on(locus_apply_backward(turn->plan, role, LOCUS_FORWARD, &all, &execution, &error), &error);
}

static void end_backward(const attention_turn *turn) {
    const locus_attention_gradients *g = turn->gradients;
    if (turn->acts_query_key) {
        apply_backward(turn, LOCUS_ROLE_QUERY, &turn->query_source, turn->to_query, turn->to_query);
        apply_backward(turn, LOCUS_ROLE_KEY, &turn->key_source, turn->to_key, turn->to_key);
    }
    if (turn->acts_value)
        apply_backward(turn, LOCUS_ROLE_VALUE, turn->given->value, turn->to_value, turn->to_value);
    if (turn->value_learns && g->parameters) { /* do' is known and made again over itself: for the parameters */
        apply(turn, LOCUS_ROLE_OUTPUT, LOCUS_INVERSE, turn->given->output, &turn->own_output);
        apply_backward(turn, LOCUS_ROLE_OUTPUT, &turn->own_output, g->output, &turn->own_g_output);
    }
}

/* ---- the way of a call ---- */

size_t locus_attention_turn_workspace(const attention_call *call) {
    turn_room room;
    return place(init(call, &room), NULL);
}

void locus_attention_turn_run(const attention_call *call) {
    turn_room room;
    attention_turn *turn = init(call, &room);
    const attention_bodies *bodies = turn->bodies;
    place(turn, call->workspace.data);
    take_tensors(turn);
    if (turn->loops->take)
        turn->loops->take(turn);
    if (bodies->before)
        bodies->before(turn);
    begin(turn);
    if (call->weighs) {
        bodies->weights(turn);
    } else if (call->pass == LOCUS_PASS_FORWARD) {
        bodies->forward(turn);
        end_forward(turn);
    } else {
        bodies->backward(turn);
        if (turn->loops->fold)
            turn->loops->fold(turn);
        end_backward(turn);
        if (bodies->after)
            bodies->after(turn);
    }
}

/* ---- options ---- */

double locus_attention_asked_scale(const attention_call *call) {
    const locus_score_settings *settings = locus_plan_score_settings(call->plan);
    return call->options->scale != 0 ? call->options->scale : settings ? settings->scale : 0;
}

/* What scores would be needed for, or NULL; `place` is the argument to blame. */
static const char *wants_scores(const locus_plan *plan, const locus_attention_options *options, const char **place) {
    static const locus_score_settings nothing = {0};
    const locus_score_settings *settings = locus_plan_score_settings(plan) ? locus_plan_score_settings(plan) : &nothing;
    *place = "options";
    if (options->cap != 0)
        return "the option cap";
    if (options->window != 0 || options->keep != 0)
        return "the option window";
    if (options->query_documents || options->key_documents)
        return "the option query_documents (pack documents as sequences instead)";
    *place = "plan";
    if (settings->cap != 0)
        return "scores(cap=…)";
    if (settings->window != 0 || settings->keep != 0)
        return "scores(window=…)";
    if (settings->chunk != 0)
        return "scores(chunk=…)";
    if (settings->sinks)
        return "scores(sinks=…)";
    if (locus_plan_content_table(plan))
        return "the term 'relative'";
    if (locus_plan_contextual_table(plan))
        return "the term 'cope'";
    if (locus_plan_score_terms(plan) == 0)
        return NULL;
    return locus_plan_score_term(plan, 0)->kind == LOCUS_SCORE_FACTOR ? "a term that multiplies scores (decay …)"
                                                                      : "a term that adds to scores (alibi, t5 …)";
}

locus_status locus_attention_refuse(const attention_call *call, locus_error *error) {
    const locus_attention_options *options = call->options;
    const locus_attention_kind_info *kind = call->kind;
    const char *place = NULL, *what = wants_scores(call->plan, options, &place);
    if (what)
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, place,
                          "%s attention has no scores of its queries, so %s cannot act; leave it out, or use softmax "
                          "attention",
                          kind->name, what);
    if (options->mask != LOCUS_MASK_FULL && !(kind->abilities & LOCUS_ATTENTION_MASKS))
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "mask",
                          "%s attention lets all queries see all keys; the mask must be full, or use softmax or linear "
                          "attention",
                          kind->name);
    if (options->dropout > 0 && !(kind->abilities & LOCUS_ATTENTION_DROPS_WEIGHTS))
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "dropout",
                          "%s attention never makes its weights, so none can be dropped; dropout must be 0",
                          kind->name);
    if (options->dropout > 0 && options->dropout_on != LOCUS_DROPOUT_WEIGHTS)
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "dropout_on",
                          "%s attention drops weights, not logits; set dropout_on to LOCUS_DROPOUT_WEIGHTS",
                          kind->name);
    return LOCUS_OK;
}
