/* SPDX-License-Identifier: MIT */
/* See ancestor.h. */
#include "scores/ancestor.h"

#include <stdbool.h>

static void count_subtrees(const locus_trie_view *trie, uint32_t *size) {
    for (uint32_t i = 0; i < trie->count; i++)
        size[i] = 1;
    for (uint32_t i = trie->count; i-- > 1;)
        size[trie->parent[i]] += size[i];
}

/* Depth-first numbers: each child takes the next block of its parent's, of its subtree's size. */
static void number_nodes(const locus_trie_view *trie, const uint32_t *size, uint32_t *next,
                         locus_ancestor_node *nodes) {
    nodes[LOCUS_TRIE_ROOT].order = 1;
    next[LOCUS_TRIE_ROOT] = 2;
    for (uint32_t i = 1; i < trie->count; i++) {
        nodes[i].order = next[trie->parent[i]];
        next[trie->parent[i]] += size[i];
        next[i] = nodes[i].order + 1;
    }
}

/* The number with the most trailing zeros of first … last. */
static uint32_t label_of(uint32_t first, uint32_t last) {
    const unsigned bit = locus_ancestor_top_bit((first - 1) ^ last);
    return (last >> bit) << bit;
}

static void label_nodes(const locus_trie_view *trie, const uint32_t *size, locus_ancestor_node *nodes,
                        uint32_t *entrance) {
    for (uint32_t i = 0; i < trie->count; i++) {
        locus_ancestor_node *node = &nodes[i];
        const locus_ancestor_node *parent = &nodes[trie->parent[i]];
        node->depth = trie->depth[i];
        node->label = label_of(node->order, node->order + (size[i] - 1));
        node->above = (i > 0 ? parent->above : 0) | (node->label & (~node->label + 1));
        if (i > 0 && node->label != parent->label)
            entrance[node->label] = parent->depth;
    }
}

locus_status locus_ancestors_create(locus_ancestors *ancestors, const locus_trie_view *trie, locus_owned *memory,
                                    locus_error *error) {
    locus_owned passing = {0};
    uint32_t *size = locus_owned_get(&passing, trie->count, sizeof *size);
    uint32_t *next = locus_owned_get(&passing, trie->count, sizeof *next);
    locus_ancestor_node *nodes = locus_owned_get(memory, trie->count, sizeof *nodes);
    uint32_t *entrance = locus_owned_get(memory, (size_t)trie->count + 1, sizeof *entrance);
    const bool ready = size && next && nodes && entrance;
    if (ready) {
        count_subtrees(trie, size);
        number_nodes(trie, size, next, nodes);
        label_nodes(trie, size, nodes, entrance);
        *ancestors = (locus_ancestors){nodes, entrance};
    }
    locus_owned_release(&passing);
    return ready ? LOCUS_OK : locus_owned_fail(error);
}
