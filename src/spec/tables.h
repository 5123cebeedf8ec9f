/* SPDX-License-Identifier: MIT */
/* Tables that follow from positions alone, made when they are first asked for and found from then on: by the terms of a
 * plan, by the plans that a refresh makes, by all plans that stand on the same positions.
 *
 * A table has a kind and a key. The key holds everything besides the positions that the table depends on (a head's
 * dimension, a table's size), in bytes that can be compared; what depends on parameters belongs into no table. */
#ifndef LOCUS_TABLES_H
#define LOCUS_TABLES_H

#include "spec/owned.h"

#include <stdatomic.h>

typedef struct locus_table_kind {
    size_t size; /* of the table itself, which begins as zeros */
    /* Fills the table in; what it points to comes from `memory`. */
    locus_status (*make)(const void *request, void *table, locus_owned *memory, locus_error *error);
} locus_table_kind;

typedef struct locus_table_entry locus_table_entry;

/* All zeros: empty. Any number of threads may get tables at once; two that ask for the same one at the same time may
 * both make it, and either is as good. */
typedef struct locus_tables {
    _Atomic(locus_table_entry *) last;
} locus_tables;

typedef struct locus_table_asked {
    const locus_table_kind *kind;
    const void *key;
    size_t key_bytes;    /* compared: no padding in it */
    const void *request; /* for `make`; only needed while it makes */
} locus_table_asked;

/* The table, which lives as long as `tables`; made in `memory` if that is NULL. On failure nothing is kept. */
locus_status locus_tables_get(locus_tables *tables, const locus_table_asked *asked, locus_owned *memory,
                              const void **table, locus_error *error);

size_t locus_tables_bytes(const locus_tables *tables);
void locus_tables_release(locus_tables *tables); /* by one thread, when no other gets or reads */

#endif
