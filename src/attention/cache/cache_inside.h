/* SPDX-License-Identifier: MIT */
/* The inside of a key–value cache.
 *
 *   keys    [kv_heads][sequences][capacity][head_dim], values alike
 *
 * Rows of one head lie in one piece, so that attention reads them at the speed of memory. One line of the processor's
 * cache more stands between heads, so that they don't meet in the same sets. */
#ifndef LOCUS_CACHE_INSIDE_H
#define LOCUS_CACHE_INSIDE_H

#include "plan/growing.h"

#include <locus/cache.h>

/* What is kept of keys or of values. */
typedef struct cache_store {
    void *data;
    size_t bytes;
    size_t dim;
    ptrdiff_t head; /* elements between heads */
} cache_store;

/* Memory that grows when it is asked for. */
typedef struct cache_room {
    void *data;
    size_t bytes;
} cache_room;

struct locus_cache {
    atomic_size_t owners;
    locus_binding *binding; /* a share */
    locus_growing *growing;
    size_t sequences, capacity, length;
    size_t heads, kv_heads;
    locus_dtype dtype;
    cache_store keys, values;
    cache_room workspace;       /* of locus_apply and attention */
    cache_room turned, results; /* new tokens: turned, wide; attention's output */
    cache_room narrow;          /* turned queries in the cache's type */
};

/* Contents are lost. */
locus_status locus_cache_room_fit(cache_room *room, size_t bytes, locus_error *error);

/* Of a call inside the cache's own: with the room as workspace, all else as the cache's call runs. */
locus_execution locus_cache_execution(const cache_room *room);

/* Rows of `dim` elements, one for each token, of any two types; row strides in elements. */
typedef struct cache_rows {
    void *data;
    locus_dtype dtype;
    ptrdiff_t stride;
} cache_rows;
void locus_cache_convert(size_t count, size_t dim, const cache_rows *from, const cache_rows *to);

/* Head `head` of a sequence, whose first packed token is `first`, of a tensor in either layout. */
cache_rows locus_cache_rows_of(const locus_tensor *tensor, size_t head, size_t sequence, size_t first);

/* Kept rows of one sequence: [count, kv_heads, dim] from row `first` on. */
locus_tensor locus_cache_view(const locus_cache *cache, const cache_store *store, size_t sequence, size_t first,
                              size_t count);

/* ---- checks (cache_check.c) ---- */

locus_status locus_cache_check_append(const locus_cache *cache, const locus_positions *positions,
                                      const locus_tensor *key, const locus_tensor *value, locus_error *error);
locus_status locus_cache_check_attend(const locus_cache *cache, const locus_attention_options *options,
                                      const locus_tensor *query, const locus_tensor *output, locus_error *error);

/* ---- re-basing (cache_shift.c) ---- */

/* UNSUPPORTED, naming the term, unless ⌈a + p⌉ = ⌈a⌉⌈p⌉ up to a constant factor. */
locus_status locus_cache_check_shift(const locus_binding *binding, locus_error *error);

/* ⌈a⌉ made ready for tensors of a type: run cannot fail. */
typedef struct cache_shifter {
    locus_plan *plans[2]; /* of whole pieces, and of the rest */
    size_t tokens, piece;
    double undo;    /* of keys: an attention factor that they have already, on the dimensions that turn */
    size_t turning; /* the first so many of a head */
    cache_room workspace, wide;
} cache_shifter;
locus_status locus_cache_shifter_create(cache_shifter *shifter, const locus_binding *binding, const locus_path *a,
                                        const locus_plan_options *options, size_t tokens, locus_error *error);
void locus_cache_shifter_run(const cache_shifter *shifter, locus_role role, const locus_tensor *keys);
void locus_cache_shifter_destroy(cache_shifter *shifter);

#endif
