/* SPDX-License-Identifier: MIT */
/* The trie of reduced words: three arrays by node, and a hash table from (node, branch) to the child.
 *
 *   slots   | 0 | 3 | 0 | 1 | 2 | 0 | 0 | 4 |     open addressing, linear probing, at most half full; 0 is empty, since
 *                                                 the root is nobody's child
 *
 * Walking is the free reduction: a step back over the branch that led to a node is a step to its parent, so a word and
 * its normal form end at the same node. A step costs O(1) whatever the arity and the depth. Arrays and table grow by
 * doubling into fresh blocks; if memory runs out the trie is as it was before the step. Nodes are never removed: the
 * unreduced prefixes of a word that was not in normal form stay. */
#include "algebra/trie.h"

#include <locus/memory.h>

#include "core/call.h"
#include "core/error.h"
#include <string.h>

enum { FIRST_CAPACITY = 16, CHECKED_NODES = 4096 };

struct locus_trie {
    uint32_t count;
    size_t capacity; /* of the arrays; the table has twice as many slots, a power of two */
    int64_t *branch; /* one block: branch, parent, depth, slots */
    uint32_t *parent, *depth, *slots;
};

static size_t block_bytes(size_t capacity) {
    return capacity * (sizeof(int64_t) + 4 * sizeof(uint32_t));
}

/* Mixes both numbers so that every bit of them reaches the low bits (the finaliser of splitmix64: Steele, Lea and Flood
 * 2014). */
static size_t hash(uint32_t node, int64_t branch) {
    uint64_t h = ((uint64_t)branch * 0x9E3779B97F4A7C15u) ^ ((uint64_t)node * 0xD1B54A32D192ED03u);
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9u;
    h = (h ^ (h >> 27)) * 0x94D049BB133111EBu;
    return (size_t)(h ^ (h >> 31));
}

/* The slot of the child, or the empty one where it belongs. */
static uint32_t *find_slot(const locus_trie *trie, uint32_t node, int64_t branch) {
    size_t mask = 2 * trie->capacity - 1, at = hash(node, branch) & mask;
    for (uint32_t child; (child = trie->slots[at]) != 0; at = (at + 1) & mask)
        if (trie->parent[child] == node && trie->branch[child] == branch)
            break;
    return &trie->slots[at];
}

static void lay_out(locus_trie *trie, void *block, size_t capacity) {
    trie->capacity = capacity;
    trie->branch = block;
    trie->parent = (uint32_t *)(trie->branch + capacity);
    trie->depth = trie->parent + capacity;
    trie->slots = trie->depth + capacity;
    memset(trie->slots, 0, 2 * capacity * sizeof *trie->slots);
}

static locus_status grow(locus_trie *trie, locus_error *error) {
    size_t capacity = trie->capacity ? 2 * trie->capacity : FIRST_CAPACITY, bytes = block_bytes(capacity);
    void *block = locus_allocate(bytes);
    if (!block)
        return locus_fail_memory(error, bytes);
    const locus_trie old = *trie;
    lay_out(trie, block, capacity);
    if (!old.branch)
        return LOCUS_OK;
    memcpy(trie->branch, old.branch, old.count * sizeof *trie->branch);
    memcpy(trie->parent, old.parent, old.count * sizeof *trie->parent);
    memcpy(trie->depth, old.depth, old.count * sizeof *trie->depth);
    for (uint32_t i = 1; i < trie->count; i++)
        *find_slot(trie, trie->parent[i], trie->branch[i]) = i;
    locus_release(old.branch, block_bytes(old.capacity));
    return LOCUS_OK;
}

locus_status locus_trie_create(locus_trie **trie, locus_error *error) {
    *trie = NULL;
    locus_trie *fresh = locus_allocate(sizeof *fresh);
    if (!fresh)
        return locus_fail_memory(error, sizeof *fresh);
    *fresh = (locus_trie){.count = 1};
    locus_status status = grow(fresh, error);
    if (status != LOCUS_OK) {
        locus_trie_destroy(&fresh);
        return status;
    }
    fresh->branch[LOCUS_TRIE_ROOT] = 0;
    fresh->parent[LOCUS_TRIE_ROOT] = LOCUS_TRIE_ROOT;
    fresh->depth[LOCUS_TRIE_ROOT] = 0;
    *trie = fresh;
    return LOCUS_OK;
}

void locus_trie_destroy(locus_trie **trie) {
    if (!trie || !*trie)
        return;
    locus_release((*trie)->branch, block_bytes((*trie)->capacity));
    locus_release(*trie, sizeof **trie);
    *trie = NULL;
}

locus_status locus_trie_step(locus_trie *trie, uint32_t node, int64_t branch, uint32_t *result, locus_error *error) {
    if (trie->branch[node] == -branch) {
        *result = trie->parent[node];
        return LOCUS_OK;
    }
    uint32_t *slot = find_slot(trie, node, branch);
    if (*slot) {
        *result = *slot;
        return LOCUS_OK;
    }
    if (trie->count == UINT32_MAX)
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, NULL,
                          "more than 2^32 - 1 distinct nodes of a tree: use smaller batches");
    if (trie->count == trie->capacity) {
        locus_status status = grow(trie, error);
        if (status != LOCUS_OK)
            return status;
        slot = find_slot(trie, node, branch);
    }
    uint32_t child = trie->count++;
    trie->branch[child] = branch;
    trie->parent[child] = node;
    trie->depth[child] = trie->depth[node] + 1;
    *result = *slot = child;
    return LOCUS_OK;
}

locus_trie_view locus_trie_look(const locus_trie *trie) {
    return (locus_trie_view){trie->count, trie->parent, trie->branch, trie->depth};
}

size_t locus_trie_bytes(const locus_trie *trie) {
    return sizeof *trie + block_bytes(trie->capacity);
}

locus_status locus_trie_join(locus_trie *trie, const locus_trie *other, uint32_t *map, locus_error *error) {
    map[LOCUS_TRIE_ROOT] = LOCUS_TRIE_ROOT;
    for (uint32_t i = 1; i < other->count; i++) {
        locus_status status = i % CHECKED_NODES == 0 ? locus_call_check(error) : LOCUS_OK;
        if (status == LOCUS_OK)
            status = locus_trie_step(trie, map[other->parent[i]], other->branch[i], &map[i], error);
        if (status != LOCUS_OK)
            return status;
    }
    return LOCUS_OK;
}
