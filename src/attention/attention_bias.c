/* SPDX-License-Identifier: MIT */
/* See attention_bias.h: what a bias must be, where its elements stand, and how its gradient is cut. */
#include "attention/attention_bias.h"

#include "core/call.h"
#include "core/error.h"
#include "core/overlap.h"
#include "core/tensor_check.h"

#include <assert.h>
#include <locus/parallel.h>
#include <string.h>

/* Dimensions from the last one on: keys, queries, heads, sequences. */
enum { KEYS, QUERIES, HEADS, SEQUENCES, DIMENSIONS };

static int64_t extent_of(const locus_tensor *tensor, size_t dimension) {
    return dimension < tensor->rank ? tensor->shape[tensor->rank - 1 - dimension] : 1;
}

static ptrdiff_t stride_of(const locus_tensor *tensor, size_t dimension) {
    return extent_of(tensor, dimension) > 1 ? (ptrdiff_t)tensor->stride[tensor->rank - 1 - dimension] : 0;
}

attention_bias locus_attention_bias_of(const locus_tensor *tensor) {
    if (!tensor)
        return (attention_bias){0};
    return (attention_bias){tensor->data,
                            tensor->dtype,
                            (size_t)extent_of(tensor, SEQUENCES),
                            (size_t)extent_of(tensor, HEADS),
                            (size_t)extent_of(tensor, QUERIES),
                            (size_t)extent_of(tensor, KEYS),
                            stride_of(tensor, SEQUENCES),
                            stride_of(tensor, HEADS),
                            stride_of(tensor, QUERIES),
                            stride_of(tensor, KEYS)};
}

/* ---- one element, one score ---- */

bool locus_attention_bias_alone(const attention_bias *bias, size_t sequences, size_t heads, size_t queries,
                                size_t keys) {
    return bias->sequences == sequences && bias->heads == heads && bias->queries >= queries && bias->keys >= keys;
}

static void clear_head(void *context, size_t index, size_t worker) {
    const attention_bias *bias = context;
    const size_t size = locus_dtype_size(bias->dtype), sequence = index / bias->heads, head = index % bias->heads;
    const bool dense = bias->key == 1 || bias->keys == 1;
    (void)worker;
    for (size_t i = 0; i < bias->queries && !locus_call_cancelled(); i++)
        for (size_t j = 0; j < (dense ? 1 : bias->keys); j++)
            memset(locus_attention_bias_at(bias, sequence, head, i, j), 0, dense ? bias->keys * size : size);
}

void locus_attention_bias_clear(const attention_bias *bias) {
    attention_bias own = *bias;
    locus_parallel_for(bias->sequences * bias->heads, clear_head, &own);
}

void locus_attention_bias_store(const attention_bias *bias, size_t sequence, size_t head, size_t query, size_t key,
                                size_t count, locus_dtype dtype, const void *values) {
    char *at = locus_attention_bias_at(bias, sequence, head, query, key);
    const int64_t extent = (int64_t)count;
    if (bias->dtype == dtype && bias->key == 1) {
        memcpy(at, values, count * locus_dtype_size(dtype));
        return;
    }
    const locus_tensor from = locus_tensor_view((void *)(uintptr_t)values, dtype, 1, &extent);
    locus_tensor to = locus_tensor_view(at, bias->dtype, 1, &extent);
    to.stride[0] = bias->key;
    const locus_status status = locus_tensor_convert(&from, &to, NULL);
    assert(status == LOCUS_OK);
    (void)status;
}

/* ---- rectangles ---- */

static size_t parts_of(size_t count, size_t part) {
    return (count + part - 1) / part;
}

attention_bias_cut locus_attention_bias_cut(const attention_bias *bias, size_t rows, size_t keys) {
    const size_t others = bias->sequences * bias->heads;
    attention_bias_cut cut = {rows, keys, 1, bias->keys == 1 ? 1 : parts_of(bias->keys, keys), 0};
    while (cut.rows > ATTENTION_BIAS_LEAST &&
           others * cut.key_parts * parts_of(bias->queries, cut.rows) < ATTENTION_BIAS_TASKS)
        cut.rows /= 2;
    cut.row_parts = bias->queries == 1 ? 1 : parts_of(bias->queries, cut.rows);
    cut.tasks = others * cut.row_parts * cut.key_parts;
    return cut;
}

