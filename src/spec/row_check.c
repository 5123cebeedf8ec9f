/* SPDX-License-Identifier: MIT */
/* See row_check.h. */
#include "spec/row_check.h"

#include "core/error.h"
#include "core/overlap.h"
#include "core/tensor_check.h"

static size_t rank_of(locus_rows_kind kind) {
    return kind == LOCUS_ROWS_HEADS ? 3 : 2;
}

/* The dimension that is a sequence's length, where sequences stand apart. */
static size_t length_at(locus_rows_kind kind) {
    return kind == LOCUS_ROWS_VECTORS ? 1 : 2;
}

static locus_status check_extents(const locus_rows_wanted *wanted, locus_error *error) {
    const locus_tensor *tensor = wanted->tensor;
    const bool apart = locus_rows_apart(tensor, wanted->kind);
    size_t extents[4], rank = 0;
    extents[rank++] = apart ? wanted->sequences : wanted->tokens;
    if (wanted->kind != LOCUS_ROWS_VECTORS)
        extents[rank++] = wanted->heads;
    if (apart)
        extents[rank++] = wanted->longest;
    if (wanted->kind != LOCUS_ROWS_NUMBERS)
        extents[rank++] = wanted->dim;
    for (size_t i = 0; i < rank; i++) {
        const bool length = apart && i == length_at(wanted->kind), negative = tensor->shape[i] < 0;
        if (!negative && (length ? (size_t)tensor->shape[i] >= extents[i] : (size_t)tensor->shape[i] == extents[i]))
            continue;
        return locus_fail(error, LOCUS_ERROR_SHAPE, wanted->name, "%s has size %lld in dimension %zu: expected %s%zu%s",
                          wanted->name, (long long)tensor->shape[i], i, length ? "at least " : "", extents[i],
                          length  ? ", the longest sequence"
                          : i > 0 ? ""
                          : apart ? ", the sequences"
                                  : ", the tokens");
    }
    return LOCUS_OK;
}

/* Packed rows of some data whose strides are above 0 (the last one 1), as nearly every call has them: found without
 * asking what may be wrong. */
static bool plainly_right(const locus_rows_wanted *wanted, size_t rank) {
    const locus_tensor *tensor = wanted->tensor;
    if (!tensor || tensor->rank != rank || !tensor->data || tensor->device != LOCUS_DEVICE_HOST ||
        locus_dtype_size(tensor->dtype) == 0)
        return false;
    const size_t second = wanted->kind == LOCUS_ROWS_VECTORS ? wanted->dim : wanted->heads;
    const bool shape = (size_t)tensor->shape[0] == wanted->tokens && (size_t)tensor->shape[1] == second &&
                       (rank == 2 || (size_t)tensor->shape[2] == wanted->dim); /* which are far below 2^63 */
    return shape && tensor->stride[0] > 0 && tensor->stride[1] > 0 && tensor->stride[rank - 1] == 1;
}

locus_status locus_rows_check(const locus_rows_wanted *wanted, locus_error *error) {
    static const char *const layouts[] = {
        [LOCUS_ROWS_HEADS] = "[tokens, heads, dim] or [sequences, heads, length, dim]",
        [LOCUS_ROWS_NUMBERS] = "[tokens, heads] or [sequences, heads, length]",
        [LOCUS_ROWS_VECTORS] = "[tokens, model_dim] or [sequences, length, model_dim]"};
    const locus_tensor *tensor = wanted->tensor;
    const size_t rank = rank_of(wanted->kind);
    if (plainly_right(wanted, rank))
        return LOCUS_OK;
    locus_status status = locus_tensor_check(tensor, wanted->name, error);
    if (status != LOCUS_OK)
        return status;
    if (tensor->rank != rank && tensor->rank != rank + 1)
        return locus_fail(error, LOCUS_ERROR_SHAPE, wanted->name, "%s has rank %zu: expected %s", wanted->name,
                          tensor->rank, layouts[wanted->kind]);
    status = check_extents(wanted, error);
    if (status == LOCUS_OK)
        status = locus_tensor_check_data(tensor, wanted->written, wanted->name, error);
    const size_t last = tensor->rank - 1;
    if (status == LOCUS_OK && tensor->shape[last] > 1 && tensor->stride[last] != 1 && locus_tensor_count(tensor) > 0)
        return locus_fail(error, LOCUS_ERROR_SHAPE, wanted->name,
                          "%s must have stride 1 in its last dimension, not %lld", wanted->name,
                          (long long)tensor->stride[last]);
    return status;
}

const locus_tensor *locus_rows_reach_apart(const locus_tensor *tensor, locus_rows_kind kind, size_t longest,
                                           locus_tensor *room) {
    *room = *tensor;
    room->shape[length_at(kind)] = (int64_t)longest;
    return room;
}

static const locus_tensor *reached(const locus_rows_wanted *wanted, locus_tensor *room) {
    return locus_rows_reach(wanted->tensor, wanted->kind, wanted->longest, room);
}

bool locus_rows_overlap(const locus_rows_wanted *a, const locus_rows_wanted *b) {
    locus_tensor left, right;
    return locus_tensors_overlap(reached(a, &left), reached(b, &right));
}

bool locus_rows_same(const locus_rows_wanted *a, const locus_rows_wanted *b) {
    locus_tensor left, right;
    return locus_tensors_same(reached(a, &left), reached(b, &right));
}
