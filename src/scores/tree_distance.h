/* SPDX-License-Identifier: MIT */
/* Distances between the nodes of one tree: depth_a + depth_b − 2·depth of the lowest common ancestor.
 *
 * Rows are cheaper than pairs. Keys of a sequence are cut into blocks of 128, as attention walks them. Of a block, L
 * holds the depths of the common ancestors of any two of its keys. Let k* be a key of the block that shares the most
 * with a query, t steps; then (an ultrametric)
 *
 *   depth of the common ancestor of the query and key j = min(t, L[k*][j])
 *
 * k* is a neighbour of the query in depth-first order: a binary search for a row, one minimum for a pair. Blocks take
 * 256 bytes for a key. Beyond LOCUS_TREE_BLOCK_BYTES in all, for a few queries, and where depths within a block spread
 * further than 16 bits, a pair costs one search for its common ancestor (ancestor.h). */
#ifndef LOCUS_TREE_DISTANCE_H
#define LOCUS_TREE_DISTANCE_H

#include "scores/ancestor.h"
#include "spec/placement.h"

#define LOCUS_TREE_BLOCK 128
#define LOCUS_TREE_BLOCK_BYTES ((size_t)64 << 20)

typedef struct locus_tree_distance locus_tree_distance;

/* `placement`: of a tree. */
locus_status locus_tree_distance_create(const locus_placement *placement, locus_owned *memory,
                                        const locus_tree_distance **distance, locus_error *error);

/* An upper bound over all queries and keys. */
uint64_t locus_tree_distance_most(const locus_tree_distance *distance);

/* Tokens of the query's and the key's buffer. */
uint64_t locus_tree_distance_pair(const locus_tree_distance *distance, size_t query, size_t key);

/* steps[j] += the distance of the query and key_first + j, keys of one sequence; needs most < 2^31. */
void locus_tree_distance_add(const locus_tree_distance *distance, size_t query, size_t key_first, size_t count,
                             int32_t *steps);

#endif
