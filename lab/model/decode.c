/* SPDX-License-Identifier: MIT */
/* Greedy decoding with key–value caches.
 *
 * The encoder runs once, and so do the keys and values of the cross-attentions. Each step computes one new token of
 * every unfinished sequence; keys and values are kept turned, in the library's caches (decode_caches.h).
 *
 * Attentions that these don't serve (linear; an encoding that needs raw queries) have keys and values as they were
 * projected, in caches of the model's own, where sequence s owns limits[s] rows, and plans that are made for each step:
 *
 *   cache | s0 s0 s0 .  . | s1 s1 s1 . | …       a step's plan sees the filled rows of unfinished sequences only
 *
 * All sequences start together, so the new tokens of a step stand at one position. */
#include "io/fail.h"
#include "model/decode_caches.h"
#include "nn/loss.h"
#include <stdlib.h>
#include <string.h>

typedef struct decoding {
    lab_model *model;
    const lab_batch *batch;
    const lab_generation *generation;
    size_t position;     /* of the tokens that are computed */
    size_t active_count; /* unfinished sequences */
    /* [samples (+ 1)] each, inside `block` */
    size_t *active, *cache_rows, *query_offsets, *key_offsets, *key_lengths, *memory_offsets, *memory_lengths;
    int64_t *query_positions;
    int32_t *next;  /* what is read, then what is predicted */
    float **caches; /* of the model's own */
    lab_arena block;
    lab_decode_caches kept;
    bool keeps; /* the library's */
} decoding;

static size_t cache_tokens(const decoding *d) {
    return d->generation->output_offsets[d->batch->samples];
}

static void decoding_place(lab_arena *arena, decoding *d) {
    size_t n = d->batch->samples;
    const lab_stack *stack = &d->model->decoder;
    size_t **arrays[] = {&d->active,      &d->cache_rows,     &d->query_offsets, &d->key_offsets,
                         &d->key_lengths, &d->memory_offsets, &d->memory_lengths};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i)
        *arrays[i] = lab_arena_take(arena, n + 1, sizeof **arrays[i]);
    d->query_positions = lab_arena_take(arena, n, sizeof *d->query_positions);
    d->next = lab_arena_take(arena, n, sizeof *d->next);
    d->caches = lab_arena_take(arena, stack->sublayer_count, sizeof *d->caches);
    for (size_t s = 0; s < stack->sublayer_count; ++s) {
        bool cached = !d->keeps && stack->sublayers[s].kind == LAB_SELF_ATTENTION;
        float *cache = cached ? lab_arena_floats(arena, cache_tokens(d) * 2 * stack->kv_dim) : NULL;
        if (d->caches)
            d->caches[s] = cache;
    }
}

static locus_status decoding_allocate(decoding *d, locus_error *error) {
    lab_arena counting = {0};
    decoding_place(&counting, d);
    d->block = (lab_arena){.block = lab_block_allocate(counting.used), .capacity = counting.used};
    if (d->block.block == NULL)
        return lab_fail(error, LOCUS_ERROR_MEMORY, "batch",
                        "no memory for %zu MiB of keys and values: decode fewer samples at once", counting.used >> 20);
    decoding_place(&d->block, d);
    return LOCUS_OK;
}

/* Everyone begins with the start token; who may get no token at all is finished already. */
static void decoding_begin(decoding *d) {
    for (size_t s = 0; s < d->batch->samples; ++s) {
        d->generation->lengths[s] = 0;
        if (d->generation->limits[s] == 0)
            continue;
        d->active[d->active_count] = s;
        d->next[d->active_count++] = LAB_TOKEN_START;
    }
}

/* Offsets of the unfinished sequences in the caches and in the encoder's output. Finished ones become gaps. */
static void packings_fill(decoding *d) {
    const size_t *input = d->batch->input_offsets, *output = d->generation->output_offsets;
    size_t A = d->active_count, n = d->batch->samples;
    for (size_t a = 0; a < A; ++a) {
        size_t s = d->active[a];
        d->query_offsets[a] = a;
        d->query_positions[a] = (int64_t)d->position;
        d->cache_rows[a] = output[s] + d->position;
        d->key_offsets[a] = output[s];
        d->key_lengths[a] = d->position + 1;
        d->memory_offsets[a] = input[s];
        d->memory_lengths[a] = input[s + 1] - input[s];
    }
    d->query_offsets[A] = A;
    d->key_offsets[A] = output[n];
    d->memory_offsets[A] = input[n];
}

