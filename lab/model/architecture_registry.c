/* SPDX-License-Identifier: MIT */
/* See architecture.h. */
#include "model/architecture.h"

#include "nn/convolution.h"

/* What is read beside the predicted tokens: a decoder predicts as many as it reads, a classifier one for each
 * sample. */
static size_t inputs(const lab_model_config *config, const lab_batch *batch) {
    (void)config;
    return batch->input_offsets[batch->samples];
}

static size_t nothing(const lab_model_config *config, const lab_batch *batch) {
    (void)config, (void)batch;
    return 0;
}

static size_t all_but_one(const lab_model_config *config, const lab_batch *batch) {
    (void)config;
    return batch->input_offsets[batch->samples] - batch->samples;
}

static size_t places_but_one(const lab_model_config *config, const lab_batch *batch) {
    const size_t grid = lab_convolution_grid(config->image_side);
    return batch->samples * (grid * grid - 1);
}

static const lab_architecture_class classes[] = {
    [LAB_ENCODER_DECODER] =
        {.phrase = "an encoder–decoder",
         .reads = "pairs of input and target",
         .sample = "sequence",
         .described =
             "encoder–decoder Transformer, {encoder_layers} + {decoder_layers} layers, dimension {dim}, {heads} "
             "heads, feed-forward {feed_forward}, LayerNorm {norm} each block, dropout {dropout}, attention dropout "
             "{attention_dropout} on the {attention_dropout_on}",
         .encoder = true,
         .decoder = true,
         .vocabulary = true,
         .trees = true,
         .memory = true,
         .read_only = inputs},
    [LAB_IMAGE_CLASSIFIER] =
        {.phrase = "an image classifier",
         .reads = "images",
         .sample = "image",
         .described =
             "compact convolutional Transformer: a convolution, {encoder_layers} layers, dimension {dim}, {heads} "
             "heads, feed-forward {feed_forward}, {activation|relu}, LayerNorm {norm} each block, sequence pooling; "
             "dropout {dropout}, attention dropout {attention_dropout} on the {attention_dropout_on}",
         .encoder = true,
         .classes = true,
         .stochastic_depth = true,
         .read_only = places_but_one},
    [LAB_DECODER] =
        {.phrase = "a decoder",
         .reads = "sequences",
         .sample = "sequence",
         .described = "decoder-only Transformer, {decoder_layers} layers, dimension {dim}, {heads} heads, feed-forward "
                      "{feed_forward}, LayerNorm {norm} each block, output weights {output|tied}, dropout {dropout}, "
                      "attention dropout {attention_dropout} on the {attention_dropout_on}",
         .decoder = true,
         .vocabulary = true,
         .read_only = nothing},
    [LAB_TEXT_CLASSIFIER] =
        {.phrase = "a text classifier",
         .reads = "labelled tokens",
         .sample = "sequence",
         .described =
             "encoder, {encoder_layers} layers, dimension {dim}, {heads} heads, feed-forward {feed_forward}, LayerNorm "
             "{norm} each block, a linear classifier on the {pool|first} token, dropout {dropout}, attention dropout "
             "{attention_dropout} on the {attention_dropout_on}",
         .encoder = true,
         .vocabulary = true,
         .trees = true,
         .classes = true,
         .token_types = true,
         .read_only = all_but_one},
};

const lab_architecture_class *lab_architecture_at(lab_architecture architecture) {
    return &classes[architecture];
}
