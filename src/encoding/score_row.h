/* SPDX-License-Identifier: MIT */
/* Rows of scores that depend on the difference n − m of two positions only (Toeplitz). Where a run of keys stands at
 * consecutive positions, its row is a piece of one table over all differences:
 *
 *   table[n − m − first],  first ≤ n − m < first + count
 *
 * The table is left out where differences are spread much wider than tokens are many; rows are then computed one by
 * one. */
#ifndef LOCUS_SCORE_ROW_H
#define LOCUS_SCORE_ROW_H

#include "encoding/class.h"

typedef struct locus_score_range {
    int64_t first;
    size_t count; /* 0: no table */
} locus_score_range;

/* The differences of a plan, if a table of them stays linear in its tokens. */
locus_score_range locus_score_range_of(const locus_placement *placement);

/* Where the row of a call begins in the table, or SIZE_MAX if there is none for it. */
size_t locus_score_row_at(const locus_placement *placement, locus_score_range range, const locus_score_call *call);

/* |n − m| of key number `index` of the call's run. */
static inline double locus_score_distance(const locus_placement *placement, const locus_score_call *call,
                                          size_t index) {
    int64_t apart = placement->key.values[call->key_first + index] - placement->query.values[call->query];
    return (double)(apart < 0 ? -apart : apart);
}

/* The factor rate^|n − m| as a score term (decay.c). If learned, the term's first parameter is the rate. */
locus_status locus_decay_place(double rate, bool learned, const locus_placement *placement, locus_owned *memory,
                               const locus_score_term **placed, locus_error *error);

#endif