/* The positions of a step; its plans are the model's places. */
typedef struct step_positions {
    locus_positions *queries, *keys, *memory;
} step_positions;

static locus_status step_plans_create(step_positions *at, const decoding *d, locus_error *error) {
    lab_model *model = d->model;
    const locus_group *group = lab_model_group(model);
    locus_packing queries = {d->active_count, d->query_offsets, NULL};
    locus_packing keys = {d->active_count, d->key_offsets, d->key_lengths};
    locus_packing memory = {d->active_count, d->memory_offsets, d->memory_lengths};
    locus_status status = locus_positions_create(&at->queries, group, &queries, d->query_positions, error);
    if (status == LOCUS_OK)
        status = locus_positions_create(&at->keys, group, &keys, NULL, error);
    if (status == LOCUS_OK)
        status = locus_positions_create(&at->memory, group, &memory, NULL, error);
    const lab_stack_tokens tokens = {at->queries, at->keys, at->memory};
    return status == LOCUS_OK ? lab_places_create(model, &model->decoder, model->decoder_places, &tokens, error)
                              : status;
}

static void step_plans_destroy(lab_model *model, step_positions *at) {
    lab_places_destroy(model, model->decoder_places);
    locus_positions_destroy(&at->memory);
    locus_positions_destroy(&at->keys);
    locus_positions_destroy(&at->queries);
}

/* The decoder's end: the likeliest next token of each sequence. */
static void choose_end(void *context, lab_rows rows, size_t chunk, float *partial) {
    (void)chunk, (void)partial;
    decoding *d = context;
    const lab_model *model = d->model;
    size_t V = model->config.vocabulary;
    lab_linear output = {.inputs = model->config.dim, .outputs = V, .weight = model->embedding};
    lab_linear_multiply(&output, rows, model->decoder.joins[model->decoder.sublayer_count].y, model->step.logits);
    for (size_t r = rows.first; r < rows.first + rows.count; ++r)
        d->next[r] = (int32_t)lab_argmax(V, model->step.logits + r * V);
}

static locus_status workspace_fit(lab_model *model, lab_stack_run *run, locus_error *error) {
    const size_t attention = lab_stack_workspace(run, false),
                 added = lab_added_workspace(model, lab_run_token_plan(run));
    locus_status status = lab_workspace_fit(model, attention > added ? attention : added, error);
    run->workspace = model->workspace;
    return status;
}

/* Plans are made anew, caches are the model's own. */
static locus_status step_compute(decoding *d, locus_error *error) {
    lab_model *model = d->model;
    model->decoder.tokens = d->active_count;
    lab_stack_run run = lab_run_make(model, &model->decoder, model->decoder_places, false);
    run.caches = d->caches;
    run.cache_tokens = cache_tokens(d);
    run.cache_rows = d->cache_rows;
    run.end = choose_end;
    run.end_context = d;
    locus_status status = workspace_fit(model, &run, error);
    if (status == LOCUS_OK)
        status = lab_tokens_embed(model, run.stack, d->next, lab_run_token_plan(&run), error);
    return status == LOCUS_OK ? lab_stack_forward(&run, error) : status;
}

/* Writes the chosen tokens and drops the sequences that are finished: by the end token, or at their limit. */
static void step_collect(decoding *d) {
    const lab_generation *generation = d->generation;
    int32_t end = (int32_t)(d->model->config.vocabulary - 1);
    size_t kept = 0;
    for (size_t a = 0; a < d->active_count; ++a) {
        size_t s = d->active[a];
        if (d->next[a] == end)
            continue;
        generation->output[generation->output_offsets[s] + generation->lengths[s]++] = d->next[a];
        if (generation->lengths[s] == generation->limits[s])
            continue;
        d->active[kept] = s;
        d->next[kept++] = d->next[a];
    }
    d->active_count = kept;
    ++d->position;
}

static locus_status step_with_plans(decoding *d, locus_error *error) {
    step_positions at = {0};
    locus_status status = step_plans_create(&at, d, error);
    if (status == LOCUS_OK)
        status = step_compute(d, error);
    step_plans_destroy(d->model, &at);
    return status;
}

