/* SPDX-License-Identifier: MIT */
/* What a pass of any architecture begins and ends with: random streams, workspace, the loss. */
#include "io/fail.h"
#include "model/model_parts.h"
#include "nn/gemm.h"
#include <math.h>
#include <string.h>

locus_status lab_products_came(locus_status status, locus_error *error) {
    const bool lost = lab_products_lost();
    if (status == LOCUS_OK && lab_products_without_code()) {
        return lab_fail(
            error, LOCUS_ERROR_MEMORY, "products",
            "matrix products need code that oneDNN generates, and there was no memory for it, or it may not "
            "be executed: without it they have other bits");
    }
    return lost && status == LOCUS_OK ? lab_fail_memory(error, "a matrix product") : status;
}

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

void lab_dropout_arm(lab_model *model, const lab_batch_pass *pass) {
    const double p = pass->training ? model->config.dropout : 0.0;
    const uint32_t purpose = LAB_PURPOSE_DROPOUT + pass->shard * LAB_PURPOSE_SHARD;
    model->summed = pass->summed;
    if (pass->lends && !model->lending.spare)
        lab_model_gradients_release(model);
    lab_lending_begin(&model->lending, pass->lends ? model->elements * sizeof *model->gradients : 0);
    if (model->config.encoder_layers > 0)
        stack_arm(&model->encoder, p, purpose, pass->seed, pass->step);
    if (model->config.decoder_layers > 0)
        stack_arm(&model->decoder, p, purpose + 0x8000u, pass->seed, pass->step);
}

void lab_loss_begin(lab_model *model, size_t predicted, bool training) {
    model->loss_scale = !training ? 0.0f : model->summed ? 1.0f : 1.0f / (float)predicted;
    model->smoothing = training ? (float)model->config.label_smoothing : 0.0f;
}

locus_status lab_loss_check(const lab_score *score, locus_error *error) {
    if (isfinite(score->loss))
        return LOCUS_OK;
    return lab_fail(error, LOCUS_ERROR_NUMERIC, "loss",
                    "the loss is not finite: a smaller learning rate or clipping may help");
}

lab_stack_run lab_run_make(lab_model *model, lab_stack *stack, const lab_stack_position *places, bool training) {
    return (lab_stack_run){.stack = stack,
                           .places = places,
                           .training = training,
                           .attention_dropout = training ? model->config.attention_dropout : 0.0,
                           .attention_dropout_on = model->config.attention_dropout_on,
                           .watch = model->watch,
                           .lending = model->lending.left > 0 ? &model->lending : NULL,
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
