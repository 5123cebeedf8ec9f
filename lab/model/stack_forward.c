/* SPDX-License-Identifier: MIT */
/* Forward pass of a stack: segments of token-wise layers, chunk by chunk, between the attentions. */
#include "model/stack.h"
#include <string.h>

typedef struct segment {
    const lab_stack_run *run;
    size_t join; /* where it starts */
} segment;

static lab_join_forward_call join_call(const lab_stack *stack, size_t j) {
    const lab_stream_join *join = &stack->joins[j];
    const lab_stream_join *before = &stack->joins[j > 0 ? j - 1 : 0];
    const bool first = j == 0;
    return (lab_join_forward_call){.norm = &join->norm,
                                   .dropout = &join->dropout,
                                   .bias = first ? NULL : stack->sublayers[j - 1].output.bias,
                                   .residual = first                ? NULL
                                               : stack->stream_is_y ? before->y
                                                                    : before->sum,
                                   .branch = join->sum,
                                   .branch_scale = first ? 0.0f : stack->sublayers[j - 1].branch_scale,
                                   .sum = join->sum,
                                   .y = join->y,
                                   .mean = join->mean,
                                   .inverse = join->inverse};
}

/* One sample at a join where samples are left out: no branch, the stream passes; nobody reads y, it isn't made (unless
 * it is the stream, of which the next sublayer gets a copy).
 * `branch` is where the sample's own stands. */
static void join_sample(const lab_stack *stack, size_t j, const lab_sample_rows *rows, const float *branch) {
    static const lab_norm none = {0};
    const size_t D = stack->dim;
    lab_join_forward_call call = join_call(stack, j);
    lab_dropout dropout = *call.dropout;
    dropout.first = rows->stream;
    call.dropout = &dropout;
    call.residual = call.residual ? call.residual + rows->stream * D : NULL;
    call.branch = rows->has_branch ? branch : NULL;
    call.sum += rows->stream * D;
    const size_t y = stack->stream_is_y ? rows->stream : rows->y;
    if (!rows->has_y && !stack->stream_is_y) {
        call.norm = &none;
    } else if (call.norm->gain) {
        call.y += y * D;
        call.mean += y;
        call.inverse += y;
    }
    lab_join_forward(&call, D, (lab_rows){0, stack->sample_tokens});
    if (stack->joins[j].packed && rows->has_y)
        memcpy(stack->joins[j].packed + rows->y * D, stack->joins[j].y + rows->stream * D,
               stack->sample_tokens * D * sizeof(float));
}

/* The branches of a chunk stand packed at the beginning of its part of `sum`: from the last sample to the first none is
 * overwritten before it is read. */
static void join_forward(const lab_stack *stack, size_t j, size_t chunk) {
    const lab_rows rows = lab_stack_chunk(stack, chunk);
    if (!lab_join_thinned(stack, j)) {
        const lab_join_forward_call call = join_call(stack, j);
        lab_join_forward(&call, stack->dim, rows);
        return;
    }
    const lab_rows samples = lab_stack_samples(stack, chunk);
    const size_t packed = lab_join_sample(stack, j, samples.first).branch;
    for (size_t i = samples.first + samples.count; i-- > samples.first;) {
        const lab_sample_rows own = lab_join_sample(stack, j, i);
        join_sample(stack, j, &own, stack->joins[j].sum + (rows.first + own.branch - packed) * stack->dim);
    }
}

/* The output projection of sublayer s: the branch that join s + 1 adds. */
static void branch_forward(const lab_stack *stack, size_t s, lab_numbers x, size_t chunk) {
    const lab_linear *output = &stack->sublayers[s].output;
    const lab_rows own = lab_sublayer_chunk(stack, &stack->sublayers[s], chunk);
    float *branch = stack->joins[s + 1].sum + lab_stack_chunk(stack, chunk).first * stack->dim;
    lab_linear_multiply(output, (lab_rows){0, own.count}, lab_numbers_from(x, own.first * output->inputs),
                        lab_floats(branch));
}

static lab_relu relu_of(const lab_stack *stack, const lab_sublayer *sublayer) {
    return (lab_relu){.columns = stack->feed_forward, .dropout = &sublayer->dropout, .bias = sublayer->project.bias};
}

static void activate(const lab_stack *stack, const lab_sublayer *sublayer, lab_rows rows) {
    const lab_relu relu = relu_of(stack, sublayer);
    if (stack->gelu)
        lab_gelu_forward(rows, stack->feed_forward, relu.bias, &sublayer->dropout, sublayer->projected.data,
                         sublayer->hidden.data);
    else
        lab_relu_forward(&relu, rows, sublayer->projected.data);
}

static void feed_forward(const lab_stack *stack, size_t s, size_t chunk) {
    const lab_sublayer *sublayer = &stack->sublayers[s];
    const lab_rows own = lab_sublayer_chunk(stack, sublayer, chunk);
    const lab_numbers y = lab_sublayer_input(stack, sublayer);
    if (sublayer->half) {
        const lab_relu relu = relu_of(stack, sublayer);
        lab_linear_finish(&sublayer->project, own, y, sublayer->hidden,
                          &(lab_row_finish){lab_relu_row_forward, &relu, own.first});
    } else {
        lab_linear_multiply(&sublayer->project, own, y, sublayer->projected);
        activate(stack, sublayer, own);
    }
    branch_forward(stack, s, sublayer->hidden, chunk);
}

