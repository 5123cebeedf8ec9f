/* SPDX-License-Identifier: MIT */
/* What image and text classifiers share: a linear layer from one row for each sample to logits, their cross-entropy,
 * and what is made of both. */
#include "io/fail.h"
#include "model/model_parts.h"
#include "nn/loss.h"
#include <math.h>

locus_status lab_labels_check(const lab_model *model, const lab_batch *batch, bool needed, locus_error *error) {
    const char *const sample = model->config.architecture->sample;
    for (size_t i = 0; batch->labels && i < batch->samples; ++i)
        if (batch->labels[i] < 0 || (size_t)batch->labels[i] >= model->config.classes)
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, "labels", "label %ld of %s %zu is not below the %zu classes",
                            (long)batch->labels[i], sample, i, model->config.classes);
    if (batch->labels || !needed)
        return LOCUS_OK;
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, "labels", "the batch has no labels: a loss needs them");
}

void lab_class_begin(lab_model *model, const lab_batch *batch, bool training) {
    model->head.labels = batch->labels;
    lab_loss_begin(model, batch->samples, training);
}

void lab_class_logits(lab_model *model, lab_rows samples, size_t chunk) {
    const lab_class_head *head = &model->head;
    const lab_step_buffers *step = &model->step;
    lab_linear_forward(&head->classifier, samples, lab_floats(head->pooled), lab_floats(step->logits));
    step->losses[chunk] = 0.0;
    if (head->labels == NULL)
        return;
    const lab_loss loss = {.classes = model->config.classes,
                           .targets = head->labels,
                           .scale = model->loss_scale,
                           .smoothing = model->smoothing,
                           .logits = step->logits,
                           .correct = step->correct};
    lab_cross_entropy(&loss, samples, &step->losses[chunk]);
}

void lab_class_weight_gradient(const lab_model *model, size_t samples) {
    const lab_class_head *head = &model->head;
    const lab_product product =
        lab_linear_weight_product(&head->classifier, samples, lab_floats(model->step.logits), lab_floats(head->pooled));
    lab_weight_gradients(&product, 1);
}

void lab_class_score(const lab_model *model, size_t samples, size_t chunks, lab_score *score) {
    const lab_step_buffers *step = &model->step;
    *score = (lab_score){.tokens = samples, .samples = samples, .sample_correct = score->sample_correct};
    score->read_only = model->encoder.tokens - samples;
    for (size_t chunk = 0; chunk < chunks; ++chunk)
        score->loss += step->losses[chunk];
    for (size_t i = 0; i < samples; ++i) {
        score->correct += step->correct[i];
        if (score->sample_correct)
            score->sample_correct[i] = step->correct[i];
    }
    score->exact = score->correct;
}

static void softmax(size_t classes, const float *logits, float *probabilities) {
    const float top = logits[lab_argmax(classes, logits)];
    double total = 0.0;
    for (size_t j = 0; j < classes; ++j)
        total += exp((double)logits[j] - (double)top);
    for (size_t j = 0; j < classes; ++j)
        probabilities[j] = (float)(exp((double)logits[j] - (double)top) / total);
}

void lab_class_probabilities(const lab_model *model, size_t samples, float *probabilities) {
    const size_t classes = model->config.classes;
    for (size_t i = 0; i < samples; ++i)
        softmax(classes, model->step.logits + i * classes, probabilities + i * classes);
}
