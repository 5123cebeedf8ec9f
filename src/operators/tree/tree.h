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

#include <stdatomic.h>

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
    const double *A;      /* [tables, branches, dim·dim or dim/2]: what generators are made of */
    _Atomic(int) *states; /* [tables, branches]: whether one is made (tree_bind.c) */
    double *generators;   /* [tables, branches, dim, dim] W, of those that are made; so are all below */
    /* Wᵀ, and both rounded once: products want their right factor by rows */
    double *transposed;
    float *generators_float32, *transposed_float32;
    double *bases; /* SKEW, learned: U [dim, dim] and θ [dim/2] of each, one behind the other; else NULL */
} locus_tree;

/* Makes room for generators of `values`, the term's parameters, which live as long as `memory`; for LOCUS_TREE_FIXED of
 * `A` [tables, branches, dim, dim] by `kind`, which does, too. NUMERIC names the head and branch of one that cannot be
 * made. The other fields are set by the caller. */
locus_status locus_tree_bind(locus_tree *tree, const double *const *values, const double *A, locus_owned *memory,
                             locus_error *error);

/* Makes the generators of these branches, all if `branches` is NULL, that are not made yet: those that are used, and no
 * others, so that a tree may have any number of branches. From any thread. NUMERIC as above. */
locus_status locus_tree_need(const locus_tree *tree, const uint32_t *branches, size_t count, locus_error *error);

/* `coordinate` of the places is the tree. */
locus_status locus_tree_place(const locus_tree *tree, const locus_places *places, size_t coordinate,
                              locus_owned *memory, const locus_whole_operator **placed, locus_error *error);

#endif
