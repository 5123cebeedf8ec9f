/* SPDX-License-Identifier: MIT */
/* Matrices of anchors and their way back, in double, one table at a time.
 *
 *   P_c = P_a W:    dP_a += dP_c Wᵀ,   dW += P_aᵀ dP_c
 *   P_c = P_a Wᵀ:   dP_a += dP_c W,    dW += dP_cᵀ P_a */
#ifndef LOCUS_TREE_MATRICES_H
#define LOCUS_TREE_MATRICES_H

#include "operators/tree/tree_layout.h"

/* What execution holds of one table. Matrices are [dim, dim] each. */
typedef struct locus_tree_desk {
    size_t table;
    const double *P;     /* the chunk's anchors; those of the operator if it keeps them, else `made` */
    double *made;        /* [anchors_most], or NULL */
    double *checkpoints; /* [checkpoint_count], or NULL */
    double *boundary;    /* [checkpoint_count]: dL/dP from the chunks below, or NULL */
    double *dP;          /* [anchors_most] */
    double *dW;          /* [used_count] */
    char *slots;         /* [slots_most], of slot_bytes each: dL/dW by part, and [pieces_most]: dL/dP */
    char *pieces;
    size_t slot_bytes;
} locus_tree_desk;

/* W or Wᵀ of a group's or anchor's generator, in double. */
const double *locus_tree_generator(const locus_tree_operator *op, size_t table, uint32_t generator, bool transposed);

/* All matrices of all tables, and the same rounded, both ways round. Runs in parallel. */
void locus_tree_make_kept(const locus_tree_operator *op, double *matrices, float *rounded, float *transposed);

/* The chunk's matrices into desk->made, from its parent's checkpoint. `leading`: only those that lead to
 * checkpoints. */
void locus_tree_make_chunk(const locus_tree_operator *op, const locus_tree_chunk *chunk, const locus_tree_desk *desk,
                           bool leading);

/* Folds the chunk's slots and takes dL/dP through the chunk: to dW, and to the boundary above. `exact`: slots of all
 * parts hold doubles (else only those of exact parts). */
void locus_tree_walk_back(const locus_tree_operator *op, const locus_tree_chunk *chunk, const locus_tree_desk *desk,
                          bool exact);

/* Bytes of scratch for each worker, and parameters += what follows from dW [tables, used_count]. */
size_t locus_tree_spread_bytes(const locus_tree *tree);
void locus_tree_spread(const locus_tree_operator *op, const double *dW, const locus_tensor *parameters, char *scratch);

#endif
