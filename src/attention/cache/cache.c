/* SPDX-License-Identifier: MIT */
/* A key–value cache: appending and attending. New tokens are turned in a buffer of their own, as wide as arithmetic,
 * and rounded into their rows. Attention then has no operators to apply: the growing plan has none (growing.h). */
#include "attention/cache/cache_inside.h"

#include "attention/attention_check.h"
#include "core/call.h"
#include "core/error.h"
#include "core/sized.h"
#include "kernels/half_rows.h"

#include <locus/parallel.h>
#include <string.h>

#define LINE_BYTES 64

/* ---- making ---- */

locus_cache_options locus_cache_options_default(void) {
    return (locus_cache_options){.size = sizeof(locus_cache_options), .sequences = 1, .dtype = LOCUS_FLOAT32};
}

static locus_status check_options(const locus_binding *binding, const locus_cache_options *options,
                                  locus_error *error) {
    if (!binding)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "binding", "binding is NULL");
    if (!options)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "options",
                          "options is NULL: start from locus_cache_options_default() and give a capacity");
    if (options->capacity == 0 || options->sequences == 0)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, options->capacity ? "sequences" : "capacity",
                          "the cache's %s is 0: give at least 1",
                          options->capacity ? "number of sequences" : "capacity");
    if (options->capacity > UINT32_MAX / options->sequences)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "capacity",
                          "%zu sequences of %zu tokens are more than 2^32 − 1 tokens: use several caches",
                          options->sequences, options->capacity);
    if (locus_dtype_size(options->dtype) == 0)
        return locus_fail(error, LOCUS_ERROR_DTYPE, "dtype",
                          "element type %d is unknown: use float32, float64, float16 or bfloat16", (int)options->dtype);
    const locus_shape *shape = &binding->shape;
    if (shape->heads == 0 || shape->head_dim == 0)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "binding",
                          "the binding has %zu heads of dimension %zu: a cache needs both to be at least 1",
                          shape->heads, shape->head_dim);
    return LOCUS_OK;
}

/* Content terms see the query before any operator; turned queries are all that attention gets here. */
static locus_status check_terms(const locus_cache *cache, locus_error *error) {
    const locus_encoding *encoding = cache->binding->encoding;
    const locus_plan *kept = locus_growing_kept(cache->growing);
    const unsigned turning = LOCUS_SITE_QUERY_KEY | LOCUS_SITE_VALUE;
    if (!(locus_encoding_sites(encoding) & turning))
        return LOCUS_OK;
    for (size_t i = 0; i < kept->term_count; i++)
        if (kept->terms[i]->placed.content || kept->terms[i]->placed.contextual)
            return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "binding",
                              "'%s' needs queries before the operator of the other term, which a cache does not keep: "
                              "use one of the two alone",
                              encoding->terms[i].class->info.name);
    return LOCUS_OK;
}

static locus_status store_create(const locus_cache *cache, cache_store *store, size_t dim, locus_error *error) {
    const size_t size = locus_dtype_size(cache->dtype), rows = cache->sequences * cache->capacity;
    store->dim = dim;
    if (rows > (size_t)PTRDIFF_MAX / size / (dim + LINE_BYTES) / cache->kv_heads)
        return locus_fail_memory(error, SIZE_MAX);
    store->head = (ptrdiff_t)(rows * dim + LINE_BYTES / size);
    const size_t bytes = cache->kv_heads * (size_t)store->head * size;
    store->data = locus_allocate(bytes);
    store->bytes = store->data ? bytes : 0;
    return store->data ? LOCUS_OK : locus_fail_memory(error, bytes);
}

