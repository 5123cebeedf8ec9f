/* SPDX-License-Identifier: MIT */
/* The decoder alone, a language model: every token but a sequence's last is read, every token but its first predicted,
 *
 *   input     | a0 a1 a2 a3 | b0 b1 b2 |
 *   read      | a0 a1 a2    | b0 b1    |       at 0, 1, 2, … in each sequence; no token sees what follows it
 *   predicted |    a1 a2 a3 |    b1 b2 |
 *
 * and the gradients of the mean cross-entropy over what is predicted. */
#include "io/fail.h"
#include "model/token_positions.h"
#include "train/feed/feed.h"

static void declare(lab_declaration *d, lab_model *model) {
    lab_linear *output = &model->output;
    *output = lab_declare_embedding(d);
    lab_declare_stack(d, "decoder", &model->decoder);
    if (model->config.output == LAB_OUTPUT_OWN) {
        const lab_slot own = lab_declare(d, "output.weight", output->outputs, output->inputs, 0.0);
        output->weight = own.value, output->weight_gradient = own.gradient;
    }
}

static void place(lab_arena *arena, lab_model *model, const lab_batch_size *size) {
    lab_place_predictions(arena, model, size);
    lab_place_stack(arena, &model->decoder, size->backward);
    if (size->backward)
        lab_place_gradients(arena, &model->decoder, &model->decoder);
}

static locus_status lengths_check(const lab_batch *batch, locus_error *error) {
    for (size_t s = 0; s < batch->samples; ++s) {
        const size_t count = batch->input_offsets[s + 1] - batch->input_offsets[s];
        if (count < 2)
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, "input",
                            "sequence %zu has %zu token%s: a decoder needs two or more, one to read and one to predict",
                            s, count, count == 1 ? "" : "s");
    }
    return LOCUS_OK;
}

static void step_tokens(lab_model *model, const lab_batch *batch) {
    lab_step_buffers *step = &model->step;
    size_t at = 0;
    for (size_t s = 0; s < batch->samples; ++s) {
        step->target_offsets[s] = at;
        for (size_t t = batch->input_offsets[s]; t + 1 < batch->input_offsets[s + 1]; ++t, ++at) {
            step->input[at] = batch->input[t];
            step->target[at] = batch->input[t + 1];
        }
    }
    step->target_offsets[batch->samples] = at;
}

static locus_status plans_create(lab_model *model, const lab_batch *batch, locus_positions **positions,
                                 locus_error *error) {
    const locus_status status = lab_positions_of(model, positions, batch, model->step.target_offsets, error);
    const lab_stack_tokens tokens = {.queries = *positions};
    return status == LOCUS_OK ? lab_places_fit(model, &model->decoder, model->decoder_places, &tokens, error) : status;
}

static locus_status backward(lab_model *model, const lab_stack_run *run, locus_error *error) {
    lab_position_gradients_clear(model);
    const locus_status status = lab_stack_backward(run, error);
    return status == LOCUS_OK
               ? lab_tokens_embed_backward(model, run->stack, model->step.input, lab_run_token_plan(run), error)
               : status;
}

static locus_status execute(lab_model *model, size_t samples, bool training, lab_score *score, locus_error *error) {
    lab_stack_run run = lab_run_make(model, &model->decoder, model->decoder_places, training);
    locus_status status = lab_runs_prepare(model, &(lab_stack_run *){&run}, 1, training, error);
    if (status == LOCUS_OK)
        status = lab_tokens_embed(model, run.stack, model->step.input, lab_run_token_plan(&run), error);
    if (status == LOCUS_OK)
        status = lab_stack_forward(&run, error);
    if (status != LOCUS_OK)
        return status;
    lab_predictions_score(model, samples, score);
    status = lab_loss_check(score, error);
    return status == LOCUS_OK && training ? backward(model, &run, error) : status;
}

static locus_status run(lab_model *model, const lab_batch *batch, const lab_batch_pass *pass, lab_score *score,
                        locus_error *error) {
    locus_status status = lab_batch_check(model, batch, false, error);
    if (status == LOCUS_OK)
        status = lengths_check(batch, error);
    if (status != LOCUS_OK)
        return status;
    const size_t read = batch->input_offsets[batch->samples] - batch->samples;
    const lab_batch_size size = {
        .samples = batch->samples, .decoder_tokens = read, .predicted = read, .backward = pass->training};
    status = lab_activations_fit(model, &size, error);
    if (status != LOCUS_OK)
        return status;
    lab_loss_begin(model, read, pass->training);
    step_tokens(model, batch);
    locus_positions *positions = NULL;
    status = plans_create(model, batch, &positions, error);
    if (status == LOCUS_OK)
        status = execute(model, batch->samples, pass->training, score, error);
    locus_positions_destroy(&positions);
    return status;
}

static bool holds_sequences(const lab_dataset *set) {
    return set->sequences.read != NULL;
}

static locus_status feed_sequences(lab_feed *feed, const lab_feed_request *request, locus_error *error) {
    return lab_sequence_feed_create(&feed->sequences, request->set, request->most, request->seed, error);
}

/* RoPER's large decoder. */
const lab_architecture lab_decoder = {
    .name = "decoder",
    .phrase = "a decoder",
    .reads = "sequences",
    .sample = "sequence",
    .described = "decoder-only Transformer, {decoder_layers} layers, dimension {dim}, {heads} heads, feed-forward "
                 "{feed_forward}, LayerNorm {norm} each block, output weights {output|tied}, dropout {dropout}, "
                 "attention dropout {attention_dropout} on the {attention_dropout_on}",
    .defaults = {LAB_ARCHITECTURE_DEFAULTS(lab_decoder, LAB_NORM_AFTER), LAB_TOKEN_DEFAULTS, .vocabulary = 256,
                 .feed_forward = 2048, .decoder_layers = 6, .output = LAB_OUTPUT_OWN},
    .decoder = true,
    .vocabulary = true,
    .declare = declare,
    .place = place,
    .run = run,
    .holds = holds_sequences,
    .feed = feed_sequences,
};
