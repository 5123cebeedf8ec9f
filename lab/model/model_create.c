/* SPDX-License-Identifier: MIT */
/* A model's life: layers, parameters, the encodings' bindings. */
#include "io/fail.h"
#include "model/token_positions.h"
#include <stdlib.h>
#include <string.h>

/* A layer's sublayers are self-attention and feed-forward; a decoder's that has an encoder have the cross-attention
 * between. */
static locus_status stack_create(lab_stack *stack, const lab_model_config *config, bool decoder, locus_error *error) {
    static const lab_sublayer_kind kinds[2][3] = {{LAB_SELF_ATTENTION, LAB_FEED_FORWARD},
                                                  {LAB_SELF_ATTENTION, LAB_CROSS_ATTENTION, LAB_FEED_FORWARD}};
    const bool crosses = decoder && config->encoder_layers > 0;
    const size_t per_layer = stack->layer_sublayers = crosses ? 3 : 2;
    stack->dim = config->dim;
    stack->feed_forward = config->feed_forward;
    stack->heads = config->heads;
    stack->kv_heads = config->kv_heads != 0 ? config->kv_heads : config->heads;
    stack->kv_dim = stack->kv_heads * (config->dim / config->heads);
    stack->gelu = config->activation == LAB_GELU;
    stack->stream_is_y = config->norm == LAB_NORM_AFTER;
    stack->leaves_out = config->stochastic_depth > 0.0;
    stack->mask = decoder ? LOCUS_MASK_CAUSAL : LOCUS_MASK_FULL;
    stack->sublayer_count = per_layer * (decoder ? config->decoder_layers : config->encoder_layers);
    stack->sublayers = calloc(stack->sublayer_count, sizeof *stack->sublayers);
    stack->joins = calloc(stack->sublayer_count + 1, sizeof *stack->joins);
    if (!stack->sublayers || !stack->joins)
        return lab_fail_memory(error, "the model's layers");
    for (size_t s = 0; s < stack->sublayer_count; ++s) {
        lab_sublayer *own = &stack->sublayers[s];
        own->kind = kinds[crosses][s % per_layer];
        own->half = own->kind == LAB_FEED_FORWARD && config->precision == LAB_BF16 && !stack->gelu;
    }
    return LOCUS_OK;
}

/* Marks the layers of one stack; returns how many encodings they have. */
static size_t layers_mark(lab_stack *stack, const locus_pattern *pattern) {
    size_t most = 0;
    for (size_t s = 0; s < stack->sublayer_count; ++s) {
        stack->sublayers[s].encoding = locus_pattern_layer(pattern, s / stack->layer_sublayers);
        most = stack->sublayers[s].encoding > most ? stack->sublayers[s].encoding : most;
    }
    return most + 1;
}

/* Encodings that no layer has are left out; they are those that the pattern brings last. */
static locus_status encodings_allocate(lab_model *model, locus_error *error) {
    const size_t encoder = layers_mark(&model->encoder, model->pattern);
    const size_t decoder = layers_mark(&model->decoder, model->pattern);
    const size_t count = model->encoding_count = encoder > decoder ? encoder : decoder;
    model->encodings = calloc(count, sizeof *model->encodings);
    model->encoder_places = calloc(count, sizeof *model->encoder_places);
    model->decoder_places = calloc(count, sizeof *model->decoder_places);
    if (model->encodings && model->encoder_places && model->decoder_places)
        return LOCUS_OK;
    model->encoding_count = 0;
    return lab_fail_memory(error, "the model's encodings");
}

