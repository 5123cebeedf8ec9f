/* SPDX-License-Identifier: MIT */
/* Forward pass of a stack: segments of token-wise layers, chunk by chunk, between the attentions. */
#include "model/stack.h"
#include <string.h>

typedef struct segment {
    const lab_stack_run *run;
    size_t join; /* where it starts */
} segment;

static void join_forward(const lab_stack *stack, size_t j, lab_rows rows) {
    const lab_stream_join *join = &stack->joins[j];
    const lab_stream_join *before = j > 0 ? &stack->joins[j - 1] : NULL;
    lab_join_forward_call call = {.norm = &join->norm,
                                  .dropout = &join->dropout,
                                  .bias = before ? stack->sublayers[j - 1].output.bias : NULL,
                                  .residual = before ? (stack->stream_is_y ? before->y : before->sum) : NULL,
                                  .branch = join->sum,
                                  .sum = join->sum,
                                  .y = join->y,
                                  .mean = join->mean,
                                  .inverse = join->inverse};
    lab_join_forward(&call, stack->dim, rows);
}

static void feed_forward(const lab_stack *stack, size_t s, lab_rows rows) {
    const lab_sublayer *sublayer = &stack->sublayers[s];
    lab_linear_multiply(&sublayer->project, rows, stack->joins[s].y, sublayer->projected);
    lab_relu_forward(rows, stack->feed_forward, sublayer->project.bias, &sublayer->dropout, sublayer->projected);
    lab_linear_multiply(&sublayer->output, rows, sublayer->projected, stack->joins[s + 1].sum);
}

/* New keys and values go to their places in the cache, next to each other as in the projection. */
static void cache_store(const lab_stack_run *run, size_t s, lab_rows rows) {
    const lab_stack *stack = run->stack;
    if (run->caches == NULL || stack->sublayers[s].kind != LAB_SELF_ATTENTION)
        return;
    size_t D = stack->dim, K = stack->kv_dim;
    for (size_t r = rows.first; r < rows.first + rows.count; ++r)
        memcpy(run->caches[s] + run->cache_rows[r] * 2 * K, stack->sublayers[s].projected + r * (D + 2 * K) + D,
               2 * K * sizeof(float));
}

static void segment_task(void *context, size_t chunk, size_t worker) {
    (void)worker;
    const segment *part = context;
    const lab_stack *stack = part->run->stack;
    lab_rows rows = lab_chunk_at(stack->tokens, chunk);
    size_t j = part->join;
    if (j > 0)
        lab_linear_multiply(&stack->sublayers[j - 1].output, rows, stack->sublayers[j - 1].context,
                            stack->joins[j].sum);
    join_forward(stack, j, rows);
    for (; j < stack->sublayer_count && stack->sublayers[j].kind == LAB_FEED_FORWARD; ++j) {
        feed_forward(stack, j, rows);
        join_forward(stack, j + 1, rows);
    }
    if (j == stack->sublayer_count) {
        part->run->end(part->run->end_context, rows, chunk, NULL);
        return;
    }
    lab_linear_forward(&stack->sublayers[j].project, rows, stack->joins[j].y, stack->sublayers[j].projected);
    cache_store(part->run, j, rows);
}

static void segment_run(const lab_stack_run *run, size_t join) {
    segment part = {run, join};
    locus_parallel_for(lab_chunk_count(run->stack->tokens), segment_task, &part);
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
