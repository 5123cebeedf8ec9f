/* SPDX-License-Identifier: MIT */
/* Attention of every kind, forward against the reference, backward along random directions against its central
 * differences. */
#include "kind_of.h"
#include "reference/drawn_bias.h"
#include "reference/drawn_tensor.h"
#include "reference/trial.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { Q, K, V, INPUTS };
enum { SMALL_TENSOR = 8, MOST_PARTIALS = 16 }; /* elements, of one tensor and of a case */

typedef struct attention_call {
    drawn_world *world;
    trial *result;
    const trial_hostility *hostility;
    bool poisoned;
    locus_attention_options options;
    locus_dtype dtype;
    size_t prefix[DRAWN_SEQUENCES + 1];
    int32_t *query_documents, *key_documents;
    drawn_bias bias; /* its block is NULL where there is none */
    size_t count[INPUTS], outputs, rows;
    double *in[INPUTS], *go;
    double *g_sums;          /* dL/d(log_sum_exp), or NULL: not given */
    double *o, *log_sum_exp; /* of the reference */
    size_t *clusters;        /* of the first definition: constant afterwards */
    bool clusters_known;
    double score, mass, margin, eps;
    double least; /* below it numbers of the type have fewer digits */
} attention_call;

/* ---- what is asked ---- */

static int32_t *draw_documents(chooser *choices, const reference_tokens *tokens) {
    int32_t *documents = reference_zeros(tokens->tokens, sizeof *documents);
    int32_t number = 0;
    for (size_t s = 0; s < tokens->sequences; s++, number = 0)
        for (size_t t = tokens->first[s]; t < tokens->first[s] + tokens->count[s]; t++)
            documents[t] = number += choose_chance(choices, 20);
    return documents;
}

static void draw_masks(attention_call *call, chooser *choices) {
    static const locus_mask masks[] = {LOCUS_MASK_CAUSAL, LOCUS_MASK_FULL, LOCUS_MASK_PREFIX, LOCUS_MASK_CAUSAL};
    locus_attention_options *options = &call->options;
    const drawn_world *world = call->world;
    options->mask = masks[choose(choices, sizeof masks / sizeof masks[0])];
    for (size_t s = 0; s < world->keys.tokens.sequences && options->mask == LOCUS_MASK_PREFIX; s++)
        call->prefix[s] = choose(choices, world->keys.count[s] + 1);
    options->prefix = options->mask == LOCUS_MASK_PREFIX ? call->prefix : NULL;
    if (choose_chance(choices, 25))
        options->window = 1 + choose(choices, 12);
    if (options->window > 0 && choose_chance(choices, 40))
        options->keep = 1 + choose(choices, 4);
    if (choose_chance(choices, 15)) {
        call->query_documents = draw_documents(choices, &world->queries.tokens);
        call->key_documents = draw_documents(choices, &world->keys.tokens);
        options->query_documents = call->query_documents;
        options->key_documents = call->key_documents;
    }
}

static void draw_kind(attention_call *call, chooser *choices) {
    static const char *const kinds[] = {"linear", "soft", "clustered"}, *const counts[] = {"", "landmarks", "clusters"};
    locus_attention_options *options = &call->options;
    if (!choose_chance(choices, 30))
        return;
    const size_t kind = choose(choices, 3);
    options->window = options->keep = 0;
    options->query_documents = options->key_documents = NULL;
    options->cap = 0;
    if (kind != 0)
        options->mask = LOCUS_MASK_FULL;
    if (kind != 2)
        options->dropout = 0;
    options->dropout_on = LOCUS_DROPOUT_WEIGHTS;
    const size_t landmarks = choose_chance(choices, 70) ? 1 + choose(choices, 6) : 64;
    const size_t clusters = choose_chance(choices, 70) ? 1 + choose(choices, 5) : 100;
    const size_t iterations = choose_chance(choices, 50) ? 1 + choose(choices, 8) : kind == 1 ? 20 : 10;
    char text[KIND_OF_TEXT];
    (void)snprintf(text, sizeof text, kind ? "%s(%s=%zu, iterations=%zu)" : "%s", kinds[kind], counts[kind],
                   kind == 1 ? landmarks : clusters, iterations);
    options->kind = kind_of(text);
}

static void draw_options(attention_call *call, chooser *choices) {
    locus_attention_options *options = &call->options;
    *options = locus_attention_default();
    draw_masks(call, choices);
    if (choose_chance(choices, 25))
        options->scale = 0.05 + choose_unit(choices);
    if (choose_chance(choices, 15))
        options->cap = 0.5 + 4 * choose_unit(choices);
    if (choose_chance(choices, 25)) {
        options->dropout = choose_unit(choices);
        options->dropout_on = choose_chance(choices, 40) ? LOCUS_DROPOUT_LOGITS : LOCUS_DROPOUT_WEIGHTS;
        options->dropout_key = (locus_random){choose(choices, 1000), LOCUS_RANDOM_USER, 1};
    }
    options->turned = choose_chance(choices, 8);
    draw_kind(call, choices);
    if (!options->kind && choose_chance(choices, 35)) {
        call->bias = drawn_bias_make(choices, trial_dtype(choices), call->world);
        options->bias = &call->bias.view;
    }
}

