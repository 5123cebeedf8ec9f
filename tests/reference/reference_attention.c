/* SPDX-License-Identifier: MIT */
/* Attention from its outside: settings, operators round the loops, masks, dropout's replay. The loops of one sequence
 * and head are reference_softmax.c and reference_kinds.c. */
#include "kind_of.h"
#include "reference/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a term `scores` says, or 0. */
static double setting(const reference_model *model, const char *name) {
    for (size_t term = 0; term < reference_terms(model); term++)
        if (reference_term_is(model, term, "scores") && reference_given(model, term, name))
            return reference_number(model, term, name);
    return 0;
}

static double settle(const reference_call *call, const char *name, double asked) {
    return asked != 0 ? asked : setting(call->model, name);
}

double reference_bias_of(const reference_head *head, size_t query, size_t key) {
    const reference_bias *bias = &head->call->bias;
    const size_t index[] = {head->sequence, head->head, query, key};
    size_t at = 0;
    for (size_t i = 0; i < 4; i++)
        at = at * bias->extent[i] + (bias->extent[i] == 1 ? 0 : index[i]);
    return bias->values ? bias->values[at] : 0;
}

bool reference_sees(const reference_head *head, size_t query, size_t key) {
    const locus_attention_options *options = head->call->options;
    const reference_model *model = head->call->model;
    const long t = (long)query + (long)head->n - (long)head->m, j = (long)key;
    if (reference_bias_of(head, query, key) == -INFINITY)
        return false;
    if (options->query_documents && options->query_documents[model->queries->first[head->sequence] + query] !=
                                        options->key_documents[model->keys->first[head->sequence] + key])
        return false;
    if (options->mask == LOCUS_MASK_CAUSAL && j > t)
        return false;
    if (options->mask == LOCUS_MASK_PREFIX && j > t && key >= options->prefix[head->sequence])
        return false;
    if (head->chunk > 0 && (t < 0 || t / (long)head->chunk != j / (long)head->chunk))
        return false;
    return head->window == 0 || labs(t - j) < (long)head->window || key < head->keep;
}

/* 16-bit word key % 8 of block row·2^28 + key/8, low half first: dropped below p·2^16, else divided by 1 − p. */
double reference_dropout(const reference_head *head, size_t row, size_t key) {
    const locus_attention_options *options = head->call->options;
    const uint64_t at = (uint64_t)row * head->call->model->shape.heads + head->head;
    uint32_t words[4];
    if (options->dropout == 0)
        return 1;
    locus_random_block(&options->dropout_key, at * ((uint64_t)1 << 28) + key / 8, words);
    const uint32_t word = words[key % 8 / 2] >> (key % 2 ? 16 : 0) & 0xffff;
    return word < floor(options->dropout * 65536 + 0.5) ? 0 : 1 / (1 - options->dropout);
}

/* ---- one head ---- */

/* Tokens of one sequence and head out of [tokens, heads, dim]. */
static double *take(const double *all, size_t first, size_t count, size_t heads, size_t head, size_t dim) {
    double *rows = reference_zeros(count * dim, sizeof *rows);
    for (size_t t = 0; t < count; t++)
        memcpy(rows + t * dim, all + ((first + t) * heads + head) * dim, dim * sizeof *rows);
    return rows;
}

static void put(const double *rows, size_t first, size_t count, size_t heads, size_t head, size_t dim, double *all) {
    for (size_t t = 0; t < count; t++)
        memcpy(all + ((first + t) * heads + head) * dim, rows + t * dim, dim * sizeof *rows);
}

typedef struct turned_tensors {
    double *q, *k, *v, *o, *beside;
} turned_tensors;

