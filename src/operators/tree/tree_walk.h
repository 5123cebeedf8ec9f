/* SPDX-License-Identifier: MIT */
/* One execution of a tree's operator, and the walk of a block's rows through its tails (tree_typed.c).
 *
 *   climb    rows at the nodes → up the tails → P of the anchor:   y = ⌈p⌉ x
 *   descend  rows at the anchors → Pᵀ → down the tails:            y = ⌈p⌉ᵀ x
 *   learn    `up` climbs, `top` descends beside it, and L = topᵀ ⌈p⌉ up has the gradients
 *            dP += top v_topᵀ,   dW += g_after v_beforeᵀ (of a −b: v_before g_afterᵀ)
 *
 * Backward of y = ⌈p⌉ x is learn with up = x, top = gy, and gx what has descended; of y = ⌈p⌉ᵀ x, L = xᵀ ⌈p⌉ gy, it is
 * learn with up = gy, top = x, and gx what has climbed. */
#ifndef LOCUS_TREE_WALK_H
#define LOCUS_TREE_WALK_H

#include "operators/tree/tree_matrices.h"

typedef struct locus_tree_stream {
    size_t side;
    locus_token_rows up, top, out; /* of call's dtype */
    bool out_climbs;               /* `out` gets what has climbed, else what has descended */
} locus_tree_stream;

typedef struct locus_tree_pass {
    const locus_tree_operator *op;
    locus_dtype dtype;
    bool climbs, descends; /* both: learns */
    size_t count;
    locus_tree_stream streams[LOCUS_WHOLE_STREAMS_MAX];
    size_t times[2]; /* rows that a token of each side has */
    size_t heads;    /* of which this many for each stream */
} locus_tree_pass;

/* Rows whose values before each edge are kept on the way up, at most; else they are found again on the way down, since
 * W is orthogonal. */
#define LOCUS_TREE_STORED_ROWS (4 * (size_t)LOCUS_TREE_BLOCK_VECTORS)
#define LOCUS_TREE_BUFFERS 6

/* Bytes of a worker's scratch, for rows of `size` bytes an element. */
size_t locus_tree_scratch_bytes(const locus_tree_operator *op, const size_t times[2], bool learns, size_t size);

typedef struct locus_tree_task {
    const locus_tree_pass *pass;
    const locus_tree_chunk *chunk;
    const locus_tree_desk *desk;
    void *scratch;
} locus_tree_task;

/* float32: of float32 tensors; float64: of both. */
void locus_tree_run_float32(const locus_tree_task *task, const locus_tree_block *block);
void locus_tree_run_float64(const locus_tree_task *task, const locus_tree_block *block);

#endif