/* All of one size, or each of its own, from e^−9 to e^9 and what the type has. */
static void widen(const attention_call *call, chooser *stream, double *values, size_t count) {
    const double sizes[] = {1, 1, 1e-3, 1e3}, size = sizes[choose(stream, 4)];
    const bool apart = choose_chance(stream, 30);
    for (size_t i = 0; i < count; i++) {
        const double own = size * values[i] * (apart ? exp(3 * choose_normal(stream)) : 1);
        const double most = call->dtype == LOCUS_FLOAT16 ? 65504 : INFINITY;
        values[i] = drawn_round(call->dtype, fmin(fmax(own, -most), most));
    }
}

static void draw_inputs(attention_call *call, chooser *choices) {
    const drawn_world *world = call->world;
    const locus_shape *shape = &world->shape;
    const size_t T = world->queries.tokens.tokens, N = world->keys.tokens.tokens;
    const double sizes[] = {1, 1, 0.1, 4};
    const double size = sizes[choose(choices, 4)];
    chooser stream = chooser_stream(choices);
    call->dtype = trial_dtype(choices);
    call->eps = drawn_rounding(call->dtype);
    call->least = call->dtype == LOCUS_FLOAT16 ? 6e-8 : 0;
    call->count[Q] = T * shape->heads * shape->head_dim;
    call->count[K] = N * shape->kv_heads * shape->head_dim;
    call->count[V] = N * shape->kv_heads * shape->value_dim;
    call->outputs = T * shape->heads * shape->value_dim;
    call->rows = T * shape->heads;
    for (size_t i = 0; i < INPUTS; i++) {
        call->in[i] = reference_zeros(call->count[i], sizeof(double));
        for (size_t e = 0; e < call->count[i]; e++)
            call->in[i][e] = drawn_round(call->dtype, (i == V ? 1 : size) * choose_normal(&stream));
    }
    call->go = reference_zeros(call->outputs, sizeof(double));
    for (size_t e = 0; e < call->outputs; e++)
        call->go[e] = drawn_round(call->dtype, choose_normal(&stream));
    if (choose_chance(&stream, 25)) {
        widen(call, &stream, call->in[V], call->count[V]);
        widen(call, &stream, call->go, call->outputs);
    }
    if (!call->options.kind && choose_chance(choices, 30)) {
        const locus_dtype sums = call->dtype == LOCUS_FLOAT64 ? LOCUS_FLOAT64 : LOCUS_FLOAT32;
        call->g_sums = reference_zeros(call->rows, sizeof(double));
        for (size_t i = 0; i < call->rows; i++)
            call->g_sums[i] = drawn_round(sums, choose_normal(&stream));
    }
    call->poisoned = call->hostility && choose_chance(choices, 20);
    const size_t victim = choose(choices, INPUTS);
    if (call->poisoned)
        trial_poison(choices, call->in[victim], call->count[victim]);
    call->o = reference_zeros(call->outputs, sizeof(double));
    call->log_sum_exp = reference_zeros(call->rows, sizeof(double));
    call->clusters = reference_zeros(call->rows, sizeof *call->clusters);
}

/* ---- the reference ---- */

static void define(attention_call *call, double *o, double *log_sum_exp) {
    reference_call one = {.model = &call->world->model,
                          .operators = &call->world->operators,
                          .options = &call->options,
                          .query = call->in[Q],
                          .key = call->in[K],
                          .value = call->in[V],
                          .bias = call->bias.dense,
                          .output = o,
                          .log_sum_exp = log_sum_exp,
                          .clusters = call->clusters,
                          .clusters_known = call->clusters_known};
    reference_attention(&one);
    if (call->clusters_known)
        return;
    call->score = one.score;
    call->mass = one.mass;
    call->margin = one.margin;
    call->clusters_known = true;
}

/* Σ go·o, and Σ dL·log_sum_exp of rows that see anything and of which dropout has left a logit (others have none that
 * moves), over the tokens of sequences. */
