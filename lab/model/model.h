/* SPDX-License-Identifier: MIT */
/* The models, packed, with explicit forward and backward, each of an architecture (architecture.h). They never know
 * which encodings they have: they ask the plans of their attentions (encoder, decoder, cross), layer by layer. All
 * sizes come from the configuration. */
#ifndef LAB_MODEL_H
#define LAB_MODEL_H

#include <locus/locus.h>
#include <stdbool.h>

typedef enum lab_setup { LAB_SETUP_PAPER = 0, LAB_SETUP_CODE = 1 } lab_setup; /* tasks.md: norm, dropout site, … */
typedef enum lab_norm_place { LAB_NORM_BEFORE = 0, LAB_NORM_AFTER = 1 } lab_norm_place;
typedef enum lab_embedding_init {
    LAB_EMBEDDING_SCALED = 0,
    LAB_EMBEDDING_UNIT = 1,
    LAB_EMBEDDING_PLAIN = 2
} lab_embedding_init;
/* What encodings add to tokens, beside embeddings that are multiplied by sqrt(D): as it is, or multiplied likewise. */
typedef enum lab_position_scale { LAB_POSITIONS_AS_THEY_ARE = 0, LAB_POSITIONS_SQRT_DIM = 1 } lab_position_scale;
/* The logits y Eᵀ of an output that is the embedding: as they are, or divided by sqrt(D). */
typedef enum lab_logit_scale { LAB_LOGITS_AS_THEY_ARE = 0, LAB_LOGITS_INVERSE_SQRT_DIM = 1 } lab_logit_scale;

/* Operands of the products of linear layers, of the output and of the convolution: as they are, or rounded to
 * bfloat16. Sums, results, and all that is no product are float32 in both. */
typedef enum lab_precision { LAB_FLOAT32 = 0, LAB_BF16 = 1 } lab_precision;

/* What turns a decoder's rows into logits: the embedding, or output.weight. */
typedef enum lab_output_weight { LAB_OUTPUT_TIED = 0, LAB_OUTPUT_OWN = 1 } lab_output_weight;
/* What of its encoder's rows a text classifier looks at. */
typedef enum lab_pool { LAB_POOL_FIRST = 0, LAB_POOL_MEAN = 1 } lab_pool;
/* And how: a linear layer; or BERT's pooler before it, tanh(W x + b). */
typedef enum lab_head { LAB_HEAD_LINEAR = 0, LAB_HEAD_POOLER = 1 } lab_head;
typedef enum lab_activation { LAB_RELU = 0, LAB_GELU = 1 } lab_activation; /* GELU: with the error function */
/* What becomes of a branch that stochastic depth leaves in: divided by its probability to stay, or as it is. */
typedef enum lab_survivors { LAB_SURVIVORS_RESCALED = 0, LAB_SURVIVORS_AS_THEY_ARE = 1 } lab_survivors;

/* At which path of a tree the token of a node stands. own: its node's. next: the path of the node that follows in the
 * complete tree, level by level (number k + 1 in a heap whose root is 1). code: next if an encoding acts on queries,
 * keys or scores, own if all of them only add vectors (the published code). token_positions.h says more. */
typedef enum lab_tree_paths { LAB_PATHS_OWN = 0, LAB_PATHS_NEXT = 1, LAB_PATHS_CODE = 2 } lab_tree_paths;

enum { LAB_ATTENTION_SIZE = 96 }; /* bytes of a kind's canonical text, at most */

/* scaled: embeddings N(0, 1/D), times sqrt(D) at the input, unscaled as output projection.
 * unit: embeddings N(0, 1), times sqrt(D) at the input, unscaled as output projection (the published code).
 * plain: embeddings N(0, 0.02²), unscaled everywhere (BERT, GPT-2). */
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
     * which is causal); the rest are softmax. A canonical text (locus/attention_kind.h); "": softmax. */
    char attention[LAB_ATTENTION_SIZE];

    const struct lab_architecture *architecture; /* architecture.h */

    /* What follows is 0 for the encoder–decoder on words. */
    lab_activation activation;
    size_t tree_arity; /* encoder–decoder: tokens are nodes of trees whose nodes have at most so many children */
    lab_tree_paths tree_paths; /* of these */
    /* Layer l (from 0) of the encoder leaves out each of its branches, for each sample by itself, with probability
     * min(stochastic_depth · l, 1): Huang et al. 2016. What is left out is not computed. */
    double stochastic_depth;
    lab_survivors survivors;
    double label_smoothing; /* ε: the target is (1 − ε) onehot + ε / classes, in training */
    /* image classifier: vocabulary and decoder_layers are 0 */
    size_t classes, image_side, image_channels; /* 10, 32, 3; classes: of the text classifier as well */
    /* decoder: encoder_layers is 0. text classifier: decoder_layers is 0, tree_arity says whether tokens are nodes */
    lab_output_weight output; /* decoder */
    lab_pool pool;            /* text classifier */
    lab_head head;            /* text classifier */
    size_t token_types;       /* text classifier: rows of the table of token types, BERT has 2; 0: there is none */
    size_t embedding_norm;    /* text classifier: 1: a LayerNorm behind the embeddings, as in BERT */
    double norm_epsilon;      /* of every LayerNorm; 0: 1e-5 */
    lab_position_scale position_scale; /* all but images; without effect if the encoding adds nothing to tokens */
    lab_logit_scale logit_scale;       /* encoder–decoder, and a decoder whose output is tied */
    lab_precision precision;
} lab_model_config;
/* Gives the model the kind of attention that `text` says; where it says none, `error` does and points into it. */
LOCUS_MUST_USE locus_status lab_model_attention(lab_model_config *config, const char *text, locus_error *error);

