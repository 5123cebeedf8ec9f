/* SPDX-License-Identifier: MIT */
/* A trie of reduced words on the free group: node 0 is the empty word, every other node is its parent's word and one
 * more signed branch. Parents stand before children; each word is found once, whatever the way it was spelled: stepping
 * back over the branch that led to a node ends at its parent. Any arity, any depth: nothing is enumerated. */
#ifndef LOCUS_TRIE_H
#define LOCUS_TRIE_H

#include <locus/status.h>

typedef struct locus_trie locus_trie; /* opaque; not thread-safe while it grows */

#define LOCUS_TRIE_ROOT 0u

/* Arrays by node, valid until the trie grows or is destroyed. */
typedef struct locus_trie_view {
    uint32_t count;
    const uint32_t *parent; /* of the root: itself */
    const int64_t *branch;  /* ±1 … ±k; of the root: 0 */
    const uint32_t *depth;  /* letters of the word */
} locus_trie_view;

locus_status locus_trie_create(locus_trie **trie, locus_error *error); /* with its root */
void locus_trie_destroy(locus_trie **trie);                            /* accepts NULL; nulls the pointer */

/* The node of `node`'s word and one more branch, made if it is new; the parent if the branch is the inverse of the
 * last one. branch ≠ 0, checked by the caller against ±k. MEMORY; UNSUPPORTED beyond 2^32 − 1 nodes. */
locus_status locus_trie_step(locus_trie *trie, uint32_t node, int64_t branch, uint32_t *result, locus_error *error);

locus_trie_view locus_trie_look(const locus_trie *trie);
size_t locus_trie_bytes(const locus_trie *trie);

/* Adds every node of `other` to the trie; map [other.count] receives where each came to stand. */
locus_status locus_trie_join(locus_trie *trie, const locus_trie *other, uint32_t *map, locus_error *error);

#endif