static double loss(attention_call *call) {
    const reference_tokens *tokens = &call->world->queries.tokens;
    const size_t row = call->world->shape.heads * call->world->shape.value_dim;
    double *o = reference_zeros(call->outputs, sizeof *o), *lse = reference_zeros(call->rows, sizeof *lse), sum = 0;
    define(call, o, lse);
    for (size_t s = 0; s < tokens->sequences; s++)
        for (size_t i = tokens->first[s] * row; i < (tokens->first[s] + tokens->count[s]) * row; i++)
            sum += call->go[i] * o[i];
    const size_t heads = call->world->shape.heads;
    for (size_t s = 0; call->g_sums && s < tokens->sequences; s++)
        for (size_t i = tokens->first[s] * heads; i < (tokens->first[s] + tokens->count[s]) * heads; i++)
            sum += lse[i] < -5e7 ? 0 : call->g_sums[i] * lse[i];
    free(o);
    free(lse);
    return sum;
}

/* ---- tolerances ---- */

/* Whether products are of bfloat16: vectors are rounded once they are turned, weights before they are summed up. */
static bool by_pairs(const attention_call *call) {
    return call->dtype == LOCUS_BFLOAT16 && !call->options.kind && locus_cpu_isa() == LOCUS_ISA_AVX512 &&
           (locus_cpu_isas() & LOCUS_ISA_AVX512_BF16);
}

/* Arithmetic's rounding, and angles'. A score is of two rounded vectors, a sum of weights and vectors; roundings of
 * bfloat16 outweigh all others. */
static double rounding(const attention_call *call) {
    if (by_pairs(call))
        return 2 * drawn_rounding(LOCUS_BFLOAT16) + TRIAL_ANGLE * reference_angle(&call->world->model);
    const double eps = drawn_rounding(call->dtype == LOCUS_FLOAT64 ? LOCUS_FLOAT64 : LOCUS_FLOAT32);
    return TRIAL_ROUNDINGS * eps + TRIAL_ANGLE * reference_angle(&call->world->model);
}

static double score_error(const attention_call *call) {
    return rounding(call) * (1 + call->score);
}

static bool is_finite_case(const attention_call *call) {
    const bool linear = kind_is(call->options.kind, "linear");
    if (call->poisoned && call->options.kind)
        return false;
    if (call->margin < (call->dtype == LOCUS_FLOAT64 ? 1e-10 : 1e-3))
        return false;                                              /* rounding may put a query into another cluster */
    return call->score < (linear ? 60 : 1e6) && call->mass < 1e30; /* e^-87 is no float32 */
}

/* Outputs that the type has: a backward reads them again. */
static bool are_outputs_finite(const attention_call *call) {
    for (size_t i = 0; i < call->outputs; i++)
        if (!(fabs(call->o[i]) < 0.99 * trial_overflow(call->dtype)))
            return false;
    return true;
}

/* ---- forward ---- */

static void compare_forward(attention_call *call, const double *o, const double *lse) {
    const reference_tokens *tokens = &call->world->queries.tokens;
    const size_t heads = call->world->shape.heads, row = heads * call->world->shape.value_dim;
    const double off = 2 * score_error(call) * call->mass * sqrt((double)call->world->shape.value_dim);
    for (size_t s = 0; s < tokens->sequences; s++) {
        const size_t first = tokens->first[s], end = first + tokens->count[s];
        for (size_t i = first * row; i < end * row; i++)
            if (isfinite(call->o[i]))
                trial_compare_stored(call->result, "o", i, call->dtype, o[i], call->o[i],
                                     off + 2 * call->eps * fabs(call->o[i]) + call->least);
        for (size_t i = first * heads; lse && i < end * heads; i++)
            trial_compare(call->result, "log_sum_exp", i, lse[i], call->log_sum_exp[i],
                          score_error(call) + rounding(call) * fabs(call->log_sum_exp[i]));
    }
}

typedef struct attention_tensors {
    drawn_tensor in[INPUTS], o, lse;
    locus_attention_tensors views;
} attention_tensors;

static void make_tensors(attention_call *call, chooser *choices, attention_tensors *t) {
    const locus_shape *shape = &call->world->shape;
    const reference_tokens *T = &call->world->queries.tokens, *N = &call->world->keys.tokens;
    t->in[Q] = drawn_tensor_make(choices, call->dtype, T, shape->heads, shape->head_dim);
    t->in[K] = drawn_tensor_make(choices, call->dtype, N, shape->kv_heads, shape->head_dim);
    t->in[V] = drawn_tensor_make(choices, call->dtype, N, shape->kv_heads, shape->value_dim);
    t->o = drawn_tensor_make(choices, call->dtype, T, shape->heads, shape->value_dim);
    t->lse =
        drawn_tensor_make(choices, call->dtype == LOCUS_FLOAT64 ? LOCUS_FLOAT64 : LOCUS_FLOAT32, T, shape->heads, 0);
    for (size_t i = 0; i < INPUTS; i++) {
        drawn_tensor_put(&t->in[i], call->in[i]);
        drawn_tensor_watch(&t->in[i]);
    }
    drawn_tensor_watch(&t->o);
    drawn_tensor_watch(&t->lse);
    t->views = (locus_attention_tensors){
        sizeof(locus_attention_tensors), &t->in[Q].view, &t->in[K].view, &t->in[V].view, &t->o.view, &t->lse.view};
}

