/* SPDX-License-Identifier: MIT */
/* Random trees of an exact depth.
 *
 * A tree of depth δ with k children to each inner node: a leaf if δ = 0; else k − 1 depths are drawn uniformly from
 * 0 … δ − 1; the last one is δ − 1 if none of these is, else drawn like them; and the k depths are dealt to the
 * children in random order. At k = 2 these are the trees of Kogkalidis, Bernardy and Garg 2024: one child of uniform
 * depth u, the other of depth δ − 1 if u < δ − 1, else of uniform depth; sides at random. At k = 1 it is a chain. */
#ifndef LAB_TREE_RANDOM_H
#define LAB_TREE_RANDOM_H

#include "task/symbol_tree.h"

#include <locus/random.h>

/* The numbers of one sample, one after another. */
typedef struct lab_draws {
    locus_random random;
    uint64_t next;
} lab_draws;

static inline int32_t lab_draw_below(lab_draws *draws, size_t bound) {
    return (int32_t)locus_random_below(&draws->random, draws->next++, bound);
}

#define LAB_TREE_MOST_ARITY 16
#define LAB_TREE_MOST_DEPTH 1000

/* The symbols of leaves are 1 … leaves, those of inner nodes leaves + 1 … leaves + operators. */
typedef struct lab_tree_alphabet {
    size_t leaves, operators;
} lab_tree_alphabet;

typedef struct lab_tree_plan {
    size_t depth, arity; /* at most MOST_DEPTH; 1 … MOST_ARITY */
    lab_tree_alphabet alphabet;
    bool unique; /* no symbol twice; the tree is drawn again, at the same depth, if it needs more than there are */
} lab_tree_plan;

/* Clears and fills `tree`; labels are uniform among leaves and operators. UNSUPPORTED: no tree of this depth with
 * unique symbols was found. MEMORY. */
locus_status lab_tree_draw(lab_tree *tree, const lab_tree_plan *plan, lab_draws *draws, locus_error *error);

/* How many nodes a tree of this depth has on the average. */
double lab_tree_expected_nodes(size_t depth, size_t arity);

#endif
