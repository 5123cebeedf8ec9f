/* SPDX-License-Identifier: MIT */
/* From tokens to what a stack reads, and back; and the encoder that reads it, with what the decoder takes of it.
 *
 * Encodings that add vectors: x = p (s E[token] + e[position]) before the encoder and the decoder, y = encoded +
 * e[position] behind the encoder. Only a model's first encoding may. */
#include "model/model_parts.h"
#include "nn/embedding.h"
#include <math.h>

static float position_scale_of(const lab_model *model) {
    const bool scaled = model->embedding_site && model->config.position_scale == LAB_POSITIONS_SQRT_DIM;
    return scaled ? (float)sqrt((double)model->config.dim) : 1.0f;
}

float lab_embedding_scale(const lab_model *model) {
    const bool plain = model->config.embedding_init == LAB_EMBEDDING_PLAIN;
    return (plain ? 1.0f : (float)sqrt((double)model->config.dim)) / position_scale_of(model);
}

/* ---- vectors that encodings add ---- */

static locus_tensor rows_view(const lab_stack *stack, float *data) {
    return locus_tensor_view(data, LOCUS_FLOAT32, 2, (int64_t[]){(int64_t)stack->tokens, (int64_t)stack->dim});
}

size_t lab_added_workspace(const lab_model *model, const locus_plan *plan) {
    const size_t token = model->embedding_site ? locus_apply_workspace(plan, LOCUS_ROLE_TOKEN, LOCUS_FLOAT32, NULL) : 0;
    const size_t encoded =
        model->encoded_site ? locus_apply_workspace(plan, LOCUS_ROLE_ENCODED, LOCUS_FLOAT32, NULL) : 0;
    return token > encoded ? token : encoded;
}

typedef struct scaling {
    const lab_stack *stack;
    float *data, factor;
} scaling;

static void scale_task(void *context, size_t chunk, size_t worker) {
    (void)worker;
    const scaling *own = context;
    const lab_rows rows = lab_chunk_at(own->stack->tokens, chunk);
    float *x = own->data + rows.first * own->stack->dim;
    for (size_t i = 0; i < rows.count * own->stack->dim; ++i)
        x[i] *= own->factor;
}

/* All rows times p. */
static void rows_scale(const lab_model *model, const lab_stack *stack, float *data) {
    scaling own = {stack, data, position_scale_of(model)};
    if (own.factor != 1.0f)
        locus_parallel_for(lab_chunk_count(stack->tokens), scale_task, &own);
}

locus_status lab_tokens_add(lab_model *model, const lab_stack *stack, const locus_plan *plan, locus_error *error) {
    if (!model->embedding_site)
        return LOCUS_OK;
    locus_tensor x = rows_view(stack, stack->joins[0].sum);
    const locus_execution execution = locus_execution_in(model->workspace);
    const locus_status status = locus_apply(plan, LOCUS_ROLE_TOKEN, LOCUS_FORWARD, &x, &x, &execution, error);
    if (status == LOCUS_OK)
        rows_scale(model, stack, stack->joins[0].sum);
    return status;
}

/* An added vector's gradient does not depend on x: the kept sum stands for it. What is left in branch[0] is the
 * gradient of (token + e). */
locus_status lab_tokens_add_backward(lab_model *model, const lab_stack *stack, const locus_plan *plan,
                                     locus_error *error) {
    if (!model->embedding_site)
        return LOCUS_OK;
    const size_t count = model->encodings[0].count;
    rows_scale(model, stack, stack->branch[0]);
    locus_tensor x = rows_view(stack, stack->joins[0].sum), g = rows_view(stack, stack->branch[0]);
    locus_apply_gradients gradients = {
        .x = &x, .gy = &g, .gx = &g, .parameters = count ? model->position_gradients : NULL, .parameter_count = count};
    const locus_execution execution = locus_execution_in(model->workspace);
    return locus_apply_backward(plan, LOCUS_ROLE_TOKEN, LOCUS_FORWARD, &gradients, &execution, error);
}

/* An end that could not be run with the last segment. */
typedef struct late_end {
    const lab_stack_run *run;
    lab_stack_end *end;
} late_end;

static void late_task(void *context, size_t chunk, size_t worker) {
    (void)worker;
    const late_end *late = context;
    late->end(late->run->end_context, lab_stack_chunk(late->run->stack, chunk), chunk, NULL);
}

/* Where vectors are added to what the encoder gives, the end waits for the whole of it. What is added has no
 * parameters, so in the backward the gradient passes as it is. */
locus_status lab_encoder_run(lab_model *model, lab_stack_run *run, lab_stack_end *end, locus_error *error) {
    const lab_stack *stack = run->stack;
    run->end = model->encoded_site ? NULL : end;
    locus_status status = lab_stack_forward(run, error);
    if (status != LOCUS_OK || !model->encoded_site)
        return status;
    const locus_plan *plan = lab_run_token_plan(run);
    locus_tensor y = rows_view(stack, stack->joins[stack->sublayer_count].y);
    const locus_execution execution = locus_execution_in(model->workspace);
    status = locus_apply(plan, LOCUS_ROLE_ENCODED, LOCUS_FORWARD, &y, &y, &execution, error);
    late_end late = {run, end};
    if (status == LOCUS_OK && end)
        locus_parallel_for(lab_stack_chunks(stack), late_task, &late);
    return status;
}

/* ---- tokens ---- */

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
