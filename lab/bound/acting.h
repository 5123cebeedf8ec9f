/* SPDX-License-Identifier: MIT */
/* An encoding without what it adds to the embedding: operators exist where a table has no row. */
#ifndef LAB_ACTING_H
#define LAB_ACTING_H

#include "bound/bound.h"

/* The terms that act on queries, keys, values and scores, with the same parameters, bound. SPEC only where the encoding
 * is none that the library wrote, else MEMORY. Close it in either case. */
locus_status lab_acting_open(lab_bound *acting, const lab_bound *whole, locus_error *error);
/* The same with the terms that make biases and factors alone: their operators too, where they have some. */
locus_status lab_acting_scores(lab_bound *acting, const lab_bound *whole, locus_error *error);

#endif
