/* SPDX-License-Identifier: MIT */
/* One batch through the model: teacher-forced loss, and the gradients of its mean over predicted tokens. */
#include "io/fail.h"
#include "model/model_parts.h"
#include "nn/embedding.h"
#include "nn/loss.h"
#include <math.h>
#include <string.h>

/* The decoder reads start + target and predicts target + end. */
static void step_tokens(lab_model *model, const lab_batch *batch) {
    lab_step_buffers *step = &model->step;
    size_t at = 0;
    for (size_t s = 0; s < batch->samples; ++s) {
        step->target_offsets[s] = at;
        step->input[at] = LAB_TOKEN_START;
        for (size_t t = batch->target_offsets[s]; t < batch->target_offsets[s + 1]; ++t) {
            step->target[at] = batch->target[t];
            step->input[++at] = batch->target[t];
        }
        step->target[at++] = (int32_t)(model->config.vocabulary - 1);
    }
    step->target_offsets[batch->samples] = at;
}

/* The positions of a batch; its plans are the model's places. */
typedef struct batch_positions {
    locus_positions *encoder, *decoder;
} batch_positions;

static void plans_destroy(lab_model *model, batch_positions *positions) {
    lab_places_destroy(model, model->decoder_places);
    lab_places_destroy(model, model->encoder_places);
    locus_positions_destroy(&positions->decoder);
    locus_positions_destroy(&positions->encoder);
}

static locus_status plans_create(lab_model *model, const lab_batch *batch, batch_positions *positions,
                                 locus_error *error) {
    const size_t samples = batch->samples, *offsets = model->step.target_offsets;
    locus_status status = lab_positions_make(model, &positions->encoder, samples, batch->input_offsets, error);
    if (status == LOCUS_OK)
        status = lab_positions_make(model, &positions->decoder, samples, offsets, error);
    if (status != LOCUS_OK)
        return status;
    const lab_stack_tokens encoder = {.queries = positions->encoder};
    const lab_stack_tokens decoder = {.queries = positions->decoder, .memory = positions->encoder};
    status = lab_places_create(model, &model->encoder, model->encoder_places, &encoder, error);
    return status == LOCUS_OK ? lab_places_create(model, &model->decoder, model->decoder_places, &decoder, error)
                              : status;
}

static lab_product embedding_product(const lab_model *model) {
    const lab_stack *decoder = &model->decoder;
    size_t V = model->config.vocabulary, D = model->config.dim;
    return (lab_product){.rows = V,
                         .columns = D,
                         .depth = decoder->tokens,
                         .left = model->step.logits,
                         .left_stride = V,
                         .left_transposed = true,
                         .right = decoder->joins[decoder->sublayer_count].y,
                         .right_stride = D,
                         .result = model->embedding_gradient,
                         .result_stride = D};
}

/* The decoder's end: logits = y Eᵀ, their cross-entropy, and its gradient in their place. */
static void logits_end(void *context, lab_rows rows, size_t chunk, float *partial) {
    (void)partial;
    lab_model *model = context;
    const lab_stack *decoder = &model->decoder;
    const lab_step_buffers *step = &model->step;
    lab_linear output = {.inputs = decoder->dim, .outputs = model->config.vocabulary, .weight = model->embedding};
    lab_linear_multiply(&output, rows, decoder->joins[decoder->sublayer_count].y, step->logits);
    step->losses[chunk] = 0.0;
    const lab_loss loss = {.classes = model->config.vocabulary,
                           .targets = step->target,
                           .scale = model->loss_scale,
                           .logits = step->logits,
                           .correct = step->correct};
    lab_cross_entropy(&loss, rows, &step->losses[chunk]);
}

/* logits = y Eᵀ */
static void logits_backward(void *context, lab_rows rows, size_t chunk, float *partial) {
    (void)chunk, (void)partial;
    lab_model *model = context;
    lab_linear output = {.inputs = model->config.dim, .outputs = model->config.vocabulary, .weight = model->embedding};
    lab_linear_backward(&output, rows, model->step.logits, model->decoder.gy, false);
}

