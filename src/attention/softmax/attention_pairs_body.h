/* SPDX-License-Identifier: MIT */
/* Products of bfloat16 (kernels/bfloat16.h) in the place of those of floats, where the call has them: rows of tensors
 * as bfloat16, turned and rounded, and the layouts of both sides of a product, made once for a panel of keys and once
 * for a run of queries. Float scores come out of them, so that everything between is as it is for floats; a call
 * without terms, biases, caps, dropout and kept keys goes from scores to rounded weights in one step of the kernels.
 *
 * Numbers that are not finite: a weight is 0 where a row does not look, and 0·∞ is NaN. Rows that are not finite are
 * zeros in the layouts that weights meet, and are added apart, to the rows that see them.
 *
 * Where `real` is double there are none of these, and what is here is never called. */
#ifndef LOCUS_ATTENTION_PAIRS_BODY_H
#define LOCUS_ATTENTION_PAIRS_BODY_H

#include "attention/softmax/attention_tile_body.h"
#include "kernels/bfloat16.h"

enum {
    ATTENTION_PAIRS_MORE = 32, /* rows behind a panel that the last product may read */
    ATTENTION_PAIRS_PANEL = ATTENTION_QUERY_BLOCK * LOCUS_PAIRS_COLUMNS, /* of a tile's weights as pairs */
    ATTENTION_PAIRS_TAIL = 32 /* numbers behind a block of rows laid on their side */
};

static float *as_floats(real *x) {
    return (float *)(void *)x;
}

/* ---- rows ---- */

/* At most ATTENTION_KEY_BLOCK rows of a tensor, turned and rounded, [count][ld], with zeros from the dimension on. */
static void half_rows(const lane *l, const attention_view *view, locus_role role, size_t token, size_t count,
                      uint16_t *to, size_t ld) {
    const size_t dim = role_dim(l, role);
    const run r = {role, LOCUS_FORWARD, token, count, 1};
    if (role_operator(l, role) || row_dtype(l, role) == REAL_DTYPE) {
        kept_rows x = rows_at(l, view, role, token, count);
        if (role_operator(l, role)) {
            operate(l, r, x.data, x.stride, l->turned, (ptrdiff_t)l->ld_turned);
            x = (kept_rows){l->turned, (ptrdiff_t)l->ld_turned};
        }
        l->pairs->narrow(count, dim, (const float *)(const void *)x.data, x.stride, to, (ptrdiff_t)ld);
    } else {
        const uint16_t *from = (const uint16_t *)view->data + row_offset(l, view, role, token);
        for (size_t i = 0; i < count; i++, from += view->token)
            memcpy(to + i * ld, from, dim * sizeof *to);
    }
    for (size_t i = 0; i < count && dim < ld; i++)
        memset(to + i * ld + dim, 0, (ld - dim) * sizeof *to);
}

/* Rows of floats into a tensor. */
static void write_rows(const lane *l, const attention_view *view, locus_role role, size_t token, size_t count, real *x,
                       size_t ld) {
    const size_t dim = role_dim(l, role);
    const ptrdiff_t at = row_offset(l, view, role, token);
    if (row_dtype(l, role) != REAL_DTYPE)
        l->pairs->narrow(count, dim, as_floats(x), (ptrdiff_t)ld, (uint16_t *)view->data + at, view->token);
    else
        for (size_t i = 0; i < count; i++)
            memcpy((real *)view->data + at + (ptrdiff_t)i * view->token, x + i * ld, dim * sizeof(real));
}

/* ---- layouts ---- */

/* Words of two numbers, [rows][columns], on their side. */
static void turn_words(const lane *l, size_t rows, size_t columns, const uint16_t *from, size_t ld, uint16_t *to,
                       size_t ld_to) {
    l->kernels->transpose(rows, columns, (const real *)(const void *)from, (ptrdiff_t)ld, (real *)(void *)to,
                          (ptrdiff_t)ld_to);
}

/* Rows of keys or values as the right side of a product with rows of queries: pairs whose columns are the rows. The
 * rows' memory has room for a multiple of 16. */
static void lay_columns(const lane *l, size_t count, uint16_t *rows, size_t ld, uint16_t *columns) {
    const size_t all = padded(count, LOCUS_PAIRS_COLUMNS);
    memset(rows + count * ld, 0, (all - count) * ld * sizeof *rows);
    for (size_t i = 0; i < all; i += LOCUS_PAIRS_COLUMNS)
        turn_words(l, LOCUS_PAIRS_COLUMNS, ld / 2, rows + i * ld, ld / 2, columns + i * ld, LOCUS_PAIRS_COLUMNS);
}

/* Marks rows that are not finite, keeps them in `rare` (or, NULL, not) and clears them in `rows`. Returns whether there
 * are any. */
static bool set_apart(const lane *l, size_t count, uint16_t *rows, size_t ld, bool *bad, uint16_t *rare) {
    bool any = false;
    memset(bad, 0, count * sizeof *bad);
    if (l->pairs->finite(count * ld, rows))
        return false;
    for (size_t i = 0; i < count; i++) {
        bad[i] = !l->pairs->finite(ld, rows + i * ld);
        any = any || bad[i];
        if (bad[i] && rare)
            memcpy(rare + i * ld, rows + i * ld, ld * sizeof *rows);
        if (bad[i])
            memset(rows + i * ld, 0, ld * sizeof *rows);
    }
    return any;
}

/* Rows `first` … of a panel as the right side of a product with weights: pairs, [ld/16][room/2][16][2]. The rows'
 * memory has room for ATTENTION_KEY_BLOCK. `last`: zeros follow, which the last product may read. */
