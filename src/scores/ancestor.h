/* SPDX-License-Identifier: MIT */
/* Depth of the lowest common ancestor of two nodes of a trie in constant time, from a preparation linear in the nodes
 * (Schieber and Vishkin 1988, section 3). No recursion: parents stand before children, loops over nodes do.
 *
 * Nodes are numbered depth first, from 1. A node's label is the number with the most trailing zeros among those of its
 * subtree: nodes of one label lie on one path downward. Read as bits, labels embed the tree in a complete binary tree,
 * so that the label of a common ancestor is found from those of two nodes by a few operations on words. */
#ifndef LOCUS_ANCESTOR_H
#define LOCUS_ANCESTOR_H

#include "algebra/trie.h"
#include "spec/owned.h"

typedef struct locus_ancestor_node {
    uint32_t label;
    uint32_t above; /* lowest bits of the labels of all its ancestors, its own included */
    uint32_t depth;
    uint32_t order; /* its number */
} locus_ancestor_node;

typedef struct locus_ancestors {
    const locus_ancestor_node *nodes; /* [trie.count] */
    const uint32_t *entrance;         /* [trie.count + 1] by label: depth of the node that its path hangs from */
} locus_ancestors;

locus_status locus_ancestors_create(locus_ancestors *ancestors, const locus_trie_view *trie, locus_owned *memory,
                                    locus_error *error);

static inline unsigned locus_ancestor_top_bit(uint32_t word) { /* word > 0 */
    return 31u - (unsigned)__builtin_clz(word);
}

/* Depth of the lowest ancestor of `node` on the path whose label's lowest bit is `bit`. */
static inline uint32_t locus_ancestor_reach(const locus_ancestors *ancestors, const locus_ancestor_node *node,
                                            uint32_t bit) {
    const uint32_t below = node->above & (bit - 1);
    if (below == 0)
        return node->depth;
    const uint32_t last = (uint32_t)1 << locus_ancestor_top_bit(below);
    return ancestors->entrance[(node->label & ~(last | (last - 1))) | last];
}

static inline uint32_t locus_ancestor_depth(const locus_ancestors *ancestors, const locus_ancestor_node *a,
                                            const locus_ancestor_node *b) {
    uint32_t left = a->depth, right = b->depth;
    if (a->label != b->label) {
        const uint32_t common = a->above & b->above & (~(uint32_t)0 << locus_ancestor_top_bit(a->label ^ b->label));
        const uint32_t bit = common & (~common + 1);
        left = locus_ancestor_reach(ancestors, a, bit);
        right = locus_ancestor_reach(ancestors, b, bit);
    }
    return left < right ? left : right;
}

#endif
