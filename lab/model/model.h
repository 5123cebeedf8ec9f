/* SPDX-License-Identifier: MIT */
/* The encoder–decoder Transformer, packed, with explicit forward and backward. It never knows which encodings it has:
 * it asks the plans of its three attentions (encoder, decoder, cross), layer by layer. All sizes come from the
 * configuration. */
#ifndef LAB_MODEL_H
#define LAB_MODEL_H

#include <locus/locus.h>
#include <stdbool.h>

typedef enum lab_setup { LAB_SETUP_PAPER = 0, LAB_SETUP_CODE = 1 } lab_setup; /* tasks.md: norm, dropout site, … */
typedef enum lab_norm_place { LAB_NORM_BEFORE = 0, LAB_NORM_AFTER = 1 } lab_norm_place;
typedef enum lab_embedding_init { LAB_EMBEDDING_SCALED = 0, LAB_EMBEDDING_UNIT = 1 } lab_embedding_init;

/* scaled: embeddings N(0, 1/D), times sqrt(D) at the input, unscaled as output projection.
 * unit: embeddings N(0, 1), times sqrt(D) at the input, unscaled as output projection (the published code). */
typedef struct lab_model_config {
    size_t vocabulary, dim, heads, feed_forward, encoder_layers, decoder_layers;
    lab_norm_place norm; /* before: and one LayerNorm after each stack */
    double dropout;      /* on activations (embedding, sublayer outputs, feed-forward hidden) */
    double attention_dropout;
    locus_dropout attention_dropout_on;
    lab_embedding_init embedding_init;
    const char *encoding; /* a spec, or a pattern over layers (locus/pattern.h); kept as a copy. Layer i of the encoder
                             and of the decoder (self and cross) have the same */
    size_t kv_heads;      /* heads of keys and values, which divide `heads`; 0: as many */
    /* Of the encoder, and of every other attention that the kind can serve (soft and clustered: not the decoder's own,
     * which is causal); the rest are softmax. */
    locus_attention_kind attention;
} lab_model_config;
lab_model_config lab_model_default(void); /* the published sizes, set-up paper, encoding "none" */

/* A learned tensor of the model; names are fixed, they are the checkpoint's. [out, in] for weights.
 *   embedding.weight [V, D]
 *   encoder.0.norm1.weight|bias [D]
 *   encoder.0.self_attention.query|key|value|output.weight [D, D], .bias [D]; key, value: [K, D], [K], K numbers of
 *     the key-value heads
 *   encoder.0.norm2.weight|bias [D]
 *   encoder.0.feed_forward.up.weight [F, D], .bias [F], down.weight [D, F], .bias [D]
 *   encoder.norm.weight|bias  (norm before only)
 *   decoder.0.norm1 self_attention norm2 cross_attention norm3 feed_forward, decoder.norm: likewise
 *   position.<name> : the encoding's parameters, shared by all layers and attentions; of a pattern with several
 *     encodings position.<i>.<name>, i in the order in which they appear
 * Query, key and value projections of a self-attention are stored as one block but appear as three tensors. */
typedef struct lab_parameter {
    char name[96];
    size_t rank;
    int64_t shape[LOCUS_MAX_RANK];
    size_t count;            /* elements */
    float *value, *gradient; /* in the model's contiguous parameter and gradient blocks */
    bool decay;              /* takes part in weight decay: all do, as with AdamW in the published code */
} lab_parameter;

typedef struct lab_model lab_model;
locus_status lab_model_create(lab_model **model, const lab_model_config *config, uint64_t seed, locus_error *error);
void lab_model_destroy(lab_model **model);
const lab_model_config *lab_model_get_config(const lab_model *model);
size_t lab_model_parameter_count(const lab_model *model); /* tensors */
const lab_parameter *lab_model_parameter(const lab_model *model, size_t index);
size_t lab_model_elements(const lab_model *model); /* numbers, all tensors: contiguous value and gradient blocks */
float *lab_model_values(lab_model *model);
float *lab_model_gradients(lab_model *model);

/* Parameter values changed (optimiser step, checkpoint): the encodings' bindings are updated. */
locus_status lab_model_update(lab_model *model, locus_error *error);

/* A packed batch. The encoder reads `input`; the decoder reads start + target and predicts target + end. */
typedef struct lab_batch {
    size_t samples;
    const size_t *input_offsets, *target_offsets; /* [samples + 1], target without start and end */
    const int32_t *input, *target;
} lab_batch;

typedef struct lab_score {
    double loss;    /* summed cross-entropy, nats */
    size_t tokens;  /* predicted tokens (target + end) */
    size_t correct; /* argmax right */
    size_t exact;   /* samples whose every token is right */
    size_t samples;
} lab_score;

/* Forward and backward; gradients of the mean cross-entropy per token replace the gradient block. Dropout is drawn from
 * (seed, step). */
locus_status lab_model_train(lab_model *model, const lab_batch *batch, uint64_t seed, uint32_t step, lab_score *score,
                             locus_error *error);

/* Teacher-forced scores, no dropout. */
locus_status lab_model_evaluate(lab_model *model, const lab_batch *batch, lab_score *score, locus_error *error);

/* Greedy decoding with a key–value cache. `limits[s]` is the most tokens (end included) that sample s may get;
 * `output` has room for Σ limits, sample s at output_offsets[s] (filled: [samples + 1], cumulative limits), lengths[s]
 * tokens without the end token. Uses batch->input only. */
typedef struct lab_generation {
    const size_t *limits;
    int32_t *output;
    size_t *output_offsets, *lengths;
} lab_generation;
locus_status lab_model_generate(lab_model *model, const lab_batch *batch, const lab_generation *generation,
                                locus_error *error);

/* Bytes of the activation arena now, and of parameters, gradients together. */
size_t lab_model_arena_bytes(const lab_model *model);

/* The model's bindings of its encodings: for reports (score kernels) and decoding elsewhere. Encoding 0 is that of the
 * first layer, lab_model_binding its binding. */
const locus_binding *lab_model_binding(const lab_model *model);
size_t lab_model_encoding_count(const lab_model *model);
const locus_encoding *lab_model_encoding(const lab_model *model, size_t index);
const locus_binding *lab_model_binding_of(const lab_model *model, size_t index);

#endif
