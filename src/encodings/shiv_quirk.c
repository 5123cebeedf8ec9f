/* SPDX-License-Identifier: MIT */
/* shiv-quirk: tree positions as a vector added to a token's embedding (Shiv and Quirk 2019, Novel positional encodings
 * to enable tree-based transformers).
 *
 * A node's steps up to the root, the nearest first, are one-hot over k branches, cut or padded with zeros to `depth`
 * steps. P = ⌊D/(depth·k)⌋ learned decays w_j repeat them, each scaled by a power of its own:
 *
 *   e[(t·k + branch)·P + j] = tanh(w_j)^t · sqrt(1 − tanh(w_j)²) · sqrt(D/2),  t steps from the node
 *
 * Left-over columns are 0. The exponent runs over steps and is the same for all branches of one step. Parameter
 * `decays` [P], drawn evenly from [0.7, 0.999]. With T = tanh(w):
 *
 *   d/dw T^t sech(w) = sech(w)·(t·T^(t−1)·(1 − T²) − T^(t+1))
 *
 * Acts on tree:k. Refuses paths with a step back (an inverse branch), which lead to no node below the root. */
#include "spec/class.h"
#include "spec/form_writer.h"

#include "core/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { K, DEPTH };

#define LEAST_DECAY 0.7
#define MOST_DECAY 0.999
#define PIECE_DECAYS 16 /* that one piece of the gradient sums */

/* k branches, P decays; all tables [depth, P]. */
typedef struct locus_shiv_quirk {
    size_t dim, branches, depth, decays;
    const double *float64, *slope; /* values, and their derivatives by w */
    const float *float32;
} locus_shiv_quirk;

typedef struct locus_shiv_quirk_embedding {
    locus_embedding base;
    const locus_shiv_quirk *own;
    const locus_token_side *side;
    locus_trie_view trie;
} locus_shiv_quirk_embedding;

static void group_text(const locus_term *term, char *text, size_t size) {
    (void)snprintf(text, size, "tree:%.0f", term->options[K].number);
}

static size_t decay_count(const locus_term *term, const locus_shape *shape) {
    return shape->model_dim / ((size_t)term->options[K].number * (size_t)term->options[DEPTH].number);
}

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    const size_t decays = decay_count(term, shape);
    if (decays == 0)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "model_dim",
                          "'shiv-quirk' with depth=%.0f and k=%.0f needs a model_dim of %.0f at least, not %zu: lower "
                          "'depth'",
                          term->options[DEPTH].number, term->options[K].number,
                          term->options[DEPTH].number * term->options[K].number, shape->model_dim);
    list[(*count)++] = (locus_parameter){.name = "decays", .rank = 1, .shape = {(int64_t)decays}};
    return LOCUS_OK;
}

static locus_status initialise(const locus_term *term, const locus_draw *draw, locus_error *error) {
    (void)error;
    const size_t decays = decay_count(term, draw->shape);
    for (size_t j = 0; j < decays; j++)
        draw->values[0][j] = LEAST_DECAY + (MOST_DECAY - LEAST_DECAY) * locus_random_uniform(&draw->random, j);
    return LOCUS_OK;
}

/* T^t·sech(w)·sqrt(D/2) and its derivative, for every step. sech is 1/cosh: 1 − T² would cancel for large w. */
static void fill_powers(const locus_shiv_quirk *own, size_t j, double w, double *value, double *slope) {
    const double T = tanh(w), root = sqrt((double)own->dim / 2) / cosh(w), square = 1 / (cosh(w) * cosh(w));
    double before = 0, power = 1; /* T^(t−1), which t = 0 does not need, and T^t */
    for (size_t t = 0; t < own->depth; t++) {
        value[t * own->decays + j] = root * power;
        slope[t * own->decays + j] = root * ((double)t * before * square - power * T);
        before = power;
        power *= T;
    }
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error) {
    locus_shiv_quirk *own = bound;
    *own = (locus_shiv_quirk){.dim = shape->model_dim,
                              .branches = (size_t)term->options[K].number,
                              .depth = (size_t)term->options[DEPTH].number,
                              .decays = decay_count(term, shape)};
    const size_t count = own->depth * own->decays; /* at most D */
    double *value = locus_owned_get(memory, count, sizeof *value);
    double *slope = locus_owned_get(memory, count, sizeof *slope);
    if (!value || !slope)
        return locus_owned_fail(error);
    for (size_t j = 0; j < own->decays; j++)
        fill_powers(own, j, values[0][j], value, slope);
    own->float64 = value;
    own->slope = slope;
    own->float32 = locus_owned_round(memory, value, count, error);
    return own->float32 ? LOCUS_OK : LOCUS_ERROR_MEMORY;
}

/* ---- acting ---- */

