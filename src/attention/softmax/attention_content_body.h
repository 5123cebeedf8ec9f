/* SPDX-License-Identifier: MIT */
/* Relative content terms (Shaw, Uszkoreit, Vaswani: Self-attention with relative position representations, 2018):
 *
 *   s_mn += q_m · K[b],  o_m += Σ_n a_mn V[b],  b = clip(p_n − p_m, −w, w) + w
 *
 * For a few rows and a tile's keys the rows of a table that they can reach are a run [low, low + width). All products
 * q_m · K[low + j] are one matrix product; each pair then picks its own (consecutive positions: a shifted slice).
 * Backward scatters the pairs back into [rows][width] and is two matrix products. Columns that a row does not see, but
 * that lie before some that it does, are picked too and masked later, and scatter zeros. Where positions are scattered
 * so widely that the run is longer than ATTENTION_CONTENT_WIDTH, pairs are computed one by one. */
#ifndef LOCUS_ATTENTION_CONTENT_BODY_H
#define LOCUS_ATTENTION_CONTENT_BODY_H

#include "attention/softmax/attention_tile_body.h"

typedef struct content_range {
    const int64_t *query_positions, *key_positions; /* of the strip's first row and key */
    size_t low, width;
    bool consecutive, wide;
} content_range;

static size_t content_index(int64_t offset, int64_t window) {
    int64_t clipped = offset < -window ? -window : offset > window ? window : offset;
    return (size_t)(clipped + window);
}

static content_range content_reach(const lane *l, const strip *s) {
    const locus_content_table *table = l->job->content;
    content_range range = {.query_positions = table->query_positions + l->span.query_first + s->row,
                           .key_positions = table->key_positions + l->span.key_first + s->key,
                           .consecutive = true};
    const int64_t *queries = range.query_positions, *keys = range.key_positions;
    int64_t query_low = queries[0], query_high = queries[0], key_low = keys[0], key_high = keys[0];
    for (size_t i = 1; i < s->rows; i++) {
        query_low = queries[i] < query_low ? queries[i] : query_low;
        query_high = queries[i] > query_high ? queries[i] : query_high;
    }
    for (size_t j = 1; j < s->keys; j++) {
        key_low = keys[j] < key_low ? keys[j] : key_low;
        key_high = keys[j] > key_high ? keys[j] : key_high;
        range.consecutive &= keys[j] == keys[j - 1] + 1;
    }
    range.low = content_index(key_low - query_high, (int64_t)table->window);
    range.width = content_index(key_high - query_low, (int64_t)table->window) + 1 - range.low;
    range.wide = range.width > ATTENTION_CONTENT_WIDTH;
    return range;
}

/* A row of pairs with consecutive keys: `before` at the first offset, a slice, the rest at the last one. */
typedef struct content_slice {
    size_t before, until; /* pairs [before, until) are the slice */
    size_t start;         /* table row of pair `before` */
} content_slice;

static content_slice content_cut(int64_t offset, int64_t window, size_t count) {
    content_slice slice = {0, 0, 0};
    int64_t before = -window - offset, until = window - offset + 1, pairs = (int64_t)count;
    slice.before = (size_t)(before < 0 ? 0 : before > pairs ? pairs : before);
    slice.until = (size_t)(until < 0 ? 0 : until > pairs ? pairs : until);
    slice.start = content_index(offset + (int64_t)slice.before, window);
    return slice;
}

/* pairs[j] += products[b(j) − low] */
static void content_gather(const lane *l, const content_range *range, size_t row, size_t count, const real *products,
                           real *pairs) {
    int64_t window = (int64_t)l->job->content->window, at = range->query_positions[row];
    const int64_t *keys = range->key_positions;
    if (!range->consecutive) {
        for (size_t j = 0; j < count; j++)
            pairs[j] += products[content_index(keys[j] - at, window) - range->low];
        return;
    }
    content_slice slice = content_cut(keys[0] - at, window, count);
    for (size_t j = 0; j < slice.before; j++)
        pairs[j] += products[0 - range->low];
    l->kernels->add(slice.until - slice.before, pairs + slice.before, products + (slice.start - range->low),
                    pairs + slice.before);
    for (size_t j = slice.until; j < count; j++)
        pairs[j] += products[2 * (size_t)window - range->low];
}

/* products[b(j) − low] += pairs[j] */
static void content_scatter(const lane *l, const content_range *range, size_t row, size_t count, const real *pairs,
                            real *products) {
    int64_t window = (int64_t)l->job->content->window, at = range->query_positions[row];
    const int64_t *keys = range->key_positions;
    if (!range->consecutive) {
        for (size_t j = 0; j < count; j++)
            products[content_index(keys[j] - at, window) - range->low] += pairs[j];
        return;
    }
    content_slice slice = content_cut(keys[0] - at, window, count);
    for (size_t j = 0; j < slice.before; j++)
        products[0 - range->low] += pairs[j];
    l->kernels->add(slice.until - slice.before, products + (slice.start - range->low), pairs + slice.before,
                    products + (slice.start - range->low));
    for (size_t j = slice.until; j < count; j++)
        products[2 * (size_t)window - range->low] += pairs[j];
}

/* A table of the plan, its transpose, and the dimension of its rows. */
typedef struct content_matrix {
    const real *rows, *columns;
    size_t dim;
} content_matrix;