attention_bias_rectangle locus_attention_bias_rectangle(const attention_bias *bias, const attention_bias_cut *cut,
                                                        size_t index, size_t sequences, size_t heads) {
    const size_t key_part = index % cut->key_parts, row_part = index / cut->key_parts % cut->row_parts;
    const size_t other = index / cut->key_parts / cut->row_parts;
    const size_t head = other % bias->heads, sequence = other / bias->heads;
    const bool one_sequence = bias->sequences == 1, one_head = bias->heads == 1;
    attention_bias_rectangle r = {.sequence = sequence,
                                  .head = head,
                                  .first_sequence = one_sequence ? 0 : sequence,
                                  .end_sequence = one_sequence ? sequences : sequence + 1,
                                  .first_head = one_head ? 0 : head,
                                  .end_head = one_head ? heads : head + 1,
                                  .first_row = row_part * cut->rows,
                                  .end_row = (row_part + 1) * cut->rows,
                                  .first_key = key_part * cut->keys,
                                  .end_key = (key_part + 1) * cut->keys,
                                  .one_row = bias->queries == 1,
                                  .one_key = bias->keys == 1};
    if (r.one_row)
        r.end_row = SIZE_MAX;
    if (r.one_key)
        r.end_key = SIZE_MAX;
    return r;
}

static size_t until(size_t end, size_t most) {
    return end < most ? end : most;
}

void locus_attention_bias_write(const attention_bias *bias, const attention_bias_rectangle *rectangle,
                                const double *sum, size_t ld) {
    const size_t rows = until(rectangle->end_row, bias->queries) - rectangle->first_row;
    const size_t keys = until(rectangle->end_key, bias->keys) - rectangle->first_key;
    for (size_t i = 0; i < rows; i++)
        locus_attention_bias_store(bias, rectangle->sequence, rectangle->head, rectangle->first_row + i,
                                   rectangle->first_key, keys, LOCUS_FLOAT64, sum + i * ld);
}

/* ---- checks ---- */

static locus_status check_memory(const locus_tensor *tensor, bool written, const char *name, locus_error *error) {
    const locus_status status = locus_tensor_check(tensor, name, error);
    if (status != LOCUS_OK)
        return status;
    if (tensor->rank < 2 || tensor->rank > LOCUS_MAX_RANK)
        return locus_fail(error, LOCUS_ERROR_SHAPE, name,
                          "%s has %zu dimensions; it must have 2 to 4: [sequences, heads, queries, keys]", name,
                          tensor->rank);
    return locus_tensor_check_data(tensor, written, name, error);
}

/* One for all, or one for each. */
static locus_status check_count(const locus_tensor *bias, size_t dimension, size_t count, locus_error *error) {
    static const char *const names[] = {"keys", "queries", "heads", "sequences"};
    const int64_t extent = extent_of(bias, dimension);
    if (extent == 1 || (extent >= 0 && (size_t)extent == count))
        return LOCUS_OK;
    return locus_fail(error, LOCUS_ERROR_SHAPE, "bias", "the bias has %lld %s; it needs %zu of them, or 1 for all",
                      (long long)extent, names[dimension], count);
}

/* One for all, or as many as the longest sequence has. */
static locus_status check_reach(const locus_tensor *bias, size_t dimension, size_t longest, locus_error *error) {
    const char *name = dimension == KEYS ? "keys" : "queries";
    const int64_t extent = extent_of(bias, dimension);
    if (extent == 1 || (extent >= 0 && (size_t)extent >= longest))
        return LOCUS_OK;
    return locus_fail(error, LOCUS_ERROR_SHAPE, "bias",
                      "the bias has %lld %s, but the longest sequence has %zu; it needs at least as many, or 1 for all",
                      (long long)extent, name, longest);
}