/* A learned tensor of the model; names are fixed, they are the checkpoint's. [out, in] for weights.
 *   embedding.weight [V, D]
 *   encoder.0.norm1.weight|bias [D]
 *   encoder.0.self_attention.query|key|value|output.weight [D, D], .bias [D]; key, value: [K, D], [K], K numbers of
 *     the key-value heads
 *   encoder.0.norm2.weight|bias [D]
 *   encoder.0.feed_forward.up.weight [F, D], .bias [F], down.weight [D, F], .bias [D]
 *   encoder.norm.weight|bias  (norm before only)
 *   decoder.0.norm1 self_attention norm2 cross_attention norm3 feed_forward, decoder.norm: likewise
 * image classifier: convolution.weight [D, channels · 9] (no bias), encoder.… as above, pooling.weight [1, D], .bias
 *   [1], classifier.weight [classes, D], .bias [classes] instead of embedding and decoder
 * decoder: embedding, decoder.… without cross-attention (norm1, self_attention, norm2, feed_forward, decoder.norm), and
 *   output.weight [V, D] unless the output is tied
 * text classifier: embedding, types.weight [types, D], embedding_norm.weight|bias [D] where they are, encoder.…,
 *   pooler.weight [D, D], .bias [D] with that head, classifier.weight [classes, D], .bias [classes]
 *   position.<name> : the encoding's parameters, shared by all layers and attentions; of a pattern with several
 *     encodings position.<i>.<name>, i in the order in which they appear
 * Query, key and value projections of a self-attention are stored as one block but appear as three tensors. */
typedef struct lab_parameter {
    char name[96];
    size_t rank;
    int64_t shape[LOCUS_MAX_RANK];
    size_t count;            /* elements */
    double deviation;        /* it begins as N(0, deviation²); 0: as parameters.c says of its rank */
    float *value, *gradient; /* in the model's contiguous parameter and gradient blocks */
} lab_parameter;

typedef struct lab_model lab_model;
locus_status lab_model_create(lab_model **model, const lab_model_config *config, uint64_t seed, locus_error *error);
void lab_model_destroy(lab_model **model);
const lab_model_config *lab_model_get_config(const lab_model *model);
size_t lab_model_parameter_count(const lab_model *model); /* tensors */
const lab_parameter *lab_model_parameter(const lab_model *model, size_t index);
size_t lab_model_elements(const lab_model *model); /* numbers, all tensors: contiguous value and gradient blocks */
float *lab_model_values(lab_model *model);
float *lab_model_gradients(lab_model *model); /* 0 before the first step */
/* Ends a pass that lends (lab_shard_key): gradients, which are undefined then, give back what they have of activations'
 * memory. MEMORY: the system took some and gave none for it, and there can be no further pass. */
locus_status lab_model_gradients_return(lab_model *model, locus_error *error);
/* Give memory back to the system until the next pass; what stood there is lost. */
void lab_model_gradients_release(lab_model *model);
void lab_model_activations_release(lab_model *model);

/* Parameter values changed (optimiser step, checkpoint): the encodings' bindings are updated, and what products in
 * bfloat16 read of weights. */
locus_status lab_model_update(lab_model *model, locus_error *error);

/* Trees that tokens are nodes of: each token's parent among the tokens of its sample (−1: the root; it stands before
 * its children), and which child of it the token is, from 1 (0 for the root). */
typedef struct lab_batch_tree {
    const int32_t *parents, *branches;
} lab_batch_tree;

/* A packed batch. The encoder reads `input`; the decoder reads start + target and predicts target + end. Of trees there
 * is no end token: the decoder reads start and all but the last target, at the positions of the tokens it reads, the
 * start token at the root's.
 * decoder: `input` are whole sequences of two tokens or more: all but the last are read, all but the first predicted.
 * text classifier: reads `input` as it is, a start token with it, and predicts `labels`. */
typedef struct lab_batch {
    size_t samples;
    const size_t *input_offsets, *target_offsets; /* [samples + 1], target without start and end */
    const int32_t *input, *target;
    lab_batch_tree input_tree, target_tree; /* NULLs: words */
    const float *images;                    /* image classifier: [samples, channels, side, side], normalised */
    const int32_t *labels;                  /* [samples], of classifiers */
    const int32_t *types;                   /* text classifier: of each token, below token_types; NULL: all 0 */
} lab_batch;