static void free_tensors(attention_tensors *t) {
    for (size_t i = 0; i < INPUTS; i++)
        drawn_tensor_free(&t->in[i]);
    drawn_tensor_free(&t->o);
    drawn_tensor_free(&t->lse);
}

static bool has_tokens(const reference_tokens *tokens) {
    size_t count = 0;
    for (size_t s = 0; s < tokens->sequences; s++)
        count += tokens->count[s];
    return count > 0;
}

/* As trial_damage, or an output that lies on an input. */
static const char *damage(chooser *choices, const attention_tensors *t, locus_tensor *views, locus_workspace *lent) {
    const int lengths[] = {t->in[Q].length, t->in[K].length, t->in[V].length, t->o.length, t->lse.length};
    const size_t input = choose(choices, INPUTS);
    if (!choose_chance(choices, 15))
        return trial_damage(choices, views, lengths, 5, lent);
    if (!has_tokens(t->in[input].tokens) || !has_tokens(t->o.tokens))
        return NULL;
    views[3].data = views[input].data;
    return "an output on an input";
}

static bool run_forward(attention_call *call, attention_tensors *t, chooser *choices) {
    trial *result = call->result;
    locus_error error = {.status = LOCUS_OK};
    trial_workspace workspace = trial_workspace_make(
        locus_attention_workspace(call->world->plan, &call->options, call->dtype, LOCUS_PASS_FORWARD, NULL));
    locus_tensor views[] = {t->in[Q].view, t->in[K].view, t->in[V].view, t->o.view, t->lse.view};
    if (call->hostility && choose_chance(choices, 10))
        trial_workspace_shrink(&workspace, choices);
    locus_workspace lent = workspace.lent;
    const char *wrong = call->hostility && choose_chance(choices, 15) ? damage(choices, t, views, &lent) : NULL;
    const locus_attention_tensors told = {sizeof told, &views[0], &views[1], &views[2], &views[3], &views[4]};
    const size_t before = trial_allocations(call->hostility);
    const locus_execution execution = locus_execution_in(lent);
    const bool taken =
        locus_attention_forward(call->world->plan, &call->options, &told, &execution, &error) == LOCUS_OK;
    trial_check_allocations(result, call->hostility, before);
    if (!taken)
        trial_refuse(result, &error);
    else if (wrong && call->rows > 0 && call->count[K] > 0)
        trial_fail(result, "forward took %s", wrong);
    const bool done = taken && !wrong;
    const reference_tokens *written = taken ? &call->world->queries.tokens : NULL;
    if (!drawn_tensor_untouched(&t->o, written) || !drawn_tensor_untouched(&t->lse, written))
        trial_fail(result, "forward wrote outside of its outputs' tokens: %s", error.message);
    for (size_t i = 0; i < INPUTS; i++)
        if (!drawn_tensor_untouched(&t->in[i], NULL))
            trial_fail(result, "forward wrote into input %zu", i);
    if (call->options.bias && !drawn_bias_untouched(&call->bias, false))
        trial_fail(result, "forward wrote into the bias");
    if (!trial_workspace_free(&workspace))
        trial_fail(result, "forward wrote outside of its workspace");
    return done;
}

/* ---- backward ---- */

typedef struct attention_backward {
    drawn_tensor go, g[INPUTS], g_sums;
    double *parameters[REFERENCE_TENSORS];
    locus_tensor tensors[REFERENCE_TENSORS];
    locus_attention_gradients views;
    drawn_bias g_bias; /* its block is NULL where none is wanted */
    size_t input;      /* whose gradient is compared; the others may not be wanted */
} attention_backward;

