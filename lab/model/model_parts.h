/* SPDX-License-Identifier: MIT */
/* The model's inside, shared by the files of lab/model. */
#ifndef LAB_MODEL_PARTS_H
#define LAB_MODEL_PARTS_H

#include "model/architecture.h"
#include "model/arena.h"
#include "model/stack.h"
#include "nn/convolution.h"

enum { LAB_TOKEN_START = 0 }; /* the end token is vocabulary − 1 */

/* Random streams (purpose) of the model: tensor i of the initialisation has step i; dropout has one purpose for each
 * place. */
#define LAB_PURPOSE_INITIALISE (LOCUS_RANDOM_USER + 0x10000u)
#define LAB_PURPOSE_DROPOUT (LOCUS_RANDOM_USER + 0x20000u)
#define LAB_PURPOSE_DEPTH (LAB_PURPOSE_DROPOUT + 3u) /* stochastic depth: beside a sublayer's dropout */
#define LAB_PURPOSE_SHARD 0x100000u                  /* from a shard's dropout and depth to those of the next */

/* `status`, or MEMORY if a product of the pass that it ends found none. */
locus_status lab_products_came(locus_status status, locus_error *error);

/* What one batch needs beside the stacks. M tokens of the decoder, V vocabulary. */
typedef struct lab_step_buffers {
    int32_t *input, *target; /* [M]: what the decoder reads and predicts */
    float *logits;           /* [slab rows, V], then dL/dlogits */
    double *losses;          /* [chunks of a slab] */
    uint8_t *correct;        /* [M] */
    size_t *target_offsets;  /* [samples + 1], with start or end counted */
} lab_step_buffers;

/* Where the tokens of a stack's attentions stand. */
typedef struct lab_stack_tokens {
    const locus_positions *queries, *keys; /* keys NULL: where queries do */
    const locus_positions *memory;         /* of the cross-attention; NULL: there is none */
} lab_stack_tokens;

/* One of the encodings that layers have. */
typedef struct lab_encoding {
    const locus_encoding *encoding; /* the pattern's */
    locus_binding *binding;
    size_t first, count; /* its tensors among the model's position_values */
} lab_encoding;

/* What classifiers end with: logits = pooled Wᵀ + b, n samples. */
typedef struct lab_class_head {
    lab_linear pooler; /* before it, tanh(V x + c); weight NULL: there is none */
    lab_linear classifier;
    const int32_t *labels;           /* the batch's, or NULL: logits are all that is wanted */
    float *pooled, *pooled_gradient; /* [n, D] */
} lab_class_head;

struct lab_model {
    lab_model_config config;
    char *encoding_text;
    locus_pattern *pattern;
    locus_attention_kind *attention; /* that the configuration asks for; NULL: softmax */
    lab_encoding *encodings; /* [encoding_count]; 0 is that of the first layer, the only one that may add vectors */
    size_t encoding_count;
    const locus_group *group; /* of all encodings; NULL: any will do */
    size_t next_paths;        /* tree_arity where tokens stand at the next node's path; else 0 */
    /* [encoding_count] each: plans while a batch runs, else NULLs */
    lab_stack_position *encoder_places, *decoder_places;
    locus_shape shape;
    bool embedding_site; /* vectors are added to tokens */
    bool encoded_site;   /* vectors are added to what the encoder gives */

    lab_parameter *parameters;
    size_t parameter_count, elements;
    float *values, *gradients;
    float *embedding, *embedding_gradient;
    locus_tensor *position_values, *position_gradients; /* views of the encodings' own */
    size_t position_count, position_elements;

    lab_convolution convolution; /* images → tokens; weight NULL: there is none */
    lab_stack encoder, decoder;
    lab_class_head head;
    lab_linear output;         /* decoder: logits = y Wᵀ; its weight may be the embedding */
    uint16_t *rounded_weights; /* what bfloat16 products read of all linear layers; NULL: there are none */
    lab_arena arena;           /* activations */
    lab_step_buffers step;
    void *part;                       /* what only its architecture has */
    locus_workspace workspace;        /* of attention and apply; owned */
    float loss_scale;                 /* 1 / predicted tokens, 1 if summed, 0 without gradients */
    bool summed;                      /* the pass wants gradients of sums */
    lab_lending lending;              /* of activations to gradients */
    float smoothing;                  /* of labels; 0 without gradients */
    const lab_attention_watch *watch; /* who looks at attentions; NULL: nobody */
};

