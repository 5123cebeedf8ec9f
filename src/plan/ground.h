/* SPDX-License-Identifier: MIT */
/* What plans on the same positions share: positions, places, and the tables that follow from them. A plan holds a share
 * of its ground, and so does the plan that a refresh makes of it. A plan that is created where a ground with the same
 * queries and keys is still held by another finds it, too, whatever its encoding: positions know their grounds, without
 * keeping them alive. */
#ifndef LOCUS_GROUND_H
#define LOCUS_GROUND_H

#include "spec/placement.h"

typedef struct locus_ground {
    atomic_size_t owners;            /* changes to and from 0 under the lock of ground.c */
    locus_positions *queries, *keys; /* shares; the same if keys stand where queries stand */
    locus_places places;             /* `length` and `workspace` are each plan's own */
    size_t length;                   /* largest position + 1 over all axes; 1 where there are none */
    locus_owned memory;
    locus_tables tables;
    struct locus_ground *next; /* of those that stand on the same queries */
} locus_ground;

/* `keys` NULL: where queries stand. POSITION for an axis' value beyond ±2^40, naming the token. From any thread. */
locus_status locus_ground_get(locus_ground **ground, const locus_positions *queries, const locus_positions *keys,
                              locus_error *error);
locus_ground *locus_ground_retain(locus_ground *ground);
void locus_ground_release(locus_ground *ground); /* accepts NULL */

/* Positions are counted in full, though they are shared with others. */
size_t locus_ground_bytes(const locus_ground *ground);

#endif
