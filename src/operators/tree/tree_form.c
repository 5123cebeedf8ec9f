/* SPDX-License-Identifier: MIT */
/* A tree's operator as data: generators and the trie, from which a node's matrix is its parent's times one generator.
 * Matrices of nodes themselves are no array of it: executors make those of some nodes only, and a device that goes
 * through a level at a time needs none of the others. See docs/forms.md. */
#include "operators/tree/tree_layout.h"
#include "spec/form_writer.h"

/* The coordinate that the tree's tokens stand on. */
static const locus_placement *placement_of(const locus_tree_operator *op, const locus_places *places) {
    const locus_placement *placement = places->items;
    while (&placement->query != op->side[0])
        placement++;
    return placement;
}

static const char *law_of(const locus_tree *tree) {
    static const char *const laws[] = {[LOCUS_ORTHOGONAL_SKEW] = "skew",
                                       [LOCUS_ORTHOGONAL_CAYLEY] = "cayley",
                                       [LOCUS_ORTHOGONAL_HOUSEHOLDER] = "householder"};
    return tree->learned == LOCUS_TREE_FIXED ? "" : tree->learned == LOCUS_TREE_ANGLES ? "angles" : laws[tree->kind];
}

static unsigned roles_of(const locus_tree *tree) {
    return 1u << LOCUS_ROLE_VALUE | 1u << LOCUS_ROLE_OUTPUT | (tree->sides & 1 ? 1u << LOCUS_ROLE_QUERY : 0) |
           (tree->sides & 2 ? 1u << LOCUS_ROLE_KEY : 0);
}

static void add_generators(const locus_tree *tree, locus_form_writer *writer) {
    if (writer->status == LOCUS_OK)
        writer->status = locus_tree_need(tree, NULL, 0, writer->error);
    const int64_t tables = (int64_t)tree->tables, branches = (int64_t)tree->branches, dim = (int64_t)tree->dim;
    locus_form_add(writer, "generators", LOCUS_FORM_FLOAT64, tree->generators,
                   LOCUS_FORM_SHAPE(tables, branches, dim, dim));
    if (tree->learned == LOCUS_TREE_FIXED)
        return;
    if (tree->learned == LOCUS_TREE_ANGLES)
        locus_form_add(writer, "angles", LOCUS_FORM_FLOAT64, tree->A, LOCUS_FORM_SHAPE(tables, branches, dim / 2));
    else
        locus_form_add(writer, "generator", LOCUS_FORM_FLOAT64, tree->A, LOCUS_FORM_SHAPE(tables, branches, dim, dim));
    locus_form_learned(writer, tree->slice.tensor, tree->slice.first);
}

void locus_tree_form(const locus_whole_operator *base, locus_form_writer *writer) {
    const locus_tree_operator *op = (const locus_tree_operator *)base;
    const locus_tree *tree = op->tree;
    const locus_placement *placement = placement_of(op, writer->places);
    const locus_trie_view *trie = &placement->trie;
    locus_form_begin(writer, LOCUS_FORM_PATHS, tree->dim, law_of(tree));
    locus_form_limit(writer, roles_of(tree));
    add_generators(tree, writer);
    locus_form_add(writer, "parent", LOCUS_FORM_UINT32, trie->parent, LOCUS_FORM_SHAPE(trie->count));
    locus_form_add(writer, "branch", LOCUS_FORM_INT64, trie->branch, LOCUS_FORM_SHAPE(trie->count));
    locus_form_add(writer, "depth", LOCUS_FORM_UINT32, trie->depth, LOCUS_FORM_SHAPE(trie->count));
    locus_form_add(writer, "query_node", LOCUS_FORM_INT64, placement->query.values,
                   LOCUS_FORM_SHAPE((int64_t)placement->query.tokens));
    locus_form_add(writer, "key_node", LOCUS_FORM_INT64, placement->key.values,
                   LOCUS_FORM_SHAPE((int64_t)placement->key.tokens));
}