/* model_config.c */
locus_status lab_model_config_check(const lab_model_config *config, locus_error *error);

/* parameters.c: fills table, counts and the stacks' layers; pointers only if model->values is there. */
locus_status lab_parameters_declare(lab_model *model, locus_error *error);
void lab_parameters_initialise(lab_model *model, uint64_t seed);

/* What architectures declare: the next tensor, [rows, columns], or [rows] if columns is 0, which begins with this
 * deviation (lab_parameter); the token embedding E, and what an output y Eᵀ that is tied to it is; "<name>.weight" and
 * ".bias" of a LayerNorm, and of a linear layer that reads rows of the model's dimension; a stack's layers. */
typedef struct lab_declaration lab_declaration;
typedef struct lab_slot {
    float *value, *gradient;
} lab_slot;
lab_slot lab_declare(lab_declaration *d, const char *name, size_t rows, size_t columns, double deviation);
lab_linear lab_declare_embedding(lab_declaration *d);
lab_norm lab_declare_norm(lab_declaration *d, const char *name);
lab_linear lab_declare_dense(lab_declaration *d, const char *name, size_t outputs);
void lab_declare_stack(lab_declaration *d, const char *name, lab_stack *stack);

/* rounded_weights.c: gives the layers of a model with bfloat16 products what these read; fills it from the weights as
 * they are now. Neither does anything in float32. */
locus_status lab_rounded_weights_create(lab_model *model, locus_error *error);
void lab_rounded_weights_fill(const lab_model *model);

/* attention_kind.c: which attention each sublayer has; what the kind or an encoding refuses is an error. */
locus_status lab_attention_choose(lab_model *model, locus_error *error);

/* activations.c: places everything that a batch of T encoder and M decoder tokens needs; grows the arena if it has
 * to. */
typedef struct lab_batch_size {
    size_t samples, encoder_tokens, decoder_tokens;
    size_t predicted; /* rows of the decoder whose logits are made */
    bool backward;
} lab_batch_size;
locus_status lab_activations_fit(lab_model *model, const lab_batch_size *size, locus_error *error);
/* What architectures place: a stack, whose activations are kept or take turns; the buffers of gradients, which two
 * stacks share that come one after the other (`other` may be `one`); what predictions need, what classifiers end with,
 * of whose samples `chunks` have a loss each. */
void lab_place_stack(lab_arena *arena, lab_stack *stack, bool keep);
void lab_place_gradients(lab_arena *arena, lab_stack *one, lab_stack *other);
void lab_place_predictions(lab_arena *arena, lab_model *model, const lab_batch_size *size);
void lab_place_class_head(lab_arena *arena, lab_model *model, const lab_batch_size *size, size_t chunks);
locus_status lab_workspace_fit(lab_model *model, size_t bytes, locus_error *error);

/* places.c: plans of every encoding that the stack's layers have, for tokens at these positions and with the present
 * values of parameters. They stay until others take their place or the model ends: on the same positions again, as in
 * most steps of a training on texts or images of one size, they are only refreshed. */
locus_status lab_places_fit(const lab_model *model, const lab_stack *stack, lab_stack_position *places,
                            const lab_stack_tokens *tokens, locus_error *error);
void lab_places_destroy(const lab_model *model, lab_stack_position *places);

/* batch_check.c: samples there, offsets that rise from 0, tokens of the vocabulary, trees where the model has them. */
locus_status lab_batch_check(const lab_model *model, const lab_batch *batch, bool targets, locus_error *error);

/* pass.c: what training, evaluation and decoding share. */
typedef struct lab_batch_pass {
    bool training, summed; /* summed: gradients of the sum over what is predicted, not of the mean */
    bool lends;            /* activations' memory serves gradients (lab_shard_key) */
    uint64_t seed;
    uint32_t step, shard;
} lab_batch_pass;
void lab_dropout_arm(lab_model *model, const lab_batch_pass *pass);
/* Gradients are of the mean over what is predicted, or of the sum; without training there are none, and labels are as
 * they are. */
