/* SPDX-License-Identifier: MIT */
/* What training, evaluation and decoding share: checks of a batch, random streams, embedding, the encoder's forward
 * pass. */
#include "io/fail.h"
#include "model/model_parts.h"
#include "nn/embedding.h"
#include <math.h>

/* Streams: join j of a stack has number 4 j, sublayer s 4 s + 1 (hidden) or 4 s + 2 (attention weights); the
 * decoder's follow 2^15 after the encoder's. */
static void stack_arm(lab_stack *stack, double p, uint32_t purpose, uint64_t seed, uint32_t step) {
    for (size_t j = 0; j <= stack->sublayer_count; ++j) {
        uint32_t place = purpose + 4 * (uint32_t)j;
        stack->joins[j].dropout = lab_dropout_make(p, (locus_random){seed, place, step});
        if (j == stack->sublayer_count)
            break;
        stack->sublayers[j].dropout = lab_dropout_make(p, (locus_random){seed, place + 1, step});
        stack->sublayers[j].attention_key = (locus_random){seed, place + 2, step};
    }
}

void lab_dropout_arm(lab_model *model, bool training, uint64_t seed, uint32_t step) {
    double p = training ? model->config.dropout : 0.0;
    stack_arm(&model->encoder, p, LAB_PURPOSE_DROPOUT, seed, step);
    stack_arm(&model->decoder, p, LAB_PURPOSE_DROPOUT + 0x8000u, seed, step);
}

static locus_status offsets_check(const char *name, size_t samples, const size_t *offsets, locus_error *error) {
    for (size_t s = 0; s < samples; ++s) {
        if (offsets[s] > offsets[s + 1])
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, name, "%s offsets fall from %zu to %zu at sample %zu", name,
                            offsets[s], offsets[s + 1], s);
    }
    if (offsets[0] == 0)
        return LOCUS_OK;
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, name, "%s offsets begin with %zu: a batch begins at 0", name,
                    offsets[0]);
}

static locus_status tokens_check(const char *name, size_t count, const int32_t *tokens, size_t vocabulary,
                                 locus_error *error) {
    for (size_t t = 0; t < count; ++t) {
        if (tokens[t] < 0 || (size_t)tokens[t] >= vocabulary)
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, name,
                            "%s token %ld at place %zu is not below the vocabulary's %zu", name, (long)tokens[t], t,
                            vocabulary);
    }
    return LOCUS_OK;
}

locus_status lab_batch_check(const lab_model *model, const lab_batch *batch, bool targets, locus_error *error) {
    size_t n = batch->samples, V = model->config.vocabulary;
    if (n == 0)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "batch", "the batch is empty");
    locus_status status = offsets_check("input", n, batch->input_offsets, error);
    if (status == LOCUS_OK)
        status = tokens_check("input", batch->input_offsets[n], batch->input, V, error);
    if (status != LOCUS_OK || !targets)
        return status;
    status = offsets_check("target", n, batch->target_offsets, error);
    return status == LOCUS_OK ? tokens_check("target", batch->target_offsets[n], batch->target, V, error) : status;
}

const locus_group *lab_model_group(const lab_model *model) {
    const locus_group *group = NULL;
    for (size_t i = 0; i < model->encoding_count && !group; ++i)
        group = locus_encoding_group(model->encodings[i].encoding);
    return group;
}

locus_status lab_positions_make(const lab_model *model, locus_positions **positions, size_t sequences,
                                const size_t *offsets, locus_error *error) {
    locus_packing packing = {.sequences = sequences, .offsets = offsets};
    return locus_positions_create(positions, lab_model_group(model), &packing, NULL, error);
}

size_t lab_added_workspace(const lab_model *model, const locus_plan *plan) {
    const size_t token = model->embedding_site ? locus_apply_workspace(plan, LOCUS_ROLE_TOKEN, LOCUS_FLOAT32) : 0;
    const size_t encoded = model->encoded_site ? locus_apply_workspace(plan, LOCUS_ROLE_ENCODED, LOCUS_FLOAT32) : 0;
    return token > encoded ? token : encoded;
}

