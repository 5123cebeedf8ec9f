/* SPDX-License-Identifier: MIT */
/* See decode_next.h. Keys and values are kept turned, in the library's caches. Attentions that these don't serve
 * (linear; an encoding that needs raw queries) have them as they were projected, in caches of the model's own, where
 * sequence s owns rows from row_offsets[s] on, and plans that are made for each step:
 *
 *   cache | s0 s0 s0 .  . | s1 s1 s1 . | …       a step's plan sees the filled rows of unfinished sequences only */
#include "model/decode/decode_next.h"

#include "model/decode/sampling.h"
#include <string.h>

static lab_token_values step_values(lab_decoding *d) {
    return lab_decode_positions_step(&d->places, d->offsets[d->active_count], d->rows, d->indices);
}

/* ---- with caches of the model's own ---- */

/* Where the unfinished sequences stand in the caches and in the encoder's output. Finished ones become gaps. */
static void packings_fill(lab_decoding *d) {
    const size_t *input = d->batch->input_offsets, A = d->active_count, n = d->batch->samples;
    for (size_t a = 0; a < A; ++a) {
        const size_t s = d->active[a];
        d->key_offsets[a] = d->row_offsets[s];
        d->key_lengths[a] = d->read[s];
        d->memory_offsets[a] = input[s];
        d->memory_lengths[a] = input[s + 1] - input[s];
    }
    d->key_offsets[A] = d->row_offsets[n];
    d->memory_offsets[A] = input[n];
}

/* The positions of a step; its plans are the model's places. */
typedef struct step_positions {
    locus_positions *queries, *keys, *memory;
} step_positions;

static locus_status step_plans_create(step_positions *at, lab_decoding *d, locus_error *error) {
    lab_model *model = d->model;
    const lab_token_values query_values = step_values(d), key_values = lab_token_places_values(&d->places.written),
                           memory_values = lab_token_places_values(&d->places.read);
    packings_fill(d);
    const locus_packing queries = {sizeof queries, d->active_count, d->offsets, NULL};
    const locus_packing keys = {sizeof keys, d->active_count, d->key_offsets, d->key_lengths};
    const locus_packing memory = {sizeof memory, d->active_count, d->memory_offsets, d->memory_lengths};
    locus_status status = lab_positions_make(model, &at->queries, &queries, &query_values, error);
    if (status == LOCUS_OK)
        status = lab_positions_make(model, &at->keys, &keys, &key_values, error);
    if (status == LOCUS_OK && d->memory)
        status = lab_positions_make(model, &at->memory, &memory, &memory_values, error);
    const lab_stack_tokens tokens = {at->queries, at->keys, at->memory};
    return status == LOCUS_OK ? lab_places_fit(model, &model->decoder, model->decoder_places, &tokens, error) : status;
}

static void step_positions_destroy(step_positions *at) {
    locus_positions_destroy(&at->memory);
    locus_positions_destroy(&at->keys);
    locus_positions_destroy(&at->queries);
}

static locus_status step_compute(lab_decoding *d, locus_error *error) {
    lab_model *model = d->model;
    lab_stack_run run = lab_run_make(model, &model->decoder, model->decoder_places, false);
    run.caches = d->caches;
    run.cache_tokens = d->row_offsets[d->batch->samples];
    run.cache_rows = d->rows;
    locus_status status = lab_runs_prepare(model, &(lab_stack_run *){&run}, 1, false, error);
    if (status == LOCUS_OK)
        status = lab_tokens_embed(model, run.stack, d->tokens, lab_run_token_plan(&run), error);
    return status == LOCUS_OK ? lab_stack_forward(&run, error) : status;
}

static locus_status step_with_plans(lab_decoding *d, locus_error *error) {
    step_positions at = {0};
    locus_status status = step_plans_create(&at, d, error);
    if (status == LOCUS_OK)
        status = step_compute(d, error);
    step_positions_destroy(&at);
    return status;
}

/* ---- with the library's ---- */

