/* SPDX-License-Identifier: MIT */
/* What plans may see of positions: for each coordinate of the group an array over tokens. Axes hold integers, cycles
 * residues 0 … n − 1, trees indices of nodes in a trie that the positions own. */
#ifndef LOCUS_POSITIONS_ACCESS_H
#define LOCUS_POSITIONS_ACCESS_H

#include "algebra/trie.h"

#include <locus/positions.h>
#include <stdbool.h>

/* The tokens of one sequence: first … first + count − 1 of the buffer. */
typedef struct locus_positions_run {
    size_t first, count;
} locus_positions_run;

locus_positions_run locus_positions_sequence(const locus_positions *positions, size_t sequence);

/* [tokens] of one coordinate, gaps hold 0. */
const int64_t *locus_positions_values(const locus_positions *positions, size_t coordinate);

/* [tokens] of one coordinate of real-valued positions, gaps hold 0, else NULL: of all coordinates or of none. Their
 * locus_positions_values are rounded down. */
const double *locus_positions_reals(const locus_positions *positions, size_t coordinate);

/* The same as patterns of bits, to be compared. */
const void *locus_positions_real_bits(const locus_positions *positions, size_t coordinate);

/* Whether in this sequence each of the coordinate's locus_positions_values is its left neighbour's plus one. */
bool locus_positions_consecutive(const locus_positions *positions, size_t coordinate, size_t sequence);

/* Extremes over all tokens that belong to a sequence; 0 if there are none. */
int64_t locus_positions_minimum(const locus_positions *positions, size_t coordinate);
int64_t locus_positions_maximum(const locus_positions *positions, size_t coordinate);

/* The trie of a tree's coordinate, else NULL. */
const locus_trie *locus_positions_trie(const locus_positions *positions, size_t coordinate);

/* What all ways to give positions check first: the place for the result, which is nulled, the group's size and the
 * packing, which is read into `packing` at its size. */
locus_status locus_positions_check(locus_positions **positions, const locus_group *group, const locus_packing *given,
                                   locus_packing *packing, locus_error *error);

/* Makes fresh positions, whose values are `rows` [tokens, coordinates] rounded down, real-valued. Rows of gaps are not
 * read. */
locus_status locus_positions_keep_reals(locus_positions *positions, const double *rows, locus_error *error);

/* Places for what others keep beside positions, who guard it; NULL at first. For grounds of plans, and for what caches
 * have placed. */
void **locus_positions_attached(const locus_positions *positions);
void **locus_positions_placed(const locus_positions *positions);

/* Bytes that the positions hold, tries included. */
size_t locus_positions_bytes(const locus_positions *positions);

#endif
