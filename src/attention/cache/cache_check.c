/* SPDX-License-Identifier: MIT */
/* What tensors of new tokens must be, packed or with their sequences apart, for a cache that appends or attends. */
#include "attention/cache/cache_inside.h"

#include "core/error.h"
#include "core/host.h"

typedef struct wanted_tensor {
    const char *name;
    size_t tokens, heads, dim;
    bool written;
    size_t sequences, longest; /* of the new tokens */
} wanted_tensor;

/* New tokens, packed or with their sequences apart. */
static locus_status check_extents(const locus_tensor *tensor, const wanted_tensor *wanted, locus_error *error) {
    const bool apart = tensor->rank == 4;
    const size_t packed[] = {wanted->tokens, wanted->heads, wanted->dim};
    const size_t spread[] = {wanted->sequences, wanted->heads, wanted->longest, wanted->dim};
    for (size_t i = 0; i < tensor->rank; i++) {
        const size_t extent = apart ? spread[i] : packed[i];
        const bool length = apart && i == 2, negative = tensor->shape[i] < 0;
        if (!negative && (length ? (size_t)tensor->shape[i] >= extent : (size_t)tensor->shape[i] == extent))
            continue;
        return locus_fail(error, LOCUS_ERROR_SHAPE, wanted->name, "%s has size %lld in dimension %zu: expected %s%zu%s",
                          wanted->name, (long long)tensor->shape[i], i, length ? "at least " : "", extent,
                          length             ? ", the new tokens of the longest sequence"
                          : apart && i == 0  ? ", the sequences"
                          : !apart && i == 0 ? ", the new tokens"
                                             : "");
    }
    return LOCUS_OK;
}

static locus_status check_tensor(const locus_tensor *tensor, const wanted_tensor *wanted, locus_error *error) {
    if (!tensor)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, wanted->name, "%s is NULL", wanted->name);
    if (locus_dtype_size(tensor->dtype) == 0)
        return locus_fail(error, LOCUS_ERROR_DTYPE, wanted->name, "%s is of unknown element type %d", wanted->name,
                          (int)tensor->dtype);
    if (tensor->device != LOCUS_DEVICE_HOST)
        return locus_tensor_check_host(tensor, wanted->name, error);
    if (tensor->rank != 3 && tensor->rank != 4)
        return locus_fail(error, LOCUS_ERROR_SHAPE, wanted->name,
                          "%s has rank %zu: expected [tokens, heads, dim] or [sequences, heads, length, dim]",
                          wanted->name, tensor->rank);
    const locus_status status = check_extents(tensor, wanted, error);
    if (status != LOCUS_OK || locus_tensor_count(tensor) == 0)
        return status;
    const size_t last = tensor->rank - 1;
    if (!tensor->data)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, wanted->name, "%s has no data", wanted->name);
    if (tensor->stride[last] != 1 && tensor->shape[last] > 1)
        return locus_fail(error, LOCUS_ERROR_SHAPE, wanted->name,
                          "%s must have stride 1 in its last dimension, not %lld", wanted->name,
                          (long long)tensor->stride[last]);
    for (size_t i = 0; wanted->written && i < last; i++)
        if (tensor->shape[i] > 1 && tensor->stride[i] == 0)
            return locus_fail(error, LOCUS_ERROR_SHAPE, wanted->name,
                              "%s is written, but has stride 0 in dimension %zu", wanted->name, i);
    return LOCUS_OK;
}

/* Tokens of the longest sequence; NULL: one each. */
static size_t longest_of(const locus_positions *positions) {
    size_t longest = positions ? 0 : 1;
    for (size_t s = 0; positions && s < locus_positions_sequences(positions); s++) {
        const size_t count = locus_positions_sequence(positions, s).count;
        longest = count > longest ? count : longest;
    }
    return longest;
}

locus_status locus_cache_check_append(const locus_cache *cache, const locus_positions *positions,
                                      const locus_tensor *key, const locus_tensor *value, locus_error *error) {
    const size_t tokens = positions ? locus_positions_tokens(positions) : cache->sequences;
    locus_status status = locus_growing_check(cache->growing, positions, true, error);
    const size_t longest = status == LOCUS_OK ? longest_of(positions) : 0;
    const wanted_tensor keys = {"key", tokens, cache->kv_heads, cache->keys.dim, false, cache->sequences, longest};
    const wanted_tensor values = {"value", tokens,           cache->kv_heads, cache->values.dim,
                                  false,   cache->sequences, longest};
    if (status == LOCUS_OK)
        status = check_tensor(key, &keys, error);
    return status == LOCUS_OK ? check_tensor(value, &values, error) : status;
}

locus_status locus_cache_check_attend(const locus_cache *cache, const locus_attention_options *options,
                                      const locus_tensor *query, const locus_tensor *output, locus_error *error) {
    if (!locus_growing_entered(cache->growing))
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "cache",
                          "there are no new tokens whose queries could attend: append first (and again after their "
                          "tokens have been truncated, evicted or followed by inserted ones)");
    const locus_attention_kind_info *kind = locus_attention_kind_entry(options->kind);
    if (!(kind->abilities & LOCUS_ATTENTION_SCORES))
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "kind",
                          "a cache keeps what softmax attention needs, not what %s attention does: leave kind NULL",
                          kind->name);
    const size_t tokens = locus_growing_tokens(cache->growing);
    const size_t longest = locus_token_side_longest(locus_plan_side(locus_growing_kept(cache->growing), false));
    const wanted_tensor queries = {"query", tokens, cache->heads, cache->keys.dim, false, cache->sequences, longest};
    const wanted_tensor outputs = {"output", tokens, cache->heads, cache->values.dim, true, cache->sequences, longest};
    locus_status status = check_tensor(query, &queries, error);
    return status == LOCUS_OK ? check_tensor(output, &outputs, error) : status;
}
