/* SPDX-License-Identifier: MIT */
/* Attention weights of chosen heads and queries (locus_attention_weights), for the executors that make them: what was
 * chosen, piece by piece, and rows that are written. A task is a head and at most ATTENTION_WEIGHTS_ROWS of the chosen
 * queries; of these, neighbours in the sequence are made together. */
#ifndef LOCUS_ATTENTION_WEIGHTS_H
#define LOCUS_ATTENTION_WEIGHTS_H

#include "plan/plan_sites.h"

#include <locus/attention.h>

enum { ATTENTION_WEIGHTS_ROWS = 64 };

/* A checked call's, with all that was left open said. */
typedef struct attention_choice {
    size_t sequence, head_count, query_count;
    const size_t *heads, *queries; /* NULL: 0, 1, 2, … */
    locus_tensor weights;
} attention_choice;

attention_choice locus_attention_choice_of(const locus_plan *plan, const locus_attention_weights_call *call);

static inline size_t locus_attention_chosen_head(const attention_choice *choice, size_t index) {
    return choice->heads ? choice->heads[index] : index;
}

static inline size_t locus_attention_chosen_query(const attention_choice *choice, size_t index) {
    return choice->queries ? choice->queries[index] : index;
}

static inline size_t locus_attention_choice_parts(const attention_choice *choice) {
    return (choice->query_count + ATTENTION_WEIGHTS_ROWS - 1) / ATTENTION_WEIGHTS_ROWS;
}

/* How many chosen queries from `index` on, before `end`, are neighbours; at most `most`. */
size_t locus_attention_choice_run(const attention_choice *choice, size_t index, size_t end, size_t most);

/* Writes the row of the chosen head and query of these indices: contiguous numbers of type `dtype`, one for each key of
 * the sequence. */
void locus_attention_choice_write(const attention_choice *choice, size_t head, size_t query, locus_dtype dtype,
                                  const void *row);

/* ARGUMENT, SHAPE or DTYPE unless the call fits the plan; query and key are for attention_check.h. */
LOCUS_MUST_USE locus_status locus_attention_choice_check(const locus_plan *plan, const locus_tensor *bias,
                                                         const locus_attention_weights_call *call, locus_error *error);

#endif
