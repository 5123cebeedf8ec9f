/* SPDX-License-Identifier: MIT */
/* Decoding. The encoder, if there is one, runs once, and so do the keys and values of the cross-attentions. Then come
 * steps (decode_next.h): the first reads a start token of every sequence, or its prompt, all prompts in one pass; each
 * later one the token that every unfinished sequence got last. Sequences stand where their prompts have left them; in
 * trees each token stands at a node of its own, which its growth has told (decode_positions.h). */
#include "io/fail.h"
#include "model/decode/decode_next.h"
#include "model/decode/sampling.h"
#include <stdlib.h>

static bool has_prompts(const lab_decoding *d) {
    return !d->model->config.architecture->encoder;
}

/* Tokens that sequence s begins with. */
static size_t begin_length(const lab_decoding *d, size_t s) {
    const size_t *input = d->batch->input_offsets;
    return has_prompts(d) ? input[s + 1] - input[s] : 1;
}

/* The last token that a sequence gets is not read; one that may get none reads nothing. */
static size_t row_count(const lab_decoding *d, size_t s) {
    const size_t limit = d->generation->limits[s];
    return limit > 0 ? begin_length(d, s) + limit - 1 : 0;
}

/* Tokens of the first step, and no step has more. */
static size_t most_tokens(const lab_decoding *d) {
    const size_t n = d->batch->samples, prompts = has_prompts(d) ? d->batch->input_offsets[n] : 0;
    return prompts > n ? prompts : n;
}

static void decoding_place(lab_arena *arena, lab_decoding *d) {
    const size_t n = d->batch->samples, most = most_tokens(d), V = d->model->config.vocabulary;
    const lab_stack *stack = &d->model->decoder;
    size_t **arrays[] = {&d->active,      &d->offsets,     &d->read,           &d->row_offsets,
                         &d->key_offsets, &d->key_lengths, &d->memory_offsets, &d->memory_lengths};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i)
        *arrays[i] = lab_arena_take(arena, n + 1, sizeof **arrays[i]);
    d->tokens = lab_arena_take(arena, most, sizeof *d->tokens);
    d->indices = lab_arena_take(arena, most, sizeof *d->indices);
    d->rows = lab_arena_take(arena, most, sizeof *d->rows);
    d->next = lab_arena_take(arena, n, sizeof *d->next);
    d->last = lab_arena_floats(arena, n * stack->dim);
    const bool draws = lab_sampling_draws(d->generation->sampling);
    d->order = draws ? lab_arena_take(arena, d->workers * V, sizeof *d->order) : NULL;
}

static locus_status decoding_allocate(lab_decoding *d, locus_error *error) {
    lab_arena counting = {0};
    d->workers = locus_threads();
    decoding_place(&counting, d);
    d->block = (lab_arena){.block = lab_block_allocate(counting.used), .capacity = counting.used};
    if (d->block.block == NULL)
        return lab_fail_memory(error, "decoding");
    decoding_place(&d->block, d);
    d->row_offsets[0] = 0;
    for (size_t s = 0; s < d->batch->samples; ++s)
        d->row_offsets[s + 1] = d->row_offsets[s] + row_count(d, s);
    return LOCUS_OK;
}

/* The first tokens of sequence s: its prompt, or the start token. */
static void sequence_begin(lab_decoding *d, size_t s) {
    const size_t count = begin_length(d, s), a = d->active_count++, at = d->offsets[a];
    d->active[a] = s;
    for (size_t t = 0; t < count; ++t) {
        d->tokens[at + t] = has_prompts(d) ? d->batch->input[d->batch->input_offsets[s] + t] : LAB_TOKEN_START;
        d->indices[at + t] = (int64_t)t;
        d->rows[at + t] = d->row_offsets[s] + t;
    }
    d->read[s] = count;
    d->offsets[a + 1] = at + count;
}

/* Who may get no token at all is finished already. */
static void decoding_begin(lab_decoding *d) {
    d->offsets[0] = 0;
    for (size_t s = 0; s < d->batch->samples; ++s) {
        d->generation->lengths[s] = 0;
        if (d->generation->limits[s] > 0)
            sequence_begin(d, s);
    }
}

/* A sample gets a token. Returns whether it goes on: not after the end token of words, nor where its growth or its
 * limit ends it. */
static locus_status token_write(lab_decoding *d, size_t s, int32_t token, bool *goes_on, locus_error *error) {
    const lab_generation *generation = d->generation;
    const lab_growth *growth = generation->growth;
    const size_t arity = d->model->config.tree_arity;
    const bool ends = arity == 0 && !has_prompts(d);
    lab_decode_node node = {.sample = s, .first_row = d->row_offsets[s], .index = generation->lengths[s], .parent = -1};
    *goes_on = false;
    if (ends && token == (int32_t)(d->model->config.vocabulary - 1))
        return LOCUS_OK;
    generation->output[generation->output_offsets[s] + generation->lengths[s]++] = token;
    if (growth && !growth->grow(growth->context, s, token, &node.parent, &node.branch))
        return LOCUS_OK;
    *goes_on = generation->lengths[s] < generation->limits[s];
    return *goes_on && arity > 0 ? lab_decode_positions_grow(&d->places, &node, arity, error) : LOCUS_OK;
}