/* Of every sequence: those that are finished have no tokens. */
static locus_status step_positions_make(lab_decoding *d, locus_positions **positions, locus_error *error) {
    const size_t n = d->batch->samples;
    const lab_token_values values = step_values(d);
    d->key_offsets[0] = 0;
    for (size_t s = 0, a = 0; s < n; ++s) {
        a += a < d->active_count && d->active[a] == s;
        d->key_offsets[s + 1] = d->offsets[a];
    }
    const locus_packing packing = {.size = sizeof packing, .sequences = n, .offsets = d->key_offsets};
    return lab_positions_make(d->model, positions, &packing, &values, error);
}

/* Vectors that are added to tokens are those of encoding 0, which the first attention has. */
static locus_status step_embed(lab_decoding *d, const locus_positions *positions, locus_error *error) {
    lab_model *model = d->model;
    const locus_plan *plan = NULL;
    locus_status status = LOCUS_OK;
    if (model->embedding_site) {
        locus_cache *first = d->kept[lab_stack_next_attention(&model->decoder, 0)];
        status = locus_cache_queries(first, positions, NULL, error);
        plan = status == LOCUS_OK ? locus_cache_plan(first) : NULL;
        if (status == LOCUS_OK)
            status = lab_workspace_fit(model, lab_added_workspace(model, plan), error);
    }
    return status == LOCUS_OK ? lab_tokens_embed(model, &model->decoder, d->tokens, plan, error) : status;
}

static locus_status step_with_caches(lab_decoding *d, locus_error *error) {
    lab_model *model = d->model;
    locus_positions *positions = NULL;
    locus_status status = step_positions_make(d, &positions, error);
    lab_stack_run run = lab_run_make(model, &model->decoder, NULL, false);
    run.kept = d->kept;
    run.kept_positions = positions;
    if (status == LOCUS_OK)
        status = step_embed(d, positions, error);
    if (status == LOCUS_OK)
        status = lab_stack_forward(&run, error);
    locus_positions_destroy(&positions);
    return status;
}

/* ---- the next token ---- */

/* Sequences whose logits stand in the buffer. */
typedef struct choice {
    lab_decoding *d;
    lab_rows rows;
} choice;

static void choose_task(void *context, size_t index, size_t worker) {
    const choice *own = context;
    lab_decoding *d = own->d;
    const size_t V = d->model->config.vocabulary, a = own->rows.first + index, s = d->active[a];
    const lab_sampling_place place = {s, d->generation->lengths[s]};
    uint32_t *order = d->order ? d->order + worker * V : NULL;
    float *logits = d->model->step.logits + index * V;
    const float scale = lab_logit_scale_of(d->model);
    for (size_t v = 0; scale != 1.0f && v < V; ++v)
        logits[v] *= scale;
    d->next[a] = (int32_t)lab_sampling_choose(d->generation->sampling, &place, V, logits, order);
}

static void logits_make(const choice *own) {
    const lab_model *model = own->d->model;
    const float *last = own->d->last + own->rows.first * model->config.dim;
    if (model->output.forward.values) {
        lab_linear_multiply_few(&model->output, own->rows.count, lab_floats(last), lab_floats(model->step.logits));
        return;
    }
    const lab_product logits = lab_linear_product(&model->output, own->rows.count, last, model->step.logits);
    lab_products_parallel(&logits, 1);
}

/* Of a prompt only the last token has a next one to be chosen. */
static void next_choose(lab_decoding *d) {
    const lab_model *model = d->model;
    const lab_stack *decoder = &model->decoder;
    const size_t D = decoder->dim, A = d->active_count, most = lab_slab_rows(model, d->batch->samples);
    const float *y = decoder->joins[decoder->sublayer_count].y;
    for (size_t a = 0; a < A; ++a)
        memcpy(d->last + a * D, y + (d->offsets[a + 1] - 1) * D, D * sizeof *y);
    for (size_t first = 0; first < A; first += most) {
        choice own = {d, {first, A - first < most ? A - first : most}};
        logits_make(&own);
        locus_parallel_for_at_most(d->workers, own.rows.count, choose_task, &own);
    }
}

locus_status lab_decoding_step(lab_decoding *d, locus_error *error) {
    d->model->decoder.tokens = d->offsets[d->active_count];
    const locus_status status = d->keeps ? step_with_caches(d, error) : step_with_plans(d, error);
    if (status == LOCUS_OK)
        next_choose(d);
    return status;
}
