/* SPDX-License-Identifier: MIT */
/* See attention_weights.h. */
#include "attention/attention_weights.h"

#include "core/error.h"
#include "core/overlap.h"
#include "core/tensor_check.h"
#include "spec/row_check.h"

#include <assert.h>

attention_choice locus_attention_choice_of(const locus_plan *plan, const locus_attention_weights_call *call) {
    const locus_sequence_span span = locus_plan_span(plan, call->sequence);
    return (attention_choice){.sequence = call->sequence,
                              .head_count = call->heads ? call->head_count : locus_plan_shape(plan)->heads,
                              .query_count = call->queries ? call->query_count : span.query_count,
                              .heads = call->heads,
                              .queries = call->queries,
                              .weights = *call->weights};
}

size_t locus_attention_choice_run(const attention_choice *choice, size_t index, size_t end, size_t most) {
    const size_t first = locus_attention_chosen_query(choice, index);
    size_t count = 1;
    while (count < most && index + count < end && locus_attention_chosen_query(choice, index + count) == first + count)
        count++;
    return count;
}

void locus_attention_choice_write(const attention_choice *choice, size_t head, size_t query, locus_dtype dtype,
                                  const void *row) {
    const locus_tensor *weights = &choice->weights;
    const ptrdiff_t at = (ptrdiff_t)(int64_t)head * (ptrdiff_t)weights->stride[0] +
                         (ptrdiff_t)(int64_t)query * (ptrdiff_t)weights->stride[1];
    char *data = (char *)weights->data + at * (ptrdiff_t)locus_dtype_size(weights->dtype);
    const locus_tensor from = locus_tensor_view((void *)(uintptr_t)row, dtype, 1, &weights->shape[2]);
    locus_tensor to = locus_tensor_view(data, weights->dtype, 1, &weights->shape[2]);
    to.stride[0] = weights->stride[2];
    const locus_status status = locus_tensor_convert(&from, &to, NULL);
    assert(status == LOCUS_OK);
    (void)status;
}

/* ---- checks ---- */

static locus_status check_chosen(const char *name, const size_t *list, size_t count, size_t most, locus_error *error) {
    for (size_t i = 0; list && i < count; i++)
        if (list[i] >= most)
            return locus_fail(error, LOCUS_ERROR_ARGUMENT, name, "number %zu of %s is %zu; there are %zu, from 0 on", i,
                              name, list[i], most);
    return LOCUS_OK;
}

static locus_status check_layout(const locus_tensor *weights, const size_t shape[3], locus_error *error) {
    static const char *const of[] = {"chosen heads", "chosen queries", "keys of the sequence"};
    for (size_t i = 0; i < 3; i++)
        if (weights->shape[i] < 0 || (size_t)weights->shape[i] != shape[i])
            return locus_fail(error, LOCUS_ERROR_SHAPE, "weights", "dimension %zu of weights is %lld; there are %zu %s",
                              i, (long long)weights->shape[i], shape[i], of[i]);
    return locus_tensor_check_data(weights, true, "weights", error);
}

static locus_status check_weights(const locus_plan *plan, const locus_attention_weights_call *call,
                                  locus_error *error) {
    const locus_tensor *weights = call->weights;
    const locus_status status = locus_tensor_check(weights, "weights", error);
    if (status != LOCUS_OK)
        return status;
    if (weights->rank != 3)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "weights",
                          "weights has %zu dimensions; it must have 3: [heads, queries, keys]", weights->rank);
    const attention_choice choice = locus_attention_choice_of(plan, call);
    const size_t shape[] = {choice.head_count, choice.query_count, locus_plan_span(plan, call->sequence).key_count};
    return check_layout(weights, shape, error);
}

/* `input` has been checked. */
static bool overlaps(const locus_plan *plan, const locus_tensor *weights, const locus_tensor *input, bool keys) {
    const size_t longest = locus_token_side_longest(locus_plan_side(plan, keys));
    locus_tensor room;
    return locus_tensors_overlap(weights, locus_rows_reach(input, LOCUS_ROWS_HEADS, longest, &room));
}

locus_status locus_attention_choice_check(const locus_plan *plan, const locus_tensor *bias,
                                          const locus_attention_weights_call *call, locus_error *error) {
    if (call->sequence >= locus_plan_sequences(plan))
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "sequence", "sequence is %zu; the plan has %zu, from 0 on",
                          call->sequence, locus_plan_sequences(plan));
    locus_status status = check_chosen("heads", call->heads, call->head_count, locus_plan_shape(plan)->heads, error);
    if (status == LOCUS_OK)
        status = check_chosen("queries", call->queries, call->query_count,
                              locus_plan_span(plan, call->sequence).query_count, error);
    if (status == LOCUS_OK)
        status = check_weights(plan, call, error);
    if (status != LOCUS_OK)
        return status;
    const char *what = overlaps(plan, call->weights, call->query, false)    ? "query"
                       : overlaps(plan, call->weights, call->key, true)     ? "key"
                       : bias && locus_tensors_overlap(call->weights, bias) ? "the bias"
                                                                            : NULL;
    return !what ? LOCUS_OK
                 : locus_fail(error, LOCUS_ERROR_ARGUMENT, "weights",
                              "weights overlaps %s; what is written needs memory of its own", what);
}