/* First column of the branch that leads to `node`, `step` steps up. */
static size_t column_of(const locus_shiv_quirk_embedding *own, uint32_t node, size_t step) {
    return (step * own->own->branches + (size_t)(own->trie.branch[node] - 1)) * own->own->decays;
}

#define ADD_ROWS(real, field) \
    static void add_##real(const locus_shiv_quirk_embedding *own, const locus_embedding_call *call) { \
        const size_t dim = own->own->dim, depth = own->own->depth, decays = own->own->decays; \
        const real sign = (real)call->sign; \
        for (size_t i = 0; i < call->count; i++) { \
            const real *x = (const real *)call->x + (ptrdiff_t)i * call->x_stride; \
            real *y = (real *)call->y + (ptrdiff_t)i * call->y_stride; \
            for (size_t j = 0; j < dim; j++) \
                y[j] = x[j]; \
            uint32_t node = (uint32_t)own->side->values[call->first + i]; \
            for (size_t t = 0; t < depth && node != LOCUS_TRIE_ROOT; t++, node = own->trie.parent[node]) { \
                const real *power = own->own->field + t * decays; \
                real *at = y + column_of(own, node, t); \
                for (size_t j = 0; j < decays; j++) \
                    at[j] += sign * power[j]; \
            } \
        } \
    }
ADD_ROWS(float, float32)
ADD_ROWS(double, float64)

static void add(const locus_embedding *embedding, const locus_embedding_call *call) {
    const locus_shiv_quirk_embedding *own = (const locus_shiv_quirk_embedding *)embedding;
    if (call->dtype == LOCUS_FLOAT32)
        add_float(own, call);
    else
        add_double(own, call);
}

/* ---- the gradient: dL/dw_j = Σ over tokens and steps of dL/dy · slope, a run of decays for each piece ---- */

static size_t gradient_pieces(const locus_embedding *embedding) {
    const size_t decays = ((const locus_shiv_quirk_embedding *)embedding)->own->decays;
    return (decays + PIECE_DECAYS - 1) / PIECE_DECAYS;
}

typedef struct locus_decay_sum {
    const locus_shiv_quirk_embedding *own;
    const locus_embedding_rows *gy;
    size_t first, count; /* decays */
    double sum[PIECE_DECAYS];
} locus_decay_sum;

#define SUM_STEP(real) \
    static void sum_step_##real(locus_decay_sum *job, const real *gradient, const double *slope) { \
        for (size_t j = 0; j < job->count; j++) \
            job->sum[j] += (double)gradient[j] * slope[j]; \
    }
SUM_STEP(float)
SUM_STEP(double)

static void sum_token(locus_decay_sum *job, size_t token) {
    const locus_shiv_quirk_embedding *own = job->own;
    const ptrdiff_t row = locus_token_rows_at(&job->gy->rows, job->gy->side, token);
    uint32_t node = (uint32_t)own->side->values[token];
    for (size_t t = 0; t < own->own->depth && node != LOCUS_TRIE_ROOT; t++, node = own->trie.parent[node]) {
        const double *slope = own->own->slope + t * own->own->decays + job->first;
        const ptrdiff_t at = row + (ptrdiff_t)(column_of(own, node, t) + job->first);
        if (job->gy->dtype == LOCUS_FLOAT64)
            sum_step_double(job, (const double *)job->gy->rows.data + at, slope);
        else
            sum_step_float(job, (const float *)job->gy->rows.data + at, slope);
    }
}

static void gradient(const locus_embedding *embedding, size_t piece, double sign, const locus_embedding_rows *gy,
                     const locus_tensor *tensors) {
    const locus_shiv_quirk_embedding *own = (const locus_shiv_quirk_embedding *)embedding;
    const size_t first = piece * PIECE_DECAYS, left = own->own->decays - first;
    locus_decay_sum job = {.own = own, .gy = gy, .first = first, .count = left < PIECE_DECAYS ? left : PIECE_DECAYS};
    for (size_t r = 0; r < own->side->run_count; r++)
        for (size_t i = 0; i < own->side->runs[r].count; i++)
            sum_token(&job, own->side->runs[r].first + i);
    for (size_t j = 0; j < job.count; j++)
        locus_tensor_add(&tensors[0], first + j, sign * job.sum[j]);
}

/* ---- as data ---- */

/* One token's steps up to the root, branches from 0, padded with −1; and its vector. */
static void write_steps(const locus_shiv_quirk_embedding *own, size_t token, int64_t *steps, double *vector) {
    const locus_shiv_quirk *quirk = own->own;
    uint32_t node = (uint32_t)own->side->values[token];
    for (size_t t = 0; t < quirk->depth; t++) {
        steps[t] = node == LOCUS_TRIE_ROOT ? -1 : own->trie.branch[node] - 1;
        if (node == LOCUS_TRIE_ROOT)
            continue;
        memcpy(vector + column_of(own, node, t), quirk->float64 + t * quirk->decays, quirk->decays * sizeof *vector);
        node = own->trie.parent[node];
    }
}

