/* SPDX-License-Identifier: MIT */
/* Trees of symbols: building, copying, comparing. Walks go along parent and sibling links, without a stack. */
#include "task/symbol_tree.h"

#include "io/grow.h"

#include <stdlib.h>

#define MOST_NODES ((size_t)1 << 24)

void lab_tree_clear(lab_tree *tree) {
    tree->count = 0;
}

void lab_tree_destroy(lab_tree *tree) {
    if (tree != NULL) {
        free(tree->nodes);
        *tree = (lab_tree){0};
    }
}

static bool make_room(lab_tree *tree) {
    return tree->count < MOST_NODES && LAB_GROW(tree->nodes, tree->count, tree->room, 64);
}

int32_t lab_tree_add(lab_tree *tree, int32_t parent, int32_t symbol) {
    if (!make_room(tree))
        return LAB_TREE_NONE;
    int32_t index = (int32_t)tree->count++, branch = 0;
    if (parent >= 0) {
        lab_tree_node *above = &tree->nodes[parent];
        if (above->last < 0) {
            above->first = index;
            branch = 1;
        } else {
            tree->nodes[above->last].next = index;
            branch = tree->nodes[above->last].branch + 1;
        }
        above->last = index;
    }
    tree->nodes[index] = (lab_tree_node){symbol, parent, branch, LAB_TREE_NONE, LAB_TREE_NONE, LAB_TREE_NONE};
    return index;
}

bool lab_tree_graft(lab_tree *tree, int32_t parent, const lab_tree *from, int32_t top, const lab_tree_cut *cut) {
    int32_t node = top, above = parent;
    for (;;) {
        int32_t leaf = cut == NULL ? LAB_TREE_NONE : cut->leaf(cut->context, from, node);
        int32_t made = lab_tree_add(tree, above, leaf >= 0 ? leaf : from->nodes[node].symbol);
        if (made < 0)
            return false;
        if (leaf < 0 && from->nodes[node].first >= 0) {
            node = from->nodes[node].first;
            above = made;
            continue;
        }
        while (node != top && from->nodes[node].next < 0) {
            node = from->nodes[node].parent;
            above = tree->nodes[above].parent;
        }
        if (node == top)
            return true;
        node = from->nodes[node].next;
    }
}

void lab_tree_mirror(lab_tree *tree) {
    for (size_t i = 0; i < tree->count; i++) {
        lab_tree_node *above = &tree->nodes[i];
        int32_t count = above->last < 0 ? 0 : tree->nodes[above->last].branch, before = LAB_TREE_NONE, next;
        for (int32_t child = above->first; child >= 0; child = next) {
            next = tree->nodes[child].next;
            tree->nodes[child].branch = count + 1 - tree->nodes[child].branch;
            tree->nodes[child].next = before;
            before = child;
        }
        above->last = above->first;
        above->first = before;
    }
}

/* The node after `node` in depth order, and the change of level on the way; NONE after the last. */
static int32_t follow(const lab_tree *tree, int32_t node, size_t *level) {
    const lab_tree_node *nodes = tree->nodes;
    if (nodes[node].first >= 0) {
        ++*level;
        return nodes[node].first;
    }
    while (node > 0 && nodes[node].next < 0) {
        node = nodes[node].parent;
        --*level;
    }
    return node > 0 ? nodes[node].next : LAB_TREE_NONE;
}

/* Two trees are equal if their nodes in depth order have the same symbols and stand on the same levels. */
bool lab_tree_equal(const lab_tree *a, const lab_tree *b) {
    if (a->count != b->count)
        return false;
    size_t level_a = 0, level_b = 0;
    for (int32_t i = 0, j = 0; a->count > 0 && i >= 0; i = follow(a, i, &level_a), j = follow(b, j, &level_b))
        if (a->nodes[i].symbol != b->nodes[j].symbol || level_a != level_b)
            return false;
    return true;
}

size_t lab_tree_depth(const lab_tree *tree) {
    size_t level = 0, most = 0;
    for (int32_t i = 0; tree->count > 0 && i >= 0; i = follow(tree, i, &level))
        most = level > most ? level : most;
    return most;
}
