/* SPDX-License-Identifier: MIT */
/* Forms of objects whose classes have none of their own (sites.h): what executors would call is called for every
 * distinct position, or every pair, and written down. All in double. */
#ifndef LOCUS_FORM_EVALUATE_H
#define LOCUS_FORM_EVALUATE_H

#include "spec/class.h"
#include "spec/form_writer.h"

/* One form for each role: "matrices" [positions, kv_heads, dim, dim]. Exactly one of `local` and `whole` is set. */
void locus_form_evaluate_operator(const locus_operator *local, const locus_whole_operator *whole, size_t dim,
                                  locus_form_writer *writer);

/* CELLS by pair. */
void locus_form_evaluate_score(const locus_score_term *term, locus_form_writer *writer);

/* VECTORS of `dim`. */
void locus_form_evaluate_embedding(const locus_embedding *embedding, size_t dim, locus_form_writer *writer);

#endif
