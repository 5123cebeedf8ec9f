/* SPDX-License-Identifier: MIT */
/* The additive bias of a call (locus_attention_options.bias), or its gradient, as strided data: element (sequence,
 * head, query, key) stands at data + the sum of index · stride, with strides of 0 where one element serves all.
 * Queries and keys are counted within their sequence. What it is for a row of scores: attention_bias_body.h. */
#ifndef LOCUS_ATTENTION_BIAS_H
#define LOCUS_ATTENTION_BIAS_H

#include "plan/plan_sites.h"

#include <locus/attention.h>

typedef struct attention_bias {
    void *data; /* NULL: none */
    locus_dtype dtype;
    size_t sequences, heads, queries, keys; /* extents; 1 where one serves all */
    ptrdiff_t sequence, head, query, key;   /* strides in elements */
} attention_bias;

/* Of a tensor that has been checked; of NULL: none. */
attention_bias locus_attention_bias_of(const locus_tensor *tensor);

static inline char *locus_attention_bias_at(const attention_bias *bias, size_t sequence, size_t head, size_t query,
                                            size_t key) {
    const ptrdiff_t at = (ptrdiff_t)sequence * bias->sequence + (ptrdiff_t)head * bias->head +
                         (ptrdiff_t)query * bias->query + (ptrdiff_t)key * bias->key;
    return (char *)bias->data + at * (ptrdiff_t)locus_dtype_size(bias->dtype);
}

/* ---- a gradient that is shared by nobody ---- */

/* Whether each element was added to one score at most. */
bool locus_attention_bias_alone(const attention_bias *bias, size_t sequences, size_t heads, size_t queries,
                                size_t keys);
/* All elements become 0: those of pairs that nobody sees stay so. */
void locus_attention_bias_clear(const attention_bias *bias);
/* Writes `count` numbers of type `dtype`, of one query and the keys from `key` on. */
void locus_attention_bias_store(const attention_bias *bias, size_t sequence, size_t head, size_t query, size_t key,
                                size_t count, locus_dtype dtype, const void *values);

/* ---- a gradient, rectangle by rectangle ----
 *
 * ds is summed up over all that one element was added to: sequences, heads, queries, keys. Scores are not kept, so it
 * is made again, rectangle by rectangle of the gradient: a task goes through all sequences and heads that share one, in
 * order, sums up in double, and writes each element once. Nobody else writes there, so that bits depend on no threads.
 * What one element serves all of is in one rectangle. */

enum {
    ATTENTION_BIAS_TASKS = 64, /* with fewer tasks rectangles get fewer queries, by shape only */
    ATTENTION_BIAS_LEAST = 16  /* queries of a rectangle */
};

typedef struct attention_bias_cut {
    size_t rows, keys; /* of a rectangle at most, but for what is one for all */
    size_t row_parts, key_parts, tasks;
} attention_bias_cut;

/* Into at most `rows` (a power of 2 times ATTENTION_BIAS_LEAST) queries and `keys` keys. */
attention_bias_cut locus_attention_bias_cut(const attention_bias *bias, size_t rows, size_t keys);

typedef struct attention_bias_rectangle {
    size_t sequence, head;               /* of the gradient */
    size_t first_sequence, end_sequence; /* that share it, */
    size_t first_head, end_head;
    size_t first_row, end_row, first_key, end_key; /* with queries and keys of each, as far as there are */
    bool one_row, one_key;                         /* one element for all queries, for all keys */
} attention_bias_rectangle;

attention_bias_rectangle locus_attention_bias_rectangle(const attention_bias *bias, const attention_bias_cut *cut,
                                                        size_t index, size_t sequences, size_t heads);

/* sum[ld] of a query at a time, in the rectangle's order; one of them alone, or one element, where it serves all. */
void locus_attention_bias_write(const attention_bias *bias, const attention_bias_rectangle *rectangle,
                                const double *sum, size_t ld);

/* ---- checks ---- */

/* SHAPE, DTYPE or ARGUMENT unless `bias` (NULL: none) fits the plan's sequences and heads. */
LOCUS_MUST_USE locus_status locus_attention_bias_check(const locus_plan *plan, const locus_tensor *bias,
                                                       locus_error *error);
/* The gradient must be of the bias's shape, of any type, and share no element with what the call reads or writes. */
LOCUS_MUST_USE locus_status locus_attention_bias_check_gradient(const locus_tensor *bias,
                                                                const locus_attention_tensors *tensors,
                                                                const locus_attention_gradients *gradients,
                                                                locus_error *error);
/* What a forward writes must not overlap the bias. */
LOCUS_MUST_USE locus_status locus_attention_bias_check_apart(const locus_tensor *bias, const locus_tensor *written,
                                                             const char *name, locus_error *error);

#endif
