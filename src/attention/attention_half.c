/* SPDX-License-Identifier: MIT */
/* See attention_half.h. Tokens are converted in pieces that run in parallel; tokens that belong to no sequence are
 * neither read nor written.
 *
 *   workspace   | query | key | value | output | d output | d query | d key | d value | the executor's own |
 *               contiguous [tokens, heads, dim] in float32; the gradients in a backward only, key and value unless the
 *               executor takes them as they are */
#include "attention/attention_half.h"

#include "attention/attention_work.h"
#include "kernels/half_rows.h"
#include "spec/class.h"

#include <locus/memory.h>
#include <locus/parallel.h>

#define PIECE_TOKENS 128

/* What a buffer is for. */
typedef enum half_buffer {
    HALF_QUERY = 0,
    HALF_KEY,
    HALF_VALUE,
    HALF_OUTPUT,
    HALF_G_OUTPUT,
    HALF_G_QUERY,
    HALF_G_KEY,
    HALF_G_VALUE,
    HALF_BUFFERS
} half_buffer;

typedef struct attention_half {
    const locus_plan *plan;
    size_t count; /* buffers in use */
    size_t tokens[HALF_BUFFERS], heads[HALF_BUFFERS], dim[HALF_BUFFERS];
    bool of_keys[HALF_BUFFERS];
    locus_tensor wide[HALF_BUFFERS];
} attention_half;

/* ---- layout ---- */

static size_t buffer_bytes(const attention_half *half, size_t i) {
    const size_t bytes = half->tokens[i] * half->heads[i] * half->dim[i] * sizeof(float);
    return padded(bytes, LOCUS_ALIGNMENT);
}

/* Whether keys and values go to the executor as they are. */
static bool keeps_keys(const attention_executor *executor, const locus_plan *plan,
                       const locus_attention_options *options, locus_pass pass) {
    return pass == LOCUS_PASS_FORWARD && executor->half_keys && executor->half_keys(plan, options);
}

static void measure(attention_half *half, half_buffer i, bool of_keys, size_t dim) {
    half->of_keys[i] = of_keys;
    half->tokens[i] = of_keys ? locus_plan_key_tokens(half->plan) : locus_plan_query_tokens(half->plan);
    half->heads[i] = of_keys ? locus_plan_kv_heads(half->plan) : locus_plan_shape(half->plan)->heads;
    half->dim[i] = dim;
}

static size_t count_of(locus_pass pass) {
    return pass == LOCUS_PASS_FORWARD ? HALF_G_OUTPUT : HALF_BUFFERS;
}

/* Returns the bytes of the first `count` buffers; with `data` lays them out there. */
static size_t lay_out(attention_half *half, const locus_plan *plan, size_t count, bool kept, char *data) {
    const locus_shape *shape = locus_plan_shape(plan);
    const size_t value_dim = locus_shape_value_dim(shape);
    *half = (attention_half){.plan = plan, .count = count};
    measure(half, HALF_QUERY, false, shape->head_dim);
    measure(half, HALF_KEY, true, shape->head_dim);
    measure(half, HALF_VALUE, true, value_dim);
    measure(half, HALF_OUTPUT, false, value_dim);
    measure(half, HALF_G_OUTPUT, false, value_dim);
    measure(half, HALF_G_QUERY, false, shape->head_dim);
    measure(half, HALF_G_KEY, true, shape->head_dim);
    measure(half, HALF_G_VALUE, true, value_dim);
    if (kept)
        half->tokens[HALF_KEY] = half->tokens[HALF_VALUE] = 0;
    size_t bytes = 0;
    for (size_t i = 0; i < half->count; i++) {
        const int64_t extents[] = {(int64_t)half->tokens[i], (int64_t)half->heads[i], (int64_t)half->dim[i]};
        if (data)
            half->wide[i] = locus_tensor_view(data + bytes, LOCUS_FLOAT32, 3, extents);
        bytes += buffer_bytes(half, i);
    }
    return bytes;
}

size_t locus_attention_half_workspace(const attention_executor *executor, const locus_plan *plan,
                                      const locus_attention_options *options, locus_dtype dtype, locus_pass pass) {
    attention_half half;
    const bool kept = keeps_keys(executor, plan, options, pass);
    return lay_out(&half, plan, count_of(pass), kept, NULL) +
           executor->workspace(plan, options, kept ? dtype : locus_dtype_working(dtype), pass);
}

/* ---- conversion ---- */

typedef struct half_copy {
    const locus_plan *plan;
    attention_view half;
    const locus_tensor *wide;
    locus_half_rows rows;
    bool of_keys, narrow;
} half_copy;

/* Tokens of one sequence, which begins at `start`. */
static void copy_tokens(const half_copy *copy, size_t sequence, size_t start, size_t first, size_t count) {
    float *wide = (float *)copy->wide->data + first * copy->rows.heads * copy->rows.dim;
    uint16_t *half = (uint16_t *)copy->half.data + locus_token_rows_shift(&copy->half, sequence, start) +
                     (ptrdiff_t)first * copy->half.token;
    if (copy->narrow)
        locus_half_rows_narrow(&copy->rows, count, wide, half);
    else
        locus_half_rows_widen(&copy->rows, count, half, wide);
}

static void span_of(const half_copy *copy, size_t sequence, size_t *first, size_t *end) {
    const locus_sequence_span span = locus_plan_span(copy->plan, sequence);
    *first = copy->of_keys ? span.key_first : span.query_first;
    *end = *first + (copy->of_keys ? span.key_count : span.query_count);
}

