/* SPDX-License-Identifier: MIT */
/* The stack's calls of the library's attention: queries, keys and values are views into fused projections, or into
 * caches. */
#include "model/stack.h"

typedef struct attention_views {
    locus_tensor query, key, value;
} attention_views;

/* Where rows stand. */
typedef struct row_place {
    size_t tokens, width; /* width: numbers from one row to the next */
} row_place;

/* [tokens, heads, head_dim] inside rows. */
static locus_tensor heads_view(const lab_stack *stack, lab_numbers numbers, row_place rows, size_t heads) {
    int64_t head_dim = (int64_t)(stack->dim / stack->heads);
    return (locus_tensor){.data = numbers.data,
                          .dtype = numbers.half ? LOCUS_BFLOAT16 : LOCUS_FLOAT32,
                          .rank = 3,
                          .shape = {(int64_t)rows.tokens, (int64_t)heads, head_dim},
                          .stride = {(int64_t)rows.width, head_dim, 1}};
}

/* Keys, and values behind them. */
static void memory_views(attention_views *views, const lab_stack *stack, lab_numbers memory, row_place rows) {
    views->key = heads_view(stack, memory, rows, stack->kv_heads);
    views->value = heads_view(stack, lab_numbers_from(memory, stack->kv_dim), rows, stack->kv_heads);
}

/* `projected` and `memory` are the activations or their gradients. */
static attention_views views_make(const lab_stack *stack, const lab_sublayer *sublayer, lab_numbers projected,
                                  lab_numbers memory) {
    const bool cross = sublayer->kind == LAB_CROSS_ATTENTION;
    const row_place own = {lab_sublayer_tokens(stack, sublayer), cross ? stack->dim : stack->dim + 2 * stack->kv_dim};
    const row_place other = {stack->memory_tokens, 2 * stack->kv_dim};
    attention_views views = {.query = heads_view(stack, projected, own, stack->heads)};
    memory_views(&views, stack, cross ? memory : lab_numbers_from(projected, stack->dim), cross ? other : own);
    return views;
}

static attention_views forward_views(const lab_stack_run *run, const lab_sublayer *sublayer) {
    const lab_stack *stack = run->stack;
    attention_views views = views_make(stack, sublayer, sublayer->projected, sublayer->memory_projected);
    if (run->caches && sublayer->kind == LAB_SELF_ATTENTION) {
        const row_place rows = {run->cache_tokens, 2 * stack->kv_dim};
        memory_views(&views, stack, run->caches[sublayer - stack->sublayers], rows);
    }
    return views;
}

static locus_attention_options options_make(const lab_stack_run *run, const lab_sublayer *sublayer) {
    locus_attention_options options = locus_attention_default();
    options.mask = sublayer->kind == LAB_SELF_ATTENTION ? run->stack->mask : LOCUS_MASK_FULL;
    options.kind = sublayer->attention;
    options.dropout = lab_attention_dropout(sublayer->attention, run->attention_dropout);
    options.dropout_on = lab_attention_dropout_on(sublayer->attention, run->attention_dropout_on);
    options.dropout_key = sublayer->attention_key;
    return options;
}

static const locus_plan *plan_of(const lab_stack_run *run, const lab_sublayer *sublayer) {
    const lab_stack_position *place = &run->places[sublayer->encoding];
    if (sublayer->plan)
        return sublayer->plan;
    return sublayer->kind == LAB_CROSS_ATTENTION ? place->cross.plan : place->self.plan;
}

static locus_tensor sums_view(const lab_stack *stack, float *data, row_place rows) {
    return locus_tensor_view(data, LOCUS_FLOAT32, 2, (int64_t[]){(int64_t)rows.tokens, (int64_t)stack->heads});
}

