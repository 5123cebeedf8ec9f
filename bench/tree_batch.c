/* SPDX-License-Identifier: MIT */
/* See tree_batch.h. */
#include "tree_batch.h"

#include "group_subject.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TREES = 64, MEAN_DEPTH = 7, MOST_DEPTH = 64 };

static const locus_random draws = {.seed = 1, .purpose = LOCUS_RANDOM_USER, .step = 0};
static uint64_t drawn;

size_t tree_batch_below(size_t bound) {
    return (size_t)locus_random_below(&draws, drawn++, bound);
}

static void *grown(void *block, size_t bytes) {
    block = realloc(block, bytes);
    if (!block) {
        fprintf(stderr, "bench: %zu bytes of memory were refused\n", bytes);
        exit(1);
    }
    return block;
}

static void batch_begin(tree_batch *b) {
    memset(b, 0, sizeof *b);
    b->offsets = grown(NULL, sizeof *b->offsets);
    b->starts = grown(NULL, sizeof *b->starts);
    b->offsets[0] = b->starts[0] = 0;
}

void tree_batch_free(tree_batch *b) {
    free(b->offsets), free(b->starts), free(b->branches);
}

static void batch_letter(tree_batch *b, int64_t branch) {
    if (b->letters == b->room_letters)
        b->branches = grown(b->branches, (b->room_letters = 2 * b->room_letters + 64) * sizeof *b->branches);
    b->branches[b->letters++] = branch;
}

static void batch_token(tree_batch *b) {
    if (b->tokens == b->room_tokens)
        b->starts = grown(b->starts, ((b->room_tokens = 2 * b->room_tokens + 64) + 1) * sizeof *b->starts);
    b->starts[++b->tokens] = b->letters;
}

static void batch_tree(tree_batch *b) {
    if (b->trees == b->room_trees)
        b->offsets = grown(b->offsets, ((b->room_trees = 2 * b->room_trees + 64) + 1) * sizeof *b->offsets);
    b->offsets[++b->trees] = b->tokens;
}

/* One child has depth u, drawn from 0 … depth − 1, the other depth − 1 if u is less, else anything below depth; the
 * sides are random. */
static void draw_subtree(tree_batch *b, size_t depth, int64_t *path, size_t length) {
    for (size_t i = 0; i < length; i++)
        batch_letter(b, path[i]);
    batch_token(b);
    if (depth == 0 || length == MOST_DEPTH)
        return;
    const size_t one = tree_batch_below(depth), other = one < depth - 1 ? depth - 1 : tree_batch_below(depth);
    const bool turned = tree_batch_below(2) == 1;
    path[length] = 1;
    draw_subtree(b, turned ? other : one, path, length + 1);
    path[length] = 2;
    draw_subtree(b, turned ? one : other, path, length + 1);
}

void tree_batch_draw(tree_batch *b) {
    const locus_random normals = {.seed = 2, .purpose = LOCUS_RANDOM_USER, .step = 0};
    int64_t path[MOST_DEPTH + 1];
    batch_begin(b);
    for (size_t i = 0; i < TREES; i++) {
        const double depth = floor(MEAN_DEPTH + locus_random_normal(&normals, i));
        draw_subtree(b, depth > 0 ? (size_t)depth : 0, path, 0);
        batch_tree(b);
    }
}

/* Lines of paths, "0 1 2 2+1 2+2". */
bool tree_batch_read(tree_batch *b, const char *name) {
    FILE *file = fopen(name, "r");
    bool good = file != NULL, digits = false, open = false; /* open: after a plus */
    int64_t branch = 0;
    batch_begin(b);
    for (int c; good && (c = getc(file)) != EOF;) {
        if (c >= '0' && c <= '9') {
            branch = branch * 10 + (c - '0');
            digits = true;
            good = branch < 1000000;
            continue;
        }
        good = c == '+' ? branch > 0 : (c == ' ' || c == '\n') && (branch > 0 || !open);
        if (digits && branch > 0)
            batch_letter(b, branch);
        if (digits && c != '+')
            batch_token(b);
        if (c == '\n' && b->tokens > b->offsets[b->trees])
            batch_tree(b);
        open = c == '+';
        digits = false;
        branch = 0;
    }
    if (file)
        fclose(file);
    if (good && b->trees > 0)
        return true;
    fprintf(stderr, "bench: %s: not a batch of tree paths (%s)\n", name, file ? "see peer_trees.py" : strerror(errno));
    tree_batch_free(b);
    return false;
}

locus_positions *tree_batch_positions(const tree_batch *b) {
    locus_error error = {0};
    locus_group *group = NULL;
    locus_positions *positions = NULL;
    const locus_packing packing = {
        .size = sizeof packing, .sequences = b->trees, .offsets = b->offsets, .lengths = NULL};
    const locus_position_column column = {.size = sizeof column, .branches = b->branches, .starts = b->starts};
    bench_check(locus_group_parse("tree:2", &group, &error), &error);
    bench_check(locus_positions_create_columns(&positions, group, &packing, &column, &error), &error);
    locus_group_destroy(&group);
    return positions;
}
