/* SPDX-License-Identifier: MIT */
/* What training, evaluation and decoding share: checks of a batch, random streams, embedding, the encoder's forward
 * pass. */
#include "io/fail.h"
#include "model/token_positions.h"
#include "nn/embedding.h"
#include <math.h>
#include <string.h>

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
    if (model->config.encoder_layers > 0)
        stack_arm(&model->encoder, p, LAB_PURPOSE_DROPOUT, seed, step);
    if (model->config.decoder_layers > 0)
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
    if (status == LOCUS_OK && targets)
        status = offsets_check("target", n, batch->target_offsets, error);
    if (status == LOCUS_OK && targets)
        status = tokens_check("target", batch->target_offsets[n], batch->target, V, error);
    return status == LOCUS_OK ? lab_batch_check_trees(model, batch, targets, error) : status;
}

void lab_loss_begin(lab_model *model, size_t predicted, bool training) {
    model->loss_scale = training ? 1.0f / (float)predicted : 0.0f;
    model->smoothing = training ? (float)model->config.label_smoothing : 0.0f;
}

locus_status lab_loss_check(const lab_score *score, locus_error *error) {
    if (isfinite(score->loss))
        return LOCUS_OK;
    return lab_fail(error, LOCUS_ERROR_NUMERIC, "loss",
                    "the loss is not finite: a smaller learning rate or clipping may help");
}

const locus_group *lab_model_group(const lab_model *model) {
    const locus_group *group = NULL;
    for (size_t i = 0; i < model->encoding_count && !group; ++i)
        group = locus_encoding_group(model->encodings[i].encoding);
    return group;
}

lab_stack_run lab_run_make(lab_model *model, lab_stack *stack, const lab_stack_position *places, bool training) {
    return (lab_stack_run){.stack = stack,
                           .places = places,
                           .attention_dropout = training ? model->config.attention_dropout : 0.0,
                           .attention_dropout_on = model->config.attention_dropout_on,
                           .end_context = model};
}

locus_status lab_runs_prepare(lab_model *model, lab_stack_run *const *runs, size_t count, bool training,
                              locus_error *error) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; ++i) {
        const size_t attention = lab_stack_workspace(runs[i], training);
        const size_t added = lab_added_workspace(model, lab_run_token_plan(runs[i]));
        bytes = attention > bytes ? attention : bytes;
        bytes = added > bytes ? added : bytes;
    }
    const locus_status status = lab_workspace_fit(model, bytes, error);
    for (size_t i = 0; i < count; ++i)
        runs[i]->workspace = model->workspace;
    return status;
}

void lab_position_gradients_clear(lab_model *model) {
    float *position = model->gradients + (model->elements - model->position_elements);
    memset(position, 0, model->position_elements * sizeof *position);
}

float lab_embedding_scale(const lab_model *model) {
    return model->config.embedding_init == LAB_EMBEDDING_PLAIN ? 1.0f : (float)sqrt((double)model->config.dim);
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
                          lab_embedding_scale(g->model), g->stack->joins[0].sum);
}

locus_status lab_tokens_embed(lab_model *model, lab_stack *stack, const int32_t *tokens, const locus_plan *plan,
                              locus_error *error) {
    gather g = {model, stack, tokens};
    locus_parallel_for(lab_chunk_count(stack->tokens), gather_task, &g);
    return lab_tokens_add(model, stack, plan, error);
}

/* x = scale · E[token] + e[position] */
locus_status lab_tokens_embed_backward(lab_model *model, const lab_stack *stack, const int32_t *tokens,
                                       const locus_plan *plan, locus_error *error) {
    const locus_status status = lab_tokens_add_backward(model, stack, plan, error);
    if (status == LOCUS_OK)
        lab_embedding_backward(stack->tokens, stack->dim, tokens, stack->branch[0], lab_embedding_scale(model),
                               model->embedding_gradient);
    return status;
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

locus_status lab_encoder_forward(lab_model *model, const lab_batch *batch, lab_stack_run *run, locus_error *error) {
    locus_status status = lab_tokens_embed(model, run->stack, batch->input, lab_run_token_plan(run), error);
    return status == LOCUS_OK ? lab_encoder_run(model, run, memory_project, error) : status;
}
