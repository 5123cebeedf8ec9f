/* SPDX-License-Identifier: MIT */
/* Random trees. While a shape is drawn, a node's symbol holds the depth of its subtree; labels come afterwards. */
#include "task/tree_random.h"

#include "io/fail.h"

#include <stdlib.h>

/* Trees that are tried until one has few enough nodes for unique symbols. */
#define MOST_TRIES 100000

static void shuffle(int32_t *items, size_t count, lab_draws *draws) {
    for (size_t left = count; left > 1; left--) {
        size_t other = (size_t)lab_draw_below(draws, left);
        int32_t item = items[left - 1];
        items[left - 1] = items[other];
        items[other] = item;
    }
}

/* The depths of the children of a node of this depth, at least 1. */
static void draw_depths(int32_t depth, size_t arity, lab_draws *draws, int32_t *depths) {
    bool deepest = false;
    for (size_t i = 0; i + 1 < arity; i++) {
        depths[i] = lab_draw_below(draws, (size_t)depth);
        deepest = deepest || depths[i] == depth - 1;
    }
    depths[arity - 1] = deepest ? lab_draw_below(draws, (size_t)depth) : depth - 1;
    shuffle(depths, arity, draws);
}

typedef enum outcome { DRAWN, TOO_LARGE, NO_MEMORY } outcome;

/* `limits` NULL: of any size. */
static outcome draw_shape(lab_tree *tree, const lab_tree_plan *plan, lab_draws *draws,
                          const lab_tree_alphabet *limits) {
    size_t inner = plan->depth > 0, leaves = !inner;
    int32_t depths[LAB_TREE_MOST_ARITY];
    lab_tree_clear(tree);
    if (lab_tree_add(tree, LAB_TREE_NONE, (int32_t)plan->depth) < 0)
        return NO_MEMORY;
    for (size_t i = 0; i < tree->count; i++) {
        if (tree->nodes[i].symbol == 0)
            continue;
        draw_depths(tree->nodes[i].symbol, plan->arity, draws, depths);
        for (size_t c = 0; c < plan->arity; c++) {
            if (lab_tree_add(tree, (int32_t)i, depths[c]) < 0)
                return NO_MEMORY;
            *(depths[c] > 0 ? &inner : &leaves) += 1;
        }
        if (limits != NULL && (inner > limits->operators || leaves > limits->leaves))
            return TOO_LARGE;
    }
    return limits != NULL && (inner > limits->operators || leaves > limits->leaves) ? TOO_LARGE : DRAWN;
}

static void label(lab_tree *tree, const lab_tree_alphabet *alphabet, lab_draws *draws) {
    for (size_t i = 0; i < tree->count; i++) {
        lab_tree_node *node = &tree->nodes[i];
        node->symbol = node->first < 0 ? 1 + lab_draw_below(draws, alphabet->leaves)
                                       : 1 + (int32_t)alphabet->leaves + lab_draw_below(draws, alphabet->operators);
    }
}

/* The first `left` of the pool are still free. */
static int32_t take(int32_t *pool, size_t *left, lab_draws *draws) {
    size_t at = (size_t)lab_draw_below(draws, *left);
    int32_t symbol = pool[at];
    pool[at] = pool[--*left];
    return symbol;
}

static bool label_uniquely(lab_tree *tree, const lab_tree_alphabet *alphabet, lab_draws *draws) {
    size_t leaves = alphabet->leaves, operators = alphabet->operators;
    int32_t *pool = malloc((leaves + operators + 1) * sizeof *pool);
    if (pool == NULL)
        return false;
    for (size_t i = 0; i < leaves + operators; i++)
        pool[i] = 1 + (int32_t)i;
    for (size_t i = 0; i < tree->count; i++) {
        bool leaf = tree->nodes[i].first < 0;
        tree->nodes[i].symbol = take(leaf ? pool : pool + alphabet->leaves, leaf ? &leaves : &operators, draws);
    }
    free(pool);
    return true;
}

locus_status lab_tree_draw(lab_tree *tree, const lab_tree_plan *plan, lab_draws *draws, locus_error *error) {
    outcome drawn = TOO_LARGE;
    for (size_t tries = 0; drawn == TOO_LARGE && tries < MOST_TRIES; tries++)
        drawn = draw_shape(tree, plan, draws, plan->unique ? &plan->alphabet : NULL);
    if (drawn == TOO_LARGE) {
        return lab_fail(
            error, LOCUS_ERROR_UNSUPPORTED, "depth",
            "no tree of depth %zu was found that has at most %zu leaves and %zu operators, so that all symbols "
            "differ: give a smaller depth",
            plan->depth, plan->alphabet.leaves, plan->alphabet.operators);
    }
    if (drawn == NO_MEMORY || (plan->unique && !label_uniquely(tree, &plan->alphabet, draws)))
        return lab_fail_memory(error, "a tree");
    if (!plan->unique)
        label(tree, &plan->alphabet, draws);
    return LOCUS_OK;
}

/* N(0) = 1, N(δ) = 1 + (k − 1) m + p N(δ − 1) + (1 − p) m, where m is the mean of N(0) … N(δ − 1) and p = (1 − 1/δ)ᵏ⁻¹
 * the probability that none of k − 1 uniform depths is δ − 1. */
double lab_tree_expected_nodes(size_t depth, size_t arity) {
    double nodes = 1.0, sum = 0.0;
    for (size_t d = 1; d <= depth; d++) {
        double none = 1.0;
        for (size_t c = 1; c < arity; c++)
            none *= 1.0 - 1.0 / (double)d;
        sum += nodes;
        double mean = sum / (double)d;
        nodes = 1.0 + (double)(arity - 1) * mean + none * nodes + (1.0 - none) * mean;
    }
    return nodes;
}
