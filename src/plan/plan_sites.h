/* SPDX-License-Identifier: MIT */
/* What attention and apply may ask of a plan: its shape, its sequences, and what acts at each site (sites.h). */
#ifndef LOCUS_PLAN_SITES_H
#define LOCUS_PLAN_SITES_H

#include "spec/placement.h"
#include "spec/sites.h"

const locus_shape *locus_plan_shape(const locus_plan *plan); /* value_dim resolved */
size_t locus_plan_sequences(const locus_plan *plan);
locus_sequence_span locus_plan_span(const locus_plan *plan, size_t sequence);
size_t locus_plan_query_tokens(const locus_plan *plan); /* of the buffers, gaps included */
size_t locus_plan_key_tokens(const locus_plan *plan);
const locus_token_side *locus_plan_side(const locus_plan *plan, bool keys); /* of the first coordinate */

/* Of a plan of limits (limits.h), of which only sizes may be asked: its first sequence is as long as any, the others
 * are empty. NULL: it is a plan. */
const locus_limits *locus_plan_limits(const locus_plan *plan);

/* NULL where nothing acts. The query-key operator is asked for queries and keys even if it is one-sided. */
const locus_operator *locus_plan_query_key_operator(const locus_plan *plan);
const locus_operator *locus_plan_value_operator(const locus_plan *plan);
/* Instead of those, where operators act on whole tensors. */
const locus_whole_operator *locus_plan_query_key_whole(const locus_plan *plan);
const locus_whole_operator *locus_plan_value_whole(const locus_plan *plan);

/* Whether attention has to be causal: see locus_operator. */
static inline bool locus_plan_needs_causal(const locus_plan *plan) {
    const locus_operator *op = locus_plan_query_key_operator(plan);
    return op && op->causal_only;
}
size_t locus_plan_score_terms(const locus_plan *plan); /* factors first, then biases */
const locus_score_term *locus_plan_score_term(const locus_plan *plan, size_t index);
const locus_content_table *locus_plan_content_table(const locus_plan *plan);
const locus_contextual_table *locus_plan_contextual_table(const locus_plan *plan);
const locus_score_settings *locus_plan_score_settings(const locus_plan *plan);

/* locus_shape.kv_heads, resolved. */
size_t locus_plan_kv_heads(const locus_plan *plan);

/* The parameter tensors of the plan's encoding (class.h), and where each site's own begin in the list that callers hand
 * in: what `reduce` gets is a pointer to its term's first parameter. */
const struct locus_parameter_list *locus_plan_parameter_list(const locus_plan *plan);
size_t locus_plan_query_key_parameters(const locus_plan *plan);
size_t locus_plan_value_parameters(const locus_plan *plan);
size_t locus_plan_score_parameters(const locus_plan *plan, size_t index);

#endif