static void make_backward(attention_call *call, chooser *choices, attention_backward *b) {
    const drawn_world *world = call->world;
    const locus_shape *shape = &world->shape;
    const reference_tokens *T = &world->queries.tokens, *N = &world->keys.tokens;
    b->go = drawn_tensor_make(choices, call->dtype, T, shape->heads, shape->value_dim);
    b->g[Q] = drawn_tensor_make(choices, call->dtype, T, shape->heads, shape->head_dim);
    b->g[K] = drawn_tensor_make(choices, call->dtype, N, shape->kv_heads, shape->head_dim);
    b->g[V] = drawn_tensor_make(choices, call->dtype, N, shape->kv_heads, shape->value_dim);
    drawn_tensor_put(&b->go, call->go);
    drawn_tensor_watch(&b->go);
    for (size_t i = 0; i < INPUTS; i++)
        drawn_tensor_watch(&b->g[i]);
    for (size_t i = 0; i < world->tensor_count; i++) {
        b->parameters[i] = reference_zeros(world->elements[i], sizeof **b->parameters);
        b->tensors[i] = locus_tensor_view(b->parameters[i], LOCUS_FLOAT64, world->info[i].rank, world->info[i].shape);
    }
    b->g_sums =
        drawn_tensor_make(choices, call->dtype == LOCUS_FLOAT64 ? LOCUS_FLOAT64 : LOCUS_FLOAT32, T, shape->heads, 0);
    if (call->g_sums)
        drawn_tensor_put(&b->g_sums, call->g_sums);
    drawn_tensor_watch(&b->g_sums);
    const bool learns = choose_chance(choices, 85), all = choose_chance(choices, 60);
    b->input = choose(choices, INPUTS);
    b->views =
        (locus_attention_gradients){.size = sizeof(locus_attention_gradients),
                                    .output = &b->go.view,
                                    .query = all || b->input == Q || choose_chance(choices, 50) ? &b->g[Q].view : NULL,
                                    .key = all || b->input == K || choose_chance(choices, 50) ? &b->g[K].view : NULL,
                                    .value = all || b->input == V || choose_chance(choices, 50) ? &b->g[V].view : NULL,
                                    .parameters = learns ? b->tensors : NULL,
                                    .parameter_count = learns ? world->tensor_count : 0,
                                    .log_sum_exp = call->g_sums ? &b->g_sums.view : NULL};
    b->g_bias = (drawn_bias){.block = NULL};
    if (call->options.bias && choose_chance(choices, 80)) {
        b->g_bias = drawn_bias_like(choices, trial_dtype(choices), &call->bias);
        b->views.bias = &b->g_bias.view;
    }
}

static void free_backward(const attention_call *call, attention_backward *b) {
    drawn_tensor_free(&b->go);
    drawn_tensor_free(&b->g_sums);
    drawn_bias_free(&b->g_bias);
    for (size_t i = 0; i < INPUTS; i++)
        drawn_tensor_free(&b->g[i]);
    for (size_t i = 0; i < call->world->tensor_count; i++)
        free(b->parameters[i]);
}

/* What one step of size 1 along a direction changes the loss by at most, element by element: `sum` of magnitudes (NULL:
 * not asked for), and their root sum of squares. */
static void sensitivity(const attention_call *call, double reach, double *sum, double *root) {
    double square = 0, all = 0;
    for (size_t i = 0; i < call->outputs; i++) {
        all += fabs(call->go[i]);
        square += call->go[i] * call->go[i];
    }
    for (size_t i = 0; call->g_sums && i < call->rows; i++) {
        all += fabs(call->g_sums[i]);
        square += call->g_sums[i] * call->g_sums[i];
    }
    const double size = (call->g_sums ? fmax(call->mass, 1) : call->mass) * (2 + call->score) * reach;
    if (sum)
        *sum = all * size;
    *root = sqrt(square) * size * sqrt((double)call->world->shape.head_dim);
}

/* A derivative, twice by central differences, with h and 2h: what they differ by bounds what h leaves out, so that no
 * bound of third derivatives has to be known. */
typedef struct differences {
    double up[2], down[2], step; /* losses at ±step and ±2·step */
} differences;

static double slope_of(const differences *at, int which) {
    return (at->up[which] - at->down[which]) / (2 * (1 + which) * at->step);
}

static void compare_direction(attention_call *call, const char *what, double got, const differences *at, double reach,
                              double written) {
    double root;
    sensitivity(call, reach, NULL, &root);
    const double left_out = fabs(slope_of(at, 0) - slope_of(at, 1));
    const double noise = 64 * DBL_EPSILON * root / at->step; /* of losses */
    /* half types: o is read again as rounded */
    const double rounded =
        (2 * score_error(call) + TRIAL_ANGLE * reach + 4 * call->eps) * root + 4 * call->eps * written;
    trial_compare(call->result, what, 0, got, (4 * slope_of(at, 0) - slope_of(at, 1)) / 3, left_out + noise + rounded);
}

/* Whether an element is beyond its type, and the rest can't be compared: only where it may be as large. */
static bool overflows(const attention_call *call, const char *what, locus_dtype dtype, const double *gradient,
                      size_t count, double reach) {
    double sum, root;
    sensitivity(call, reach, &sum, &root);
    for (size_t i = 0; i < count; i++) {
        if (!isinf(gradient[i]))
            continue;
        if (sum < trial_overflow(dtype))
            trial_fail(call->result, "%s[%zu] is %g, but can't be larger than %.3g", what, i, gradient[i], sum);
        return true;
    }
    return false;
}