static locus_status encodings_create(lab_model *model, locus_error *error) {
    const lab_model_config *config = &model->config;
    const lab_architecture *class = config->architecture;
    locus_status status = locus_pattern_parse(config->encoding, &model->pattern, error);
    if (status == LOCUS_OK)
        status = encodings_allocate(model, error);
    if (status != LOCUS_OK)
        return status;
    model->shape = locus_shape_default();
    model->shape.heads = config->heads;
    model->shape.kv_heads = config->kv_heads;
    model->shape.head_dim = model->shape.value_dim = config->dim / config->heads;
    model->shape.model_dim = config->dim;
    for (size_t i = 0; i < model->encoding_count && status == LOCUS_OK; ++i) {
        lab_encoding *own = &model->encodings[i];
        own->encoding = locus_pattern_encoding(model->pattern, i);
        own->first = model->position_count;
        const locus_group *group = locus_encoding_group(own->encoding);
        model->group = model->group != NULL ? model->group : group;
        status = class->images ? lab_image_group_check(group, error) : lab_positions_check_group(config, group, error);
        if (status == LOCUS_OK)
            status = locus_encoding_parameter_count(own->encoding, &model->shape, &own->count, error);
        model->position_count += own->count;
    }
    const unsigned sites = locus_encoding_sites(model->encodings[0].encoding);
    model->embedding_site = (sites & LOCUS_SITE_EMBEDDING) != 0;
    model->encoded_site = (sites & LOCUS_SITE_ENCODED) != 0;
    if (status == LOCUS_OK && model->encoded_site && !class->encoder)
        status =
            lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "encoding",
                     "'%s' adds vectors to what an encoder gives, and a decoder has no encoder: use site=embedding",
                     config->encoding);
    return status;
}

/* What only adds vectors to tokens reads a table of its own in the published code, in which nothing is shifted. */
static bool acts_on_attention(const lab_model *model) {
    const unsigned added = LOCUS_SITE_EMBEDDING | LOCUS_SITE_ENCODED;
    bool acts = false;
    for (size_t i = 0; i < model->encoding_count; ++i)
        acts = acts || (locus_encoding_sites(model->encodings[i].encoding) & ~added) != 0;
    return acts;
}

static void paths_choose(lab_model *model) {
    const lab_tree_paths paths = model->config.tree_paths;
    const bool next = paths == LAB_PATHS_NEXT || (paths == LAB_PATHS_CODE && acts_on_attention(model));
    model->next_paths = next ? model->config.tree_arity : 0;
}

/* Each encoding draws from a seed of its own; the first from the model's. */
static locus_status bindings_create(lab_model *model, uint64_t seed, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < model->encoding_count && status == LOCUS_OK; ++i) {
        lab_encoding *own = &model->encodings[i];
        const locus_tensor *values = model->position_values + own->first;
        const uint64_t own_seed = seed ^ (uint64_t)i * 0x9E3779B97F4A7C15u;
        status = locus_encoding_initialise(own->encoding, &model->shape, own_seed, values, own->count, error);
        if (status == LOCUS_OK)
            status = locus_binding_create(&own->binding, own->encoding, &model->shape, values, own->count, error);
    }
    return status;
}

static locus_status parameters_create(lab_model *model, uint64_t seed, locus_error *error) {
    locus_status status = lab_parameters_declare(model, error); /* counts */
    if (status != LOCUS_OK)
        return status;
    size_t bytes = model->elements * sizeof(float);
    model->parameters = calloc(model->parameter_count, sizeof *model->parameters);
    model->position_values = calloc(model->position_count + 1, sizeof *model->position_values);
    model->position_gradients = calloc(model->position_count + 1, sizeof *model->position_gradients);
    model->values = lab_block_allocate(bytes);
    model->gradients = lab_block_allocate(bytes);
    if (!model->parameters || !model->position_values || !model->position_gradients || !model->values ||
        !model->gradients)
        return lab_fail_memory(error, "the model's parameters");
    memset(model->gradients, 0, bytes);
    status = lab_parameters_declare(model, error); /* places */
    if (status != LOCUS_OK)
        return status;
    lab_parameters_initialise(model, seed);
    return bindings_create(model, seed, error);
}

