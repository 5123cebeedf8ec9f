/* SPDX-License-Identifier: MIT */
/* What plans may see of positions.
 *
 * Room for other groups: a position is then a row of coordinates, one int64 for each axis of a grid, one residue for
 * each cycle, and for each tree one index of a node of a trie that the positions own (duplicates found once, parents
 * before children). `values` becomes one such array for each coordinate, all [tokens], so that what is written here for
 * `seq` is the case of one coordinate, and extremes are kept for each coordinate. */
#ifndef LOCUS_POSITIONS_ACCESS_H
#define LOCUS_POSITIONS_ACCESS_H

#include <locus/positions.h>
#include <stdbool.h>

/* The tokens of one sequence: first … first + count − 1 of the buffer. */
typedef struct locus_positions_run {
    size_t first, count;
    bool consecutive; /* every value is its left neighbour's plus one */
} locus_positions_run;

/* [tokens], gaps hold 0. */
const int64_t *locus_positions_values(const locus_positions *positions);

locus_positions_run locus_positions_sequence(const locus_positions *positions, size_t sequence);

/* Extremes over all tokens that belong to a sequence; 0 if there are none. */
int64_t locus_positions_minimum(const locus_positions *positions);
int64_t locus_positions_maximum(const locus_positions *positions);

/* Positions are immutable, so a plan keeps them by counting owners: one more owner, one more locus_positions_destroy.
 * Safe from any thread. Returns its argument, whose contents stay read-only. */
locus_positions *locus_positions_share(const locus_positions *positions);

#endif
