/* SPDX-License-Identifier: MIT */
/* The model's inside, shared by the files of lab/model. */
#ifndef LAB_MODEL_PARTS_H
#define LAB_MODEL_PARTS_H

#include "model/arena.h"
#include "model/model.h"
#include "model/stack.h"

enum { LAB_TOKEN_START = 0 }; /* the end token is vocabulary − 1 */

/* Random streams (purpose) of the model: tensor i of the initialisation has step i; dropout has one purpose for each
 * place. */
#define LAB_PURPOSE_INITIALISE (LOCUS_RANDOM_USER + 0x10000u)
#define LAB_PURPOSE_DROPOUT (LOCUS_RANDOM_USER + 0x20000u)

/* What one batch needs beside the stacks. M tokens of the decoder, V vocabulary. */
typedef struct lab_step_buffers {
    int32_t *input, *target; /* [M]: what the decoder reads and predicts */
    float *logits;           /* [M, V], then dL/dlogits */
    double *losses;          /* [chunks] */
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

struct lab_model {
    lab_model_config config;
    char *encoding_text;
    locus_pattern *pattern;
    lab_encoding *encodings; /* [encoding_count]; 0 is that of the first layer, the only one that may add vectors */
    size_t encoding_count;
    /* [encoding_count] each: plans while a batch runs, else NULLs */
    lab_stack_position *encoder_places, *decoder_places;
    locus_shape shape;
    locus_binding *binding; /* of encoding 0, borrowed */
    bool embedding_site;    /* vectors are added to tokens */
    bool encoded_site;      /* vectors are added to what the encoder gives */

    lab_parameter *parameters;
    size_t parameter_count, elements;
    float *values, *gradients;
    float *embedding, *embedding_gradient;
    locus_tensor *position_values, *position_gradients; /* views of the encodings' own */
    size_t position_count, position_elements;

    lab_stack encoder, decoder;
    lab_arena arena; /* activations */
    lab_step_buffers step;
    locus_workspace workspace; /* of attention and apply; owned */
    float loss_scale;          /* 1 / predicted tokens, 0 without gradients */
};

/* parameters.c: fills table, counts and the stacks' layers; pointers only if model->values is there. */
locus_status lab_parameters_declare(lab_model *model, locus_error *error);
void lab_parameters_initialise(lab_model *model, uint64_t seed);

/* attention_kind.c: which attention each sublayer has; what the kind or an encoding refuses is an error. */
locus_status lab_attention_choose(lab_model *model, locus_error *error);

/* activations.c: places everything that a batch of T encoder and M decoder tokens needs; grows the arena if it has
 * to. */
typedef struct lab_batch_size {
    size_t samples, encoder_tokens, decoder_tokens;
    bool backward;
} lab_batch_size;
locus_status lab_activations_fit(lab_model *model, const lab_batch_size *size, locus_error *error);
locus_status lab_workspace_fit(lab_model *model, size_t bytes, locus_error *error);

/* places.c: plans of every encoding that the stack's layers have. Destroy them after a failure, too. */
locus_status lab_places_create(const lab_model *model, const lab_stack *stack, lab_stack_position *places,
                               const lab_stack_tokens *tokens, locus_error *error);
void lab_places_destroy(const lab_model *model, lab_stack_position *places);

/* pass.c: what training, evaluation and decoding share. */
void lab_dropout_arm(lab_model *model, bool training, uint64_t seed, uint32_t step);
locus_status lab_batch_check(const lab_model *model, const lab_batch *batch, bool targets, locus_error *error);
const locus_group *lab_model_group(const lab_model *model); /* of all encodings; NULL: any will do */
locus_status lab_positions_make(const lab_model *model, locus_positions **positions, size_t sequences,
                                const size_t *offsets, locus_error *error);
lab_stack_run lab_run_make(lab_model *model, lab_stack *stack, const lab_stack_position *places, bool training);
/* Bytes that locus_apply needs to add vectors to tokens, or to what the encoder gives. */
size_t lab_added_workspace(const lab_model *model, const locus_plan *plan);
locus_status lab_tokens_embed(lab_model *model, lab_stack *stack, const int32_t *tokens, const locus_plan *plan,
                              locus_error *error);
locus_status lab_encoder_forward(lab_model *model, const lab_batch *batch, lab_stack_run *run, locus_error *error);

#endif