locus_status locus_cache_create(locus_cache **cache, const locus_binding *binding, const locus_cache_options *options,
                                locus_error *error) {
    if (!cache)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "cache", "cache is NULL: give a place for the result");
    static const locus_sized kind = {sizeof(locus_cache_options), sizeof(locus_cache_options), "options"};
    locus_cache_options own = locus_cache_options_default();
    *cache = NULL;
    locus_status status = options ? locus_sized_read(&own, &kind, options, error) : LOCUS_OK;
    if (status == LOCUS_OK)
        status = check_options(binding, options ? &own : NULL, error);
    if (status != LOCUS_OK)
        return status;
    locus_cache *fresh = locus_allocate(sizeof *fresh);
    if (!fresh)
        return locus_fail_memory(error, sizeof *fresh);
    *fresh = (locus_cache){.binding = locus_binding_retain(binding),
                           .sequences = own.sequences,
                           .capacity = own.capacity,
                           .length = own.length ? own.length : own.capacity,
                           .heads = binding->shape.heads,
                           .kv_heads = locus_shape_kv_heads(&binding->shape),
                           .dtype = own.dtype};
    atomic_init(&fresh->owners, 1);
    const locus_growing_options growing = {fresh->sequences, fresh->capacity, fresh->length};
    /* What is largest comes first: a cache that no memory could hold fails before anything is made and filled in. */
    status = store_create(fresh, &fresh->keys, binding->shape.head_dim, error);
    if (status == LOCUS_OK)
        status = store_create(fresh, &fresh->values, locus_shape_value_dim(&binding->shape), error);
    if (status == LOCUS_OK)
        status = locus_growing_create(&fresh->growing, binding, &growing, error);
    if (status == LOCUS_OK)
        status = check_terms(fresh, error);
    if (status != LOCUS_OK)
        locus_cache_destroy(&fresh);
    *cache = fresh;
    return status;
}

/* The count of owners may change from any thread, unlike the rest of a cache. */
locus_cache *locus_cache_retain(const locus_cache *cache) {
    locus_cache *shared = (locus_cache *)(uintptr_t)cache;
    if (shared)
        atomic_fetch_add(&shared->owners, 1);
    return shared;
}

void locus_cache_destroy(locus_cache **cache) {
    if (!cache || !*cache)
        return;
    locus_cache *old = *cache;
    *cache = NULL;
    if (atomic_fetch_sub(&old->owners, 1) != 1)
        return;
    const cache_room rooms[] = {old->workspace, old->turned, old->results, old->narrow};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        locus_release(rooms[i].data, rooms[i].bytes);
    locus_release(old->keys.data, old->keys.bytes);
    locus_release(old->values.data, old->values.bytes);
    locus_growing_destroy(&old->growing);
    locus_binding_destroy(&old->binding);
    locus_release(old, sizeof *old);
}

size_t locus_cache_bytes(const locus_cache *cache) {
    if (!cache)
        return 0;
    return sizeof *cache + cache->keys.bytes + cache->values.bytes + cache->workspace.bytes + cache->turned.bytes +
           cache->results.bytes + cache->narrow.bytes + locus_growing_bytes(cache->growing);
}

size_t locus_cache_length(const locus_cache *cache, size_t sequence) {
    return cache && sequence < cache->sequences ? locus_growing_length(cache->growing, sequence) : 0;
}

const locus_plan *locus_cache_plan(const locus_cache *cache) {
    return cache && locus_growing_entered(cache->growing) ? locus_growing_fresh(cache->growing) : NULL;
}

locus_tensor locus_cache_keys(const locus_cache *cache, size_t sequence) {
    if (!cache || sequence >= cache->sequences)
        return (locus_tensor){0};
    return locus_cache_view(cache, &cache->keys, sequence, 0, locus_growing_length(cache->growing, sequence));
}

locus_tensor locus_cache_values(const locus_cache *cache, size_t sequence) {
    if (!cache || sequence >= cache->sequences)
        return (locus_tensor){0};
    return locus_cache_view(cache, &cache->values, sequence, 0, locus_growing_length(cache->growing, sequence));
}

static locus_status check_cache(const locus_cache *cache, locus_error *error) {
    return cache ? LOCUS_OK : locus_fail(error, LOCUS_ERROR_ARGUMENT, "cache", "cache is NULL");
}

/* ---- turning new tokens ---- */

/* Whether the encoding turns what plays this role. */
static bool turns(const locus_cache *cache, locus_role role) {
    const locus_plan *fresh = locus_growing_fresh(cache->growing);
    if (role == LOCUS_ROLE_VALUE || role == LOCUS_ROLE_OUTPUT)
        return fresh->value || fresh->value_whole;
    return fresh->query_key || fresh->query_key_whole;
}

