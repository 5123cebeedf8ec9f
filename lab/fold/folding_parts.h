/* SPDX-License-Identifier: MIT */
/* What the files of folding share: the two ways (folding_rotary.c, folding_algebraic.c) and what both ask
 * (folding_parts.c). Functions that fail do as lab_folding_open. */
#ifndef LAB_FOLDING_PARTS_H
#define LAB_FOLDING_PARTS_H

#include "fold/folding.h"

/* Rewrites folding->spec. */
locus_status lab_folding_rotary_spec(lab_folding *folding, bool half, locus_error *error);
locus_status lab_folding_algebraic_spec(lab_folding *folding, locus_error *error);

/* Parameters of the folded term, and T. */
locus_status lab_folding_rotary_fill(lab_folding *folding, locus_error *error);
locus_status lab_folding_algebraic_fill(lab_folding *folding, const lab_folding_wish *wish, locus_error *error);

/* Block of the head's dimensions, and of the pairs, that coordinate `index` of an algebraic term has. */
typedef struct lab_fold_block {
    size_t first, dim, pair;
    locus_coordinate coordinate;
} lab_fold_block;
lab_fold_block lab_folding_block(const lab_folding *folding, size_t index);

lab_term *lab_folding_term(lab_folding *folding);
/* Drops all options of a term but those that rotary encodings and generators share: side and values. */
locus_status lab_folding_strip(lab_term *term, locus_error *error);
/* Parses the spec and lists its parameters in folding->target, all zero. */
locus_status lab_folding_parse(lab_folding *folding, locus_error *error);
/* Base name of the target's parameter `index` if it belongs to the folded term, else NULL: "angles.1". */
const char *lab_folding_own(const lab_folding *folding, size_t index);

/* Radians for one step along a coordinate, [pairs]. */
const double *lab_folding_angles(const lab_folding *folding, size_t head, size_t coordinate);

/* T = U Bᵀ, with U the source's basis, B [heads, d, d] the target's. */
void lab_folding_turn(lab_folding *folding, const double *B);

#endif
