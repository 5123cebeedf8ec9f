/* SPDX-License-Identifier: MIT */
/* How large a tree's layout gets within limits: every number of tree_limits.c, worked out by hand. That no layout is
 * larger is tests/property/test_workspace_bounds.c. */
#include "operators/tree/tree_layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Two branches, four heads alike: a token has four vectors, a matrix 128 bytes; matrices are made where more than
 * 2·4 = 8 vectors pass. */
static const locus_tree tree = {.heads = 4, .dim = 4, .branches = 2, .tables = 1};
/* Of 1400 vectors there are 175 anchors on a level at most: 4, 12, 36, 108, 175, 175, … */
static const locus_limits limits = {.sequences = 1,
                                    .queries = 200,
                                    .keys = 150,
                                    .longest_query = 200,
                                    .longest_key = 150,
                                    .depth = 5,
                                    .workspace = 1 << 20};
static const locus_tree_variant keeps = {.keeps = true, .sides = 2}, cuts = {.keeps = false, .sides = 2};

static locus_tree_layout layout_of(const locus_tree *of, const locus_limits *within,
                                   const locus_tree_variant *variant) {
    locus_tree_layout layout = {.anchors_most = 99};
    assert_true(locus_tree_layout_limit(of, within, variant, &layout));
    return layout;
}

static size_t anchors_of(const locus_tree *of, size_t tokens, size_t depth, size_t workspace) {
    const locus_limits within = {.queries = tokens, .depth = depth, .workspace = workspace};
    return layout_of(of, &within, &keeps).anchors_most;
}

static void test_anchors(void **state) {
    static const size_t levels[] = {0, 4, 16, 52, 160, 335, 510, 685};
    (void)state;
    for (size_t depth = 0; depth < 8; depth++)
        assert_int_equal(anchors_of(&tree, 350, depth, 1 << 20), levels[depth]);
    assert_int_equal(anchors_of(&tree, 216, 4, 1 << 20), 4 + 12 + 36 + 108); /* 864/8 is 108 */
    assert_int_equal(anchors_of(&tree, 215, 4, 1 << 20), 4 + 12 + 36 + 107);
    assert_int_equal(anchors_of(&tree, 1, 9, 1 << 20), 0); /* four vectors are too few */
    assert_int_equal(anchors_of(&tree, 2, 9, 1 << 20), 9); /* one on each level */
    locus_tree other = tree;
    other.branches = 1; /* two words of any length */
    assert_int_equal(anchors_of(&other, 350, 7, 1 << 20), 14);
    other.branches = 2, other.tables = 4; /* heads apart: a vector for each token */
    assert_int_equal(anchors_of(&other, 350, 4, 1 << 20), 4 + 12 + 36 + 43);
}

/* A quarter of the workspace has both kinds of matrices of what is kept, for every table. */
static void test_kept(void **state) {
    (void)state;
    assert_int_equal(anchors_of(&tree, 350, 5, 4 * 256 * 335), 335);
    assert_int_equal(anchors_of(&tree, 350, 5, 4 * 256 * 335 - 1), 334);
    assert_int_equal(anchors_of(&tree, 350, 5, 4 * 256), 1);
    assert_int_equal(anchors_of(&tree, 350, 5, 4 * 256 - 1), 0);
    locus_tree other = tree;
    other.tables = 4;
    assert_int_equal(anchors_of(&other, 350, 4, 4 * 4 * 256 * 95), 95);
    assert_int_equal(anchors_of(&other, 350, 4, 4 * 4 * 256 * 95 - 1), 94);
}

