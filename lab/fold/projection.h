/* SPDX-License-Identifier: MIT */
/* What a folding changes beside the encoding, and the file of both.
 *
 *   W_q ↦ Tᵀ W_q,  W_k ↦ Tᵀ W_k;  with values=on also  W_v ↦ Tᵀ W_v,  W_o ↦ W_o T       for each head
 *
 * An array is any of the four seen as [outer, heads, head_dim, inner]: what stands at the head's dimension turns. */
#ifndef LAB_PROJECTION_H
#define LAB_PROJECTION_H

#include "fold/folding.h"
#include "io/array.h"

typedef struct lab_projection_layout {
    size_t outer, inner;
} lab_projection_layout;

/* How an array of rank 1 (a bias), 2 (a matrix; `heads_last`: [model_dim, heads·head_dim], else the other way round) or
 * 3 ([tokens, heads, head_dim]) lies. NULL and filled; else what it must be, as messages say it. */
const char *lab_projection_read(lab_projection_layout *layout, const lab_array *array, size_t heads, size_t head_dim,
                                bool heads_last);

/* x′ = Tᵀ x along the head's dimension, in place, summed in double. MEMORY. */
locus_status lab_projection_turn(const lab_folding *folding, lab_array *array, lab_projection_layout layout,
                                 locus_error *error);

/* A .safetensors file that serves as --params of the new spec: the target's parameters under their own names,
 * fold.basis (T), fold.angles, and those of `projections` that have data, under theirs. */
locus_status lab_folding_write(const lab_folding *folding, const lab_array *projections, size_t count, const char *path,
                               locus_error *error);

#endif
