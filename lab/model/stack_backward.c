/* SPDX-License-Identifier: MIT */
/* Backward pass of a stack. A segment runs from an attention's projection (or the stack's end) down to the next
 * attention's output projection:
 *
 *   projection or end → join → [feed-forward → join] → output projection of the attention below
 *
 * First the gradients of activations, chunk by chunk in one parallel loop; then the weights' gradients of the whole
 * segment in a second one; then the sums over tokens (biases, gains, shifts) are folded. Every gradient is
 * overwritten. */
#include "model/stack.h"
#include <string.h>

typedef struct segment {
    const lab_stack_run *run;
    size_t top; /* sublayer whose projection it starts with, or sublayer_count */
    size_t join_count, joins[2];
    const lab_sublayer *feed_forward; /* between the joins, or NULL */
    const lab_sublayer *attention;    /* below the last join, or NULL: the embedding */
} segment;

static segment segment_make(const lab_stack_run *run, size_t top) {
    const lab_stack *stack = run->stack;
    segment part = {.run = run, .top = top, .join_count = 1, .joins = {top, 0}};
    const lab_sublayer *below = top > 0 ? &stack->sublayers[top - 1] : NULL;
    if (below && below->kind == LAB_FEED_FORWARD) {
        part.feed_forward = below;
        part.joins[part.join_count++] = top - 1;
        below = top > 1 ? &stack->sublayers[top - 2] : NULL;
    }
    part.attention = below;
    return part;
}

/* Where a chunk's sums stand in its partial row: end | projection bias, at most 3D | gain, shift, bias of two joins |
 * hidden bias F. */
typedef struct partial_places {
    size_t end, projection, join[2], hidden, width;
} partial_places;

static partial_places places_of(const lab_stack *stack) {
    size_t D = stack->dim, at = stack->end_width;
    return (partial_places){0, at, {at + 3 * D, at + 6 * D}, at + 9 * D, at + 9 * D + stack->feed_forward};
}

size_t lab_stack_partial_width(const lab_stack *stack) {
    return places_of(stack).width;
}

static void join_backward(const segment *part, size_t slot, lab_rows rows, float *partial) {
    const lab_stack *stack = part->run->stack;
    size_t D = stack->dim, j = part->joins[slot];
    const lab_stream_join *join = &stack->joins[j];
    float *sums = partial + places_of(stack).join[slot];
    lab_join_backward_call call = {
        .norm = &join->norm,
        .dropout = &join->dropout,
        .sum = join->sum,
        .mean = join->mean,
        .inverse = join->inverse,
        .gy = stack->gy,
        .carry = stack->carry,
        .carried = j<stack->sublayer_count, .stream_is_y = stack->stream_is_y, .branch = stack->branch[slot],
                     .gain_sum = sums, .shift_sum = sums + D, .bias_sum = j> 0
                       ? sums + 2 * D
                       : NULL};
    lab_join_backward(&call, D, rows);
}

/* branch = dropout(relu(y Wupᵀ + b)) Wdownᵀ */
static void feed_forward_backward(const segment *part, lab_rows rows, float *partial) {
    const lab_stack *stack = part->run->stack;
    const lab_sublayer *sublayer = part->feed_forward;
    lab_linear_backward(&sublayer->output, rows, stack->branch[0], stack->hidden, false);
    lab_relu_backward(rows, stack->feed_forward, sublayer->projected, &sublayer->dropout, stack->hidden,
                      partial + places_of(stack).hidden);
    lab_linear_backward(&sublayer->project, rows, stack->hidden, stack->gy, false);
}

static void segment_task(void *context, size_t chunk, size_t worker) {
    (void)worker;
    const segment *part = context;
    const lab_stack *stack = part->run->stack;
    lab_rows rows = lab_chunk_at(stack->tokens, chunk);
    float *partial = stack->partials + chunk * stack->partial_width;
    size_t kept = part->top == stack->sublayer_count ? 0 : stack->end_width; /* the end's sums stay for its owner */
    memset(partial + kept, 0, (stack->partial_width - kept) * sizeof *partial);
    if (part->top == stack->sublayer_count) {
        part->run->end(part->run->end_context, rows, chunk, partial);
    } else {
        const lab_linear *project = &stack->sublayers[part->top].project;
        lab_linear_backward(project, rows, stack->projected, stack->gy, false);
        lab_column_sum(rows, project->outputs, stack->projected, project->outputs,
                       partial + places_of(stack).projection);
    }
    join_backward(part, 0, rows, partial);
    if (part->feed_forward) {
        feed_forward_backward(part, rows, partial);
        join_backward(part, 1, rows, partial);
    }
    if (part->attention)
        lab_linear_backward(&part->attention->output, rows, stack->branch[part->join_count - 1], stack->context, false);
}

static void weight_gradients(const segment *part) {
    const lab_stack *stack = part->run->stack;
    size_t T = stack->tokens, count = 0;
    lab_product products[4];
    if (part->top < stack->sublayer_count)
        products[count++] = lab_linear_weight_product(&stack->sublayers[part->top].project, T, stack->projected,
                                                      stack->joins[part->top].y);
    if (part->feed_forward) {
        const lab_sublayer *block = part->feed_forward;
        products[count++] = lab_linear_weight_product(&block->output, T, stack->branch[0], block->projected);
        products[count++] =
            lab_linear_weight_product(&block->project, T, stack->hidden, stack->joins[part->joins[1]].y);
    }
    if (part->attention)
        products[count++] = lab_linear_weight_product(&part->attention->output, T, stack->branch[part->join_count - 1],
                                                      part->attention->context);
    lab_products_parallel(products, count);
}

static void fold(const lab_stack *stack, size_t place, size_t columns, float *target) {
    lab_column_fold(lab_chunk_count(stack->tokens), columns, stack->partials + place, stack->partial_width, target);
}

static void vector_gradients(const segment *part) {
    const lab_stack *stack = part->run->stack;
    partial_places places = places_of(stack);
    size_t D = stack->dim;
    if (part->top < stack->sublayer_count) {
        const lab_linear *project = &stack->sublayers[part->top].project;
        fold(stack, places.projection, project->outputs, project->bias_gradient);
    }
    for (size_t slot = 0; slot < part->join_count; ++slot) {
        size_t j = part->joins[slot];
        const lab_norm *norm = &stack->joins[j].norm;
        if (norm->gain) {
            fold(stack, places.join[slot], D, norm->gain_gradient);
            fold(stack, places.join[slot] + D, D, norm->shift_gradient);
        }
        if (j > 0)
            fold(stack, places.join[slot] + 2 * D, D, stack->sublayers[j - 1].output.bias_gradient);
    }
    if (part->feed_forward)
        fold(stack, places.hidden, stack->feed_forward, part->feed_forward->project.bias_gradient);
}

static void segment_run(const lab_stack_run *run, const segment *part) {
    segment copy = *part;
    locus_parallel_for(lab_chunk_count(run->stack->tokens), segment_task, &copy);
    weight_gradients(part);
    vector_gradients(part);
}

locus_status lab_stack_backward(const lab_stack_run *run, locus_error *error) {
    const lab_stack *stack = run->stack;
    segment part = segment_make(run, stack->sublayer_count);
    for (;;) {
        segment_run(run, &part);
        if (part.attention == NULL)
            return LOCUS_OK;
        locus_status status = lab_attend_backward(run, part.attention, error);
        if (status != LOCUS_OK)
            return status;
        part = segment_make(run, (size_t)(part.attention - stack->sublayers));
    }
}