static void compare_input(attention_call *call, chooser *choices, size_t input, const double *gradient) {
    static const char *const names[] = {"dL/dq", "dL/dk", "dL/dv"};
    const double step = 1e-5;
    double along = 0, written = 0, reach = 1;
    double *kept = call->in[input], *moved = reference_zeros(call->count[input], sizeof *moved);
    double *direction = reference_zeros(call->count[input], sizeof *direction);
    chooser stream = chooser_stream(choices);
    const reference_tokens *tokens = input == Q ? &call->world->queries.tokens : &call->world->keys.tokens;
    const size_t row = tokens->tokens ? call->count[input] / tokens->tokens : 0;
    for (size_t s = 0; s < tokens->sequences; s++)
        for (size_t i = tokens->first[s] * row; i < (tokens->first[s] + tokens->count[s]) * row; i++) {
            direction[i] = choose_normal(&stream);
            along += gradient[i] * direction[i];
            written += fabs(gradient[i] * direction[i]) + call->least / (4 * call->eps) * fabs(direction[i]);
            reach = fmax(reach, input == V ? 1 : fabs(kept[i])); /* the mass knows how large values are */
        }
    differences at = {.step = step};
    for (int side = 0; side < 4; side++) {
        const double by = (side % 2 ? -step : step) * (1 + side / 2);
        for (size_t i = 0; i < call->count[input]; i++)
            moved[i] = kept[i] + by * direction[i];
        call->in[input] = moved;
        (side % 2 ? at.down : at.up)[side / 2] = loss(call);
    }
    call->in[input] = kept;
    if (!overflows(call, names[input], call->dtype, gradient, call->count[input], reach * 4))
        compare_direction(call, names[input], along, &at, reach * 4, written);
    free(moved);
    free(direction);
}

/* What hides a key, or is added to nothing, has a gradient of exactly 0. */
static bool may_move(const attention_call *call, size_t index) {
    const size_t keys = call->bias.dense.extent[3], queries = call->bias.dense.extent[2];
    const size_t query = index / keys % queries, key = index % keys;
    bool inside = false;
    for (size_t s = 0; s < call->world->queries.tokens.sequences; s++)
        inside = inside || ((queries == 1 || query < call->world->queries.count[s]) &&
                            (keys == 1 || key < call->world->keys.count[s]));
    return inside && call->bias.dense.values[index] != -INFINITY;
}

static void compare_bias(attention_call *call, chooser *choices, drawn_bias *gradient) {
    const size_t count = drawn_bias_count(&call->bias);
    const double step = 1e-5, own = drawn_rounding(gradient->view.dtype) / call->eps;
    const double least = gradient->view.dtype == LOCUS_FLOAT16 ? 6e-8 / drawn_rounding(LOCUS_FLOAT16) : 0;
    double along = 0, written = 0;
    differences at = {.step = step};
    double *kept = call->bias.dense.values, *moved = reference_zeros(count + 1, sizeof *moved);
    double *direction = reference_zeros(count + 1, sizeof *direction);
    chooser stream = chooser_stream(choices);
    drawn_bias_get(gradient);
    for (size_t i = 0; i < count; i++) {
        const double got = gradient->dense.values[i];
        direction[i] = may_move(call, i) ? choose_normal(&stream) : 0;
        if (!may_move(call, i) && got != 0)
            trial_fail(call->result, "dL/dbias of element %zu is %g, which no score has", i, got);
        along += got * direction[i];
        written += (fabs(got) + least) * fabs(direction[i]);
    }
    for (int side = 0; side < 4; side++) {
        const double by = (side % 2 ? -step : step) * (1 + side / 2);
        for (size_t i = 0; i < count; i++)
            moved[i] = kept[i] + by * direction[i];
        call->bias.dense.values = moved;
        (side % 2 ? at.down : at.up)[side / 2] = loss(call);
    }
    call->bias.dense.values = kept;
    if (!overflows(call, "dL/dbias", gradient->view.dtype, gradient->dense.values, count, 4))
        compare_direction(call, "dL/dbias", along, &at, 4, written * fmax(own, 1));
    free(moved);
    free(direction);
}

/* A few partial derivatives in double, each by differences with h and 2h, as compare_partial has them. */
static void compare_bias_partials(attention_call *call, chooser *choices, const drawn_bias *gradient) {
    double *values = call->bias.dense.values;
    for (size_t n = 0; n < 4 && drawn_bias_count(&call->bias) > 0; n++) {
        const size_t i = choose(choices, drawn_bias_count(&call->bias));
        const double kept = values[i], step = 1e-4;
        double root, slope[2];
        if (!may_move(call, i) || isinf(gradient->dense.values[i]))
            continue;
        for (int more = 0; more < 2; more++) {
            const double h = (1 + more) * step;
            values[i] = kept + h;
            slope[more] = loss(call);
            values[i] = kept - h;
            slope[more] = (slope[more] - loss(call)) / (2 * h);
        }
        values[i] = kept;
        sensitivity(call, 1, NULL, &root);
        const double rounded = 2 * drawn_rounding(gradient->view.dtype) * fabs(gradient->dense.values[i]) +
                               (gradient->view.dtype == LOCUS_FLOAT16 ? 6e-8 : 0);
        const double noise = 16 * call->eps * root / step + score_error(call) * root;
        trial_compare(call->result, "dL/dbias element", i, gradient->dense.values[i], (4 * slope[0] - slope[1]) / 3,
                      fabs(slope[0] - slope[1]) + noise + rounded);
    }
}