typedef struct lab_score {
    double loss;      /* summed cross-entropy, nats (without label smoothing where nothing is trained) */
    size_t tokens;    /* predicted tokens (target + end), images, or classes */
    size_t read_only; /* tokens that are read beside these: all of an encoder, but one for each class */
    size_t correct;   /* argmax right */
    size_t exact;     /* samples whose every token is right */
    size_t samples;
    uint32_t *sample_correct; /* in: NULL, or [samples] to be filled with the right tokens of each */
} lab_score;

/* Forward and backward; gradients of the mean cross-entropy per token replace the gradient block. Dropout is drawn from
 * (seed, step). */
locus_status lab_model_train(lab_model *model, const lab_batch *batch, uint64_t seed, uint32_t step, lab_score *score,
                             locus_error *error);

/* One of the shards that a step's batch is dealt to: the same, but gradients are of the summed cross-entropy, since a
 * mean over the batch is not known before all shards are; and dropout is drawn from (seed, step, shard). Shard 0 draws
 * as lab_model_train does. With `lends` the backward gives away, as it is done with them, the memory of as many bytes
 * of activations as gradients take, to gradients where it can, so that both never stand there in full;
 * lab_model_gradients_return ends that. */
enum { LAB_MOST_SHARDS = 1024 };
typedef struct lab_shard_key {
    uint64_t seed;
    uint32_t step, shard;
    bool lends;
} lab_shard_key;
locus_status lab_model_train_shard(lab_model *model, const lab_batch *batch, const lab_shard_key *key, lab_score *score,
                                   locus_error *error);

/* Teacher-forced scores, no dropout. */
locus_status lab_model_evaluate(lab_model *model, const lab_batch *batch, lab_score *score, locus_error *error);

/* How outputs grow. Called with each token that a sample gets; false: the sample's output is complete. For trees it
 * also says where the token stands: its parent among the sample's output tokens (−1: it is the root) and which child of
 * it it is. */
typedef struct lab_growth {
    bool (*grow)(void *context, size_t sample, int32_t token, int32_t *parent, int32_t *branch);
    void *context;
} lab_growth;

/* How the next token is chosen from its distribution (Fan et al. 2018, Holtzman et al. 2019): the logits are divided by
 * the temperature, the top_k most probable tokens are kept, of these the fewest whose probabilities sum to top_p. Token
 * t of sample s is drawn from (seed, s, t) alone. */
typedef struct lab_sampling {
    double temperature; /* 0: the most probable token */
    size_t top_k;       /* 0: all */
    double top_p;       /* 1: all */
    uint64_t seed;
} lab_sampling;

/* Decoding with a key–value cache. `limits[s]` is the most tokens (end included) that sample s may get; `output` has
 * room for Σ limits, sample s at output_offsets[s] (filled: [samples + 1], cumulative limits), lengths[s] tokens
 * without the end token. Uses batch->input only: what an encoder reads, or the prompts that a decoder goes on with,
 * of one token or more; they are read at once. */
typedef struct lab_generation {
    const size_t *limits;
    int32_t *output;
    size_t *output_offsets, *lengths;
    /* Trees: needed. Words: NULL, they end with the end token. Decoders: NULL, they go on to their limit; else told of
     * each token as it comes, as streaming needs it, and asked whether to go on. */
    const lab_growth *growth;
    const lab_sampling *sampling; /* decoders; NULL: greedy */
} lab_generation;
locus_status lab_model_generate(lab_model *model, const lab_batch *batch, const lab_generation *generation,
                                locus_error *error);

/* Classifiers: class probabilities [samples, classes]; the batch needs no labels. */
locus_status lab_model_classify(lab_model *model, const lab_batch *batch, float *probabilities, locus_error *error);
/* What a classifier's encoder gives, with what encodings add to it: [tokens it reads, dim]; and what the head's linear
 * layer reads, [samples, dim]. Either may be NULL. */
locus_status lab_model_encode(lab_model *model, const lab_batch *batch, float *encoded, float *pooled,
                              locus_error *error);

/* Whether each encoding has positions for a sequence of so many tokens: POSITION from one whose table ends before. */
locus_status lab_model_reaches(const lab_model *model, size_t tokens, locus_error *error);

/* Bytes of the activation arena now, and of parameters, gradients together. */
size_t lab_model_arena_bytes(const lab_model *model);

/* The model's bindings of its encodings: for reports (score kernels) and decoding elsewhere; borrowed, until
 * lab_model_update or the model's end. Encoding 0 is that of the first layer, lab_model_binding its binding. */
const locus_binding *lab_model_binding(const lab_model *model);
size_t lab_model_encoding_count(const lab_model *model);
const locus_encoding *lab_model_encoding(const lab_model *model, size_t index);
const locus_binding *lab_model_binding_of(const lab_model *model, size_t index);

#endif
