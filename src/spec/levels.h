/* SPDX-License-Identifier: MIT */
/* Splits the values of a coordinate in two levels (placement.h), for angle tables. */
#ifndef LOCUS_LEVELS_H
#define LOCUS_LEVELS_H

#include "spec/placement.h"

/* Sorts blocks, at least one, and drops those that repeat: returns how many are left. */
size_t locus_blocks_sort(int64_t *blocks, size_t count);

/* Where a block stands among them. */
uint32_t locus_blocks_find(const int64_t *blocks, size_t count, int64_t block);

/* Of a coordinate that is no tree. `shared`: keys stand where queries stand. */
locus_status locus_levels_split(locus_placement *placement, bool shared, locus_owned *memory, locus_error *error);

#endif