/* Of arithmetic on tensors of a type that are kept, or were, in the cache's. */
static locus_dtype wide_type(const locus_cache *cache, locus_dtype dtype) {
    const bool wide = cache->dtype == LOCUS_FLOAT64 || (cache->dtype == LOCUS_FLOAT32 && dtype == LOCUS_FLOAT64);
    return wide ? LOCUS_FLOAT64 : LOCUS_FLOAT32;
}

/* A buffer of the new tokens, packed, with one head after the other; heads and dim are those of a tensor. */
static locus_tensor heads_of(const locus_cache *cache, const cache_room *room, locus_dtype dtype,
                             const locus_tensor *like) {
    const int64_t tokens = (int64_t)locus_growing_tokens(cache->growing), dim = like->shape[like->rank - 1];
    return (locus_tensor){.data = room->data,
                          .dtype = dtype,
                          .rank = 3,
                          .shape = {tokens, like->shape[1], dim},
                          .stride = {dim, tokens * dim, 1}};
}

static size_t heads_bytes(const locus_cache *cache, locus_dtype dtype, const locus_tensor *like) {
    const locus_tensor heads = heads_of(cache, &cache->turned, dtype, like);
    return locus_tensor_count(&heads) * locus_dtype_size(dtype);
}

static locus_status fit_turning(locus_cache *cache, locus_role role, const locus_tensor *x, locus_error *error) {
    const locus_dtype wide = wide_type(cache, x->dtype);
    locus_status status = locus_cache_room_fit(&cache->turned, heads_bytes(cache, wide, x), error);
    if (status != LOCUS_OK)
        return status;
    const size_t bytes = locus_apply_workspace(locus_growing_fresh(cache->growing), role, wide, NULL);
    return locus_cache_room_fit(&cache->workspace, bytes, error);
}

/* Tokens from one tensor to another, whatever their types and layouts. Rows in gaps stay as they are. */
static void convert_tokens(const locus_cache *cache, const locus_tensor *from, const locus_tensor *to) {
    for (size_t s = 0; s < cache->sequences; s++) {
        const locus_positions_run run = locus_growing_run(cache->growing, s);
        for (size_t h = 0; h < (size_t)from->shape[1]; h++) {
            const cache_rows source = locus_cache_rows_of(from, h, s, run.first),
                             target = locus_cache_rows_of(to, h, s, run.first);
            locus_cache_convert(run.count, (size_t)from->shape[from->rank - 1], &source, &target);
        }
    }
}

/* ⌈p⌉ x of the new tokens in the wide type, in cache->turned, for which there is room. */
static locus_status turn(locus_cache *cache, locus_role role, const locus_tensor *x, locus_tensor *turned,
                         locus_error *error) {
    const locus_dtype wide = wide_type(cache, x->dtype);
    const locus_execution execution = locus_cache_execution(&cache->workspace);
    *turned = heads_of(cache, &cache->turned, wide, x);
    if (x->dtype != wide)
        convert_tokens(cache, x, turned);
    return locus_apply(locus_growing_fresh(cache->growing), role, LOCUS_FORWARD, x->dtype == wide ? x : turned, turned,
                       &execution, error);
}

/* ---- appending ---- */

typedef struct storing {
    const locus_cache *cache;
    const cache_store *store;
    const locus_tensor *tokens; /* as they are to be kept, but for their type */
} storing;

/* The new tokens are the last of their sequences. */
static void store_head(void *context, size_t head, size_t worker) {
    const storing *job = context;
    (void)worker;
    for (size_t s = 0; s < job->cache->sequences; s++) {
        const locus_positions_run run = locus_growing_run(job->cache->growing, s);
        const size_t first = locus_growing_length(job->cache->growing, s) - run.count;
        const locus_tensor kept = locus_cache_view(job->cache, job->store, s, first, run.count);
        const cache_rows from = locus_cache_rows_of(job->tokens, head, s, run.first),
                         to = locus_cache_rows_of(&kept, head, 0, 0);
        locus_cache_convert(run.count, job->store->dim, &from, &to);
    }
}

/* What nothing turns is stored as it is given, but of many sequences, whose heads would be gathered from far apart. */
static bool stores_given(const locus_cache *cache, locus_role role) {
    return !turns(cache, role) && cache->sequences <= cache->kv_heads;
}