lab_stack_run lab_run_make(lab_model *model, lab_stack *stack, const lab_stack_position *places, bool training) {
    return (lab_stack_run){.stack = stack,
                           .places = places,
                           .attention_dropout = training ? model->config.attention_dropout : 0.0,
                           .attention_dropout_on = model->config.attention_dropout_on,
                           .end_context = model};
}

typedef struct gather {
    const lab_model *model;
    const lab_stack *stack;
    const int32_t *tokens;
} gather;

static void gather_task(void *context, size_t chunk, size_t worker) {
    (void)worker;
    const gather *g = context;
    lab_embedding_forward(lab_chunk_at(g->stack->tokens, chunk), g->stack->dim, g->tokens, g->model->embedding,
                          (float)sqrt((double)g->stack->dim), g->stack->joins[0].sum);
}

locus_status lab_tokens_embed(lab_model *model, lab_stack *stack, const int32_t *tokens, const locus_plan *plan,
                              locus_error *error) {
    gather g = {model, stack, tokens};
    locus_parallel_for(lab_chunk_count(stack->tokens), gather_task, &g);
    if (!model->embedding_site)
        return LOCUS_OK;
    locus_tensor x = locus_tensor_view(stack->joins[0].sum, LOCUS_FLOAT32, 2,
                                       (int64_t[]){(int64_t)stack->tokens, (int64_t)stack->dim});
    return locus_apply(plan, LOCUS_ROLE_TOKEN, LOCUS_FORWARD, &x, &x, model->workspace, error);
}

/* Keys and values of every cross-attention. The encoder's end, while a chunk of its output is in the cache. */
static void memory_project(void *context, lab_rows rows, size_t chunk, float *partial) {
    (void)chunk, (void)partial;
    lab_model *model = context;
    const float *y = model->encoder.joins[model->encoder.sublayer_count].y;
    for (size_t s = 0; s < model->decoder.sublayer_count; ++s) {
        const lab_sublayer *sublayer = &model->decoder.sublayers[s];
        if (sublayer->kind == LAB_CROSS_ATTENTION)
            lab_linear_forward(&sublayer->memory, rows, y, sublayer->memory_projected);
    }
}

static void no_end(void *context, lab_rows rows, size_t chunk, float *partial) {
    (void)context, (void)rows, (void)chunk, (void)partial;
}

static void memory_task(void *context, size_t chunk, size_t worker) {
    (void)worker;
    lab_model *model = context;
    memory_project(model, lab_chunk_at(model->encoder.tokens, chunk), chunk, NULL);
}

/* Where vectors are added to what the encoder gives, projections wait for the whole of it. What is added has no
 * parameters, so in the backward the gradient passes as it is. */
static locus_status encoded_add(lab_model *model, const lab_stack_run *run, locus_error *error) {
    const lab_stack *stack = run->stack;
    locus_tensor y = locus_tensor_view(stack->joins[stack->sublayer_count].y, LOCUS_FLOAT32, 2,
                                       (int64_t[]){(int64_t)stack->tokens, (int64_t)stack->dim});
    locus_status status = lab_workspace_fit(model, lab_added_workspace(model, lab_run_token_plan(run)), error);
    if (status == LOCUS_OK)
        status =
            locus_apply(lab_run_token_plan(run), LOCUS_ROLE_ENCODED, LOCUS_FORWARD, &y, &y, model->workspace, error);
    if (status == LOCUS_OK)
        locus_parallel_for(lab_chunk_count(stack->tokens), memory_task, model);
    return status;
}

locus_status lab_encoder_forward(lab_model *model, const lab_batch *batch, lab_stack_run *run, locus_error *error) {
    locus_status status = lab_tokens_embed(model, run->stack, batch->input, lab_run_token_plan(run), error);
    if (status != LOCUS_OK)
        return status;
    run->end = model->encoded_site ? no_end : memory_project;
    status = lab_stack_forward(run, error);
    return status == LOCUS_OK && model->encoded_site ? encoded_add(model, run, error) : status;
}