static void lay_pairs(const lane *l, size_t first, size_t count, bool last, uint16_t *rows, size_t ld, uint16_t *pairs,
                      size_t room) {
    const size_t all = padded(count, 2), panel = room * LOCUS_PAIRS_COLUMNS;
    if (all > count)
        memset(rows + count * ld, 0, ld * sizeof *rows);
    l->pairs->pairs(all, ld, rows, (ptrdiff_t)ld, pairs + first * LOCUS_PAIRS_COLUMNS, (ptrdiff_t)panel);
    const size_t behind = smaller(room - first - all, 2 * (size_t)ATTENTION_PAIRS_MORE);
    for (size_t d = 0; last && d < ld / LOCUS_PAIRS_COLUMNS; d++)
        memset(pairs + d * panel + (first + all) * LOCUS_PAIRS_COLUMNS, 0,
               behind * LOCUS_PAIRS_COLUMNS * sizeof *pairs);
}

/* A block of ATTENTION_QUERY_BLOCK rows on their side, [ld][64], as the left side of a product that sums over them. */
static void lay_sideways(const lane *l, size_t count, uint16_t *rows, size_t ld, uint16_t *sideways) {
    const size_t block = ATTENTION_QUERY_BLOCK;
    memset(rows + count * ld, 0, (block - count) * ld * sizeof *rows);
    l->pairs->pairs(block, ld, rows, (ptrdiff_t)ld, l->half_pairs, ATTENTION_PAIRS_PANEL);
    for (size_t d = 0; d < ld; d += LOCUS_PAIRS_COLUMNS)
        turn_words(l, block / 2, LOCUS_PAIRS_COLUMNS, l->half_pairs + d / LOCUS_PAIRS_COLUMNS * ATTENTION_PAIRS_PANEL,
                   LOCUS_PAIRS_COLUMNS, sideways + d * block, block / 2);
    memset(sideways + ld * block, 0, ATTENTION_PAIRS_TAIL * sizeof *sideways);
}

static size_t sideways_size(size_t ld) {
    return ld * ATTENTION_QUERY_BLOCK + ATTENTION_PAIRS_TAIL;
}

/* ---- strips ---- */

/* The scores' products of a strip; its keys begin `at` behind those of the columns. */
static void pairs_products(const lane *l, const strip *s, size_t at, const uint16_t *left, size_t ld,
                           const uint16_t *columns) {
    l->pairs->product(s->rows, padded(s->keys, LOCUS_PAIRS_COLUMNS), ld, left, (ptrdiff_t)ld, columns + at * ld,
                      (ptrdiff_t)(ld * LOCUS_PAIRS_COLUMNS), as_floats(s->score), ATTENTION_KEY_BLOCK, false);
}

/* The processor's tiles belong to products. Loops of plain calls have them all the time; others give them back before
 * terms, which may be anybody's code. */
static void tiles_begin(const lane *l, bool plain) {
    if (l->pairs && l->plain == plain)
        l->pairs->begin();
}

static void tiles_end(const lane *l, bool plain) {
    if (l->pairs && l->plain == plain)
        l->pairs->end();
}

/* Where each row of a strip has scores. */
static locus_bfloat16_scores strip_rows(const lane *l, const strip *s, real scale) {
    const locus_softmax_rows cuts = strip_cuts(l, s);
    return (locus_bfloat16_scores){.rows = cuts.rows,
                                   .columns = cuts.columns,
                                   .from = cuts.from,
                                   .to = cuts.to,
                                   .score = as_floats(s->score),
                                   .ld = cuts.ld,
                                   .scale = (float)scale};
}

static void scale_strip(const lane *l, const strip *s) {
    for (size_t i = 0; i < s->rows; i++) {
        real *score = s->score + i * ATTENTION_KEY_BLOCK;
        l->kernels->scale(s->keys, (real)l->job->scale, score, score);
    }
}

/* A number of bfloat16. */
static real wide_number(uint16_t x) {
    const uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (real)value;
}

/* sum[i] += weight[i][j] · rows[j] for the rows j of a panel that were set apart and that row i of the strip sees. The
 * first key's row is `bad[0]`, `rare`. */
static void add_rare_rows(const lane *l, const strip *s, const bool *bad, const uint16_t *rare, size_t ld, size_t dim,
                          const uint16_t *weight, real *sum, ptrdiff_t ld_sum) {
    for (size_t i = 0; i < s->rows; i++) {
        const seen_columns seen = columns_seen(l, s->row + i, s->key, s->keys);
        for (size_t j = seen.c.from; j < seen.c.to; j++) {
            if (!bad[j] || !sees_column(&seen, j))
                continue;
            const real w = wide_number(weight[i * ATTENTION_KEY_BLOCK + j]);
            for (size_t d = 0; d < dim; d++)
                sum[(ptrdiff_t)i * ld_sum + (ptrdiff_t)d] += w * wide_number(rare[j * ld + d]);
        }
    }
}

/* sums[d][j] += weight[i][j] · rows[i][d] for the rows i of a strip that were set apart, over the keys that they see.
 * Weights are pairs. */
static void add_to_rare_rows(const lane *l, const strip *s, const bool *bad, const uint16_t *rows, size_t ld,
                             size_t dim, const uint16_t *weight, real *sums, size_t ld_sums) {
    for (size_t i = 0; i < s->rows; i++) {
        if (!bad[i])
            continue;
        const seen_columns seen = columns_seen(l, s->row + i, s->key, s->keys);
        for (size_t j = seen.c.from; j < seen.c.to; j++) {
            const size_t place = j / 16 * ATTENTION_PAIRS_PANEL + i / 2 * 32 + j % 16 * 2 + i % 2;
            for (size_t d = 0; sees_column(&seen, j) && d < dim; d++)
                sums[d * ld_sums + j] += wide_number(weight[place]) * wide_number(rows[i * ld + d]);
        }
    }
}

#endif