static double moved_loss(attention_call *call, const trial_direction *direction, double step) {
    drawn_world *world = call->world;
    const reference_operators kept = world->operators;
    trial_move(world, direction, step);
    world->operators = reference_operators_make(&world->model);
    const double at = loss(call);
    reference_operators_free(&world->operators);
    world->operators = kept;
    trial_move(world, direction, -step);
    return at;
}

static void compare_parameters(attention_call *call, chooser *choices, double *const *gradients) {
    trial_direction direction = trial_direction_make(call->world, choices);
    const double step = 1e-4 / direction.reach;
    differences at = {.step = step};
    for (int side = 0; side < 4; side++)
        (side % 2 ? at.down : at.up)[side / 2] =
            moved_loss(call, &direction, (side % 2 ? -step : step) * (1 + side / 2));
    compare_direction(call, "dL/dparameters", trial_along(call->world, &direction, gradients), &at, direction.reach, 0);
    trial_direction_free(&direction);
}

/* Parameters that add to scores, by a distance at most. */
static bool is_of_scores(const char *parameter) {
    static const char *const names[] = {"a", "b", "bias", "rate", "sinks"};
    const char *point = strrchr(parameter, '.');
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        found = found || strcmp(point ? point + 1 : parameter, names[i]) == 0;
    return found;
}

/* One partial derivative in double, by differences as above. `along`: 0 but for one 1, where the value is `at`.
 * Angles are moved by little; scores follow their own parameters without waves, and steps are in proportion. */
static void compare_partial(attention_call *call, const trial_direction *along, bool turns, double at, double got) {
    const double step = turns ? 1e-3 / along->reach : 1e-4 * fmax(fabs(at), 0.1);
    double root, slope[2];
    for (int i = 0; i < 2; i++) {
        const double h = (1 + i) * step;
        slope[i] = (moved_loss(call, along, h) - moved_loss(call, along, -h)) / (2 * h);
    }
    /* A score moves with a parameter by a distance at most, and what is a thousand away has no weight. */
    const double reach = turns ? along->reach : fmin(along->reach, 1e3);
    sensitivity(call, reach, NULL, &root);
    const double size = root / (reach * (2 + call->score));
    const double noise = 16 * call->eps * (1 + call->score) * size / step;
    const double rounded =
        (turns ? 2 * score_error(call) + TRIAL_ANGLE * reach : TRIAL_ROUNDINGS * call->eps * (1 + call->score)) * root;
    trial_compare(call->result, "dL/dparameter", 0, got, (4 * slope[0] - slope[1]) / 3,
                  fabs(slope[0] - slope[1]) + noise + rounded);
}

/* Every partial derivative of tensors with few elements: a direction through many parameters hides what is wrong with
 * one. */
static void compare_partials(attention_call *call, double *const *gradients) {
    const drawn_world *world = call->world;
    trial_direction along = {{NULL}, 1 + reference_angle(&world->model)};
    size_t left = MOST_PARTIALS;
    for (size_t i = 0; i < world->tensor_count; i++)
        along.of[i] = reference_zeros(world->elements[i], sizeof **along.of);
    for (size_t i = 0; i < world->tensor_count; i++)
        for (size_t e = 0; e < world->elements[i] && world->elements[i] <= SMALL_TENSOR && left > 0; e++, left--) {
            along.of[i][e] = 1;
            compare_partial(call, &along, !is_of_scores(world->info[i].name), world->values[i][e], gradients[i][e]);
            along.of[i][e] = 0;
        }
    trial_direction_free(&along);
}