locus_status lab_model_create(lab_model **model, const lab_model_config *config, uint64_t seed, locus_error *error) {
    *model = NULL;
    locus_status status = lab_model_config_check(config, error);
    if (status != LOCUS_OK)
        return status;
    lab_model *made = calloc(1, sizeof *made);
    if (made == NULL)
        return lab_fail_memory(error, "the model");
    made->config = *config;
    made->config.encoding = NULL;
    size_t length = strlen(config->encoding) + 1;
    made->encoding_text = malloc(length);
    made->part = calloc(1, config->architecture->part_size + 1);
    if (made->encoding_text == NULL || made->part == NULL) {
        status = lab_fail_memory(error, "the model");
        goto done;
    }
    made->config.encoding = memcpy(made->encoding_text, config->encoding, length);
    if (config->encoder_layers > 0)
        status = stack_create(&made->encoder, config, false, error);
    if (status == LOCUS_OK && config->decoder_layers > 0)
        status = stack_create(&made->decoder, config, true, error);
    if (status == LOCUS_OK)
        status = encodings_create(made, error);
    paths_choose(made);
    if (status == LOCUS_OK)
        status = parameters_create(made, seed, error);
    if (status == LOCUS_OK)
        status = lab_rounded_weights_create(made, error);
    if (status == LOCUS_OK)
        status = lab_attention_choose(made, error);
done:
    if (status == LOCUS_OK)
        *model = made;
    else
        lab_model_destroy(&made);
    return status;
}

static void stack_destroy(lab_stack *stack) {
    free(stack->sublayers);
    free(stack->joins);
}

void lab_model_destroy(lab_model **handle) {
    lab_model *model = handle ? *handle : NULL;
    if (model == NULL)
        return;
    *handle = NULL;
    for (size_t i = 0; i < model->encoding_count; ++i)
        locus_binding_destroy(&model->encodings[i].binding);
    locus_pattern_destroy(&model->pattern);
    locus_attention_kind_destroy(&model->attention);
    free(model->encodings);
    lab_places_destroy(model, model->encoder_places);
    lab_places_destroy(model, model->decoder_places);
    free(model->encoder_places);
    free(model->decoder_places);
    stack_destroy(&model->encoder);
    stack_destroy(&model->decoder);
    free(model->rounded_weights);
    free(model->arena.block);
    free(model->workspace.data);
    free(model->parameters);
    free(model->position_values);
    free(model->position_gradients);
    free(model->values);
    free(model->gradients);
    free(model->part);
    free(model->encoding_text);
    free(model);
}

const lab_model_config *lab_model_get_config(const lab_model *model) {
    return &model->config;
}

size_t lab_model_parameter_count(const lab_model *model) {
    return model->parameter_count;
}

const lab_parameter *lab_model_parameter(const lab_model *model, size_t index) {
    return &model->parameters[index];
}

size_t lab_model_elements(const lab_model *model) {
    return model->elements;
}

float *lab_model_values(lab_model *model) {
    return model->values;
}

float *lab_model_gradients(lab_model *model) {
    return model->gradients;
}

void lab_model_gradients_release(lab_model *model) {
    lab_block_release(model->gradients, model->gradients + model->elements);
    model->lending.spare = false;
}

locus_status lab_model_gradients_return(lab_model *model, locus_error *error) {
    const bool whole = lab_lending_return(&model->lending);
    if (!model->lending.spare)
        lab_model_gradients_release(model);
    return whole ? LOCUS_OK : lab_fail_memory(error, "activations");
}

void lab_model_activations_release(lab_model *model) {
    if (model->arena.block != NULL)
        lab_block_release(model->arena.block, model->arena.block + model->arena.capacity);
}

locus_status lab_model_update(lab_model *model, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < model->encoding_count && status == LOCUS_OK; ++i) {
        lab_encoding *own = &model->encodings[i];
        if (own->count > 0)
            status = locus_binding_update(&own->binding, model->position_values + own->first, own->count, error);
    }
    lab_rounded_weights_fill(model);
    return status;
}

size_t lab_model_arena_bytes(const lab_model *model) {
    return model->arena.capacity + model->workspace.bytes;
}

const locus_binding *lab_model_binding(const lab_model *model) {
    return lab_model_binding_of(model, 0);
}

size_t lab_model_encoding_count(const lab_model *model) {
    return model->encoding_count;
}

const locus_encoding *lab_model_encoding(const lab_model *model, size_t index) {
    return index < model->encoding_count ? model->encodings[index].encoding : NULL;
}

const locus_binding *lab_model_binding_of(const lab_model *model, size_t index) {
    return index < model->encoding_count ? model->encodings[index].binding : NULL;
}