static content_matrix content_keys(const attention_job *job) {
    content_matrix matrix = {job->content_key, (const real *)(const void *)job->content_key_columns, job->head_dim};
    return matrix;
}

static content_matrix content_values(const attention_job *job) {
    content_matrix matrix = {job->content_value, (const real *)(const void *)job->content_value_columns,
                             job->value_dim};
    return matrix;
}

static size_t content_pair(const lane *l, const content_range *range, size_t row, size_t j) {
    return content_index(range->key_positions[j] - range->query_positions[row], (int64_t)l->job->content->window);
}

/* A strip's pairs are taken in parts of few rows: a part of r rows and n consecutive keys reaches r + n − 1 offsets. */
static strip content_part(const strip *s, size_t first) {
    strip part = *s;
    part.row += first;
    part.rows = smaller(s->rows - first, ATTENTION_STRIP);
    part.score += first * ATTENTION_KEY_BLOCK;
    return part;
}

static void part_products(const lane *l, const strip *s, content_matrix matrix, const real *left, ptrdiff_t ld) {
    content_range range = content_reach(l, s);
    size_t table_rows = 2 * l->job->content->window + 1;
    if (!range.wide)
        l->kernels->gemm(s->rows, range.width, matrix.dim, left, ld, 1, matrix.columns + range.low,
                         (ptrdiff_t)table_rows, l->content, ATTENTION_CONTENT_WIDTH, false);
    for (size_t i = 0; i < s->rows; i++, left += ld) {
        size_t count = strip_cut(l, s, s->row + i).to;
        real *pairs = s->score + i * ATTENTION_KEY_BLOCK;
        if (!range.wide)
            content_gather(l, &range, i, count, l->content + i * ATTENTION_CONTENT_WIDTH, pairs);
        for (size_t j = 0; range.wide && j < count; j++)
            pairs[j] += l->kernels->dot(matrix.dim, left, matrix.rows + content_pair(l, &range, i, j) * matrix.dim);
    }
}

/* pair[m][n] += left_m · matrix[b(m, n)], over the keys that each row of the strip sees. */
static void content_products(const lane *l, const strip *s, content_matrix matrix, const real *left, ptrdiff_t ld) {
    for (size_t first = 0; first < s->rows; first += ATTENTION_STRIP) {
        strip part = content_part(s, first);
        part_products(l, &part, matrix, left + (ptrdiff_t)first * ld, ld);
    }
}

/* Where a strip's pairs are summed to; each may be left out (NULL). */
typedef struct content_targets {
    real *rows; /* row m += Σ_n pair[m][n] · matrix[b(m, n)] */
    ptrdiff_t ld;
    const real *left; /* slot[b(m, n)] += pair[m][n] · left_m */
    ptrdiff_t ld_left;
    real *slot;
} content_targets;

static void part_sums(const lane *l, const strip *s, const content_range *range, content_matrix matrix,
                      const content_targets *to) {
    for (size_t i = 0; i < s->rows; i++) {
        real *products = l->content + i * ATTENTION_CONTENT_WIDTH;
        memset(products, 0, range->width * sizeof(real));
        content_scatter(l, range, i, strip_cut(l, s, s->row + i).to, s->score + i * ATTENTION_KEY_BLOCK, products);
    }
    if (to->rows)
        l->kernels->gemm(s->rows, matrix.dim, range->width, l->content, ATTENTION_CONTENT_WIDTH, 1,
                         matrix.rows + range->low * matrix.dim, (ptrdiff_t)matrix.dim, to->rows, to->ld, true);
    if (to->slot)
        l->kernels->gemm(range->width, matrix.dim, s->rows, l->content, 1, ATTENTION_CONTENT_WIDTH, to->left,
                         to->ld_left, to->slot + range->low * matrix.dim, (ptrdiff_t)matrix.dim, true);
}

static void part_sums_by_pair(const lane *l, const strip *s, const content_range *range, content_matrix matrix,
                              const content_targets *to) {
    for (size_t i = 0; i < s->rows; i++) {
        size_t count = strip_cut(l, s, s->row + i).to;
        for (size_t j = 0; j < count; j++) {
            size_t at = content_pair(l, range, i, j) * matrix.dim;
            real weight = s->score[i * ATTENTION_KEY_BLOCK + j];
            if (to->rows)
                l->kernels->axpy(matrix.dim, weight, matrix.rows + at, to->rows + (ptrdiff_t)i * to->ld);
            if (to->slot)
                l->kernels->axpy(matrix.dim, weight, to->left + (ptrdiff_t)i * to->ld_left, to->slot + at);
        }
    }
}

static void content_sums(const lane *l, const strip *s, content_matrix matrix, content_targets to) {
    for (size_t first = 0; first < s->rows; first += ATTENTION_STRIP) {
        strip part = content_part(s, first);
        content_range range = content_reach(l, &part);
        (range.wide ? part_sums_by_pair : part_sums)(l, &part, &range, matrix, &to);
        to.rows = to.rows ? to.rows + (ptrdiff_t)ATTENTION_STRIP * to.ld : NULL;
        to.left = to.left ? to.left + (ptrdiff_t)ATTENTION_STRIP * to.ld_left : NULL;
    }
}

#endif