/* New keys and values go to their places in the cache, next to each other as in the projection. */
static void cache_store(const lab_stack_run *run, size_t s, lab_rows rows) {
    const lab_stack *stack = run->stack;
    if (run->caches == NULL || stack->sublayers[s].kind != LAB_SELF_ATTENTION)
        return;
    const size_t D = stack->dim, K = stack->kv_dim;
    const lab_numbers projected = stack->sublayers[s].projected;
    for (size_t r = rows.first; r < rows.first + rows.count; ++r)
        memcpy(lab_numbers_from(run->caches[s], run->cache_rows[r] * 2 * K).data,
               lab_numbers_from(projected, r * (D + 2 * K) + D).data, 2 * K * lab_number_size(projected.half));
}

static void segment_task(void *context, size_t chunk, size_t worker) {
    (void)worker;
    const segment *part = context;
    const lab_stack *stack = part->run->stack;
    size_t j = part->join;
    if (j > 0)
        branch_forward(stack, j - 1, stack->sublayers[j - 1].context, chunk);
    join_forward(stack, j, chunk);
    for (; j < stack->sublayer_count && stack->sublayers[j].kind == LAB_FEED_FORWARD; ++j) {
        feed_forward(stack, j, chunk);
        join_forward(stack, j + 1, chunk);
    }
    if (j == stack->sublayer_count) {
        if (part->run->end)
            part->run->end(part->run->end_context, lab_stack_chunk(stack, chunk), chunk, NULL);
        return;
    }
    const lab_sublayer *next = &stack->sublayers[j];
    const lab_rows own = lab_sublayer_chunk(stack, next, chunk);
    lab_linear_forward(&next->project, own, lab_sublayer_input(stack, next), next->projected);
    cache_store(part->run, j, own);
}

/* ---- few tokens, as in decoding: a loop for each layer, over panels of its weights ---- */

enum { FEW_TOKENS = 256, FEW_ROWS = 4 };

static bool is_few(const lab_stack_run *run) {
    return (run->kept || run->caches) && run->end == NULL && run->stack->tokens <= FEW_TOKENS;
}

/* A join, or the activation of the feed-forward block that reads it, of a few rows. */
typedef struct few_call {
    const lab_stack *stack;
    size_t join;
} few_call;

static lab_rows few_rows(const lab_stack *stack, size_t index) {
    const size_t first = index * FEW_ROWS, left = stack->tokens - first;
    return (lab_rows){first, left < FEW_ROWS ? left : FEW_ROWS};
}

static void few_join_task(void *context, size_t index, size_t worker) {
    const few_call *own = context;
    const lab_join_forward_call call = join_call(own->stack, own->join);
    (void)worker;
    lab_join_forward(&call, own->stack->dim, few_rows(own->stack, index));
}

static void few_activation_task(void *context, size_t index, size_t worker) {
    const few_call *own = context;
    const lab_sublayer *sublayer = &own->stack->sublayers[own->join];
    (void)worker;
    activate(own->stack, sublayer, few_rows(own->stack, index));
}

static void few_loop(const few_call *call, locus_task *task) {
    locus_parallel_for((call->stack->tokens + FEW_ROWS - 1) / FEW_ROWS, task, (void *)call);
}

static void few_branch(const lab_stack *stack, size_t s, lab_numbers x) {
    lab_linear_multiply_few(&stack->sublayers[s].output, stack->tokens, x, lab_floats(stack->joins[s + 1].sum));
}

static void few_hidden(const lab_stack *stack, size_t s) {
    const lab_sublayer *sublayer = &stack->sublayers[s];
    const lab_numbers y = lab_sublayer_input(stack, sublayer);
    if (sublayer->half) {
        const lab_relu relu = relu_of(stack, sublayer);
        lab_linear_finish_few(&sublayer->project, stack->tokens, y, sublayer->hidden,
                              &(lab_row_finish){lab_relu_row_forward, &relu, 0});
        return;
    }
    lab_linear_multiply_few(&sublayer->project, stack->tokens, y, sublayer->projected);
    few_loop(&(few_call){stack, s}, few_activation_task);
}

static void few_run(const lab_stack_run *run, size_t j) {
    const lab_stack *stack = run->stack;
    if (j > 0)
        few_branch(stack, j - 1, stack->sublayers[j - 1].context);
    few_loop(&(few_call){stack, j}, few_join_task);
    for (; j < stack->sublayer_count && stack->sublayers[j].kind == LAB_FEED_FORWARD; ++j) {
        few_hidden(stack, j);
        few_branch(stack, j, stack->sublayers[j].hidden);
        few_loop(&(few_call){stack, j + 1}, few_join_task);
    }
    if (j == stack->sublayer_count)
        return;
    const lab_sublayer *next = &stack->sublayers[j];
    lab_linear_forward_few(&next->project, stack->tokens, lab_sublayer_input(stack, next), next->projected);
    cache_store(run, j, (lab_rows){0, stack->tokens});
}

static void segment_run(const lab_stack_run *run, size_t join) {
    segment part = {run, join};
    if (is_few(run)) {
        few_run(run, join);
        return;
    }
    locus_parallel_for(lab_stack_chunks(run->stack), segment_task, &part);
}

size_t lab_stack_next_attention(const lab_stack *stack, size_t from) {
    while (from < stack->sublayer_count && stack->sublayers[from].kind == LAB_FEED_FORWARD)
        ++from;
    return from;
}

locus_status lab_stack_forward(const lab_stack_run *run, locus_error *error) {
    const lab_stack *stack = run->stack;
    segment_run(run, 0);
    for (size_t s = lab_stack_next_attention(stack, 0); s < stack->sublayer_count;
         s = lab_stack_next_attention(stack, s + 1)) {
        locus_status status = lab_attend_forward(run, &stack->sublayers[s], error);
        if (status != LOCUS_OK)
            return status;
        segment_run(run, s + 1);
    }
    return LOCUS_OK;
}