/* Rows of one sequence, without gaps and of the cache's type, are turned where they will lie. */
static bool turns_in_place(const locus_cache *cache, const locus_tensor *x) {
    return cache->sequences == 1 &&
           locus_growing_run(cache->growing, 0).count == locus_growing_tokens(cache->growing) &&
           x->dtype == cache->dtype && x->dtype == wide_type(cache, x->dtype);
}

static locus_status turn_in_place(const locus_cache *cache, locus_role role, const cache_store *store,
                                  const locus_tensor *x, locus_error *error) {
    const locus_execution execution = locus_cache_execution(&cache->workspace);
    const size_t count = locus_growing_tokens(cache->growing);
    const size_t first = locus_growing_length(cache->growing, 0) - count;
    const locus_tensor kept = locus_cache_view(cache, store, 0, first, count);
    return locus_apply(locus_growing_fresh(cache->growing), role, LOCUS_FORWARD, x, &kept, &execution, error);
}

static locus_status append_role(locus_cache *cache, locus_role role, const locus_tensor *x, locus_error *error) {
    const cache_store *store = role == LOCUS_ROLE_KEY ? &cache->keys : &cache->values;
    locus_tensor tokens = *x;
    if (turns(cache, role) && turns_in_place(cache, x))
        return turn_in_place(cache, role, store, x, error);
    const locus_status status = stores_given(cache, role) ? LOCUS_OK : turn(cache, role, x, &tokens, error);
    storing job = {cache, store, &tokens};
    if (status == LOCUS_OK)
        locus_parallel_for(cache->kv_heads, store_head, &job);
    return status;
}

static locus_status append(locus_cache *cache, const locus_tensor *key, const locus_tensor *value, locus_error *error) {
    locus_status status = LOCUS_OK;
    if (!stores_given(cache, LOCUS_ROLE_KEY))
        status = fit_turning(cache, LOCUS_ROLE_KEY, key, error);
    if (status == LOCUS_OK && !stores_given(cache, LOCUS_ROLE_VALUE))
        status = fit_turning(cache, LOCUS_ROLE_VALUE, value, error);
    if (status == LOCUS_OK)
        status = append_role(cache, LOCUS_ROLE_KEY, key, error);
    return status == LOCUS_OK ? append_role(cache, LOCUS_ROLE_VALUE, value, error) : status;
}

locus_status locus_cache_append(locus_cache *cache, const locus_positions *positions, const locus_tensor *key,
                                const locus_tensor *value, const locus_execution *execution, locus_error *error) {
    locus_call call;
    locus_status status = check_cache(cache, error);
    if (status == LOCUS_OK)
        status = locus_cache_check_append(cache, positions, key, value, error);
    if (status == LOCUS_OK)
        status = locus_call_begin(&call, execution, error);
    if (status != LOCUS_OK)
        return status;
    status = locus_growing_enter(cache->growing, positions, true, error);
    if (status == LOCUS_OK)
        status = append(cache, key, value, error);
    status = locus_call_end(&call, status, error);
    if (status != LOCUS_OK)
        locus_growing_leave(cache->growing);
    return status;
}

locus_status locus_cache_queries(locus_cache *cache, const locus_positions *positions, const locus_execution *execution,
                                 locus_error *error) {
    locus_call call;
    locus_status status = check_cache(cache, error);
    if (status == LOCUS_OK)
        status = locus_growing_check(cache->growing, positions, false, error);
    if (status == LOCUS_OK)
        status = locus_call_begin(&call, execution, error);
    if (status != LOCUS_OK)
        return status;
    status = locus_call_end(&call, locus_growing_enter(cache->growing, positions, false, error), error);
    if (status != LOCUS_OK)
        locus_growing_leave(cache->growing);
    return status;
}

/* ---- attending ---- */

/* Once for full sequences, so that decoding on needs no more. */
static locus_status fit_attention(locus_cache *cache, const locus_attention_options *options, locus_error *error) {
    const locus_plan *kept = locus_growing_kept(cache->growing);
    size_t bytes = locus_attention_workspace(kept, options, cache->dtype, LOCUS_PASS_FORWARD, NULL);
    if (bytes <= cache->workspace.bytes)
        return LOCUS_OK;
    locus_growing_stretch(cache->growing, true);
    const size_t most = locus_attention_workspace(kept, options, cache->dtype, LOCUS_PASS_FORWARD, NULL);
    locus_growing_stretch(cache->growing, false);
    return locus_cache_room_fit(&cache->workspace, most > bytes ? most : bytes, error);
}

