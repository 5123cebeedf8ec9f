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

typedef struct lab_plans {
    locus_positions *encoder_positions, *decoder_positions;
    locus_plan *encoder, *decoder, *cross;
} lab_plans;

struct lab_model {
    lab_model_config config;
    char *encoding_text;
    locus_encoding *encoding;
    locus_shape shape;
    locus_binding *binding;
    bool embedding_site; /* the encoding adds vectors to tokens */

    lab_parameter *parameters;
    size_t parameter_count, elements;
    float *values, *gradients;
    float *embedding, *embedding_gradient;
    locus_tensor *position_values, *position_gradients; /* views of the encoding's own */
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

/* activations.c: places everything that a batch of T encoder and M decoder tokens needs; grows the arena if it has
 * to. */
typedef struct lab_batch_size {
    size_t samples, encoder_tokens, decoder_tokens;
    bool backward;
} lab_batch_size;
locus_status lab_activations_fit(lab_model *model, const lab_batch_size *size, locus_error *error);
locus_status lab_workspace_fit(lab_model *model, size_t bytes, locus_error *error);

/* pass.c: what training, evaluation and decoding share. */
void lab_dropout_arm(lab_model *model, bool training, uint64_t seed, uint32_t step);
locus_status lab_batch_check(const lab_model *model, const lab_batch *batch, bool targets, locus_error *error);
locus_status lab_positions_make(const lab_model *model, locus_positions **positions, size_t sequences,
                                const size_t *offsets, locus_error *error);
lab_stack_run lab_run_make(lab_model *model, lab_stack *stack, const locus_plan *self_plan,
                           const locus_plan *cross_plan, bool training);
locus_status lab_tokens_embed(lab_model *model, lab_stack *stack, const int32_t *tokens, const locus_plan *plan,
                              locus_error *error);
locus_status lab_encoder_forward(lab_model *model, const lab_batch *batch, lab_stack_run *run, locus_error *error);

#endif
