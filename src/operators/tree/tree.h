/* SPDX-License-Identifier: MIT */
/* Operators of a tree's nodes, on whole tensors: ⌈b1 b2 … bt⌉ = W_b1 W_b2 … W_bt, a branch −b acting as W_bᵀ.
 *
 * A plan's positions are nodes of one trie. Near the root, where more vectors pass than a product of matrices costs, a
 * node's matrix is made from its parent's, P_node = P_parent W_b (one product for an edge, in double); below, the
 * generators are applied to the vectors, edge by edge from the leaves up, all edges of a level with the same branch in
 * one product. So the cost is linear in edges whatever the shape. Matrices that do not fit the plan's workspace are
 * made in chunks of subtrees, and made again in the backward walk, which takes dL/dP to the parents and to the
 * generators:
 *
 *   P_c = P_a W_b:   dP_a += dP_c W_bᵀ,   dW_b += P_aᵀ dP_c */
#ifndef LOCUS_TREE_H
#define LOCUS_TREE_H

#include "linalg/orthogonal.h"
#include "operators/product.h"

typedef enum locus_tree_learning {
    LOCUS_TREE_FIXED = 0,
    LOCUS_TREE_ORTHOGONAL = 1, /* A [tables, generators, dim, dim] of the term's parameters, by `kind` */
    LOCUS_TREE_ANGLES = 2      /* θ [tables, generators, dim/2]: rotations in the standard basis */
} locus_tree_learning;

/* Bound: read-only, shared by plans. */
typedef struct locus_tree {
    size_t heads, dim, branches;
    size_t tables;  /* heads, or 1: all heads alike */
    unsigned sides; /* mask: 1 queries are acted on, 2 keys are; values always are */
    locus_tree_learning learned;
    locus_orthogonal_kind kind;
    locus_parameter_slice slice;
    const double *parameters; /* [tables, branches, dim·dim or dim/2], copied; NULL if nothing is learned */
    const double *generators; /* [tables, branches, dim, dim] W */
    /* Wᵀ, and both rounded once: products want their right factor by rows */
    const double *transposed;
    const float *generators_float32, *transposed_float32;
    const double *bases; /* SKEW, learned: U [dim, dim] and θ [dim/2] of each, one behind the other; else NULL */
} locus_tree;

/* Fills `generators` and what follows (and keeps the copies) from `values`, the term's parameters, or for
 * LOCUS_TREE_FIXED from `A` [tables, branches, dim, dim] by `kind`. NUMERIC names the head and branch. The other fields
 * are set by the caller. */
locus_status locus_tree_bind(locus_tree *tree, const double *const *values, const double *A, locus_owned *memory,
                             locus_error *error);

/* `coordinate` of the places is the tree. */
locus_status locus_tree_place(const locus_tree *tree, const locus_places *places, size_t coordinate,
                              locus_owned *memory, const locus_whole_operator **placed, locus_error *error);

#endif
