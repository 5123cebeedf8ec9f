/* SPDX-License-Identifier: MIT */
/* A list that only grows at its front: entries are immutable once they are in it, so finding one needs no lock. See
 * tables.h. */
#include "spec/tables.h"

#include "core/call.h"

#include <string.h>

struct locus_table_entry {
    locus_table_entry *before;
    const locus_table_kind *kind;
    const void *key;
    size_t key_bytes;
    void *table;
    locus_owned memory; /* of all of them */
};

static const void *find(const locus_table_entry *entry, const locus_table_asked *asked) {
    for (; entry; entry = entry->before)
        if (entry->kind == asked->kind && entry->key_bytes == asked->key_bytes &&
            (asked->key_bytes == 0 || memcmp(entry->key, asked->key, asked->key_bytes) == 0))
            return entry->table;
    return NULL;
}

static locus_status make(const locus_table_asked *asked, locus_table_entry *entry, locus_error *error) {
    const size_t size = asked->kind->size;
    void *key = locus_owned_get(&entry->memory, asked->key_bytes, 1);
    entry->table = locus_owned_get(&entry->memory, 1, size);
    if (!key || !entry->table)
        return locus_owned_fail(error);
    if (asked->key_bytes > 0)
        memcpy(key, asked->key, asked->key_bytes);
    entry->kind = asked->kind;
    entry->key = key;
    entry->key_bytes = asked->key_bytes;
    locus_status status = asked->kind->make(asked->request, entry->table, &entry->memory, error);
    return status == LOCUS_OK ? locus_call_check(error) : status; /* a cancelled call's loops leave pieces out */
}

/* An exchange that fails finds what stands there. */
static void push(locus_tables *tables, locus_table_entry *entry) {
    while (!atomic_compare_exchange_weak(&tables->last, &entry->before, entry))
        ;
}

locus_status locus_tables_get(locus_tables *tables, const locus_table_asked *asked, locus_owned *memory,
                              const void **table, locus_error *error) {
    *table = tables ? find(atomic_load(&tables->last), asked) : NULL;
    if (*table)
        return LOCUS_OK;
    locus_table_entry making = {.before = NULL};
    if (!tables)
        making.memory = *memory;
    locus_status status = make(asked, &making, error);
    *table = making.table;
    if (!tables) {
        *memory = making.memory;
        return status;
    }
    locus_table_entry *entry = status == LOCUS_OK ? locus_owned_get(&making.memory, 1, sizeof *entry) : NULL;
    if (!entry) {
        locus_owned_release(&making.memory);
        return status == LOCUS_OK ? locus_owned_fail(error) : status;
    }
    *entry = making;
    push(tables, entry);
    return LOCUS_OK;
}

size_t locus_tables_bytes(const locus_tables *tables) {
    size_t bytes = 0;
    for (const locus_table_entry *entry = atomic_load(&((locus_tables *)(uintptr_t)tables)->last); entry;
         entry = entry->before)
        bytes += entry->memory.bytes;
    return bytes;
}

/* An entry lies in its own memory. */
void locus_tables_release(locus_tables *tables) {
    locus_table_entry *entry = atomic_load(&tables->last);
    atomic_store(&tables->last, NULL);
    while (entry) {
        locus_owned memory = entry->memory;
        entry = entry->before;
        locus_owned_release(&memory);
    }
}