/* The query in the cache's type, turned: the caller's own, or in a buffer. */
static locus_status take_query(locus_cache *cache, bool turned_before, const locus_tensor *query, locus_tensor *taken,
                               locus_error *error) {
    locus_tensor turned = *query;
    if (!turned_before && turns(cache, LOCUS_ROLE_QUERY)) {
        locus_status status = fit_turning(cache, LOCUS_ROLE_QUERY, query, error);
        if (status == LOCUS_OK)
            status = turn(cache, LOCUS_ROLE_QUERY, query, &turned, error);
        if (status != LOCUS_OK)
            return status;
    }
    *taken = turned;
    if (turned.dtype == cache->dtype)
        return LOCUS_OK;
    locus_status status = locus_cache_room_fit(&cache->narrow, heads_bytes(cache, cache->dtype, query), error);
    if (status != LOCUS_OK)
        return status;
    *taken = heads_of(cache, &cache->narrow, cache->dtype, query);
    convert_tokens(cache, &turned, taken);
    return LOCUS_OK;
}

/* o = ⌈p⌉ᵀ o' into the caller's tensor, of any type. */
static locus_status give_output(locus_cache *cache, bool waits, const locus_tensor *result, const locus_tensor *output,
                                locus_error *error) {
    locus_tensor turned = *result;
    if (!waits && turns(cache, LOCUS_ROLE_OUTPUT)) {
        locus_status status = fit_turning(cache, LOCUS_ROLE_OUTPUT, result, error);
        if (status == LOCUS_OK)
            status = turn(cache, LOCUS_ROLE_OUTPUT, result, &turned, error);
        if (status != LOCUS_OK)
            return status;
    }
    if (turned.data != output->data)
        convert_tokens(cache, &turned, output);
    return LOCUS_OK;
}

static locus_status attend(locus_cache *cache, const locus_attention_options *options, const locus_tensor *query,
                           const locus_tensor *output, locus_error *error) {
    locus_attention_options chosen = *options;
    locus_tensor taken, result = *output;
    chosen.turned = true;
    locus_status status = take_query(cache, options->turned, query, &taken, error);
    if (status == LOCUS_OK && output->dtype != cache->dtype) {
        status = locus_cache_room_fit(&cache->results, heads_bytes(cache, cache->dtype, output), error);
        result = heads_of(cache, &cache->results, cache->dtype, output);
    }
    if (status == LOCUS_OK)
        status = fit_attention(cache, &chosen, error);
    const size_t rows = cache->sequences * cache->capacity;
    const locus_tensor key = locus_cache_view(cache, &cache->keys, 0, 0, rows),
                       value = locus_cache_view(cache, &cache->values, 0, 0, rows);
    const locus_attention_tensors tensors = {
        .size = sizeof tensors, .query = &taken, .key = &key, .value = &value, .output = &result};
    const locus_execution execution = locus_cache_execution(&cache->workspace);
    if (status == LOCUS_OK)
        status = locus_attention_forward(locus_growing_kept(cache->growing), &chosen, &tensors, &execution, error);
    return status == LOCUS_OK ? give_output(cache, options->turned, &result, output, error) : status;
}

locus_status locus_cache_attend(locus_cache *cache, const locus_attention_options *options, const locus_tensor *query,
                                const locus_tensor *output, const locus_execution *execution, locus_error *error) {
    locus_attention_options chosen = locus_attention_default();
    locus_call call;
    locus_status status = check_cache(cache, error);
    chosen.mask = LOCUS_MASK_CAUSAL;
    if (status == LOCUS_OK && options)
        status = locus_attention_options_read(&chosen, options, error);
    if (status == LOCUS_OK)
        status = locus_cache_check_attend(cache, &chosen, query, output, error);
    if (status == LOCUS_OK)
        status = locus_call_begin(&call, execution, error);
    if (status != LOCUS_OK)
        return status;
    return locus_call_end(&call, attend(cache, &chosen, query, output, error), error);
}
