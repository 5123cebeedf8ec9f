/* SPDX-License-Identifier: MIT */
/* Rows of a key–value cache: views, and conversion between any two element types, rounded once to the nearest. Between
 * a half type and float64, and between the half types, through float32. */
#include "attention/cache/cache_inside.h"

#include "core/error.h"
#include "kernels/half_rows.h"

#include <string.h>

#define PIECE 256 /* elements that go through float32 at a time */

locus_status locus_cache_room_fit(cache_room *room, size_t bytes, locus_error *error) {
    if (bytes <= room->bytes)
        return LOCUS_OK;
    locus_release(room->data, room->bytes);
    room->data = locus_allocate(bytes);
    room->bytes = room->data ? bytes : 0;
    return room->data ? LOCUS_OK : locus_fail_memory(error, bytes);
}

locus_execution locus_cache_execution(const cache_room *room) {
    locus_execution execution = locus_execution_default();
    execution.workspace = (locus_workspace){room->data, room->bytes};
    return execution;
}

static char *row_at(const cache_rows *rows, size_t index, size_t element) {
    const ptrdiff_t at = (ptrdiff_t)index * rows->stride + (ptrdiff_t)element;
    return (char *)rows->data + at * (ptrdiff_t)locus_dtype_size(rows->dtype);
}

cache_rows locus_cache_rows_of(const locus_tensor *tensor, size_t head, size_t sequence, size_t first) {
    const locus_token_rows all = locus_token_rows_of(tensor);
    const ptrdiff_t at =
        (ptrdiff_t)first * all.token + (ptrdiff_t)head * all.head + locus_token_rows_shift(&all, sequence, first);
    cache_rows rows = {tensor->data, tensor->dtype, all.token};
    if (tensor->data)
        rows.data = (char *)tensor->data + at * (ptrdiff_t)locus_dtype_size(tensor->dtype);
    return rows;
}

locus_tensor locus_cache_view(const locus_cache *cache, const cache_store *store, size_t sequence, size_t first,
                              size_t count) {
    const size_t row = sequence * cache->capacity + first;
    return (locus_tensor){.data = (char *)store->data + row * store->dim * locus_dtype_size(cache->dtype),
                          .dtype = cache->dtype,
                          .rank = 3,
                          .shape = {(int64_t)count, (int64_t)cache->kv_heads, (int64_t)store->dim},
                          .stride = {(int64_t)store->dim, (int64_t)store->head, 1}};
}

/* ---- conversion ---- */

static void to_floats(size_t count, const void *from, locus_dtype dtype, float *to) {
    const locus_half_rows row = {dtype, 1, count, (ptrdiff_t)count, (ptrdiff_t)count};
    if (dtype == LOCUS_FLOAT32)
        memcpy(to, from, count * sizeof *to);
    else if (dtype == LOCUS_FLOAT64)
        for (size_t i = 0; i < count; i++)
            to[i] = (float)((const double *)from)[i];
    else
        locus_half_rows_widen(&row, 1, from, to);
}

static void from_floats(size_t count, const float *from, locus_dtype dtype, void *to) {
    const locus_half_rows row = {dtype, 1, count, (ptrdiff_t)count, (ptrdiff_t)count};
    if (dtype == LOCUS_FLOAT32)
        memcpy(to, from, count * sizeof *from);
    else if (dtype == LOCUS_FLOAT64)
        for (size_t i = 0; i < count; i++)
            ((double *)to)[i] = (double)from[i];
    else
        locus_half_rows_narrow(&row, 1, from, to);
}

static void convert_row(size_t dim, const cache_rows *from, const cache_rows *to, size_t index) {
    float piece[PIECE];
    for (size_t done = 0, count; done < dim; done += count) {
        count = dim - done < PIECE ? dim - done : PIECE;
        to_floats(count, row_at(from, index, done), from->dtype, piece);
        from_floats(count, piece, to->dtype, row_at(to, index, done));
    }
}

void locus_cache_convert(size_t count, size_t dim, const cache_rows *from, const cache_rows *to) {
    const size_t bytes = dim * locus_dtype_size(from->dtype);
    const bool dense = from->stride == (ptrdiff_t)dim && to->stride == (ptrdiff_t)dim;
    if (from->dtype == to->dtype && dense && count > 0)
        memmove(to->data, from->data, count * bytes);
    else if (from->dtype == to->dtype)
        for (size_t i = 0; i < count; i++)
            memmove(row_at(to, i, 0), row_at(from, i, 0), bytes);
    else
        for (size_t i = 0; i < count; i++)
            convert_row(dim, from, to, i);
}
