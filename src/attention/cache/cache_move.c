/* SPDX-License-Identifier: MIT */
/* Tokens of a key–value cache that go, move up and are copied. All that can fail comes before the first change. */
#include "attention/cache/cache_inside.h"

#include "core/call.h"
#include "core/error.h"
#include "core/sized.h"

#include <string.h>

static locus_status check_sequence(const locus_cache *cache, size_t sequence, locus_error *error) {
    if (!cache)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "cache", "cache is NULL");
    if (sequence >= cache->sequences)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "sequence",
                          "there is no sequence %zu: the cache has %zu, numbered from 0", sequence, cache->sequences);
    return LOCUS_OK;
}

static locus_status check_range(const locus_cache *cache, size_t sequence, size_t first, size_t count,
                                locus_error *error) {
    const size_t length = locus_growing_length(cache->growing, sequence);
    if (first > length || count > length - first)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "count",
                          "%zu tokens from number %zu on were asked for, but sequence %zu keeps %zu", count, first,
                          sequence, length);
    return LOCUS_OK;
}

locus_status locus_cache_truncate(locus_cache *cache, size_t sequence, size_t length, locus_error *error) {
    locus_status status = check_sequence(cache, sequence, error);
    if (status != LOCUS_OK)
        return status;
    const size_t kept = locus_growing_length(cache->growing, sequence);
    if (length > kept)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "length",
                          "sequence %zu keeps %zu tokens and cannot be cut to %zu", sequence, kept, length);
    locus_growing_truncate(cache->growing, sequence, length);
    return LOCUS_OK;
}

/* ---- evicting ---- */

static locus_status prepare_shift(cache_shifter *shifter, const locus_cache *cache, const locus_path *shift,
                                  size_t tokens, locus_error *error) {
    locus_plan_options options = locus_plan_options_default();
    options.length = cache->length;
    *shifter = (cache_shifter){0};
    return shift ? locus_cache_shifter_create(shifter, cache->binding, shift, &options, tokens, error) : LOCUS_OK;
}

static void move_up(const locus_cache *cache, const cache_store *store, size_t sequence, size_t first, size_t count,
                    size_t behind) {
    const locus_tensor to = locus_cache_view(cache, store, sequence, first, behind),
                       from = locus_cache_view(cache, store, sequence, first + count, behind);
    for (size_t h = 0; h < cache->kv_heads; h++) {
        const cache_rows source = locus_cache_rows_of(&from, h, 0, 0), target = locus_cache_rows_of(&to, h, 0, 0);
        locus_cache_convert(behind, store->dim, &source, &target);
    }
}

static locus_status evict(locus_cache *cache, size_t sequence, size_t first, size_t count, const locus_path *shift,
                          locus_error *error) {
    const size_t next = first + count, behind = locus_growing_length(cache->growing, sequence) - next;
    cache_shifter shifter = {0};
    locus_status status = locus_growing_check_shift(cache->growing, sequence, next, behind, shift, error);
    if (status == LOCUS_OK)
        status = prepare_shift(&shifter, cache, shift, behind, error);
    if (status == LOCUS_OK) {
        locus_call_commit();
        status = locus_growing_evict(cache->growing, sequence, first, count, shift, error);
    }
    if (status == LOCUS_OK) {
        const locus_tensor keys = locus_cache_view(cache, &cache->keys, sequence, next, behind),
                           values = locus_cache_view(cache, &cache->values, sequence, next, behind);
        locus_cache_shifter_run(&shifter, LOCUS_ROLE_KEY, &keys);
        locus_cache_shifter_run(&shifter, LOCUS_ROLE_VALUE, &values);
        if (count > 0) {
            move_up(cache, &cache->keys, sequence, first, count, behind);
            move_up(cache, &cache->values, sequence, first, count, behind);
        }
    }
    locus_cache_shifter_destroy(&shifter);
    return status;
}

locus_status locus_cache_evict(locus_cache *cache, size_t sequence, size_t first, size_t count, const locus_path *shift,
                               const locus_execution *execution, locus_error *error) {
    locus_call call;
    locus_status status = check_sequence(cache, sequence, error);
    if (status == LOCUS_OK)
        status = check_range(cache, sequence, first, count, error);
    if (status == LOCUS_OK)
        status = locus_call_begin(&call, execution, error);
    if (status != LOCUS_OK)
        return status;
    return locus_call_end(&call, evict(cache, sequence, first, count, shift, error), error);
}