locus_status locus_attention_bias_check(const locus_plan *plan, const locus_tensor *bias, locus_error *error) {
    size_t queries = 0, keys = 0;
    if (!bias)
        return LOCUS_OK;
    for (size_t s = 0; s < locus_plan_sequences(plan); s++) {
        const locus_sequence_span span = locus_plan_span(plan, s);
        queries = span.query_count > queries ? span.query_count : queries;
        keys = span.key_count > keys ? span.key_count : keys;
    }
    locus_status status = check_memory(bias, false, "bias", error);
    if (status == LOCUS_OK)
        status = check_count(bias, SEQUENCES, locus_plan_sequences(plan), error);
    if (status == LOCUS_OK)
        status = check_count(bias, HEADS, locus_plan_shape(plan)->heads, error);
    if (status == LOCUS_OK)
        status = check_reach(bias, QUERIES, queries, error);
    return status == LOCUS_OK ? check_reach(bias, KEYS, keys, error) : status;
}

locus_status locus_attention_bias_check_apart(const locus_tensor *bias, const locus_tensor *written, const char *name,
                                              locus_error *error) {
    if (!bias || !written || !locus_tensors_overlap(bias, written))
        return LOCUS_OK;
    return locus_fail(error, LOCUS_ERROR_ARGUMENT, name,
                      "%s overlaps the bias; what is written needs memory of its own", name);
}

static locus_status check_shape(const locus_tensor *bias, const locus_tensor *gradient, locus_error *error) {
    locus_status status = check_memory(gradient, true, "gradients.bias", error);
    if (status != LOCUS_OK)
        return status;
    if (gradient->rank != bias->rank)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "gradients.bias",
                          "gradients.bias has %zu dimensions, the bias has %zu; it must be of the bias's shape",
                          gradient->rank, bias->rank);
    for (size_t i = 0; i < bias->rank; i++)
        if (gradient->shape[i] != bias->shape[i])
            return locus_fail(
                error, LOCUS_ERROR_SHAPE, "gradients.bias",
                "dimension %zu of gradients.bias is %lld, of the bias %lld; it must be of the bias's shape", i,
                (long long)gradient->shape[i], (long long)bias->shape[i]);
    return LOCUS_OK;
}

locus_status locus_attention_bias_check_gradient(const locus_tensor *bias, const locus_attention_tensors *tensors,
                                                 const locus_attention_gradients *gradients, locus_error *error) {
    const locus_tensor *const written[] = {gradients->query, gradients->key, gradients->value};
    static const char *const written_names[] = {"gradients.query", "gradients.key", "gradients.value"};
    const locus_tensor *own = gradients->bias;
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < 3 && status == LOCUS_OK; i++)
        status = locus_attention_bias_check_apart(bias, written[i], written_names[i], error);
    if (status != LOCUS_OK || !own)
        return status;
    if (!bias)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "gradients.bias",
                          "gradients.bias is given, but the options have no bias; leave it NULL");
    status = check_shape(bias, own, error);
    const locus_tensor *const others[] = {bias,
                                          tensors->query,
                                          tensors->key,
                                          tensors->value,
                                          tensors->output,
                                          tensors->log_sum_exp,
                                          gradients->output,
                                          gradients->query,
                                          gradients->key,
                                          gradients->value,
                                          gradients->log_sum_exp};
    static const char *const names[] = {"the bias",
                                        "query",
                                        "key",
                                        "value",
                                        "output",
                                        "log_sum_exp",
                                        "gradients.output",
                                        "gradients.query",
                                        "gradients.key",
                                        "gradients.value",
                                        "gradients.log_sum_exp"};
    for (size_t i = 0; status == LOCUS_OK && i < sizeof others / sizeof others[0]; i++)
        if (others[i] && locus_tensors_overlap(own, others[i]))
            status = locus_fail(error, LOCUS_ERROR_ARGUMENT, "gradients.bias",
                                "gradients.bias overlaps %s; what is written needs memory of its own", names[i]);
    return status;
}