void lab_loss_begin(lab_model *model, size_t predicted, bool training);
/* NUMERIC unless the loss is finite. */
locus_status lab_loss_check(const lab_score *score, locus_error *error);
lab_stack_run lab_run_make(lab_model *model, lab_stack *stack, const lab_stack_position *places, bool training);
/* Workspace that these runs need. */
locus_status lab_runs_prepare(lab_model *model, lab_stack_run *const *runs, size_t count, bool training,
                              locus_error *error);
/* The encodings' gradients begin at 0: the library adds to them. */
void lab_position_gradients_clear(lab_model *model);

/* token_embedding.c */
/* x = p (s E[token] + e[position]): s; p is 1 but for encodings that add vectors and are to be scaled. */
float lab_embedding_scale(const lab_model *model);
locus_status lab_tokens_embed(lab_model *model, lab_stack *stack, const int32_t *tokens, const locus_plan *plan,
                              locus_error *error);
/* Adds to the gradients of the embedding and of what encodings add to it; the stack's backward has run. */
locus_status lab_tokens_embed_backward(lab_model *model, const lab_stack *stack, const int32_t *tokens,
                                       const locus_plan *plan, locus_error *error);
locus_status lab_encoder_forward(lab_model *model, const lab_batch *batch, lab_stack_run *run, locus_error *error);
/* Encodings that add vectors to tokens, or to what the encoder gives: bytes that locus_apply needs. */
size_t lab_added_workspace(const lab_model *model, const locus_plan *plan);
/* p (x + e) for the x in joins[0].sum; and from the gradient there, in branch[0], to the gradients of the encoding's
 * parameters, and dL/dx. */
locus_status lab_tokens_add(lab_model *model, const lab_stack *stack, const locus_plan *plan, locus_error *error);
locus_status lab_tokens_add_backward(lab_model *model, const lab_stack *stack, const locus_plan *plan,
                                     locus_error *error);
/* The encoder, from what stands in joins[0].sum; `end` (or NULL) gets its chunks after vectors have been added to
 * them. */
locus_status lab_encoder_run(lab_model *model, lab_stack_run *run, lab_stack_end *end, locus_error *error);

/* predictions.c: what a decoder predicts. Where logits of all rows would take too much memory, they are made slab by
 * slab: how many of `rows` rows stand at once. Slabs follow from shapes alone. */
size_t lab_slab_rows(const lab_model *model, size_t rows);
/* Score of the decoder's rows, against step.target in the sequences of step.target_offsets. If the model has a
 * loss_scale, dL/dy of the decoder's last join as well (decoder.gy), and the gradient of the output's weight, which
 * the embedding's begins with (0 if the output has a weight of its own). */
void lab_predictions_score(lab_model *model, size_t samples, lab_score *score);
float lab_logit_scale_of(const lab_model *model); /* what logits are multiplied by: 1, or 1/sqrt(D) */

/* class_head.c: what classifiers share. Labels, if there are any, must be classes; a loss needs them. */
locus_status lab_labels_check(const lab_model *model, const lab_batch *batch, bool needed, locus_error *error);
void lab_class_begin(lab_model *model, const lab_batch *batch, bool training); /* labels, lab_loss_begin */
/* Logits of some samples; with labels their cross-entropy, summed in step.losses[chunk], and, in training, its gradient
 * in the logits' place. */
void lab_class_logits(lab_model *model, lab_rows samples, size_t chunk);
void lab_class_weight_gradient(const lab_model *model, size_t samples);
/* Of all chunks; and probabilities from logits. */
void lab_class_score(const lab_model *model, size_t samples, size_t chunks, lab_score *score);
void lab_class_probabilities(const lab_model *model, size_t samples, float *probabilities);

/* image_positions.c: an image's tokens stand on a grid, row by row; of each image the first `tokens`. */
locus_status lab_image_positions_make(const lab_model *model, locus_positions **positions, size_t images, size_t tokens,
                                      locus_error *error);
locus_status lab_image_group_check(const locus_group *group, locus_error *error);

#endif
