/* SPDX-License-Identifier: MIT */
/* Distances between query and key positions of any group, for decays and biases: |m − n| on an axis, the shorter way
 * round on a cycle, the floor of the Euclidean norm over the axes of a grid (exact), through the lowest common ancestor
 * on a tree, the sum over the factors of a product. Real-valued positions have real distances on `seq`, and on grids
 * the floor as well. No table over all pairs is needed: a tree's trie is prepared once so that any pair takes constant
 * time (ancestor.h). */
#ifndef LOCUS_DISTANCE_H
#define LOCUS_DISTANCE_H

#include "spec/class.h"

typedef struct locus_distances locus_distances;

/* In the places' tables, or in `memory` where they have none. */
locus_status locus_distances_create(const locus_places *places, locus_owned *memory, const locus_distances **distances,
                                    locus_error *error);

/* In `memory`: for those who need them only for a while. */
locus_status locus_distances_make(const locus_places *places, locus_owned *memory, const locus_distances **distances,
                                  locus_error *error);

/* out[j] = distance of the call's query and key number j of its run; whole numbers are rounded to a double above 2^53.
 * The call's query and keys are of one sequence, here and below. */
void locus_distances_row(const locus_distances *distances, const locus_score_call *call, double *out);

/* An upper bound over all pairs of a query and a key of one sequence. */
double locus_distances_most(const locus_distances *distances);

/* Whether they are whole numbers: all but those of real-valued positions on `seq`. */
bool locus_distances_whole(const locus_distances *distances);

/* Whether all positions are whole and all distances below 2^31. */
bool locus_distances_fit(const locus_distances *distances);

/* On `seq`: out[j] = position of key number j − position of the query, with its sign. */
void locus_distances_apart(const locus_distances *distances, const locus_score_call *call, double *out);

/* The same as whole numbers, several times faster, where they fit. */
void locus_distances_steps(const locus_distances *distances, const locus_score_call *call, int32_t *steps);

/* Distance of two positions that lie so far apart, [coordinates of the group], on a group without trees. */
double locus_distances_of(const locus_distances *distances, const int64_t *apart);

#endif