/* memory_projected = y Wᵀ + b of every cross-attention */
static void memory_backward(void *context, lab_rows rows, size_t chunk, float *partial) {
    (void)chunk;
    lab_model *model = context;
    const lab_stack *decoder = &model->decoder;
    bool keep = false;
    for (size_t s = 0; s < decoder->sublayer_count; ++s) {
        const lab_sublayer *sublayer = &decoder->sublayers[s];
        if (sublayer->kind != LAB_CROSS_ATTENTION)
            continue;
        lab_linear_backward(&sublayer->memory, rows, sublayer->memory_gradient, model->encoder.gy, keep);
        lab_column_sum(rows, sublayer->memory.outputs, sublayer->memory_gradient, sublayer->memory.outputs, partial);
        partial += sublayer->memory.outputs;
        keep = true;
    }
}

static void memory_weight_gradients(const lab_model *model) {
    const lab_stack *encoder = &model->encoder, *decoder = &model->decoder;
    size_t place = 0;
    for (size_t s = 0; s < decoder->sublayer_count; ++s) {
        const lab_sublayer *sublayer = &decoder->sublayers[s];
        if (sublayer->kind != LAB_CROSS_ATTENTION)
            continue;
        lab_product product = lab_linear_weight_product(&sublayer->memory, encoder->tokens, sublayer->memory_gradient,
                                                        encoder->joins[encoder->sublayer_count].y);
        lab_products_parallel(&product, 1);
        lab_column_fold(lab_chunk_count(encoder->tokens), sublayer->memory.outputs, encoder->partials + place,
                        encoder->partial_width, sublayer->memory.bias_gradient);
        place += sublayer->memory.outputs;
    }
}

/* x = sqrt(D) E[token] + e[position]. An added vector's gradient does not depend on x: the kept sum stands for it. */
static locus_status embedding_backward(lab_model *model, const lab_stack *stack, const int32_t *tokens,
                                       const locus_plan *plan, locus_error *error) {
    float *gradient = stack->branch[0];
    if (model->embedding_site) {
        const size_t count = model->encodings[0].count;
        const int64_t shape[] = {(int64_t)stack->tokens, (int64_t)stack->dim};
        locus_tensor x = locus_tensor_view(stack->joins[0].sum, LOCUS_FLOAT32, 2, shape);
        locus_tensor g = locus_tensor_view(gradient, LOCUS_FLOAT32, 2, shape);
        locus_apply_gradients gradients = {.x = &x,
                                           .gy = &g,
                                           .gx = &g,
                                           .parameters = count ? model->position_gradients : NULL,
                                           .parameter_count = count};
        locus_status status =
            locus_apply_backward(plan, LOCUS_ROLE_TOKEN, LOCUS_FORWARD, &gradients, model->workspace, error);
        if (status != LOCUS_OK)
            return status;
    }
    lab_embedding_backward(stack->tokens, stack->dim, tokens, gradient, (float)sqrt((double)stack->dim),
                           model->embedding_gradient);
    return LOCUS_OK;
}

static locus_status backward(lab_model *model, const lab_batch *batch, lab_stack_run *encoder, lab_stack_run *decoder,
                             locus_error *error) {
    float *position = model->gradients + (model->elements - model->position_elements);
    memset(position, 0, model->position_elements * sizeof *position); /* the library adds to them */
    decoder->end = logits_backward;
    locus_status status = lab_stack_backward(decoder, error);
    if (status != LOCUS_OK)
        return status;
    lab_product product = embedding_product(model);
    lab_products_parallel(&product, 1);
    status = embedding_backward(model, &model->decoder, model->step.input, lab_run_token_plan(decoder), error);
    if (status != LOCUS_OK)
        return status;
    encoder->end = memory_backward;
    status = lab_stack_backward(encoder, error);
    if (status != LOCUS_OK)
        return status;
    memory_weight_gradients(model);
    return embedding_backward(model, &model->encoder, batch->input, lab_run_token_plan(encoder), error);
}

