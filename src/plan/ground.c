/* SPDX-License-Identifier: MIT */
/* See ground.h. One lock guards the lists of grounds of all positions; it is held for a few instructions, and never
 * while anything is computed. */
#include "plan/ground.h"

#include "core/error.h"
#include "plan/placing.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A ground in a list has an owner. */
static locus_ground *find(const locus_positions *queries, const locus_positions *keys) {
    (void)pthread_mutex_lock(&lock);
    locus_ground *found = *locus_positions_attached(queries);
    while (found && found->keys != keys)
        found = found->next;
    if (found)
        atomic_fetch_add(&found->owners, 1);
    (void)pthread_mutex_unlock(&lock);
    return found;
}

static void enter(locus_ground *ground) {
    void **first = locus_positions_attached(ground->queries);
    (void)pthread_mutex_lock(&lock);
    ground->next = *first;
    *first = ground;
    (void)pthread_mutex_unlock(&lock);
}

static void take_out(const locus_ground *ground) {
    void **first = locus_positions_attached(ground->queries);
    locus_ground *before = *first;
    if (before == ground)
        *first = ground->next;
    while (before && before->next != ground)
        before = before->next;
    if (before)
        before->next = ground->next;
}

/* Whether it was the last owner's share. */
static bool leave(locus_ground *ground) {
    (void)pthread_mutex_lock(&lock);
    const bool last = atomic_fetch_sub(&ground->owners, 1) == 1;
    if (last)
        take_out(ground);
    (void)pthread_mutex_unlock(&lock);
    return last;
}

static size_t length_of(const locus_places *places) {
    double reach = 0;
    for (size_t c = 0; c < places->count; c++)
        if (places->items[c].coordinate.kind == LOCUS_COORDINATE_AXIS && places->items[c].highest > reach)
            reach = places->items[c].highest;
    return (size_t)reach + 1;
}

locus_status locus_ground_get(locus_ground **ground, const locus_positions *queries, const locus_positions *keys,
                              locus_error *error) {
    keys = keys ? keys : queries;
    *ground = find(queries, keys);
    if (*ground)
        return LOCUS_OK;
    locus_ground *fresh = locus_allocate(sizeof *fresh);
    if (!fresh)
        return locus_fail_memory(error, sizeof *fresh);
    *fresh = (locus_ground){.queries = locus_positions_retain(queries), .keys = locus_positions_retain(keys)};
    atomic_init(&fresh->owners, 1);
    locus_status status = locus_places_create(&fresh->places, queries, keys, &fresh->memory, error);
    if (status == LOCUS_OK) {
        fresh->length = length_of(&fresh->places);
        fresh->places.tables = &fresh->tables;
        enter(fresh);
        *ground = fresh;
    } else {
        locus_ground_release(fresh);
    }
    return status;
}

locus_ground *locus_ground_retain(locus_ground *ground) {
    atomic_fetch_add(&ground->owners, 1);
    return ground;
}

void locus_ground_release(locus_ground *ground) {
    if (!ground || !leave(ground))
        return;
    locus_tables_release(&ground->tables);
    locus_owned_release(&ground->memory);
    locus_positions_destroy(&ground->keys);
    locus_positions_destroy(&ground->queries);
    locus_release(ground, sizeof *ground);
}

size_t locus_ground_bytes(const locus_ground *ground) {
    const size_t keys = ground->keys == ground->queries ? 0 : locus_positions_bytes(ground->keys);
    return sizeof *ground + ground->memory.bytes + locus_tables_bytes(&ground->tables) +
           locus_positions_bytes(ground->queries) + keys;
}
