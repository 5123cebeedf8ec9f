/* SPDX-License-Identifier: MIT */
/* One batch through the encoder–decoder: teacher-forced loss, and the gradients of its mean over predicted tokens. The
 * image classifier's pass is in image_step.c. */
#include "model/token_positions.h"
#include "nn/embedding.h"
#include "nn/loss.h"
#include <math.h>

/* The decoder reads start + target and predicts target + end; trees have no end, and their last token is not read. */
static void step_tokens(lab_model *model, const lab_batch *batch) {
    lab_step_buffers *step = &model->step;
    const bool ends = model->config.tree_arity == 0;
    size_t at = 0;
    for (size_t s = 0; s < batch->samples; ++s) {
        const size_t from = batch->target_offsets[s], count = batch->target_offsets[s + 1] - from;
        step->target_offsets[s] = at;
        for (size_t t = 0; t < count + ends; ++t, ++at) {
            step->input[at] = t == 0 ? LAB_TOKEN_START : batch->target[from + t - 1];
            step->target[at] = t == count ? (int32_t)(model->config.vocabulary - 1) : batch->target[from + t];
        }
    }
    step->target_offsets[batch->samples] = at;
}

static size_t decoder_tokens(const lab_model *model, const lab_batch *batch) {
    return batch->target_offsets[batch->samples] + (model->config.tree_arity == 0 ? batch->samples : 0);
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

static locus_status positions_create(lab_model *model, const lab_batch *batch, batch_positions *positions,
                                     locus_error *error) {
    const locus_packing input = {.sequences = batch->samples, .offsets = batch->input_offsets};
    const locus_packing target = {.sequences = batch->samples, .offsets = model->step.target_offsets};
    lab_token_places read = {0}, written = {0};
    locus_status status = lab_places_of_input(&read, model, batch, error);
    if (status == LOCUS_OK)
        status = lab_places_of_target(&written, model, batch, target.offsets, error);
    const lab_token_values read_at = lab_token_places_values(&read), written_at = lab_token_places_values(&written);
    if (status == LOCUS_OK)
        status = lab_positions_make(model, &positions->encoder, &input, &read_at, error);
    if (status == LOCUS_OK)
        status = lab_positions_make(model, &positions->decoder, &target, &written_at, error);
    lab_token_places_destroy(&read);
    lab_token_places_destroy(&written);
    return status;
}

static locus_status plans_create(lab_model *model, const lab_batch *batch, batch_positions *positions,
                                 locus_error *error) {
    locus_status status = positions_create(model, batch, positions, error);
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
                           .smoothing = model->smoothing,
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

/* x = sqrt(D) E[token] + e[position] */
static locus_status embedding_backward(lab_model *model, const lab_stack *stack, const int32_t *tokens,
                                       const locus_plan *plan, locus_error *error) {
    const locus_status status = lab_tokens_add_backward(model, stack, plan, error);
    if (status == LOCUS_OK)
        lab_embedding_backward(stack->tokens, stack->dim, tokens, stack->branch[0], (float)sqrt((double)stack->dim),
                               model->embedding_gradient);
    return status;
}

static locus_status backward(lab_model *model, const lab_batch *batch, lab_stack_run *encoder, lab_stack_run *decoder,
                             locus_error *error) {
    lab_position_gradients_clear(model);
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
    *score = (lab_score){.tokens = model->decoder.tokens, .samples = samples, .sample_correct = score->sample_correct};
    for (size_t chunk = 0; chunk < lab_chunk_count(score->tokens); ++chunk)
        score->loss += step->losses[chunk];
    for (size_t s = 0; s < samples; ++s) {
        size_t right = 0, from = step->target_offsets[s], to = step->target_offsets[s + 1];
        for (size_t t = from; t < to; ++t)
            right += step->correct[t];
        score->correct += right;
        score->exact += right == to - from;
        if (score->sample_correct)
            score->sample_correct[s] = (uint32_t)right;
    }
}

static locus_status execute(lab_model *model, const lab_batch *batch, bool training, lab_score *score,
                            locus_error *error) {
    lab_stack_run encoder = lab_run_make(model, &model->encoder, model->encoder_places, training);
    lab_stack_run decoder = lab_run_make(model, &model->decoder, model->decoder_places, training);
    lab_stack_run *const runs[] = {&encoder, &decoder};
    locus_status status = lab_runs_prepare(model, runs, 2, training, error);
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
    status = lab_loss_check(score, error);
    return status == LOCUS_OK && training ? backward(model, batch, &encoder, &decoder, error) : status;
}

static locus_status batch_run(lab_model *model, const lab_batch *batch, bool training, lab_score *score,
                              locus_error *error) {
    locus_status status = lab_batch_check(model, batch, true, error);
    if (status != LOCUS_OK)
        return status;
    lab_batch_size size = {.samples = batch->samples,
                           .encoder_tokens = batch->input_offsets[batch->samples],
                           .decoder_tokens = decoder_tokens(model, batch),
                           .backward = training};
    status = lab_activations_fit(model, &size, error);
    if (status != LOCUS_OK)
        return status;
    model->loss_scale = training ? 1.0f / (float)size.decoder_tokens : 0.0f;
    model->smoothing = training ? (float)model->config.label_smoothing : 0.0f;
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
    if (model->config.architecture == LAB_IMAGE_CLASSIFIER)
        return lab_image_batch_run(model, batch, &(lab_image_pass){true, seed, step}, score, error);
    return batch_run(model, batch, true, score, error);
}

locus_status lab_model_evaluate(lab_model *model, const lab_batch *batch, lab_score *score, locus_error *error) {
    lab_dropout_arm(model, false, 0, 0);
    if (model->config.architecture == LAB_IMAGE_CLASSIFIER)
        return lab_image_batch_run(model, batch, &(lab_image_pass){0}, score, error);
    return batch_run(model, batch, false, score, error);
}
