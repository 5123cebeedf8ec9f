/* SPDX-License-Identifier: MIT */
/* What a decoder predicts, and how well:
 *
 *   logits = s y Wᵀ,  loss = Σ cross-entropy(logits, target)
 *   gy = s dL/dlogits W,  dW = s dL/dlogitsᵀ y
 *
 * W is the embedding, or the output's own; s is 1, or 1/sqrt(D). Rows of all sequences times a vocabulary of tens of
 * thousands would be larger than all that the layers keep, so rows are cut into slabs: a slab's logits stand in one
 * buffer, chunk after chunk makes its loss and gy of them while they are in the cache, and dW takes the whole slab
 * before the next overwrites it. Slabs, chunks and tiles follow from shapes, and dW adds slabs in order: no bit depends
 * on the number of threads. */
#include "model/model_parts.h"
#include "nn/loss.h"
#include <math.h>
#include <string.h>

enum { SLAB_NUMBERS = 1 << 25, SLAB_ROUND = 8 }; /* 128 MiB of logits; matrix kernels like multiples of 8 */

size_t lab_slab_rows(const lab_model *model, size_t rows) {
    const size_t most = SLAB_NUMBERS / model->config.vocabulary + 1, slabs = (rows + most - 1) / most;
    if (slabs <= 1)
        return rows;
    return ((rows + slabs - 1) / slabs + SLAB_ROUND - 1) / SLAB_ROUND * SLAB_ROUND;
}

float lab_logit_scale_of(const lab_model *model) {
    const bool scaled = model->config.logit_scale == LAB_LOGITS_INVERSE_SQRT_DIM;
    return scaled ? (float)(1.0 / sqrt((double)model->config.dim)) : 1.0f;
}

static void logits_scale(const lab_model *model, lab_rows rows) {
    const size_t V = model->config.vocabulary;
    const float scale = lab_logit_scale_of(model);
    for (size_t i = rows.first * V; scale != 1.0f && i < (rows.first + rows.count) * V; ++i)
        model->step.logits[i] *= scale;
}

/* Rows of the decoder whose logits stand in the buffer. */
typedef struct slab {
    lab_model *model;
    lab_rows rows;
} slab;

static lab_numbers slab_input(const slab *own) {
    const lab_stack *decoder = &own->model->decoder;
    return lab_floats(decoder->joins[decoder->sublayer_count].y + own->rows.first * decoder->dim);
}

static void slab_task(void *context, size_t chunk, size_t worker) {
    (void)worker;
    const slab *own = context;
    const lab_model *model = own->model;
    const lab_step_buffers *step = &model->step;
    const lab_rows rows = lab_chunk_at(own->rows.count, chunk);
    lab_linear_multiply(&model->output, rows, slab_input(own), lab_floats(step->logits));
    logits_scale(model, rows);
    step->losses[chunk] = 0.0;
    const lab_loss loss = {.classes = model->config.vocabulary,
                           .targets = step->target + own->rows.first,
                           .scale = model->loss_scale * lab_logit_scale_of(model),
                           .smoothing = model->smoothing,
                           .logits = step->logits,
                           .correct = step->correct + own->rows.first};
    lab_cross_entropy(&loss, rows, &step->losses[chunk]);
    if (model->loss_scale != 0.0f)
        lab_linear_backward(&model->output, rows, lab_floats(step->logits),
                            lab_floats(model->decoder.gy + own->rows.first * model->decoder.dim), false);
}

static double slab_run(slab *own) {
    lab_model *model = own->model;
    const size_t chunks = lab_chunk_count(own->rows.count);
    double loss = 0.0;
    locus_parallel_for(chunks, slab_task, own);
    for (size_t chunk = 0; chunk < chunks; ++chunk)
        loss += model->step.losses[chunk];
    if (model->loss_scale != 0.0f) {
        lab_product product =
            lab_linear_weight_product(&model->output, own->rows.count, lab_floats(model->step.logits), slab_input(own));
        product.keep = own->rows.first > 0;
        lab_weight_gradients(&product, 1);
    }
    return loss;
}

static void samples_count(const lab_step_buffers *step, lab_score *score) {
    for (size_t s = 0; s < score->samples; ++s) {
        size_t right = 0, from = step->target_offsets[s], to = step->target_offsets[s + 1];
        for (size_t t = from; t < to; ++t)
            right += step->correct[t];
        score->correct += right;
        score->exact += right == to - from;
        if (score->sample_correct)
            score->sample_correct[s] = (uint32_t)right;
    }
}

void lab_predictions_score(lab_model *model, size_t samples, lab_score *score) {
    const size_t rows = model->decoder.tokens, most = lab_slab_rows(model, rows);
    *score = (lab_score){.tokens = rows, .samples = samples, .sample_correct = score->sample_correct};
    score->read_only = model->encoder.tokens;
    for (size_t first = 0; first < rows; first += most)
        score->loss += slab_run(&(slab){model, {first, rows - first < most ? rows - first : most}});
    samples_count(&model->step, score);
    if (model->loss_scale != 0.0f && model->output.weight != model->embedding)
        memset(model->embedding_gradient, 0, model->output.outputs * model->output.inputs * sizeof(float));
}