static void run_backward(attention_call *call, attention_tensors *t, chooser *choices) {
    trial *result = call->result;
    attention_backward b;
    locus_error error = {.status = LOCUS_OK};
    make_backward(call, choices, &b);
    drawn_tensor_watch(&t->o);
    drawn_tensor_watch(&t->lse);
    trial_workspace workspace = trial_workspace_make(
        locus_attention_workspace(call->world->plan, &call->options, call->dtype, LOCUS_PASS_BACKWARD, NULL));
    const size_t before = trial_allocations(call->hostility);
    const locus_execution execution = locus_execution_in(workspace.lent);
    if (locus_attention_backward(call->world->plan, &call->options, &t->views, &b.views, &execution, &error) !=
        LOCUS_OK)
        trial_fail(result, "backward was refused where forward was not: %s", error.message);
    trial_check_allocations(result, call->hostility, before);
    for (size_t i = 0; i < INPUTS; i++) {
        const reference_tokens *tokens = i == Q ? &call->world->queries.tokens : &call->world->keys.tokens;
        if (!drawn_tensor_untouched(&b.g[i], tokens))
            trial_fail(result, "backward wrote outside of the tokens of gradient %zu", i);
    }
    if (!trial_workspace_free(&workspace))
        trial_fail(result, "backward wrote outside of its workspace");
    if (b.views.bias && !drawn_bias_untouched(&b.g_bias, true))
        trial_fail(result, "backward wrote outside of the elements of the bias's gradient");
    const size_t input = b.input;
    double *gradient = reference_zeros(call->count[input], sizeof *gradient);
    drawn_tensor_get(&b.g[input], gradient);
    if (result->state == TRIAL_FINE && !call->poisoned)
        compare_input(call, choices, input, gradient);
    if (result->state == TRIAL_FINE && !call->poisoned && b.views.bias)
        compare_bias(call, choices, &b.g_bias);
    if (result->state == TRIAL_FINE && !call->poisoned && b.views.bias && call->dtype == LOCUS_FLOAT64)
        compare_bias_partials(call, choices, &b.g_bias);
    if (result->state == TRIAL_FINE && !call->poisoned && b.views.parameters && call->world->tensor_count > 0)
        compare_parameters(call, choices, b.parameters);
    const bool exact = call->dtype == LOCUS_FLOAT64 && !call->options.kind;
    if (result->state == TRIAL_FINE && exact && !call->poisoned && b.views.parameters)
        compare_partials(call, b.parameters);
    result->backward = true;
    free(gradient);
    free_backward(call, &b);
}

/* ---- the whole ---- */

static void run_weights(const attention_call *call, const attention_tensors *t, chooser *choices) {
    trial_weights_case test = {.world = call->world,
                               .options = &call->options,
                               .bias = call->bias.dense,
                               .query_values = call->in[Q],
                               .key_values = call->in[K],
                               .query = &t->in[Q].view,
                               .key = &t->in[K].view,
                               .tolerance = score_error(call)};
    for (size_t s = 0; s < call->world->keys.tokens.sequences; s++)
        if (call->world->keys.count[s] > test.longest)
            test.longest = call->world->keys.count[s];
    trial_weights(&test, choices, call->result);
}

/* What was asked, behind the message of a failure. */
static void describe(const attention_call *call, trial *result) {
    const locus_attention_options *options = &call->options;
    const size_t length = strlen(result->message);
    char kind[KIND_OF_TEXT];
    if (result->state != TRIAL_FAILED)
        return;
    (void)locus_attention_kind_text(options->kind, kind, sizeof kind);
    (void)snprintf(result->message + length, sizeof result->message - length,
                   " (type %d, %s, mask %d, scale %g, cap %g, window %zu, keep %zu, documents %d, turned %d, dropout "
                   "%g on %d, bias %d [%zu %zu %zu %zu]; score %.3g, mass %.3g)",
                   (int)call->dtype, kind, (int)options->mask, options->scale, options->cap, options->window,
                   options->keep, options->query_documents != NULL, (int)options->turned, options->dropout,
                   (int)options->dropout_on, options->bias ? (int)options->bias->dtype : 0, call->bias.dense.extent[0],
                   call->bias.dense.extent[1], call->bias.dense.extent[2], call->bias.dense.extent[3], call->score,
                   call->mass);
}

void trial_attention(drawn_world *world, chooser *choices, const trial_hostility *hostility, trial *result) {
    attention_call call = {.world = world, .result = result, .hostility = hostility};
    attention_tensors tensors;
    *result = (trial){.state = TRIAL_FINE, .where = ""};
    draw_options(&call, choices);
    draw_inputs(&call, choices);
    make_tensors(&call, choices, &tensors);
    define(&call, call.o, call.log_sum_exp);
    if (run_forward(&call, &tensors, choices) && is_finite_case(&call)) {
        double *o = reference_zeros(call.outputs, sizeof *o), *lse = reference_zeros(call.rows, sizeof *lse);
        drawn_tensor_get(&tensors.o, o);
        drawn_tensor_get(&tensors.lse, lse);
        compare_forward(&call, o, lse);
        result->compared = true;
        free(o);
        free(lse);
        if (result->state == TRIAL_FINE && choose_chance(choices, 50) && are_outputs_finite(&call))
            run_backward(&call, &tensors, choices);
        if (result->state == TRIAL_FINE && !call.options.kind && choose_chance(choices, 40))
            run_weights(&call, &tensors, choices);
    }
    describe(&call, result);
    free_tensors(&tensors);
    for (size_t i = 0; i < INPUTS; i++)
        free(call.in[i]);
    free(call.go);
    free(call.o);
    free(call.log_sum_exp);
    free(call.g_sums);
    free(call.clusters);
    free(call.query_documents);
    free(call.key_documents);
    drawn_bias_free(&call.bias);
}