/* Writes the chosen tokens, which are what the next step reads, and drops the sequences that are finished. */
static locus_status step_collect(lab_decoding *d, locus_error *error) {
    size_t kept = 0;
    locus_status status = LOCUS_OK;
    for (size_t a = 0; a < d->active_count && status == LOCUS_OK; ++a) {
        const size_t s = d->active[a];
        bool goes_on;
        status = token_write(d, s, d->next[a], &goes_on, error);
        if (!goes_on)
            continue;
        d->active[kept] = s;
        d->tokens[kept] = d->next[a];
        d->indices[kept] = (int64_t)d->read[s];
        d->rows[kept] = d->row_offsets[s] + d->read[s]++;
        ++kept;
        d->offsets[kept] = kept;
    }
    d->active_count = kept;
    return status;
}

/* ---- keys and values ---- */

static size_t longest_of(size_t samples, const size_t *offsets) {
    size_t longest = 1;
    for (size_t s = 0; s < samples; ++s)
        longest = offsets[s + 1] - offsets[s] > longest ? offsets[s + 1] - offsets[s] : longest;
    return longest;
}

/* Caches of the model's own. */
static locus_status own_caches_create(lab_decoding *d, locus_error *error) {
    const lab_stack *stack = &d->model->decoder;
    const size_t numbers = d->row_offsets[d->batch->samples] * 2 * stack->kv_dim;
    size_t bytes = 0;
    d->caches = calloc(stack->sublayer_count, sizeof *d->caches);
    for (size_t s = 0; d->caches && s < stack->sublayer_count; ++s) {
        if (stack->sublayers[s].kind != LAB_SELF_ATTENTION)
            continue;
        const bool half = stack->sublayers[s].half;
        bytes += numbers * lab_number_size(half);
        d->caches[s] = (lab_numbers){malloc(numbers * lab_number_size(half) + 1), half};
        if (d->caches[s].data == NULL)
            return lab_fail(error, LOCUS_ERROR_MEMORY, "batch",
                            "no memory for %zu MiB of keys and values: decode fewer samples at once", bytes >> 20);
    }
    return d->caches ? LOCUS_OK : lab_fail_memory(error, "decoding");
}

/* Whether all of the decoder's attentions are of a kind that the library's caches serve. */
static bool library_serves(const lab_model *model) {
    const lab_stack *stack = &model->decoder;
    for (size_t s = 0; s < stack->sublayer_count; ++s)
        if (stack->sublayers[s].kind != LAB_FEED_FORWARD &&
            !(locus_attention_kind_entry(stack->sublayers[s].attention)->abilities & LOCUS_ATTENTION_SCORES))
            return false;
    return true;
}

/* What the encoder gave, [tokens, kv_heads, head_dim] from number `first` of a row on. */
static locus_tensor memory_view(const lab_stack *stack, const lab_sublayer *sublayer, size_t tokens, size_t first) {
    const int64_t head_dim = (int64_t)(stack->dim / stack->heads), row = 2 * (int64_t)stack->kv_dim;
    return (locus_tensor){.data = lab_numbers_from(sublayer->memory_projected, first).data,
                          .dtype = sublayer->half ? LOCUS_BFLOAT16 : LOCUS_FLOAT32,
                          .rank = 3,
                          .shape = {(int64_t)tokens, (int64_t)stack->kv_heads, head_dim},
                          .stride = {row, head_dim, 1}};
}

static locus_status memory_keep(locus_cache *cache, const lab_stack *stack, const lab_sublayer *sublayer,
                                const locus_positions *memory, locus_error *error) {
    const size_t tokens = locus_positions_tokens(memory);
    const locus_tensor key = memory_view(stack, sublayer, tokens, 0),
                       value = memory_view(stack, sublayer, tokens, stack->kv_dim);
    return locus_cache_append(cache, memory, &key, &value, NULL, error);
}

/* One for each attention. Those of the cross-attentions keep what the encoder gave, turned once, for all steps.
 * UNSUPPORTED where an encoding needs more than a cache keeps. */
static locus_status library_caches_create(lab_decoding *d, locus_error *error) {
    const lab_stack *stack = &d->model->decoder;
    const size_t n = d->batch->samples, longest = longest_of(n, d->row_offsets);
    d->kept = calloc(stack->sublayer_count + 1, sizeof *d->kept);
    locus_status status = d->kept ? LOCUS_OK : lab_fail_memory(error, "decoding");
    for (size_t s = 0; s < stack->sublayer_count && status == LOCUS_OK; ++s) {
        const lab_sublayer *sublayer = &stack->sublayers[s];
        const bool cross = sublayer->kind == LAB_CROSS_ATTENTION;
        locus_cache_options options = locus_cache_options_default();
        options.sequences = n;
        options.capacity = cross ? longest_of(n, d->batch->input_offsets) : longest;
        options.dtype = sublayer->half ? LOCUS_BFLOAT16 : LOCUS_FLOAT32;
        if (sublayer->kind == LAB_FEED_FORWARD)
            continue;
        status = locus_cache_create(&d->kept[s], d->model->encodings[sublayer->encoding].binding, &options, error);
        if (status == LOCUS_OK && cross)
            status = memory_keep(d->kept[s], stack, sublayer, d->memory, error);
    }
    return status;
}

