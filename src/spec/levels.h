/* SPDX-License-Identifier: MIT */
/* Values in two levels (placement.h), for those who need angle tables. They are split apart from the rest, because
 * scattered positions have to be sorted for it, which takes longer than making all else of places. */
#ifndef LOCUS_LEVELS_H
#define LOCUS_LEVELS_H

#include "spec/placement.h"

/* Sorts blocks, at least one, and drops those that repeat: returns how many are left. */
size_t locus_blocks_sort(int64_t *blocks, size_t count);

/* Where a block stands among them. */
uint32_t locus_blocks_find(const int64_t *blocks, size_t count, int64_t block);

/* The coordinates of places with their values split, but for trees. They are copies: a table of the places (tables.h),
 * or in `memory` where these have no tables. A cache's own are split as they stand. */
locus_status locus_levels_get(const locus_places *places, const locus_placement **items, locus_owned *memory,
                              locus_error *error);

#endif
