/* SPDX-License-Identifier: MIT */
/* Batches of binary trees for benches: the words of all nodes, tree by tree. */
#ifndef BENCH_TREE_BATCH_H
#define BENCH_TREE_BATCH_H

#include <locus/locus.h>
#include <stdbool.h>

typedef struct tree_batch {
    size_t trees, tokens, letters, room_trees, room_tokens, room_letters;
    size_t *offsets, *starts; /* [trees + 1], [tokens + 1] */
    int64_t *branches;
} tree_batch;

/* 64 trees of depth max(0, ⌊N(7, 1)⌋). */
void tree_batch_draw(tree_batch *b);

/* Lines of paths, "0 1 2 2+1 2+2", one for each tree. Prints what is wrong if it is false. */
bool tree_batch_read(tree_batch *b, const char *name);
void tree_batch_free(tree_batch *b);

/* On tree:2. */
locus_positions *tree_batch_positions(const tree_batch *b);

/* The next of one stream of random numbers, 0 … bound − 1. */
size_t tree_batch_below(size_t bound);

#endif
