/* SPDX-License-Identifier: MIT */
/* Backward pass of a stack. A segment runs from an attention's projection (or the stack's end) down to the next
 * attention's output projection:
 *
 *   projection or end → join → [feed-forward → join] → output projection of the attention below
 *
 * First the gradients of activations, chunk by chunk in one parallel loop; then the weights' gradients of the whole
 * segment in a second one; then the sums over tokens (biases, gains, shifts) are folded. Every gradient is
 * overwritten. */
#include "io/fail.h"
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

/* gy, and the gradients of a chunk's branch, stand packed at the beginning of the chunk's part of the buffer. */
static float *chunk_gy(const lab_stack *stack, size_t chunk) {
    return stack->gy + lab_stack_chunk(stack, chunk).first * stack->dim;
}

static lab_join_backward_call join_call(const segment *part, size_t slot, float *partial) {
    const lab_stack *stack = part->run->stack;
    const size_t D = stack->dim, j = part->joins[slot];
    const lab_stream_join *join = &stack->joins[j];
    const bool branch = j > 0;
    float *sums = partial + places_of(stack).join[slot];
    return (lab_join_backward_call){.norm = &join->norm,
                                    .dropout = &join->dropout,
                                    .sum = join->sum,
                                    .mean = join->mean,
                                    .inverse = join->inverse,
                                    .gy = stack->gy,
                                    .carry = stack->carry,
                                    .carried = j != stack->sublayer_count,
                                    .stream_is_y = stack->stream_is_y,
                                    .branch = stack->branch[slot],
                                    .branch_scale = branch ? stack->sublayers[j - 1].branch_scale : 0.0f,
                                    .gain_sum = sums,
                                    .shift_sum = sums + D,
                                    .bias_sum = branch ? sums + 2 * D : NULL};
}

/* One sample at a join where samples are left out: nobody read y, only the carry counts; no branch, it needs no
 * gradient. `gy` is where the sample's own stands. */
static void join_sample(const lab_stack *stack, lab_join_backward_call call, const lab_sample_rows *rows,
                        const float *gy) {
    const size_t D = stack->dim;
    lab_dropout dropout = *call.dropout;
    dropout.first = rows->stream;
    call.dropout = &dropout;
    call.sum += rows->stream * D;
    call.carry += rows->stream * D;
    call.gy = rows->has_y ? gy : NULL;
    call.branch = rows->has_branch ? call.branch + rows->branch * D : NULL;
    if (call.norm->gain) {
        call.mean += stack->stream_is_y ? rows->stream : rows->y;
        call.inverse += stack->stream_is_y ? rows->stream : rows->y;
    }
    lab_join_backward(&call, D, (lab_rows){0, stack->sample_tokens});
}

static void join_backward(const segment *part, size_t slot, size_t chunk, float *partial) {
    const lab_stack *stack = part->run->stack;
    const size_t j = part->joins[slot];
    const lab_join_backward_call call = join_call(part, slot, partial);
    if (!lab_join_thinned(stack, j)) {
        lab_join_backward(&call, stack->dim, lab_stack_chunk(stack, chunk));
        return;
    }
    const lab_rows samples = lab_stack_samples(stack, chunk);
    const size_t packed = lab_join_sample(stack, j, samples.first).y;
    for (size_t i = samples.first; i < samples.first + samples.count; ++i) {
        const lab_sample_rows own = lab_join_sample(stack, j, i);
        join_sample(stack, call, &own, chunk_gy(stack, chunk) + (own.y - packed) * stack->dim);
    }
}

/* y W of the chunk's rows of a sublayer, to gy. */
static void input_gradient(const lab_stack *stack, const lab_sublayer *sublayer, lab_numbers gradient, size_t chunk) {
    const lab_rows own = lab_sublayer_chunk(stack, sublayer, chunk);
    lab_linear_backward(&sublayer->project, (lab_rows){0, own.count},
                        lab_numbers_from(gradient, own.first * sublayer->project.outputs),
                        lab_floats(chunk_gy(stack, chunk)), false);
}

/* h = dropout(relu(u)), branch = h Wdownᵀ */
static void relu_backward(const lab_sublayer *sublayer, const lab_relu *relu, lab_rows own, lab_numbers gy,
                          lab_numbers gradient) {
    if (gradient.half) {
        lab_linear_backward_finish(&sublayer->output, own, gy, gradient,
                                   &(lab_row_finish){lab_relu_row_backward, relu, own.first});
        return;
    }
    lab_linear_backward(&sublayer->output, own, gy, gradient, false);
    lab_relu_backward(relu, own, gradient.data);
}

