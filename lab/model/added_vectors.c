/* SPDX-License-Identifier: MIT */
/* Encodings that add vectors: x = p (token + e[position]) before the encoder and the decoder, y = encoded + e[position]
 * behind the encoder. Only a model's first encoding may. */
#include "model/model_parts.h"

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
    scaling own = {stack, data, lab_position_scale_of(model)};
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