/* The encoder has run. What the library's caches refuse is done without them. */
static locus_status caches_create(lab_decoding *d, locus_error *error) {
    d->keeps = library_serves(d->model);
    if (!d->keeps)
        return own_caches_create(d, error);
    const locus_status status = library_caches_create(d, error);
    d->keeps = status == LOCUS_OK;
    return status == LOCUS_ERROR_UNSUPPORTED ? own_caches_create(d, error) : status;
}

/* ---- all steps ---- */

static locus_status encode(lab_decoding *d, locus_error *error) {
    lab_model *model = d->model;
    const lab_batch *batch = d->batch;
    const locus_packing packing = {
        .size = sizeof packing, .sequences = batch->samples, .offsets = batch->input_offsets};
    const lab_token_values values = lab_token_places_values(&d->places.read);
    locus_status status = lab_positions_make(model, &d->memory, &packing, &values, error);
    const lab_stack_tokens tokens = {.queries = d->memory};
    if (status == LOCUS_OK)
        status = lab_places_fit(model, &model->encoder, model->encoder_places, &tokens, error);
    lab_stack_run run = lab_run_make(model, &model->encoder, model->encoder_places, false);
    if (status == LOCUS_OK)
        status = lab_runs_prepare(model, &(lab_stack_run *){&run}, 1, false, error);
    if (status == LOCUS_OK)
        status = lab_encoder_forward(model, batch, &run, error);
    return status;
}

static locus_status decode(lab_decoding *d, locus_error *error) {
    locus_status status = decoding_allocate(d, error);
    if (status == LOCUS_OK)
        status = lab_decode_positions_create(&d->places, d->model, d->batch, d->row_offsets, error);
    if (status == LOCUS_OK && !has_prompts(d))
        status = encode(d, error);
    if (status == LOCUS_OK)
        status = caches_create(d, error);
    if (status == LOCUS_OK)
        decoding_begin(d);
    while (status == LOCUS_OK && d->active_count > 0) {
        status = lab_decoding_step(d, error);
        if (status == LOCUS_OK)
            status = step_collect(d, error);
    }
    return status;
}

static void decoding_destroy(lab_decoding *d) {
    for (size_t s = 0; s < d->model->decoder.sublayer_count; ++s) {
        if (d->kept)
            locus_cache_destroy(&d->kept[s]);
        if (d->caches)
            free(d->caches[s].data);
    }
    free(d->kept);
    free(d->caches);
    locus_positions_destroy(&d->memory);
    lab_decode_positions_destroy(&d->places);
    free(d->block.block);
}

static locus_status prompts_check(const lab_batch *batch, locus_error *error) {
    for (size_t s = 0; s < batch->samples; ++s)
        if (batch->input_offsets[s + 1] == batch->input_offsets[s])
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, "input",
                            "prompt %zu is empty: a decoder goes on with one token or more", s);
    return LOCUS_OK;
}

static locus_status generation_check(const lab_model *model, const lab_batch *batch, const lab_generation *generation,
                                     locus_error *error) {
    const lab_architecture *class = model->config.architecture;
    if (class->classes)
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "model", "the model is %s: it gives classes, no sequences",
                        class->phrase);
    locus_status status = lab_batch_check(model, batch, false, error);
    if (status == LOCUS_OK && !class->encoder)
        status = prompts_check(batch, error);
    if (status == LOCUS_OK && model->config.tree_arity > 0 && !generation->growth)
        status = lab_fail(error, LOCUS_ERROR_ARGUMENT, "growth",
                          "nothing says how the trees grow: decoding of trees needs a growth");
    return status == LOCUS_OK ? lab_sampling_check(generation->sampling, error) : status;
}

locus_status lab_model_generate(lab_model *model, const lab_batch *batch, const lab_generation *generation,
                                locus_error *error) {
    locus_status status = generation_check(model, batch, generation, error);
    if (status != LOCUS_OK)
        return status;
    const size_t n = batch->samples;
    lab_decoding d = {.model = model, .batch = batch, .generation = generation};
    generation->output_offsets[0] = 0;
    for (size_t s = 0; s < n; ++s)
        generation->output_offsets[s + 1] = generation->output_offsets[s] + generation->limits[s];
    const lab_batch_size size = {.samples = n,
                                 .encoder_tokens = has_prompts(&d) ? 0 : batch->input_offsets[n],
                                 .decoder_tokens = most_tokens(&d),
                                 .predicted = n};
    status = lab_activations_fit(model, &size, error);
    if (status != LOCUS_OK)
        return status;
    lab_dropout_arm(model, &(lab_batch_pass){0});
    status = lab_products_came(decode(&d, error), error);
    decoding_destroy(&d);
    return status;
}