/* branch = dropout(act(y Wupᵀ + b)) Wdownᵀ */
static void feed_forward_backward(const segment *part, size_t chunk, float *partial) {
    const lab_stack *stack = part->run->stack;
    const lab_sublayer *sublayer = part->feed_forward;
    const lab_rows own = lab_sublayer_chunk(stack, sublayer, chunk);
    const lab_numbers gy = lab_floats(stack->branch[0]), gradient = {stack->hidden, sublayer->half};
    const lab_relu relu = {.columns = stack->feed_forward,
                           .dropout = &sublayer->dropout,
                           .h = sublayer->hidden,
                           .bias_sum = partial + places_of(stack).hidden};
    if (stack->gelu) {
        lab_linear_backward(&sublayer->output, own, gy, gradient, false);
        lab_gelu_backward(own, stack->feed_forward, sublayer->projected.data, &sublayer->dropout, gradient.data,
                          relu.bias_sum);
    } else {
        relu_backward(sublayer, &relu, own, gy, gradient);
    }
    input_gradient(stack, sublayer, gradient, chunk);
}

/* projected = y Wᵀ + b */
static void projection_backward(const segment *part, size_t chunk, float *partial) {
    const lab_stack *stack = part->run->stack;
    const lab_sublayer *top = &stack->sublayers[part->top];
    const lab_numbers gradient = {stack->projected, top->half};
    input_gradient(stack, top, gradient, chunk);
    lab_column_sum(lab_sublayer_chunk(stack, top, chunk), top->project.outputs, gradient,
                   partial + places_of(stack).projection);
}

static void segment_task(void *context, size_t chunk, size_t worker) {
    (void)worker;
    const segment *part = context;
    const lab_stack *stack = part->run->stack;
    float *partial = stack->partials + chunk * stack->partial_width;
    size_t kept = part->top == stack->sublayer_count ? 0 : stack->end_width; /* the end's sums stay for its owner */
    memset(partial + kept, 0, (stack->partial_width - kept) * sizeof *partial);
    if (part->top < stack->sublayer_count)
        projection_backward(part, chunk, partial);
    else if (part->run->end)
        part->run->end(part->run->end_context, lab_stack_chunk(stack, chunk), chunk, partial);
    join_backward(part, 0, chunk, partial);
    if (part->feed_forward) {
        feed_forward_backward(part, chunk, partial);
        join_backward(part, 1, chunk, partial);
    }
    if (part->attention)
        lab_linear_backward(&part->attention->output, lab_sublayer_chunk(stack, part->attention, chunk),
                            lab_floats(stack->branch[part->join_count - 1]),
                            (lab_numbers){stack->context, part->attention->half}, false);
}

static void weight_gradients(const segment *part) {
    const lab_stack *stack = part->run->stack;
    size_t count = 0;
    lab_product products[4];
    if (part->top < stack->sublayer_count) {
        const lab_sublayer *top = &stack->sublayers[part->top];
        products[count++] =
            lab_linear_weight_product(&top->project, lab_sublayer_tokens(stack, top),
                                      (lab_numbers){stack->projected, top->half}, lab_sublayer_input(stack, top));
    }
    if (part->feed_forward) {
        const lab_sublayer *block = part->feed_forward;
        const size_t T = lab_sublayer_tokens(stack, block);
        products[count++] = lab_linear_weight_product(&block->output, T, lab_floats(stack->branch[0]), block->hidden);
        products[count++] = lab_linear_weight_product(&block->project, T, (lab_numbers){stack->hidden, block->half},
                                                      lab_sublayer_input(stack, block));
    }
    if (part->attention)
        products[count++] =
            lab_linear_weight_product(&part->attention->output, lab_sublayer_tokens(stack, part->attention),
                                      lab_floats(stack->branch[part->join_count - 1]), part->attention->context);
    lab_weight_gradients(products, count);
}

static void fold(const lab_stack *stack, size_t place, size_t columns, float *target) {
    lab_column_fold(lab_stack_chunks(stack), columns, stack->partials + place, stack->partial_width, target);
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
    locus_parallel_for(lab_stack_chunks(run->stack), segment_task, &copy);
    weight_gradients(part);
    vector_gradients(part);
}

lab_room lab_stack_gradients_before(const lab_stack *stack, size_t sublayer) {
    float *first = stack->sublayers->project.weight_gradient;
    return lab_room_of(first, sublayer > 0 ? stack->sublayers[sublayer - 1].output.bias_gradient : first);
}

/* All that stands behind the attention's input is done with, but what the stack gave: its owner may need it. No
 * gradient of a sublayer before it has been written. */
static locus_status lend(const lab_stack_run *run, const lab_sublayer *attention, locus_error *error) {
    const lab_stack *stack = run->stack;
    const size_t sublayer = (size_t)(attention - stack->sublayers);
    const lab_room done = lab_room_of(attention->projected.data, stack->joins[stack->sublayer_count].sum);
    const lab_room own = lab_stack_gradients_before(stack, sublayer), later = run->later;
    const lab_room needed = later.from == NULL ? own : lab_room_of(later.from, sublayer > 0 ? own.end : later.end);
    return lab_lending_give(run->lending, done, needed) ? LOCUS_OK : lab_fail_memory(error, "gradients");
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
        if (run->lending != NULL)
            status = lend(run, part.attention, error);
        if (status != LOCUS_OK)
            return status;
        part = segment_make(run, (size_t)(part.attention - stack->sublayers));
    }
}
