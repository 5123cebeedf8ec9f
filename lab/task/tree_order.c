/* SPDX-License-Identifier: MIT */
/* Trees as rows of tokens: breadth- and depth-first order, with parents, branches and paths, and back. */
#include "task/symbol_tree.h"

#include "io/fail.h"

#include <stdlib.h>
#include <string.h>

/* The queue of nodes is the array of tokens itself: a node's index stands where its symbol will. */
static void write_breadth(const lab_tree *tree, int32_t *tokens, int32_t *parents, int32_t *branches) {
    size_t end = 1;
    tokens[0] = 0;
    parents[0] = -1;
    branches[0] = 0;
    for (size_t i = 0; i < end; i++) {
        const lab_tree_node *node = &tree->nodes[tokens[i]];
        for (int32_t child = node->first; child >= 0; child = tree->nodes[child].next) {
            tokens[end] = child;
            parents[end] = (int32_t)i;
            branches[end++] = tree->nodes[child].branch;
        }
        tokens[i] = node->symbol;
    }
}

static void write_depth(const lab_tree *tree, int32_t *tokens, int32_t *parents, int32_t *branches) {
    const lab_tree_node *nodes = tree->nodes;
    int32_t node = 0, parent = -1;
    for (size_t i = 0; i < tree->count; i++) {
        tokens[i] = nodes[node].symbol;
        parents[i] = parent;
        branches[i] = nodes[node].branch;
        if (nodes[node].first >= 0) {
            node = nodes[node].first;
            parent = (int32_t)i;
            continue;
        }
        while (node > 0 && nodes[node].next < 0) {
            node = nodes[node].parent;
            parent = parent < 0 ? -1 : parents[parent];
        }
        node = nodes[node].next;
    }
}

void lab_tree_write(const lab_tree *tree, lab_order order, int32_t *tokens, int32_t *parents, int32_t *branches) {
    if (tree->count == 0)
        return;
    if (order == LAB_ORDER_DEPTH)
        write_depth(tree, tokens, parents, branches);
    else
        write_breadth(tree, tokens, parents, branches);
}

static int32_t next_branch(const lab_tree *tree, int32_t node) {
    int32_t last = tree->nodes[node].last;
    return last < 0 ? 1 : tree->nodes[last].branch + 1;
}

locus_status lab_tree_from_parents(lab_tree *tree, size_t n, const int32_t *tokens, const int32_t *parents,
                                   const int32_t *branches, locus_error *error) {
    lab_tree_clear(tree);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 ? parents[0] != -1 : parents[i] < 0 || (size_t)parents[i] >= i) {
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, "parents", "token %zu: its parent %d does not stand before it",
                            i, (int)parents[i]);
        }
        int32_t wanted = i == 0 ? 0 : next_branch(tree, parents[i]);
        if (branches[i] != wanted) {
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, "branches", "token %zu: it is child %d where %d comes next", i,
                            (int)branches[i], (int)wanted);
        }
        if (lab_tree_add(tree, parents[i], tokens[i]) < 0)
            return lab_fail_memory(error, "a tree");
    }
    return LOCUS_OK;
}

/* One step of a path, at *text, which then points behind it; 0: there is no branch. */
static int32_t read_branch(const char **text) {
    int32_t branch = 0;
    for (; **text >= '0' && **text <= '9'; ++*text)
        branch = branch > (INT32_MAX - 9) / 10 ? INT32_MAX : 10 * branch + (**text - '0');
    return branch;
}

static int32_t child_at(const lab_tree *tree, int32_t node, int32_t branch) {
    int32_t child = tree->nodes[node].first;
    while (child >= 0 && tree->nodes[child].branch != branch)
        child = tree->nodes[child].next;
    return child;
}

static locus_status add_at(lab_tree *tree, size_t i, int32_t token, const char *path, locus_error *error) {
    int32_t parent = LAB_TREE_NONE;
    if (strcmp(path, "0") != 0) {
        const char *rest = path;
        int32_t branch = read_branch(&rest);
        for (parent = 0; tree->count > 0 && parent >= 0 && branch > 0 && *rest == '+'; branch = read_branch(&rest)) {
            parent = child_at(tree, parent, branch);
            rest++;
        }
        if (branch == 0 || (*rest != '\0' && *rest != '+')) {
            return lab_fail(error, LOCUS_ERROR_SPEC, "paths",
                            "token %zu: '%s' is no path: 0 for the root, else branches from 1, such as 1+2", i, path);
        }
        if (tree->count == 0 || parent < 0 || *rest == '+' || branch != next_branch(tree, parent)) {
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, "paths",
                            "token %zu: its parent and the children before it must stand before %s", i, path);
        }
    } else if (tree->count > 0) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "paths", "token %zu: a second root", i);
    }
    return lab_tree_add(tree, parent, token) < 0 ? lab_fail_memory(error, "a tree") : LOCUS_OK;
}

locus_status lab_tree_from_paths(lab_tree *tree, size_t n, const int32_t *tokens, const char *const *paths,
                                 locus_error *error) {
    locus_status status = LOCUS_OK;
    lab_tree_clear(tree);
    for (size_t i = 0; status == LOCUS_OK && i < n; i++)
        status = add_at(tree, i, tokens[i], paths[i], error);
    return status;
}

static size_t level_of(const int32_t *parents, size_t i) {
    size_t level = 0;
    for (int32_t node = parents[i]; node >= 0; node = parents[node])
        level++;
    return level;
}

size_t lab_tree_order_depth(size_t n, const int32_t *parents) {
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        size_t level = level_of(parents, i);
        most = level > most ? level : most;
    }
    return most;
}
