/* SPDX-License-Identifier: MIT */
/* Normal form: operators that commute are plain rotations in a common basis,
 *
 *   ⌈p⌉ = U R(p) Uᵀ,   R(p) turns pair i, columns 2i and 2i + 1 of U, by Σ_c p_c·angle[c, i],
 *
 * one U for each head. In scores the outer U cancels, so it folds into the projections, exactly:
 *
 *   q'·k' = (R(p) Uᵀq)·(R(p) Uᵀk)       W_q ↦ Uᵀ W_q,  W_k ↦ Uᵀ W_k
 *   and where values are acted on, too:   W_v ↦ Uᵀ W_v,  W_o ↦ W_o U
 *
 * Rotary encodings have it (U a permutation) unless they stretch (an attention factor, xPos) or their frequencies
 * depend on the length (dynamic NTK, LongRoPE); algebraic, mixed and string ones on sequences, cycles, grids and
 * products of these. Generators of a tree's branches do not commute, those of LieRE neither: they have none. */
#ifndef LOCUS_FOLD_H
#define LOCUS_FOLD_H

#include <locus/encoding.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct locus_fold_shape {
    size_t size;        /* given: sizeof(locus_fold_shape), so much is written: the struct may grow at its end */
    size_t term;        /* of the spec, from 0: the one that acts on queries and keys */
    size_t heads;       /* H */
    size_t head_dim;    /* d */
    size_t coordinates; /* C of the group (group.h) */
    size_t pairs;       /* P, at most d/2, for each head; the other d − 2P columns of U are unpaired */
} locus_fold_shape;

/* UNSUPPORTED if the encoding has no normal form, or does not act on queries and keys; `shape` but its size is then
 * 0. */
LOCUS_API LOCUS_MUST_USE locus_status locus_fold_measure(const locus_binding *binding, locus_fold_shape *shape,
                                                         locus_error *error);

/* Fills what the caller owns, contiguous doubles in C order; each may be NULL: not wanted.
 *
 *   basis   [H, d, d]        U, orthogonal; block diagonal but for the order of its columns: pairs first, block by
 *                            block, then what is unpaired
 *   angles  [H, C, P]        radians for one step of each coordinate; on a cycle of n whole multiples of 2π/n, for
 *                            positions 0 … n − 1; 0 for the coordinates that a pair does not follow
 *   signs   [H, C, d − 2P]   of unpaired columns: −1 where a step changes the sign (a reflection), else 1 */
LOCUS_API LOCUS_MUST_USE locus_status locus_fold(const locus_binding *binding, double *basis, double *angles,
                                                 double *signs, locus_error *error);

#ifdef __cplusplus
}
#endif
#endif
