/* SPDX-License-Identifier: MIT */
/* Ordered trees of symbols, of any arity and depth. The nodes lie in one array; node 0 is the root, and a parent lies
 * before its children. Children of a node are numbered from 1, from the first (left) to the last.
 *
 *   text:    a leaf is its symbol, an inner node "(symbol child child …)":    (11 3 (12 1 2))
 *   order:   breadth   11 3 12 1 2      level by level
 *            depth     11 3 12 1 2      each node before its children, first child first
 *   parents: −1 0 0 2 2                 index among the tokens of the same order
 *   branches: 0 1 2 1 2                 which child of it
 *   paths:   0, 1, 2, 2+1, 2+2          the branches from the root
 *
 * No function here recurses: trees that come from files may be as deep as they like. */
#ifndef LAB_SYMBOL_TREE_H
#define LAB_SYMBOL_TREE_H

#include "task/task.h"

#define LAB_TREE_NONE (-1)

typedef struct lab_tree_node {
    int32_t symbol;
    int32_t parent, branch;    /* NONE, 0: the root */
    int32_t first, last, next; /* first and last child, next sibling; NONE */
} lab_tree_node;

/* {0} is an empty tree. */
typedef struct lab_tree {
    lab_tree_node *nodes;
    size_t count, room;
} lab_tree;

void lab_tree_clear(lab_tree *tree);   /* empty; keeps its memory */
void lab_tree_destroy(lab_tree *tree); /* accepts NULL; {0} afterwards */

/* Adds a last child to `parent`, or to an empty tree its root (parent NONE). The new node; NONE: out of memory, or more
 * than 2²⁴ nodes. */
int32_t lab_tree_add(lab_tree *tree, int32_t parent, int32_t symbol);

/* What a copy puts in place of the subtree at `node`: the symbol of a leaf, or NONE to copy the node itself. */
typedef struct lab_tree_cut {
    int32_t (*leaf)(const void *context, const lab_tree *from, int32_t node);
    const void *context;
} lab_tree_cut;

/* Copies the subtree of `from` at `top` to be the last child of `parent` (NONE: the root of an empty tree). `cut` may
 * be NULL. False: out of memory; `tree` is then of no use until it is cleared. */
bool lab_tree_graft(lab_tree *tree, int32_t parent, const lab_tree *from, int32_t top, const lab_tree_cut *cut);

void lab_tree_mirror(lab_tree *tree); /* in place: the children of every node in the opposite order */
bool lab_tree_equal(const lab_tree *a, const lab_tree *b);
size_t lab_tree_depth(const lab_tree *tree); /* a leaf has 0, and so has an empty tree */

/* ---- orders ---- */

/* Writes the nodes in an order; each array has room for tree->count, and none may be NULL. */
void lab_tree_write(const lab_tree *tree, lab_order order, int32_t *tokens, int32_t *parents, int32_t *branches);

/* The inverse, from either order: `tree` is cleared and filled from n tokens with their parents and branches, or with
 * their paths as text ("0", "1+2"). ARGUMENT unless every parent stands before its children and siblings come as 1, 2,
 * 3, …; SPEC for a path that is none. */
locus_status lab_tree_from_parents(lab_tree *tree, size_t n, const int32_t *tokens, const int32_t *parents,
                                   const int32_t *branches, locus_error *error);
locus_status lab_tree_from_paths(lab_tree *tree, size_t n, const int32_t *tokens, const char *const *paths,
                                 locus_error *error);

/* The depth of a tree of n tokens, from their parents. */
size_t lab_tree_order_depth(size_t n, const int32_t *parents);

/* ---- text ---- */

/* The path of token i, cut to `size` bytes with its NUL; returns the full length. */
size_t lab_tree_path_text(const int32_t *parents, const int32_t *branches, size_t i, char *text, size_t size);

/* The tree as "(symbol child …)", cut to `size` bytes with its NUL; returns the full length. An empty tree is "".
 * `names` (NULL: none) stand in place of symbols. */
size_t lab_tree_text(const lab_tree *tree, char *const *names, char *text, size_t size);
/* The same from malloc; NULL: out of memory. */
char *lab_tree_string(const lab_tree *tree, char *const *names);

/* Reads such a text into `tree`, which is cleared. Symbols are whole numbers from 0; blanks may stand between all
 * parts. SPEC with the offset of what is wrong. */
locus_status lab_tree_parse(lab_tree *tree, const char *text, locus_error *error);

/* The same of symbols that have names, of any characters but blanks and parentheses: `find` has a name's symbol, NONE
 * for what is none. */
typedef struct lab_tree_names {
    int32_t (*find)(const void *context, const char *name, size_t bytes);
    const void *context;
} lab_tree_names;
locus_status lab_tree_parse_named(lab_tree *tree, const char *text, const lab_tree_names *names, locus_error *error);

#endif