/* Decoding: new keys and values are kept first; what the encoder gave is kept already. */
static locus_status attend_kept(const lab_stack_run *run, const lab_sublayer *sublayer, locus_error *error) {
    const lab_stack *stack = run->stack;
    const row_place rows = {stack->tokens, stack->dim};
    locus_cache *cache = run->kept[sublayer - stack->sublayers];
    const attention_views views = views_make(stack, sublayer, sublayer->projected, sublayer->memory_projected);
    const locus_tensor output = heads_view(stack, sublayer->context, rows, stack->heads);
    const locus_attention_options options = options_make(run, sublayer);
    locus_status status = sublayer->kind == LAB_CROSS_ATTENTION
                              ? locus_cache_queries(cache, run->kept_positions, NULL, error)
                              : locus_cache_append(cache, run->kept_positions, &views.key, &views.value, NULL, error);
    return status == LOCUS_OK ? locus_cache_attend(cache, &options, &views.query, &output, NULL, error) : status;
}

locus_status lab_attend_forward(const lab_stack_run *run, const lab_sublayer *sublayer, locus_error *error) {
    const lab_stack *stack = run->stack;
    if (run->kept)
        return attend_kept(run, sublayer, error);
    const row_place rows = {lab_sublayer_tokens(stack, sublayer), stack->dim};
    if (rows.tokens == 0) /* no sample has this branch */
        return LOCUS_OK;
    attention_views views = forward_views(run, sublayer);
    locus_tensor output = heads_view(stack, sublayer->context, rows, stack->heads);
    locus_tensor sums = sums_view(stack, sublayer->log_sum_exp, rows);
    locus_attention_options options = options_make(run, sublayer);
    locus_attention_tensors tensors = {sizeof tensors, &views.query, &views.key,
                                       &views.value,   &output,      run->training ? &sums : NULL};
    const locus_execution execution = locus_execution_in(run->workspace);
    const locus_plan *plan = plan_of(run, sublayer);
    const locus_status status = locus_attention_forward(plan, &options, &tensors, &execution, error);
    const lab_attention_call call = {stack, sublayer, plan, &options, &tensors};
    return status == LOCUS_OK && run->watch ? run->watch->see(run->watch->context, &call, error) : status;
}

locus_status lab_attend_backward(const lab_stack_run *run, const lab_sublayer *sublayer, locus_error *error) {
    const lab_stack *stack = run->stack;
    const row_place rows = {lab_sublayer_tokens(stack, sublayer), stack->dim};
    if (rows.tokens == 0)
        return LOCUS_OK;
    const lab_stack_position *place = &run->places[sublayer->encoding];
    attention_views views = forward_views(run, sublayer);
    attention_views gradient =
        views_make(stack, sublayer, (lab_numbers){stack->projected, sublayer->half}, sublayer->memory_gradient);
    locus_tensor output = heads_view(stack, sublayer->context, rows, stack->heads);
    locus_tensor output_gradient = heads_view(stack, (lab_numbers){stack->context, sublayer->half}, rows, stack->heads);
    locus_tensor sums = sums_view(stack, sublayer->log_sum_exp, rows);
    locus_attention_options options = options_make(run, sublayer);
    locus_attention_tensors tensors = {sizeof tensors, &views.query, &views.key, &views.value, &output, &sums};
    locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                           .output = &output_gradient,
                                           .query = &gradient.query,
                                           .key = &gradient.key,
                                           .value = &gradient.value,
                                           .parameters = place->parameter_count ? place->parameter_gradients : NULL,
                                           .parameter_count = place->parameter_count};
    const locus_execution execution = locus_execution_in(run->workspace);
    return locus_attention_backward(plan_of(run, sublayer), &options, &tensors, &gradients, &execution, error);
}

size_t lab_stack_workspace(const lab_stack_run *run, bool backward) {
    size_t bytes = 0;
    for (size_t s = 0; s < run->stack->sublayer_count; ++s) {
        const lab_sublayer *sublayer = &run->stack->sublayers[s];
        if (sublayer->kind == LAB_FEED_FORWARD)
            continue;
        locus_attention_options options = options_make(run, sublayer);
        const locus_dtype type = sublayer->half ? LOCUS_BFLOAT16 : LOCUS_FLOAT32;
        for (int pass = LOCUS_PASS_FORWARD; pass <= (backward ? LOCUS_PASS_BACKWARD : LOCUS_PASS_FORWARD); ++pass) {
            size_t need = locus_attention_workspace(plan_of(run, sublayer), &options, type, (locus_pass)pass, NULL);
            if (need > bytes)
                bytes = need;
        }
    }
    return bytes;
}