static void score_collect(const lab_model *model, size_t samples, lab_score *score) {
    const lab_step_buffers *step = &model->step;
    *score = (lab_score){.tokens = model->decoder.tokens, .samples = samples};
    for (size_t chunk = 0; chunk < lab_chunk_count(score->tokens); ++chunk)
        score->loss += step->losses[chunk];
    for (size_t s = 0; s < samples; ++s) {
        size_t right = 0, from = step->target_offsets[s], to = step->target_offsets[s + 1];
        for (size_t t = from; t < to; ++t)
            right += step->correct[t];
        score->correct += right;
        score->exact += right == to - from;
    }
}

static locus_status workspace_prepare(lab_model *model, const lab_stack_run *encoder, const lab_stack_run *decoder,
                                      bool training, locus_error *error) {
    const size_t needs[] = {lab_stack_workspace(encoder, training), lab_stack_workspace(decoder, training),
                            lab_added_workspace(model, lab_run_token_plan(encoder)),
                            lab_added_workspace(model, lab_run_token_plan(decoder))};
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; ++i)
        bytes = needs[i] > bytes ? needs[i] : bytes;
    return lab_workspace_fit(model, bytes, error);
}

static locus_status execute(lab_model *model, const lab_batch *batch, bool training, lab_score *score,
                            locus_error *error) {
    lab_stack_run encoder = lab_run_make(model, &model->encoder, model->encoder_places, training);
    lab_stack_run decoder = lab_run_make(model, &model->decoder, model->decoder_places, training);
    locus_status status = workspace_prepare(model, &encoder, &decoder, training, error);
    encoder.workspace = decoder.workspace = model->workspace;
    if (status == LOCUS_OK)
        status = lab_encoder_forward(model, batch, &encoder, error);
    if (status == LOCUS_OK)
        status = lab_tokens_embed(model, &model->decoder, model->step.input, lab_run_token_plan(&decoder), error);
    decoder.end = logits_end;
    if (status == LOCUS_OK)
        status = lab_stack_forward(&decoder, error);
    if (status != LOCUS_OK)
        return status;
    score_collect(model, batch->samples, score);
    if (!isfinite(score->loss))
        return lab_fail(error, LOCUS_ERROR_NUMERIC, "loss",
                        "the loss is not finite: a smaller learning rate or clipping may help");
    return training ? backward(model, batch, &encoder, &decoder, error) : LOCUS_OK;
}

static locus_status batch_run(lab_model *model, const lab_batch *batch, bool training, lab_score *score,
                              locus_error *error) {
    locus_status status = lab_batch_check(model, batch, true, error);
    if (status != LOCUS_OK)
        return status;
    lab_batch_size size = {.samples = batch->samples,
                           .encoder_tokens = batch->input_offsets[batch->samples],
                           .decoder_tokens = batch->target_offsets[batch->samples] + batch->samples,
                           .backward = training};
    status = lab_activations_fit(model, &size, error);
    if (status != LOCUS_OK)
        return status;
    model->loss_scale = training ? 1.0f / (float)size.decoder_tokens : 0.0f;
    step_tokens(model, batch);
    batch_positions positions = {0};
    status = plans_create(model, batch, &positions, error);
    if (status == LOCUS_OK)
        status = execute(model, batch, training, score, error);
    plans_destroy(model, &positions);
    return status;
}

locus_status lab_model_train(lab_model *model, const lab_batch *batch, uint64_t seed, uint32_t step, lab_score *score,
                             locus_error *error) {
    lab_dropout_arm(model, true, seed, step);
    return batch_run(model, batch, true, score, error);
}

locus_status lab_model_evaluate(lab_model *model, const lab_batch *batch, lab_score *score, locus_error *error) {
    lab_dropout_arm(model, false, 0, 0);
    return batch_run(model, batch, false, score, error);
}
