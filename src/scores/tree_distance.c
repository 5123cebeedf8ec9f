/* SPDX-License-Identifier: MIT */
/* See tree_distance.h. A block's keys are kept sorted depth first:
 *
 *   sorted | 3 | 9 | 10 | 17 |      numbers of the block's nodes, ascending
 *   which  | 2 | 0 |  3 |  1 |      the key that each belongs to
 *
 * Common ancestors of neighbours give those of all pairs: the least of all neighbours between the two. */
#include "scores/tree_distance.h"

#include "core/call.h"
#include "core/loop_clones.h"

#include <stdbool.h>
#include <stdlib.h>

#define NO_TABLE SIZE_MAX
#define LEAST_QUERIES 8 /* of a sequence */

typedef struct tree_block {
    size_t first, count; /* key tokens */
    uint32_t base;       /* depth of the common ancestor of all: the table holds depths less this one */
    size_t table;        /* where L [count][count] begins, or NO_TABLE */
} tree_block;

struct locus_tree_distance {
    locus_ancestors ancestors;
    const int64_t *query_nodes, *key_nodes;
    uint64_t most;
    bool blocked;
    const tree_block *blocks;
    const uint32_t *block_of; /* [key tokens] */
    const uint32_t *sorted;   /* [key tokens], a block's next to each other */
    const uint8_t *which;     /* [key tokens] */
    const int32_t *key_depth; /* [key tokens] */
    const int16_t *tables;
};

/* What the making of blocks writes. */
typedef struct block_maker {
    const locus_tree_distance *distance;
    tree_block *blocks;
    uint32_t *block_of, *sorted;
    uint8_t *which;
    int32_t *key_depth;
    int16_t *tables;
} block_maker;

static uint32_t deepest(const locus_token_side *side, const locus_ancestors *ancestors) {
    uint32_t most = 0;
    for (size_t r = 0; r < side->run_count; r++)
        for (size_t i = 0; i < side->runs[r].count; i++) {
            uint32_t depth = ancestors->nodes[side->values[side->runs[r].first + i]].depth;
            most = depth > most ? depth : most;
        }
    return most;
}

/* ---- making blocks ---- */