/* The first sequence that ends behind `token`: sequences lie in order. */
static size_t sequence_at(const half_copy *copy, size_t token) {
    size_t low = 0, high = locus_plan_sequences(copy->plan);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        size_t first, end;
        span_of(copy, middle, &first, &end);
        if (end <= token)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void copy_piece(void *context, size_t index, size_t worker) {
    const half_copy *copy = context;
    const size_t begin = index * PIECE_TOKENS, stop = begin + PIECE_TOKENS;
    (void)worker;
    for (size_t s = sequence_at(copy, begin); s < locus_plan_sequences(copy->plan); s++) {
        size_t start, end;
        span_of(copy, s, &start, &end);
        if (start >= stop)
            return;
        const size_t first = start > begin ? start : begin;
        end = end < stop ? end : stop;
        if (first < end)
            copy_tokens(copy, s, start, first, end - first);
    }
}

/* NULL: not wanted. */
static void convert(const attention_half *half, half_buffer i, const locus_tensor *tensor, bool narrow) {
    if (!tensor)
        return;
    half_copy copy = {.plan = half->plan,
                      .half = locus_attention_view_of(tensor),
                      .wide = &half->wide[i],
                      .of_keys = half->of_keys[i],
                      .narrow = narrow};
    copy.rows = (locus_half_rows){tensor->dtype, half->heads[i], half->dim[i], copy.half.token, copy.half.head};
    locus_parallel_for((half->tokens[i] + PIECE_TOKENS - 1) / PIECE_TOKENS, copy_piece, &copy);
}

/* ---- calls ---- */

static locus_attention_tensors wide_tensors(const attention_half *half, const locus_attention_tensors *tensors) {
    return (locus_attention_tensors){.query = &half->wide[HALF_QUERY],
                                     .key = &half->wide[HALF_KEY],
                                     .value = &half->wide[HALF_VALUE],
                                     .output = &half->wide[HALF_OUTPUT],
                                     .log_sum_exp = tensors->log_sum_exp};
}

static locus_workspace behind(locus_workspace workspace, size_t bytes) {
    return (locus_workspace){(char *)workspace.data + bytes, workspace.bytes - bytes};
}

void locus_attention_half_forward(const attention_executor *executor, const locus_plan *plan,
                                  const locus_attention_options *options, const locus_attention_tensors *tensors,
                                  locus_workspace workspace) {
    attention_half half;
    const bool kept = keeps_keys(executor, plan, options, LOCUS_PASS_FORWARD);
    const size_t bytes = lay_out(&half, plan, count_of(LOCUS_PASS_FORWARD), kept, workspace.data);
    locus_attention_tensors wide = wide_tensors(&half, tensors);
    convert(&half, HALF_QUERY, tensors->query, false);
    if (kept) {
        wide.key = tensors->key;
        wide.value = tensors->value;
    } else {
        convert(&half, HALF_KEY, tensors->key, false);
        convert(&half, HALF_VALUE, tensors->value, false);
    }
    executor->forward(plan, options, &wide, behind(workspace, bytes));
    convert(&half, HALF_OUTPUT, tensors->output, true);
}

void locus_attention_half_backward(const attention_executor *executor, const locus_plan *plan,
                                   const locus_attention_options *options, const locus_attention_tensors *tensors,
                                   const locus_attention_gradients *gradients, locus_workspace workspace) {
    attention_half half;
    const size_t bytes = lay_out(&half, plan, count_of(LOCUS_PASS_BACKWARD), false, workspace.data);
    const locus_attention_tensors wide = wide_tensors(&half, tensors);
    locus_attention_gradients wide_gradients = *gradients;
    wide_gradients.output = &half.wide[HALF_G_OUTPUT];
    wide_gradients.query = gradients->query ? &half.wide[HALF_G_QUERY] : NULL;
    wide_gradients.key = gradients->key ? &half.wide[HALF_G_KEY] : NULL;
    wide_gradients.value = gradients->value ? &half.wide[HALF_G_VALUE] : NULL;
    convert(&half, HALF_QUERY, tensors->query, false);
    convert(&half, HALF_KEY, tensors->key, false);
    convert(&half, HALF_VALUE, tensors->value, false);
    convert(&half, HALF_OUTPUT, tensors->output, false);
    convert(&half, HALF_G_OUTPUT, gradients->output, false);
    executor->backward(plan, options, &wide, &wide_gradients, behind(workspace, bytes));
    convert(&half, HALF_G_QUERY, gradients->query, true);
    convert(&half, HALF_G_KEY, gradients->key, true);
    convert(&half, HALF_G_VALUE, gradients->value, true);
}

size_t locus_attention_half_weights_workspace(const attention_executor *executor, const locus_plan *plan,
                                              const locus_attention_options *options) {
    attention_half half;
    return lay_out(&half, plan, HALF_VALUE, false, NULL) + executor->weights_workspace(plan, options, LOCUS_FLOAT32);
}

void locus_attention_half_weights(const attention_executor *executor, const locus_plan *plan,
                                  const locus_attention_options *options, const locus_attention_weights_call *call,
                                  locus_workspace workspace) {
    attention_half half;
    const size_t bytes = lay_out(&half, plan, HALF_VALUE, false, workspace.data);
    locus_attention_weights_call wide = *call;
    wide.query = &half.wide[HALF_QUERY];
    wide.key = &half.wide[HALF_KEY];
    convert(&half, HALF_QUERY, call->query, false);
    convert(&half, HALF_KEY, call->key, false);
    executor->weights(plan, options, &wide, behind(workspace, bytes));
}
