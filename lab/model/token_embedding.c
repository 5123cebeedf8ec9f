/* SPDX-License-Identifier: MIT */
/* From tokens to what a stack reads, and back; and the encoder that reads it, with what the decoder takes of it. */
#include "model/model_parts.h"
#include "nn/embedding.h"
#include <math.h>

float lab_position_scale_of(const lab_model *model) {
    const bool scaled = model->embedding_site && model->config.position_scale == LAB_POSITIONS_SQRT_DIM;
    return scaled ? (float)sqrt((double)model->config.dim) : 1.0f;
}

float lab_embedding_scale(const lab_model *model) {
    const bool plain = model->config.embedding_init == LAB_EMBEDDING_PLAIN;
    return (plain ? 1.0f : (float)sqrt((double)model->config.dim)) / lab_position_scale_of(model);
}

typedef struct gather {
    const lab_model *model;
    const lab_stack *stack;
    const int32_t *tokens;
} gather;

static void gather_task(void *context, size_t chunk, size_t worker) {
    (void)worker;
    const gather *g = context;
    lab_embedding_forward(lab_chunk_at(g->stack->tokens, chunk), g->stack->dim, g->tokens, g->model->embedding,
                          lab_embedding_scale(g->model), g->stack->joins[0].sum);
}

locus_status lab_tokens_embed(lab_model *model, lab_stack *stack, const int32_t *tokens, const locus_plan *plan,
                              locus_error *error) {
    gather g = {model, stack, tokens};
    locus_parallel_for(lab_chunk_count(stack->tokens), gather_task, &g);
    return lab_tokens_add(model, stack, plan, error);
}

/* x = p (s · E[token] + e[position]) */
locus_status lab_tokens_embed_backward(lab_model *model, const lab_stack *stack, const int32_t *tokens,
                                       const locus_plan *plan, locus_error *error) {
    const locus_status status = lab_tokens_add_backward(model, stack, plan, error);
    if (status == LOCUS_OK)
        lab_embedding_backward(stack->tokens, stack->dim, tokens, stack->branch[0], lab_embedding_scale(model),
                               model->embedding_gradient);
    return status;
}

/* Keys and values of every cross-attention. The encoder's end, while a chunk of its output is in the cache. */
static void memory_project(void *context, lab_rows rows, size_t chunk, float *partial) {
    (void)chunk, (void)partial;
    lab_model *model = context;
    const float *y = model->encoder.joins[model->encoder.sublayer_count].y;
    for (size_t s = 0; s < model->decoder.sublayer_count; ++s) {
        const lab_sublayer *sublayer = &model->decoder.sublayers[s];
        if (sublayer->kind == LAB_CROSS_ATTENTION)
            lab_linear_forward(&sublayer->memory, rows, lab_floats(y), sublayer->memory_projected);
    }
}

locus_status lab_encoder_forward(lab_model *model, const lab_batch *batch, lab_stack_run *run, locus_error *error) {
    locus_status status = lab_tokens_embed(model, run->stack, batch->input, lab_run_token_plan(run), error);
    return status == LOCUS_OK ? lab_encoder_run(model, run, memory_project, error) : status;
}
