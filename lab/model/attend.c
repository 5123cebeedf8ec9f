/* SPDX-License-Identifier: MIT */
/* The stack's calls of the library's attention: queries, keys and values are views into fused projections, or into
 * caches. */
#include "model/stack.h"

typedef struct attention_views {
    locus_tensor query, key, value;
} attention_views;

/* [tokens, heads, head_dim] inside rows of `width` numbers. */
static locus_tensor heads_view(const lab_stack *stack, float *data, size_t tokens, size_t width) {
    int64_t head_dim = (int64_t)(stack->dim / stack->heads);
    return (locus_tensor){.data = data,
                          .dtype = LOCUS_FLOAT32,
                          .rank = 3,
                          .shape = {(int64_t)tokens, (int64_t)stack->heads, head_dim},
                          .stride = {(int64_t)width, head_dim, 1}};
}

/* `projected` and `memory` are the activations or their gradients. */
static attention_views views_make(const lab_stack *stack, const lab_sublayer *sublayer, float *projected,
                                  float *memory) {
    size_t D = stack->dim, T = stack->tokens, N = stack->memory_tokens;
    if (sublayer->kind == LAB_CROSS_ATTENTION)
        return (attention_views){heads_view(stack, projected, T, D), heads_view(stack, memory, N, 2 * D),
                                 heads_view(stack, memory + D, N, 2 * D)};
    return (attention_views){heads_view(stack, projected, T, 3 * D), heads_view(stack, projected + D, T, 3 * D),
                             heads_view(stack, projected + 2 * D, T, 3 * D)};
}

static attention_views forward_views(const lab_stack_run *run, const lab_sublayer *sublayer) {
    const lab_stack *stack = run->stack;
    attention_views views = views_make(stack, sublayer, sublayer->projected, sublayer->memory_projected);
    if (run->caches && sublayer->kind == LAB_SELF_ATTENTION) {
        float *cache = run->caches[sublayer - stack->sublayers];
        views.key = heads_view(stack, cache, run->cache_tokens, 2 * stack->dim);
        views.value = heads_view(stack, cache + stack->dim, run->cache_tokens, 2 * stack->dim);
    }
    return views;
}

static locus_attention_options options_make(const lab_stack_run *run, const lab_sublayer *sublayer) {
    locus_attention_options options = locus_attention_default();
    options.mask = sublayer->kind == LAB_SELF_ATTENTION ? run->stack->mask : LOCUS_MASK_FULL;
    options.dropout = run->attention_dropout;
    options.dropout_on = run->attention_dropout_on;
    options.dropout_key = sublayer->attention_key;
    return options;
}

static const locus_plan *plan_of(const lab_stack_run *run, const lab_sublayer *sublayer) {
    return sublayer->kind == LAB_CROSS_ATTENTION ? run->cross_plan : run->self_plan;
}

static locus_tensor sums_view(const lab_stack *stack, float *data) {
    return locus_tensor_view(data, LOCUS_FLOAT32, 2, (int64_t[]){(int64_t)stack->tokens, (int64_t)stack->heads});
}

locus_status lab_attend_forward(const lab_stack_run *run, const lab_sublayer *sublayer, locus_error *error) {
    const lab_stack *stack = run->stack;
    attention_views views = forward_views(run, sublayer);
    locus_tensor output = heads_view(stack, sublayer->context, stack->tokens, stack->dim);
    locus_tensor sums = sums_view(stack, sublayer->log_sum_exp);
    locus_attention_options options = options_make(run, sublayer);
    locus_attention_tensors tensors = {&views.query, &views.key, &views.value, &output, &sums};
    return locus_attention_forward(plan_of(run, sublayer), &options, &tensors, run->workspace, error);
}

locus_status lab_attend_backward(const lab_stack_run *run, const lab_sublayer *sublayer, locus_error *error) {
    const lab_stack *stack = run->stack;
    attention_views views = forward_views(run, sublayer);
    attention_views gradient = views_make(stack, sublayer, stack->projected, sublayer->memory_gradient);
    locus_tensor output = heads_view(stack, sublayer->context, stack->tokens, stack->dim);
    locus_tensor output_gradient = heads_view(stack, stack->context, stack->tokens, stack->dim);
    locus_tensor sums = sums_view(stack, sublayer->log_sum_exp);
    locus_attention_options options = options_make(run, sublayer);
    locus_attention_tensors tensors = {&views.query, &views.key, &views.value, &output, &sums};
    locus_attention_gradients gradients = {.output = &output_gradient,
                                           .query = &gradient.query,
                                           .key = &gradient.key,
                                           .value = &gradient.value,
                                           .parameters = run->parameter_count ? run->parameter_gradients : NULL,
                                           .parameter_count = run->parameter_count};
    return locus_attention_backward(plan_of(run, sublayer), &options, &tensors, &gradients, run->workspace, error);
}

size_t lab_stack_workspace(const lab_stack_run *run, bool backward) {
    size_t bytes = 0;
    for (size_t s = 0; s < run->stack->sublayer_count; ++s) {
        const lab_sublayer *sublayer = &run->stack->sublayers[s];
        if (sublayer->kind == LAB_FEED_FORWARD)
            continue;
        locus_attention_options options = options_make(run, sublayer);
        for (int pass = LOCUS_PASS_FORWARD; pass <= (backward ? LOCUS_PASS_BACKWARD : LOCUS_PASS_FORWARD); ++pass) {
            size_t need = locus_attention_workspace(plan_of(run, sublayer), &options, LOCUS_FLOAT32, (locus_pass)pass);
            if (need > bytes)
                bytes = need;
        }
    }
    return bytes;
}