static int ascending(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static const locus_ancestor_node *key_node(const locus_tree_distance *distance, size_t key) {
    return &distance->ancestors.nodes[distance->key_nodes[key]];
}

static void sort_block(const block_maker *maker, const tree_block *block) {
    uint64_t keys[LOCUS_TREE_BLOCK];
    bool sorted = true;
    for (size_t i = 0; i < block->count; i++) {
        keys[i] = (uint64_t)key_node(maker->distance, block->first + i)->order << 8 | i;
        sorted = sorted && (i == 0 || keys[i - 1] < keys[i]);
    }
    if (!sorted)
        qsort(keys, block->count, sizeof *keys, ascending);
    for (size_t i = 0; i < block->count; i++) {
        maker->sorted[block->first + i] = (uint32_t)(keys[i] >> 8);
        maker->which[block->first + i] = (uint8_t)(keys[i] & 255);
    }
}

/* shared[i]: depth of the common ancestor of keys i and i + 1 in depth-first order. Returns whether depths spread
 * little enough for a table. */
static bool measure_block(const block_maker *maker, tree_block *block, uint32_t *shared) {
    const uint8_t *which = maker->which + block->first;
    uint32_t low = UINT32_MAX, high = 0;
    for (size_t i = 0; i < block->count; i++) {
        const locus_ancestor_node *node = key_node(maker->distance, block->first + which[i]);
        shared[i] = node->depth;
        if (i + 1 < block->count)
            shared[i] = locus_ancestor_depth(&maker->distance->ancestors, node,
                                             key_node(maker->distance, block->first + which[i + 1]));
        low = shared[i] < low ? shared[i] : low;
        high = node->depth > high ? node->depth : high;
    }
    block->base = low;
    return high - low <= INT16_MAX;
}

static void fill_block(const block_maker *maker, const tree_block *block, const uint32_t *shared) {
    const uint8_t *which = maker->which + block->first;
    int16_t *table = maker->tables + block->table;
    for (size_t i = 0; i < block->count; i++) {
        int16_t *row = table + which[i] * block->count;
        uint32_t depth = key_node(maker->distance, block->first + which[i])->depth, least = depth;
        row[which[i]] = (int16_t)(depth - block->base);
        for (size_t j = i + 1; j < block->count; j++) {
            least = shared[j - 1] < least ? shared[j - 1] : least;
            row[which[j]] = (int16_t)(least - block->base);
        }
        least = depth;
        for (size_t j = i; j-- > 0;) {
            least = shared[j] < least ? shared[j] : least;
            row[which[j]] = (int16_t)(least - block->base);
        }
    }
}

static void make_blocks(const block_maker *maker, const locus_placement *placement) {
    size_t index = 0, table = 0;
    uint32_t shared[LOCUS_TREE_BLOCK];
    for (size_t s = 0; s < placement->sequences; s++) {
        const size_t end = placement->spans[s].key_first + placement->spans[s].key_count;
        for (size_t first = placement->spans[s].key_first; first < end && !locus_call_cancelled();
             first += LOCUS_TREE_BLOCK) {
            const size_t left = end - first;
            tree_block *block = &maker->blocks[index];
            *block = (tree_block){first, left < LOCUS_TREE_BLOCK ? left : LOCUS_TREE_BLOCK, 0, table};
            for (size_t i = 0; i < block->count; i++) {
                maker->block_of[first + i] = (uint32_t)index;
                maker->key_depth[first + i] = (int32_t)key_node(maker->distance, first + i)->depth;
            }
            sort_block(maker, block);
            if (measure_block(maker, block, shared))
                fill_block(maker, block, shared);
            else
                block->table = NO_TABLE;
            table += block->count * block->count;
            index++;
        }
    }
}

/* Blocks of all sequences, and elements of their tables. */
static size_t count_blocks(const locus_placement *placement, size_t *elements) {
    size_t blocks = 0;
    *elements = 0;
    for (size_t s = 0; s < placement->sequences; s++) {
        const size_t whole = placement->spans[s].key_count / LOCUS_TREE_BLOCK;
        const size_t rest = placement->spans[s].key_count % LOCUS_TREE_BLOCK;
        blocks += whole + (rest > 0);
        *elements += whole * LOCUS_TREE_BLOCK * LOCUS_TREE_BLOCK + rest * rest;
    }
    return blocks;
}

/* A block is worth its making from some queries on: decoding, which makes it anew for each token, has one. */
static bool few_queries(const locus_placement *placement) {
    return placement->query.used < LEAST_QUERIES * placement->sequences;
}

static locus_status create_blocks(locus_tree_distance *own, const locus_placement *placement, locus_owned *memory,
                                  locus_error *error) {
    size_t elements, blocks = count_blocks(placement, &elements), keys = placement->key.tokens;
    if (elements > LOCUS_TREE_BLOCK_BYTES / sizeof(int16_t) || own->most > INT32_MAX || few_queries(placement))
        return LOCUS_OK;
    const block_maker maker = {.distance = own,
                               .blocks = locus_owned_get(memory, blocks, sizeof(tree_block)),
                               .block_of = locus_owned_get(memory, keys, sizeof(uint32_t)),
                               .sorted = locus_owned_get(memory, keys, sizeof(uint32_t)),
                               .which = locus_owned_get(memory, keys, sizeof(uint8_t)),
                               .key_depth = locus_owned_get(memory, keys, sizeof(int32_t)),
                               .tables = locus_owned_get(memory, elements, sizeof(int16_t))};
    if (!maker.blocks || !maker.block_of || !maker.sorted || !maker.which || !maker.key_depth || !maker.tables)
        return locus_owned_fail(error);
    make_blocks(&maker, placement);
    own->blocked = true;
    own->blocks = maker.blocks;
    own->block_of = maker.block_of;
    own->sorted = maker.sorted;
    own->which = maker.which;
    own->key_depth = maker.key_depth;
    own->tables = maker.tables;
    return LOCUS_OK;
}

locus_status locus_tree_distance_create(const locus_placement *placement, locus_owned *memory,
                                        const locus_tree_distance **distance, locus_error *error) {
    locus_tree_distance *own = locus_owned_get(memory, 1, sizeof *own);
    if (!own)
        return locus_owned_fail(error);
    locus_status status = locus_ancestors_create(&own->ancestors, &placement->trie, memory, error);
    if (status != LOCUS_OK)
        return status;
    own->query_nodes = placement->query.values;
    own->key_nodes = placement->key.values;
    own->most = (uint64_t)deepest(&placement->query, &own->ancestors) + deepest(&placement->key, &own->ancestors);
    *distance = own;
    return create_blocks(own, placement, memory, error);
}

uint64_t locus_tree_distance_most(const locus_tree_distance *distance) {
    return distance->most;
}

/* ---- distances ---- */

uint64_t locus_tree_distance_pair(const locus_tree_distance *distance, size_t query, size_t key) {
    const locus_ancestor_node *a = &distance->ancestors.nodes[distance->query_nodes[query]];
    const locus_ancestor_node *b = key_node(distance, key);
    return (uint64_t)a->depth + b->depth - 2 * (uint64_t)locus_ancestor_depth(&distance->ancestors, a, b);
}

static void add_pairs(const locus_tree_distance *distance, size_t query, size_t key_first, size_t count,
                      int32_t *steps) {
    for (size_t j = 0; j < count; j++)
        steps[j] += (int32_t)locus_tree_distance_pair(distance, query, key_first + j);
}

/* The first of a block's numbers that is not below `order`; its count if all are. */
static size_t find_order(const uint32_t *sorted, size_t count, uint32_t order) {
    size_t at = 0;
    for (size_t left = count; left > 1;) {
        size_t half = left / 2;
        at = sorted[at + half - 1] < order ? at + half : at;
        left -= half;
    }
    return at + (sorted[at] < order);
}

/* The key of the block that shares most with the node, and how much. */
static size_t find_nearest(const locus_tree_distance *distance, const tree_block *block,
                           const locus_ancestor_node *node, uint32_t *shared) {
    const uint32_t *sorted = distance->sorted + block->first;
    const uint8_t *which = distance->which + block->first;
    const size_t at = find_order(sorted, block->count, node->order);
    size_t nearest = at < block->count ? at : at - 1;
    if (sorted[nearest] == node->order) {
        *shared = node->depth;
        return which[nearest];
    }
    *shared = locus_ancestor_depth(&distance->ancestors, node, key_node(distance, block->first + which[nearest]));
    if (at > 0 && at < block->count) {
        uint32_t before =
            locus_ancestor_depth(&distance->ancestors, node, key_node(distance, block->first + which[at - 1]));
        nearest = before > *shared ? at - 1 : nearest;
        *shared = before > *shared ? before : *shared;
    }
    return which[nearest];
}

/* `outside` = depth of the query − 2·base. */
LOCUS_CLONES static void add_shared(size_t count, int32_t outside, int16_t most, const int32_t *restrict depth,
                                    const int16_t *restrict row, int32_t *restrict steps) {
    for (size_t j = 0; j < count; j++) {
        int16_t shared = row[j] < most ? row[j] : most;
        steps[j] += outside + depth[j] - 2 * shared;
    }
}

void locus_tree_distance_add(const locus_tree_distance *distance, size_t query, size_t key_first, size_t count,
                             int32_t *steps) {
    const locus_ancestor_node *node = &distance->ancestors.nodes[distance->query_nodes[query]];
    if (!distance->blocked)
        add_pairs(distance, query, key_first, count, steps);
    for (size_t length; distance->blocked && count > 0; key_first += length, steps += length, count -= length) {
        const tree_block *block = &distance->blocks[distance->block_of[key_first]];
        const size_t inside = key_first - block->first, left = block->count - inside;
        uint32_t shared;
        length = left < count ? left : count;
        if (block->table == NO_TABLE) {
            add_pairs(distance, query, key_first, length, steps);
            continue;
        }
        const size_t nearest = find_nearest(distance, block, node, &shared);
        const uint32_t base = shared < block->base ? shared : block->base; /* the query hangs above the whole block */
        const uint32_t most = shared - base < INT16_MAX ? shared - base : INT16_MAX;
        add_shared(length, (int32_t)((int64_t)node->depth - 2 * (int64_t)base), (int16_t)most,
                   distance->key_depth + key_first, distance->tables + block->table + nearest * block->count + inside,
                   steps);
    }
}