static void run_head(reference_call *call, const turned_tensors *all, size_t sequence, size_t h) {
    const reference_model *model = call->model;
    const locus_shape *shape = &model->shape;
    const size_t first = model->queries->first[sequence], m = model->queries->count[sequence];
    const size_t key = model->keys->first[sequence], n = model->keys->count[sequence];
    const size_t kv = h / (shape->heads / shape->kv_heads);
    const double asked = settle(call, "scale", call->options->scale);
    double *q = take(all->q, first, m, shape->heads, h, shape->head_dim);
    double *raw = take(call->query, first, m, shape->heads, h, shape->head_dim);
    double *k = take(all->k, key, n, shape->kv_heads, kv, shape->head_dim);
    double *v = take(all->v, key, n, shape->kv_heads, kv, shape->value_dim);
    double *o = reference_zeros(m * shape->value_dim, sizeof *o), *lse = reference_zeros(m, sizeof *lse);
    double *beside = reference_zeros(m * shape->value_dim, sizeof *beside);
    reference_head head = {.call = call,
                           .sequence = sequence,
                           .head = h,
                           .kv_head = kv,
                           .m = m,
                           .n = n,
                           .q = q,
                           .k = k,
                           .v = v,
                           .raw = raw,
                           .o = o,
                           .beside = beside,
                           .log_sum_exp = lse,
                           .scale = asked,
                           .margin = INFINITY};
    if (asked == 0)
        head.scale = kind_is(call->options->kind, "linear") ? 1 : 1 / sqrt((double)shape->head_dim);
    head.cap = settle(call, "cap", call->options->cap);
    head.window = (size_t)settle(call, "window", (double)call->options->window);
    head.keep = (size_t)settle(call, "keep", (double)call->options->keep);
    head.chunk = (size_t)setting(model, "chunk");
    if (kind_is(call->options->kind, "softmax"))
        reference_softmax(&head);
    else
        reference_kinds(&head);
    put(o, first, m, shape->heads, h, shape->value_dim, all->o);
    put(beside, first, m, shape->heads, h, shape->value_dim, all->beside);
    for (size_t i = 0; i < m; i++)
        call->log_sum_exp[(first + i) * shape->heads + h] = lse[i];
    call->score = fmax(call->score, head.score);
    call->mass = fmax(call->mass, head.mass);
    call->margin = fmin(call->margin, head.margin);
    double *owned[] = {q, raw, k, v, o, beside, lse};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
}

/* φ(x) = elu(x) + 1 of linear attention stands before the operators. */
static double *features(const double *x, size_t count, double scale, bool linear) {
    double *y = reference_zeros(count, sizeof *y);
    for (size_t i = 0; i < count; i++)
        y[i] = !linear ? x[i] : scale * x[i] > 0 ? scale * x[i] + 1 : exp(scale * x[i]);
    return y;
}

void reference_attention(reference_call *call) {
    static const reference_operators none = {NULL, NULL, NULL, NULL};
    const reference_model *model = call->model;
    const locus_shape *shape = &model->shape;
    const reference_operators *W = call->options->turned ? &none : call->operators;
    const bool linear = kind_is(call->options->kind, "linear");
    const size_t q = model->queries->tokens * shape->heads * shape->head_dim;
    const size_t k = model->keys->tokens * shape->kv_heads * shape->head_dim;
    const size_t v = model->keys->tokens * shape->kv_heads * shape->value_dim;
    const size_t o = model->queries->tokens * shape->heads * shape->value_dim, group = shape->heads / shape->kv_heads;
    const double asked = settle(call, "scale", call->options->scale);
    turned_tensors all = {reference_zeros(q, sizeof(double)), reference_zeros(k, sizeof(double)),
                          reference_zeros(v, sizeof(double)), reference_zeros(o, sizeof(double)),
                          reference_zeros(o, sizeof(double))};
    double *fq = features(call->query, q, asked != 0 ? asked : 1, linear), *fk = features(call->key, k, 1, linear);
    reference_turn(W->query, model->queries, shape->heads, group, shape->head_dim, false, fq, all.q);
    reference_turn(W->key, model->keys, shape->kv_heads, 1, shape->head_dim, false, fk, all.k);
    reference_turn(W->value, model->keys, shape->kv_heads, 1, shape->value_dim, false, call->value, all.v);
    call->score = call->mass = 0;
    call->margin = INFINITY;
    for (size_t s = 0; s < model->queries->sequences; s++)
        for (size_t h = 0; h < shape->heads; h++)
            run_head(call, &all, s, h);
    double *turned = reference_zeros(o, sizeof *turned);
    reference_turn(W->output, model->queries, shape->heads, group, shape->value_dim, true, all.o, turned);
    for (size_t s = 0; s < model->queries->sequences; s++) {
        const size_t row = shape->heads * shape->value_dim, first = model->queries->first[s] * row;
        for (size_t i = first; i < first + model->queries->count[s] * row; i++)
            call->output[i] = turned[i] + all.beside[i];
    }
    double *owned[] = {fq, fk, all.q, all.k, all.v, all.o, all.beside, turned};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
}
