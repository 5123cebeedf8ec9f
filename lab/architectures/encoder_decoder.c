/* SPDX-License-Identifier: MIT */
/* The encoder–decoder (Vaswani et al. 2017): teacher-forced loss, and the gradients of its mean over predicted
 * tokens. */
#include "model/token_positions.h"
#include "task/task.h"

static void declare(lab_declaration *d, lab_model *model) {
    model->output = lab_declare_embedding(d);
    lab_declare_stack(d, "encoder", &model->encoder);
    lab_declare_stack(d, "decoder", &model->decoder);
    model->encoder.end_width = model->config.decoder_layers * 2 * model->decoder.kv_dim;
}

static void place_memory_gradients(lab_arena *arena, lab_stack *stack) {
    for (size_t s = 0; s < stack->sublayer_count; ++s) {
        lab_sublayer *own = &stack->sublayers[s];
        own->memory_gradient = own->kind == LAB_CROSS_ATTENTION
                                   ? lab_arena_numbers(arena, stack->memory_tokens * 2 * stack->kv_dim, own->half)
                                   : (lab_numbers){0};
    }
}

static void place(lab_arena *arena, lab_model *model, const lab_batch_size *size) {
    lab_place_predictions(arena, model, size);
    lab_place_stack(arena, &model->encoder, size->backward);
    lab_place_stack(arena, &model->decoder, size->backward);
    if (!size->backward)
        return;
    place_memory_gradients(arena, &model->decoder);
    lab_place_gradients(arena, &model->decoder, &model->encoder);
}

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

static void positions_destroy(batch_positions *positions) {
    locus_positions_destroy(&positions->decoder);
    locus_positions_destroy(&positions->encoder);
}

static locus_status plans_create(lab_model *model, const lab_batch *batch, batch_positions *positions,
                                 locus_error *error) {
    locus_status status = lab_positions_of(model, &positions->encoder, batch, NULL, error);
    if (status == LOCUS_OK)
        status = lab_positions_of(model, &positions->decoder, batch, model->step.target_offsets, error);
    if (status != LOCUS_OK)
        return status;
    const lab_stack_tokens encoder = {.queries = positions->encoder};
    const lab_stack_tokens decoder = {.queries = positions->decoder, .memory = positions->encoder};
    status = lab_places_fit(model, &model->encoder, model->encoder_places, &encoder, error);
    return status == LOCUS_OK ? lab_places_fit(model, &model->decoder, model->decoder_places, &decoder, error) : status;
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
        lab_linear_backward(&sublayer->memory, rows, sublayer->memory_gradient, lab_floats(model->encoder.gy), keep);
        lab_column_sum(rows, sublayer->memory.outputs, sublayer->memory_gradient, partial);
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
                                                        lab_floats(encoder->joins[encoder->sublayer_count].y));
        lab_weight_gradients(&product, 1);
        lab_column_fold(lab_chunk_count(encoder->tokens), sublayer->memory.outputs, encoder->partials + place,
                        encoder->partial_width, sublayer->memory.bias_gradient);
        place += sublayer->memory.outputs;
    }
}

static locus_status backward(lab_model *model, const lab_batch *batch, lab_stack_run *encoder, lab_stack_run *decoder,
                             locus_error *error) {
    lab_position_gradients_clear(model);
    decoder->later = lab_stack_gradients_before(&model->encoder, model->encoder.sublayer_count);
    locus_status status = lab_stack_backward(decoder, error);
    if (status != LOCUS_OK)
        return status;
    status = lab_tokens_embed_backward(model, &model->decoder, model->step.input, lab_run_token_plan(decoder), error);
    if (status != LOCUS_OK)
        return status;
    encoder->end = memory_backward;
    status = lab_stack_backward(encoder, error);
    if (status != LOCUS_OK)
        return status;
    memory_weight_gradients(model);
    return lab_tokens_embed_backward(model, &model->encoder, batch->input, lab_run_token_plan(encoder), error);
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
    if (status == LOCUS_OK)
        status = lab_stack_forward(&decoder, error);
    if (status != LOCUS_OK)
        return status;
    lab_predictions_score(model, batch->samples, score);
    status = lab_loss_check(score, error);
    return status == LOCUS_OK && training ? backward(model, batch, &encoder, &decoder, error) : status;
}

static locus_status run(lab_model *model, const lab_batch *batch, const lab_batch_pass *pass, lab_score *score,
                        locus_error *error) {
    const bool training = pass->training;
    locus_status status = lab_batch_check(model, batch, true, error);
    if (status != LOCUS_OK)
        return status;
    lab_batch_size size = {.samples = batch->samples,
                           .encoder_tokens = batch->input_offsets[batch->samples],
                           .decoder_tokens = decoder_tokens(model, batch),
                           .predicted = decoder_tokens(model, batch),
                           .backward = training};
    status = lab_activations_fit(model, &size, error);
    if (status != LOCUS_OK)
        return status;
    lab_loss_begin(model, size.decoder_tokens, training);
    step_tokens(model, batch);
    batch_positions positions = {0};
    status = plans_create(model, batch, &positions, error);
    if (status == LOCUS_OK)
        status = execute(model, batch, training, score, error);
    positions_destroy(&positions);
    return status;
}

static bool holds_pairs(const lab_dataset *set) {
    return set->input_offsets != NULL && set->labels == NULL && set->sequences.read == NULL;
}

/* The published sizes of Tables 1 and 2. */
const lab_architecture lab_encoder_decoder = {
    .name = "encoder-decoder",
    .phrase = "an encoder–decoder",
    .reads = "pairs of input and target",
    .sample = "sequence",
    .described =
        "encoder–decoder Transformer, {encoder_layers} + {decoder_layers} layers, dimension {dim}, {heads} "
        "heads, feed-forward {feed_forward}, LayerNorm {norm} each block, dropout {dropout}, attention dropout "
        "{attention_dropout} on the {attention_dropout_on}",
    .defaults = {LAB_ARCHITECTURE_DEFAULTS(lab_encoder_decoder, LAB_NORM_BEFORE), LAB_TOKEN_DEFAULTS, .vocabulary = 22,
                 .feed_forward = 2048, .encoder_layers = 2, .decoder_layers = 2},
    .encoder = true,
    .decoder = true,
    .memory = true,
    .vocabulary = true,
    .trees = true,
    .declare = declare,
    .place = place,
    .run = run,
    .holds = holds_pairs,
};
