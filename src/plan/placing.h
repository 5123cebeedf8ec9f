/* SPDX-License-Identifier: MIT */
/* Makes the places of a plan (placement.h) from positions. */
#ifndef LOCUS_PLACING_H
#define LOCUS_PLACING_H

#include "spec/placement.h"

/* Sorts blocks, at least one, and drops those that repeat: returns how many are left. */
size_t locus_blocks_sort(int64_t *blocks, size_t count);

/* Where a block stands among them. */
uint32_t locus_blocks_find(const int64_t *blocks, size_t count, int64_t block);

/* Positions must outlive the places. POSITION for an axis' value beyond ±2^40, naming the token. */
locus_status locus_places_create(locus_places *places, const locus_positions *queries, const locus_positions *keys,
                                 locus_owned *memory, locus_error *error);

#endif