static void form(const locus_embedding *embedding, locus_form_writer *writer) {
    const locus_shiv_quirk_embedding *own = (const locus_shiv_quirk_embedding *)embedding;
    const size_t dim = own->own->dim, depth = own->own->depth;
    const int64_t tokens = (int64_t)own->side->tokens;
    locus_distinct_positions distinct;
    locus_form_begin(writer, LOCUS_FORM_VECTORS, dim, "steps");
    if (!locus_form_distinguish(writer, &distinct))
        return;
    const size_t count = locus_form_query_positions(&distinct);
    int64_t *steps = locus_form_take(writer, count * depth, sizeof *steps);
    double *vectors = locus_form_take(writer, count * dim, sizeof *vectors);
    for (size_t i = 0; steps && vectors && i < count; i++)
        write_steps(own, distinct.query.tokens[distinct.query.first[i]], steps + i * depth, vectors + i * dim);
    locus_form_add(writer, "vectors", LOCUS_FORM_FLOAT64, vectors, LOCUS_FORM_SHAPE((int64_t)count, (int64_t)dim));
    locus_form_add(writer, "row", LOCUS_FORM_UINT32, distinct.query.numbers, LOCUS_FORM_SHAPE(tokens));
    locus_form_add(writer, "steps", LOCUS_FORM_INT64, steps, LOCUS_FORM_SHAPE((int64_t)count, (int64_t)depth));
    locus_form_whole(writer, "branches", (int64_t)own->own->branches);
    locus_form_add(writer, "decays", LOCUS_FORM_FLOAT64, writer->values, LOCUS_FORM_SHAPE((int64_t)own->own->decays));
    locus_form_learned(writer, 0, 0);
}

static const locus_embedding_class embedding_class = {
    .add = add, .gradient_pieces = gradient_pieces, .gradient = gradient, .form = form};

/* ---- placing ---- */

/* Parents stand before children, so one pass over the trie finds the nodes that a step back leads to. */
static locus_status check_paths(const void *request, void *table, locus_owned *memory, locus_error *error) {
    const locus_placement *placement = request;
    const locus_trie_view *trie = &placement->trie;
    const locus_token_side *side = &placement->query;
    locus_owned passing = {0};
    (void)table, (void)memory;
    bool *back = locus_owned_get(&passing, trie->count, sizeof *back);
    if (!back)
        return locus_owned_fail(error);
    for (uint32_t node = 1; node < trie->count; node++)
        back[node] = back[trie->parent[node]] || trie->branch[node] < 0;
    locus_status status = LOCUS_OK;
    for (size_t r = 0; r < side->run_count && status == LOCUS_OK; r++)
        for (size_t t = side->runs[r].first; t < side->runs[r].first + side->runs[r].count; t++)
            if (back[side->values[t]]) {
                status = locus_fail(error, LOCUS_ERROR_POSITION, "positions",
                                    "the path of token %zu has a step back (an inverse branch): 'shiv-quirk' takes "
                                    "paths from the root to a node, such as 1+2",
                                    t);
                break;
            }
    locus_owned_release(&passing);
    return status;
}

/* Found: the positions have been checked. */
static const locus_table_kind checked_kind = {1, check_paths};

static locus_status place(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                          locus_error *error) {
    const locus_placement *placement = &places->items[0];
    locus_shiv_quirk_embedding *own = placed->own;
    own->base.class = &embedding_class;
    own->own = bound;
    own->side = &placement->query;
    own->trie = placement->trie;
    placed->embedding = &own->base;
    const locus_table_asked asked = {&checked_kind, NULL, 0, placement};
    const void *checked = NULL;
    return locus_tables_get(places->tables, &asked, memory, &checked, error);
}

static const locus_option_info options[] = {
    {"k", "integer from 1 to 65536", "2", "branches of a node: positions are paths on tree:k", LOCUS_OPTION_INTEGER, 1,
     65536, false},
    {"depth", "integer from 1 to 65536", "16", "steps that are kept, the nearest to the node first",
     LOCUS_OPTION_INTEGER, 1, 65536, false},
};

const locus_encoding_class locus_shiv_quirk_class = {
    .info = {.name = "shiv-quirk",
             .summary = "the steps from a tree's node to the root with learned decays, added to the embedding",
             .sites = LOCUS_SITE_EMBEDDING,
             .learned = "decays",
             .source = "Shiv and Quirk 2019, Novel positional encodings to enable tree-based transformers",
             LOCUS_OPTIONS(options)},
    .shape = LOCUS_NEEDS_MODEL_DIM,
    .bound_bytes = sizeof(locus_shiv_quirk),
    .placed_bytes = sizeof(locus_shiv_quirk_embedding),
    .group_text = group_text,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = place,
};