static locus_status step_with_caches(decoding *d, locus_error *error) {
    lab_model *model = d->model;
    locus_positions *positions = NULL;
    const locus_plan *plan = NULL;
    const lab_decode_step step = {d->batch->samples, d->active_count, d->active, d->query_positions};
    locus_status status = lab_decode_caches_positions(&d->kept, model, &step, &positions, error);
    if (status == LOCUS_OK)
        status = lab_decode_caches_plan(&d->kept, model, positions, &plan, error);
    model->decoder.tokens = d->active_count;
    lab_stack_run run = lab_run_make(model, &model->decoder, NULL, false);
    run.kept = d->kept.kept;
    run.kept_positions = positions;
    run.end = choose_end;
    run.end_context = d;
    if (status == LOCUS_OK)
        status = lab_workspace_fit(model, lab_added_workspace(model, plan), error);
    if (status == LOCUS_OK)
        status = lab_tokens_embed(model, run.stack, d->next, plan, error);
    if (status == LOCUS_OK)
        status = lab_stack_forward(&run, error);
    locus_positions_destroy(&positions);
    return status;
}

static locus_status decoding_step(decoding *d, locus_error *error) {
    packings_fill(d);
    locus_status status = d->keeps ? step_with_caches(d, error) : step_with_plans(d, error);
    if (status == LOCUS_OK)
        step_collect(d);
    return status;
}

/* The encoder has run. What the caches refuse is done without them. */
static locus_status caches_create(decoding *d, locus_error *error) {
    size_t longest = 1;
    for (size_t s = 0; s < d->batch->samples; ++s)
        longest = d->generation->limits[s] > longest ? d->generation->limits[s] : longest;
    d->keeps = lab_decode_caches_serve(d->model);
    if (!d->keeps)
        return LOCUS_OK;
    const locus_status status = lab_decode_caches_create(&d->kept, d->model, d->batch, longest, error);
    d->keeps = status == LOCUS_OK;
    return status == LOCUS_ERROR_UNSUPPORTED ? LOCUS_OK : status;
}

static locus_status encode(lab_model *model, const lab_batch *batch, locus_error *error) {
    locus_positions *positions = NULL;
    locus_status status = lab_positions_make(model, &positions, batch->samples, batch->input_offsets, error);
    const lab_stack_tokens tokens = {.queries = positions};
    if (status == LOCUS_OK)
        status = lab_places_create(model, &model->encoder, model->encoder_places, &tokens, error);
    lab_stack_run run = lab_run_make(model, &model->encoder, model->encoder_places, false);
    if (status == LOCUS_OK)
        status = workspace_fit(model, &run, error);
    if (status == LOCUS_OK)
        status = lab_encoder_forward(model, batch, &run, error);
    lab_places_destroy(model, model->encoder_places);
    locus_positions_destroy(&positions);
    return status;
}

locus_status lab_model_generate(lab_model *model, const lab_batch *batch, const lab_generation *generation,
                                locus_error *error) {
    locus_status status = lab_batch_check(model, batch, false, error);
    if (status != LOCUS_OK)
        return status;
    size_t n = batch->samples;
    generation->output_offsets[0] = 0;
    for (size_t s = 0; s < n; ++s)
        generation->output_offsets[s + 1] = generation->output_offsets[s] + generation->limits[s];
    lab_batch_size size = {.samples = n, .encoder_tokens = batch->input_offsets[n], .decoder_tokens = n};
    status = lab_activations_fit(model, &size, error);
    if (status != LOCUS_OK)
        return status;
    lab_dropout_arm(model, false, 0, 0);
    decoding d = {.model = model, .batch = batch, .generation = generation};
    status = encode(model, batch, error);
    if (status == LOCUS_OK)
        status = caches_create(&d, error);
    if (status == LOCUS_OK)
        status = decoding_allocate(&d, error);
    if (status == LOCUS_OK)
        decoding_begin(&d);
    while (status == LOCUS_OK && d.active_count > 0)
        status = decoding_step(&d, error);
    lab_decode_caches_destroy(&d.kept);
    free(d.block.block);
    return status;
}
