/* SPDX-License-Identifier: MIT */
/* Arrays taken one after another: after a refusal the rest is refused too, and `status` says so once. */
#ifndef LOCUS_TREE_STORE_H
#define LOCUS_TREE_STORE_H

#include "spec/owned.h"

typedef struct locus_tree_store {
    locus_owned *memory;
    locus_error *error;
    locus_status status;
} locus_tree_store;

static inline void *locus_tree_take(locus_tree_store *store, size_t count, size_t size) {
    void *block = store->status == LOCUS_OK ? locus_owned_get(store->memory, count, size) : NULL;
    if (!block && store->status == LOCUS_OK)
        store->status = locus_owned_fail(store->error);
    return block;
}

/* The same, for what is filled in later, or never: pages that nobody writes to are not there. */
static inline void *locus_tree_room(locus_tree_store *store, size_t count, size_t size) {
    void *block = store->status == LOCUS_OK ? locus_owned_take(store->memory, count, size) : NULL;
    if (!block && store->status == LOCUS_OK)
        store->status = locus_owned_fail(store->error);
    return block;
}

#endif
