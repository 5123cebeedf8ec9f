/* SPDX-License-Identifier: MIT */
/* An encoding as numbers, by public calls alone: tables are what apply adds to zeros, operators what it makes of unit
 * vectors, scores are read from pairs of a query and a key (bound.h). All in double. */
#ifndef LAB_ENCODED_H
#define LAB_ENCODED_H

#include "bound/bound.h"
#include "bound/position_list.h"
#include "io/array.h"

/* Each fills `out`, which is to be released with lab_array_free whatever came of it. The encoding is bound; what the
 * library refuses of positions and shapes fails with its status, MEMORY aside. */

/* What is added to tokens, or to what the encoder gives if nothing is added to tokens: float64 [n, model_dim]. */
locus_status lab_encoded_table(lab_array *out, const lab_bound *bound, const lab_position_list *list,
                               locus_error *error);

/* ⌈p⌉ on queries, or on keys if it acts on them alone: float32 [n, heads, head_dim, head_dim]. */
locus_status lab_encoded_operators(lab_array *out, const lab_bound *bound, const lab_position_list *list,
                                   locus_error *error);

/* The biases on scores, or the factors, of each pair of positions: float64 [heads, n, n]. Content terms of `relative`
 * count as nothing; UNSUPPORTED with `cope`, whose positions are made of queries and keys. */
locus_status lab_encoded_scores(lab_array *out, const lab_bound *bound, const lab_position_list *list, bool factors,
                                locus_error *error);

#endif