/* Where all can be kept, nothing is cut into chunks. */
static void test_chunks(void **state) {
    locus_tree_layout layout;
    locus_limits within = limits;
    (void)state;
    within.workspace = 4 * 256 * 335;
    assert_false(locus_tree_layout_limit(&tree, &within, &cuts, &layout));
    within.workspace--;
    layout = layout_of(&tree, &within, &cuts);
    assert_int_equal(layout.anchors_most, 26);     /* ⌈√670⌉ */
    assert_int_equal(layout.checkpoint_count, 54); /* 26·(√52 + 1)/4 + 1 */
    within.workspace = 8192;                       /* 32 matrices in half: 2, and 5 for each anchor but one */
    layout = layout_of(&tree, &within, &cuts);
    assert_int_equal(layout.anchors_most, 7);
    assert_int_equal(layout.checkpoint_count, 9); /* 7·(√14 + 1)/4 + 1 */
    within.workspace = 512;                       /* two matrices */
    layout = layout_of(&tree, &within, &cuts);
    assert_int_equal(layout.anchors_most, 1);
    assert_int_equal(layout.checkpoint_count, 2); /* one for each anchor, and one */
    within.workspace = 0;
    layout = layout_of(&tree, &within, &cuts);
    assert_int_equal(layout.anchors_most, 0);
    assert_int_equal(layout.checkpoint_count, 1);
}

static void expect_rows(const locus_limits *within, size_t sides, bool keys_first, size_t queries, size_t keys) {
    const locus_tree_variant variant = {.keeps = true, .sides = sides, .keys_first = keys_first};
    const locus_tree_layout layout = layout_of(&tree, within, &variant);
    assert_int_equal(layout.sides, sides);
    assert_int_equal(layout.rows_most[0], queries);
    assert_int_equal(layout.rows_most[1], keys);
}

/* 256 tokens of four vectors; both at once where keys are queries. */
static void test_rows(void **state) {
    locus_limits within = limits;
    (void)state;
    expect_rows(&within, 2, false, 200, 56);
    expect_rows(&within, 2, true, 106, 150);
    expect_rows(&within, 1, false, 128, 0);
    within.queries = 120;
    expect_rows(&within, 1, false, 120, 0);
    expect_rows(&within, 2, false, 120, 136);
    within.keys = 30;
    expect_rows(&within, 1, false, 30, 0);
    expect_rows(&within, 2, false, 120, 30);
    /* Matrices for one anchor on each of three levels alone: 520,000 vectors, and 8 doubled to 262,144 of them. */
    within = (locus_limits){.queries = 90000, .keys = 40000, .depth = 3, .workspace = 4096};
    expect_rows(&within, 2, false, 65536, 0);
    expect_rows(&within, 2, true, 25536, 40000);
    expect_rows(&within, 1, false, 32768, 0);
}

/* Blocks of which two neighbours have more than 1024 vectors: 3; up to 16 parts of them. Slots for each generator that
 * is used, in as many parts as an eighth of the workspace has room for. */
static void test_slots(void **state) {
    locus_limits within = limits;
    (void)state;
    locus_tree_layout layout = layout_of(&tree, &within, &keeps);
    assert_int_equal(layout.used_count, 2);
    assert_int_equal(layout.slots_most, 6);
    assert_int_equal(layout.pieces_most, 335 + 3 - 1);
    within.workspace = 4096; /* 512 bytes: four matrices */
    layout = layout_of(&tree, &within, &keeps);
    assert_int_equal(layout.slots_most, 4);
    assert_int_equal(layout.pieces_most, 4 + 3 - 1);
    within.workspace = 4097; /* and what is left of one */
    assert_int_equal(layout_of(&tree, &within, &keeps).slots_most, 5);
    within.workspace = 512;
    layout = layout_of(&tree, &within, &keeps);
    assert_int_equal(layout.slots_most, 2);
    assert_int_equal(layout.pieces_most, 0); /* no anchors */
    within = limits, within.queries = 100000;
    layout = layout_of(&tree, &within, &keeps);
    assert_int_equal(layout.slots_most, 32);
    locus_tree many = tree;
    many.branches = 1000;
    within = (locus_limits){.queries = 3, .keys = 4, .depth = 2, .workspace = 1 << 20};
    layout = layout_of(&many, &within, &keeps);
    assert_int_equal(layout.used_count, 14); /* letters */
    assert_int_equal(layout.slots_most, 14);
}

static void test_exact(void **state) {
    locus_limits within = limits;
    (void)state;
    within.depth = 64;
    assert_false(layout_of(&tree, &within, &keeps).exact);
    within.depth = 65;
    assert_true(layout_of(&tree, &within, &keeps).exact);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_anchors), cmocka_unit_test(test_kept),
                                       cmocka_unit_test(test_chunks),  cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_slots),   cmocka_unit_test(test_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
