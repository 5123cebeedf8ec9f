/* SPDX-License-Identifier: MIT */
/* Where rows are and what a worker needs, for operators that have a matrix for each distinct position. See liere.h. */
#include "linalg/orthogonal.h"
#include "operators/liere/liere.h"

static void *take(char *base, size_t *used, size_t elements, size_t size) {
    void *block = base ? base + *used : NULL;
    *used += locus_aligned(elements * size);
    return block;
}

locus_liere_scratch locus_liere_scratch_at(size_t dim, locus_dtype dtype, char *base) {
    const size_t size = locus_dtype_size(dtype), block = LOCUS_LIERE_ROWS * dim, square = dim * dim;
    locus_liere_scratch scratch = {0};
    size_t *used = &scratch.bytes;
    scratch.x = take(base, used, block, size);
    scratch.g = take(base, used, block, size);
    scratch.y = take(base, used, block, size);
    scratch.tile = take(base, used, square, size);
    scratch.matrix = take(base, used, square, size);
    scratch.transposed = take(base, used, square, size);
    scratch.exponential = take(base, used, square, sizeof(double));
    scratch.basis = take(base, used, square, sizeof(double));
    scratch.angles = take(base, used, dim / 2 + 1, sizeof(double));
    scratch.skew = take(base, used, square, sizeof(double));
    scratch.gradient = take(base, used, square, sizeof(double));
    scratch.work = take(base, used, 2 * square + locus_orthogonal_work(dim), sizeof(double));
    return scratch;
}

static bool is_query(locus_role role) {
    return role == LOCUS_ROLE_QUERY || role == LOCUS_ROLE_OUTPUT;
}

locus_liere_rows locus_liere_rows_at(const locus_liere_ground *ground, const locus_whole_stream *stream,
                                     size_t position, size_t table) {
    const bool query = is_query(stream->role), shared = ground->tables == 1;
    const locus_position_tokens *grouped = query ? &ground->distinct->query : &ground->distinct->key;
    locus_liere_rows rows = {.stream = stream, .dim = ground->dim};
    rows.side = query ? &ground->placement->query : &ground->placement->key;
    rows.tokens = grouped->tokens + grouped->first[position];
    rows.head = shared ? 0 : table;
    rows.heads = shared ? ground->heads : 1;
    rows.count = (grouped->first[position + 1] - grouped->first[position]) * rows.heads;
    rows.turns = (stream->role == LOCUS_ROLE_OUTPUT) == (stream->direction == LOCUS_INVERSE);
    return rows;
}
