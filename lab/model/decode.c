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
 * All sequences start together, so the new tokens of a step have one number; in trees each stands at a node of its own,
 * which its growth has told (decode_positions.h). */
#include "io/fail.h"
#include "model/decode_caches.h"
#include "model/decode_positions.h"
#include "nn/loss.h"
#include <stdlib.h>

typedef struct decoding {
    lab_model *model;
    const lab_batch *batch;
    const lab_generation *generation;
    size_t position;     /* number of the tokens that are computed */
    size_t active_count; /* unfinished sequences */
    /* [samples (+ 1)] each, inside `block` */
    size_t *active, *cache_rows, *query_offsets, *key_offsets, *key_lengths, *memory_offsets, *memory_lengths;
    int64_t *query_indices;
    int32_t *next;  /* what is read, then what is predicted */
    float **caches; /* of the model's own */
    lab_arena block;
    lab_decode_positions places;
    locus_positions *memory; /* of all that the encoder has read */
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
    d->query_indices = lab_arena_take(arena, n, sizeof *d->query_indices);
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
        d->query_indices[a] = (int64_t)d->position;
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

static lab_token_values step_values(decoding *d) {
    return lab_decode_positions_step(&d->places, d->active_count, d->cache_rows, d->query_indices);
}

static locus_status step_plans_create(step_positions *at, decoding *d, locus_error *error) {
    lab_model *model = d->model;
    const lab_token_values query_values = step_values(d), key_values = lab_token_places_values(&d->places.written),
                           memory_values = lab_token_places_values(&d->places.read);
    locus_packing queries = {d->active_count, d->query_offsets, NULL};
    locus_packing keys = {d->active_count, d->key_offsets, d->key_lengths};
    locus_packing memory = {d->active_count, d->memory_offsets, d->memory_lengths};
    locus_status status = lab_positions_make(model, &at->queries, &queries, &query_values, error);
    if (status == LOCUS_OK)
        status = lab_positions_make(model, &at->keys, &keys, &key_values, error);
    if (status == LOCUS_OK)
        status = lab_positions_make(model, &at->memory, &memory, &memory_values, error);
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
    locus_status status = lab_runs_prepare(model, &(lab_stack_run *){&run}, 1, false, error);
    if (status == LOCUS_OK)
        status = lab_tokens_embed(model, run.stack, d->next, lab_run_token_plan(&run), error);
    return status == LOCUS_OK ? lab_stack_forward(&run, error) : status;
}

/* A sample gets a token. Returns whether it goes on: not after the end token of words, nor where its growth or its
 * limit ends it. */
static locus_status token_write(decoding *d, size_t s, int32_t token, bool *goes_on, locus_error *error) {
    const lab_generation *generation = d->generation;
    const lab_growth *growth = generation->growth;
    const size_t arity = d->model->config.tree_arity, first = generation->output_offsets[s];
    lab_decode_node node = {.sample = s, .first_row = first, .index = generation->lengths[s], .parent = -1};
    *goes_on = false;
    if (arity == 0 && token == (int32_t)(d->model->config.vocabulary - 1))
        return LOCUS_OK;
    generation->output[first + generation->lengths[s]++] = token;
    if (growth && !growth->grow(growth->context, s, token, &node.parent, &node.branch))
        return LOCUS_OK;
    *goes_on = generation->lengths[s] < generation->limits[s];
    return *goes_on && arity > 0 ? lab_decode_positions_grow(&d->places, &node, arity, error) : LOCUS_OK;
}

/* Writes the chosen tokens and drops the sequences that are finished. */
static locus_status step_collect(decoding *d, locus_error *error) {
    size_t kept = 0;
    locus_status status = LOCUS_OK;
    for (size_t a = 0; a < d->active_count && status == LOCUS_OK; ++a) {
        bool goes_on;
        status = token_write(d, d->active[a], d->next[a], &goes_on, error);
        d->active[kept] = d->active[a];
        d->next[kept] = d->next[a];
        kept += goes_on;
    }
    d->active_count = kept;
    ++d->position;
    return status;
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
    const lab_token_values values = step_values(d);
    const lab_decode_step step = {d->batch->samples, d->active_count, d->active, &values};
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
    return status == LOCUS_OK ? step_collect(d, error) : status;
}

static size_t longest_of(size_t samples, const size_t *offsets) {
    size_t longest = 1;
    for (size_t s = 0; s < samples; ++s)
        longest = offsets[s + 1] - offsets[s] > longest ? offsets[s + 1] - offsets[s] : longest;
    return longest;
}

/* The encoder has run. What the caches refuse is done without them. */
static locus_status caches_create(decoding *d, locus_error *error) {
    const size_t n = d->batch->samples, longest = longest_of(n, d->generation->output_offsets);
    const lab_decode_memory memory = {d->memory, longest_of(n, d->batch->input_offsets)};
    d->keeps = lab_decode_caches_serve(d->model);
    if (!d->keeps)
        return LOCUS_OK;
    const locus_status status = lab_decode_caches_create(&d->kept, d->model, &memory, longest, error);
    d->keeps = status == LOCUS_OK;
    return status == LOCUS_ERROR_UNSUPPORTED ? LOCUS_OK : status;
}

static locus_status encode(decoding *d, locus_error *error) {
    lab_model *model = d->model;
    const lab_batch *batch = d->batch;
    const locus_packing packing = {.sequences = batch->samples, .offsets = batch->input_offsets};
    const lab_token_values values = lab_token_places_values(&d->places.read);
    locus_status status = lab_positions_make(model, &d->memory, &packing, &values, error);
    const lab_stack_tokens tokens = {.queries = d->memory};
    if (status == LOCUS_OK)
        status = lab_places_create(model, &model->encoder, model->encoder_places, &tokens, error);
    lab_stack_run run = lab_run_make(model, &model->encoder, model->encoder_places, false);
    if (status == LOCUS_OK)
        status = lab_runs_prepare(model, &(lab_stack_run *){&run}, 1, false, error);
    if (status == LOCUS_OK)
        status = lab_encoder_forward(model, batch, &run, error);
    lab_places_destroy(model, model->encoder_places);
    return status;
}

static locus_status decode(decoding *d, locus_error *error) {
    locus_status status =
        lab_decode_positions_create(&d->places, d->model, d->batch, d->generation->output_offsets, error);
    if (status == LOCUS_OK)
        status = encode(d, error);
    if (status == LOCUS_OK)
        status = caches_create(d, error);
    if (status == LOCUS_OK)
        status = decoding_allocate(d, error);
    if (status == LOCUS_OK)
        decoding_begin(d);
    while (status == LOCUS_OK && d->active_count > 0)
        status = decoding_step(d, error);
    return status;
}

locus_status lab_model_generate(lab_model *model, const lab_batch *batch, const lab_generation *generation,
                                locus_error *error) {
    if (model->config.architecture == LAB_IMAGE_CLASSIFIER)
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "model",
                        "the model is an image classifier: it gives classes, no sequences");
    locus_status status = lab_batch_check(model, batch, false, error);
    if (status == LOCUS_OK && model->config.tree_arity > 0 && !generation->growth)
        status = lab_fail(error, LOCUS_ERROR_ARGUMENT, "growth",
                          "nothing says how the trees grow: decoding of trees needs a growth");
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
    status = decode(&d, error);
    lab_decode_caches_destroy(&d.kept);
    locus_positions_destroy(&d.memory);
    lab_decode_positions_destroy(&d.places);
    free(d.block.block);
    return status;
}