/* ---- inserting ---- */

static locus_status check_fragment(const locus_cache *cache, size_t sequence, const locus_cache_fragment *fragment,
                                   locus_error *error) {
    if (!fragment->source)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "fragment", "fragment is NULL or has no source");
    const locus_cache *source = fragment->source;
    const bool bound = source->binding == cache->binding || locus_binding_equal(source->binding, cache->binding);
    if (!bound || source->length != cache->length)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "fragment",
                          "the fragment's cache has another %s: its keys mean something else here",
                          bound ? "length" : "binding");
    locus_status status = check_sequence(source, fragment->sequence, error);
    if (status == LOCUS_OK)
        status = check_range(source, fragment->sequence, fragment->first, fragment->count, error);
    if (status == LOCUS_OK && fragment->count > cache->capacity - locus_growing_length(cache->growing, sequence))
        status = locus_fail(error, LOCUS_ERROR_ARGUMENT, "fragment",
                            "sequence %zu would have %zu tokens, but the cache's capacity is %zu", sequence,
                            locus_growing_length(cache->growing, sequence) + fragment->count, cache->capacity);
    if (status == LOCUS_OK)
        status = locus_growing_check_shift(source->growing, fragment->sequence, fragment->first, fragment->count,
                                           fragment->shift, error);
    return status;
}

static void copy_store(const locus_cache *cache, const cache_store *store, const locus_tensor *to,
                       const locus_cache_fragment *fragment, const cache_store *from_store) {
    const locus_tensor from =
        locus_cache_view(fragment->source, from_store, fragment->sequence, fragment->first, fragment->count);
    for (size_t h = 0; h < cache->kv_heads; h++) {
        const cache_rows source = locus_cache_rows_of(&from, h, 0, 0), target = locus_cache_rows_of(to, h, 0, 0);
        locus_cache_convert(fragment->count, store->dim, &source, &target);
    }
}

static locus_status insert(locus_cache *cache, size_t sequence, const locus_cache_fragment *fragment,
                           locus_error *error) {
    const size_t length = locus_growing_length(cache->growing, sequence);
    const locus_growing_part part = {fragment->source->growing, fragment->sequence, fragment->first, fragment->count,
                                     fragment->shift};
    cache_shifter shifter = {0};
    locus_status status = prepare_shift(&shifter, cache, fragment->shift, fragment->count, error);
    if (status == LOCUS_OK) {
        locus_call_commit();
        status = locus_growing_insert(cache->growing, sequence, &part, error);
    }
    if (status == LOCUS_OK) {
        const locus_tensor keys = locus_cache_view(cache, &cache->keys, sequence, length, fragment->count),
                           values = locus_cache_view(cache, &cache->values, sequence, length, fragment->count);
        copy_store(cache, &cache->keys, &keys, fragment, &fragment->source->keys);
        copy_store(cache, &cache->values, &values, fragment, &fragment->source->values);
        locus_cache_shifter_run(&shifter, LOCUS_ROLE_KEY, &keys);
        locus_cache_shifter_run(&shifter, LOCUS_ROLE_VALUE, &values);
    }
    locus_cache_shifter_destroy(&shifter);
    return status;
}

locus_status locus_cache_insert(locus_cache *cache, size_t sequence, const locus_cache_fragment *fragment,
                                const locus_execution *execution, locus_error *error) {
    static const locus_sized kind = {sizeof *fragment, sizeof *fragment, "fragment"};
    locus_cache_fragment own = {.size = sizeof own};
    locus_call call;
    locus_status status = check_sequence(cache, sequence, error);
    if (status == LOCUS_OK)
        status = locus_sized_read(&own, &kind, fragment, error);
    if (status == LOCUS_OK)
        status = check_fragment(cache, sequence, &own, error);
    if (status == LOCUS_OK)
        status = locus_call_begin(&call, execution, error);
    if (status != LOCUS_OK)
        return status;
    return locus_call_end(&call, insert(cache, sequence, &own, error), error);
}
