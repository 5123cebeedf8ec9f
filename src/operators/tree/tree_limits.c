/* SPDX-License-Identifier: MIT */
/* How large a tree's layout gets for positions within limits: what tree_place.c, tree_chunks.c and tree_blocks.c make
 * of them, from above. V vectors pass through the tree, each of them through one node of a level.
 *
 *   anchors      through each pass more than θ vectors: fewer than V/θ on a level, and no more than there are words
 *   θ            2·dim, doubled until matrices fit the workspace; never more often than for the most anchors
 *   rows         a block has BLOCK_VECTORS vectors, or a subtree of a tail, through whose root at most θ pass, or the
 *                vectors of one token
 *   parts        as many as blocks, of which two neighbours hold more than BLOCK_VECTORS together; at most PARTS
 *   checkpoints  one for each chunk but the first. Small chunks are closed by a heavy subtree on its way up, which
 *                grows with each step, so that k of them hold k²/2 anchors beside its own `most`: of c anchors there
 *                are at most c·(k + 1)/(most + k²/2), the most of them for k = √(2·most) */
#include "operators/tree/tree_layout.h"

#include <math.h>

static double smaller(double a, double b) {
    return a < b ? a : b;
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* Rows that one token has for a stream. */
static double each_of(const locus_tree *tree) {
    return tree->tables == 1 ? (double)tree->heads : 1;
}

static double vectors_of(const locus_tree *tree, const locus_limits *limits) {
    return each_of(tree) * ((double)limits->queries + (double)limits->keys);
}

/* Words of a length: 2k·(2k − 1)^(length − 1) without a letter next to its inverse. */
static double most_anchors(const locus_tree *tree, const locus_limits *limits, double threshold) {
    const double wide = floor(vectors_of(tree, limits) / threshold), letters = 2 * (double)tree->branches;
    double words = letters, count = 0;
    if (letters == 2)
        return smaller(words, wide) * (double)limits->depth;
    for (size_t level = 1; level <= limits->depth; level++) {
        if (words >= wide)
            return count + wide * (double)(limits->depth - level + 1);
        count += words;
        words *= letters - 1;
    }
    return count;
}

static double matrix_bytes(const locus_tree *tree) {
    return (double)(tree->dim * tree->dim * sizeof(double));
}

/* Of anchors whose matrices may all be kept. */
static double most_kept(const locus_tree *tree, const locus_limits *limits) {
    return floor((double)limits->workspace / 4 / (2 * matrix_bytes(tree) * (double)tree->tables));
}

/* Anchors of a chunk, where `anchors` are cut into chunks of √(2·anchors): those have to fit. */
static double most_of_chunk(const locus_tree *tree, const locus_limits *limits, double anchors) {
    const double fit = floor(((double)limits->workspace / 2 / matrix_bytes(tree) - 2) / 5) + 1;
    return larger(smaller(ceil(sqrt(2 * anchors)), fit), 0);
}

static double last_threshold(const locus_tree *tree, const locus_limits *limits) {
    const double kept = most_kept(tree, limits), bytes = matrix_bytes(tree), half = (double)limits->workspace / 2;
    // NOLINTNEXTLINE(cert-flp30-c): doubling is exact
    for (double threshold = LOCUS_TREE_VECTORS * (double)tree->dim;; threshold *= 2) {
        const double anchors = most_anchors(tree, limits, threshold), most = ceil(sqrt(2 * anchors));
        if (anchors <= kept || (3 * most + 2 * (2 * anchors / most + 1)) * bytes <= half)
            return threshold;
    }
}

/* ---- the layout ---- */

static void limit_rows(const locus_tree *tree, const locus_limits *limits, const locus_tree_variant *variant,
                       locus_tree_layout *layout) {
    const double each = each_of(tree), block = larger(LOCUS_TREE_BLOCK_VECTORS, last_threshold(tree, limits));
    const double tokens = larger(floor(block / each), 1), queries = (double)limits->queries,
                 keys = (double)limits->keys;
    layout->sides = variant->sides;
    if (variant->sides == 1) {
        layout->rows_most[0] = (size_t)smaller(larger(floor(block / (2 * each)), 1), smaller(queries, keys));
        return;
    }
    const size_t first = variant->keys_first;
    const double counts[2] = {queries, keys};
    layout->rows_most[first] = (size_t)smaller(tokens, counts[first]);
    layout->rows_most[!first] = (size_t)smaller(tokens - (double)layout->rows_most[first], counts[!first]);
}

static void limit_slots(const locus_tree *tree, const locus_limits *limits, locus_tree_layout *layout) {
    const double blocks = 2 * floor(vectors_of(tree, limits) / LOCUS_TREE_BLOCK_VECTORS) + 1;
    const double parts = smaller(LOCUS_TREE_PARTS, blocks), anchors = (double)layout->anchors_most;
    const double letters = (double)limits->depth * ((double)limits->queries + (double)limits->keys);
    const double used = smaller((double)tree->branches, letters);
    const double share = (double)limits->workspace / 8 / (matrix_bytes(tree) * (double)tree->tables);
    layout->used_count = (size_t)used;
    layout->slots_most = (size_t)larger(used, smaller(parts * used, ceil(share)));
    layout->pieces_most = anchors > 0 ? (size_t)(anchors + parts - 1) : 0;
}

bool locus_tree_layout_limit(const locus_tree *tree, const locus_limits *limits, const locus_tree_variant *variant,
                             locus_tree_layout *layout) {
    const double anchors = most_anchors(tree, limits, LOCUS_TREE_VECTORS * (double)tree->dim);
    const double kept = most_kept(tree, limits);
    *layout = (locus_tree_layout){.exact = limits->depth > LOCUS_TREE_EXACT_LEVELS};
    if (!variant->keeps && anchors <= kept)
        return false;
    if (variant->keeps) {
        layout->anchors_most = (size_t)smaller(anchors, kept);
    } else {
        const double most = most_of_chunk(tree, limits, anchors);
        layout->anchors_most = (size_t)most;
        layout->checkpoint_count = (size_t)(larger(most, most * (sqrt(2 * most) + 1) / 4) + 1);
    }
    limit_rows(tree, limits, variant, layout);
    limit_slots(tree, limits, layout);
    return true;
}

void locus_tree_widen(locus_whole_operator *op, const locus_limits *limits) {
    ((locus_tree_operator *)op)->limits = limits;
}
