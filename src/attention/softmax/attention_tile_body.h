/* SPDX-License-Identifier: MIT */
/* What forward and backward share: panels, and the scores of a strip of a tile.
 *
 *   s = q'·k'ᵀ (the scale is in q')  + content terms, then cap·tanh(s/cap), ·factors, + biases, + the caller's bias;
 *   each row over the keys that it sees: one run of columns, or two with a gap of −∞ between them, but for those that
 *   the caller's bias hides by −∞
 *
 * All panels are [keys/128][dim][128]. */
#ifndef LOCUS_ATTENTION_TILE_BODY_H
#define LOCUS_ATTENTION_TILE_BODY_H

#include "attention/attention_bias_body.h"
#include "attention/softmax/attention_lane_body.h"

/* ---- panels ---- */

/* Rows become [count/128][dim][128]; columns past the end are zero, so that a tile may be computed a little wider. */
static void fill_columns(const lane *l, size_t count, size_t dim, const real *rows, ptrdiff_t ld, real *columns) {
    for (size_t first = 0; first < count; first += ATTENTION_KEY_BLOCK) {
        size_t width = smaller(count - first, ATTENTION_KEY_BLOCK);
        real *block = columns + first * dim;
        l->kernels->transpose(width, dim, rows + (ptrdiff_t)first * ld, ld, block, ATTENTION_KEY_BLOCK);
        if (width % 16 != 0)
            for (size_t d = 0; d < dim; d++)
                memset(block + d * ATTENTION_KEY_BLOCK + width, 0, (padded(width, 16) - width) * sizeof(real));
    }
}

/* Tables of the relative content terms, transposed once for a call. */
static void fill_table_columns(const KERNELS *kernels, size_t rows, size_t dim, const void *table, void *columns) {
    if (columns)
        kernels->transpose(rows, dim, table, (ptrdiff_t)dim, columns, (ptrdiff_t)rows);
}

/* ---- a strip: rows of a tile that share one width ---- */

typedef struct strip {
    size_t row, rows; /* of the sequence's queries */
    size_t key, keys; /* of the sequence's keys, from the first to the last that a row of the strip sees, or a few more;
                         key − the panel's first key is a multiple of 16 */
    real *score;      /* [rows][ATTENTION_KEY_BLOCK] */
    bool full;        /* each row sees all of the keys */
} strip;

/* Rows of a block against a block of keys. */
static strip tile_at(const row_block *block, size_t row, size_t rows, size_t key, size_t keys) {
    return (strip){row, rows, key, keys, NULL, block->core.low <= key && key + keys <= block->core.high};
}

static cut strip_cut(const lane *l, const strip *s, size_t row) {
    return s->full ? (cut){0, s->keys, 0, 0} : cut_of(l, row, s->key, s->keys);
}

/* The strip that begins at row `first` of a tile: as tall as the tile where every row sees the same run, else
 * ATTENTION_STRIP. keys = 0 if no row sees any. */
static strip strip_at(const lane *l, const strip *tile, size_t first, real *score) {
    strip s = *tile;
    s.score = score;
    if (tile->full)
        return s;
    s.row += first;
    s.rows -= first;
    cut all = cut_of(l, s.row, s.key, s.keys);
    for (size_t i = 1; i < s.rows; i++) {
        const cut c = cut_of(l, s.row + i, s.key, s.keys);
        if (c.from == all.from && c.to == all.to)
            continue;
        s.rows = smaller(s.rows, ATTENTION_STRIP);
        if (i >= s.rows)
            break;
        if (all.from < all.to && c.from < c.to) {
            all.from = smaller(all.from, c.from);
            all.to = all.to > c.to ? all.to : c.to;
        } else if (c.from < c.to) {
            all = c;
        }
    }
    all.from -= all.from % 16;
    s.key += all.from;
    s.keys = all.to - all.from;
    return s;
}

/* Where each row of a strip has scores. */
static locus_softmax_rows strip_cuts(const lane *l, const strip *s) {
    for (size_t i = 0; i < s->rows; i++) {
        const cut c = strip_cut(l, s, s->row + i);
        l->from[i] = c.from;
        l->to[i] = c.to;
    }
    return (locus_softmax_rows){
        .rows = s->rows, .columns = s->keys, .from = l->from, .to = l->to, .ld = ATTENTION_KEY_BLOCK};
}

/* Computed a little wider than seen: whole vectors are faster, and the surplus is never read. */
static void strip_products(lane *l, const strip *s, size_t dim, const real *left, ptrdiff_t ld, const real *columns) {
    product_asking(l, s->rows, padded(s->keys, 16), dim, left, ld, 1, columns, ATTENTION_KEY_BLOCK, s->score,
                   ATTENTION_KEY_BLOCK, false);
}

/* Where the columns of a strip begin in [keys/128][dim][128], `at` keys from the panel's first. */
static const real *columns_at(const real *columns, size_t at, size_t dim) {
    const size_t within = at % ATTENTION_KEY_BLOCK;
    return columns + (at - within) * dim + within;
}

/* ---- numbers that are not finite ---- */

/* What a row does not see has weight 0 in its tile, and 0·∞ is NaN: in a tile that a mask cuts, an infinity or a NaN
 * would reach rows that do not see it. So loops look at what they have summed up, which costs next to nothing, and
 * where it is not finite they sum it up again with `apart`: each row of weights then meets only what it sees. Sums of
 * finite numbers are the same bits in both ways, since 0 times a finite number changes none, and a product of matrices
 * adds up in the order of its rows. */
static bool all_finite(const lane *l, size_t count, const real *x) {
    return l->kernels->dot(count, x, x) * 0 == 0; /* an overflow is only a second pass */
}

/* Of the keys [key, key + …) that columns stand for. */
typedef struct seen_columns {
    cut c;
    const real *hidden; /* the bias of columns c.from …, or NULL where it hides none */
} seen_columns;

/* The bias of a row at the columns of c, of keys from `key` on. */
static const real *row_bias(const lane *l, size_t row, size_t key, const cut *c) {
    return bias_values(&l->job->bias, l->sequence, l->head, row, key + c->from, c->to - c->from, l->bias_row);
}

static seen_columns columns_seen(const lane *l, size_t row, size_t key, size_t keys) {
    seen_columns seen = {cut_of(l, row, key, keys), NULL};
    if (l->job->bias.data)
        seen.hidden = row_bias(l, row, key, &seen.c);
    return seen;
}

static bool sees_column(const seen_columns *seen, size_t j) {
    const cut *c = &seen->c;
    return (j < c->gap || j >= c->gap_end) && !(seen->hidden && seen->hidden[j - c->from] == -(real)INFINITY);
}

/* The next run of columns that a row sees, behind `part`; the first one behind an empty run at 0. */
static bool next_seen(const seen_columns *seen, attention_range *part) {
    size_t low = part->high > seen->c.from ? part->high : seen->c.from;
    while (low < seen->c.to && !sees_column(seen, low))
        low++;
    part->low = part->high = low;
    while (part->high < seen->c.to && sees_column(seen, part->high))
        part->high++;
    return part->low < part->high;
}

/* Whether a strip's rows are summed up one by one. */
static bool sums_apart(const lane *l, const strip *s) {
    return l->apart && !(s->full && !l->job->biased);
}

/* sum += Σ_j weight[j] · rows[j], over the columns j that are seen. */
static void add_seen_rows(const lane *l, const seen_columns *seen, size_t dim, const real *weight, const real *rows,
                          ptrdiff_t ld, real *sum) {
    attention_range part = {0, 0};
    while (next_seen(seen, &part))
        l->kernels->gemm(1, dim, part.high - part.low, weight + part.low, 0, 1, rows + (ptrdiff_t)part.low * ld, ld,
                         sum, 0, true);
}

/* sums[j] += weight[j] · row, over the columns j that are seen. */
static void add_to_seen_rows(const lane *l, const seen_columns *seen, size_t dim, const real *weight, const real *row,
                             real *sums, ptrdiff_t ld) {
    attention_range part = {0, 0};
    while (next_seen(seen, &part))
        l->kernels->gemm(part.high - part.low, dim, 1, weight + part.low, 1, 0, row, 0, sums + (ptrdiff_t)part.low * ld,
                         ld, true);
}

/* ---- scores ---- */

/* Before the terms of a row of a job with distances: what is made once for all that asks for them at the columns of
 * c. */
static void measure_row(lane *l, const strip *s, size_t row, const cut *c) {
    const attention_job *job = l->job;
    const size_t key = s->key + c->from;
    const size_t at = (row - l->seen_first) * l->ld_steps + (l->ld_steps ? key % ATTENTION_KEY_PANEL : 0);
    l->row_steps = l->steps ? l->steps + at : NULL;
    l->row_values = l->values ? l->values + at : NULL;
    if (l->measured)
        return;
    locus_score_call call = {REAL_DTYPE,      l->head, l->span.query_first + row, l->span.key_first + key,
                             c->to - c->from, NULL};
    if (l->steps)
        locus_distances_steps(job->distances, &call, l->steps + at);
    call.steps = l->row_steps;
    if (l->values) { /* there is no table that they could lie in */
        const locus_score_term *term = locus_plan_score_term(job->plan, 0);
        locus_score_term_row(term, &call, l->values + at);
    }
}

static locus_score_call term_call(const lane *l, const locus_score_term *term, const strip *s, size_t row,
                                  const cut *c) {
    return (locus_score_call){REAL_DTYPE,
                              l->head,
                              l->span.query_first + row,
                              l->span.key_first + s->key + c->from,
                              c->to - c->from,
                              term->apart == l->job->distances ? l->row_steps : NULL};
}

static const real *term_values(const lane *l, const locus_score_term *term, const strip *s, size_t row, const cut *c) {
    if (l->row_values)
        return l->row_values;
    const locus_score_call call = term_call(l, term, s, row, c);
    return locus_score_term_row(term, &call, l->term_row);
}

/* s = cap·tanh(s/cap) · factors + biases + the caller's bias, at the columns of c; `score` is the row's first column.
 * Keeps what a backward needs of the step between, if `capped` is not NULL. Returns the maximum. */
static real finish_scores(const lane *l, const strip *s, size_t row, const cut *c, real *score, real *capped) {
    const attention_job *job = l->job;
    const size_t count = c->to - c->from;
    real *at = score + c->from, top = 0;
    if (job->cap != 0)
        l->kernels->soft_cap(count, (real)job->cap, at);
    if (capped)
        memcpy(capped, at, count * sizeof(real));
    for (size_t t = 0; t < job->term_count; t++) {
        const locus_score_term *term = locus_plan_score_term(job->plan, t);
        const real *values = term_values(l, term, s, row, c);
        const bool factor = term->kind == LOCUS_SCORE_FACTOR;
        if (t + 1 == job->term_count)
            top = (factor ? l->kernels->multiply_maximum : l->kernels->add_maximum)(count, at, values, at);
        else
            (factor ? l->kernels->multiply : l->kernels->add)(count, at, values, at);
    }
    if (job->bias.data) /* what it hides is −∞ now, or NaN: the maximum passes over both */
        return l->kernels->add_maximum(count, at, row_bias(l, row, s->key, c), at);
    return job->term_count > 0 ? top : l->kernels->maximum(count, at);
}

/* row = value at the columns of c that the bias hides; `at` is the row's first column. */
static void hide_columns(const lane *l, const strip *s, size_t row, const cut *c, real value, real *at) {
    if (!l->job->bias.data)
        return;
    bias_hide(c->to - c->from, row_bias(l, row, s->key, c), value, at + c->from);
}

/* What each weight of a row is multiplied by: 0 or 1/(1 − p). A row is a query token and a head. keep_row stands for
 * the strip's columns from the first on. */
static void dropout_keep(const lane *l, const strip *s, size_t row, const cut *c) {
    uint64_t id = (uint64_t)(l->span.query_first + row) * l->job->heads + l->head;
    l->kernels->dropout_row(c->to, &l->job->dropout_key, id, s->key, l->job->dropout, l->keep_row);
}

/* What finish_scores leaves becomes the scores of the softmax: those that dropout takes are −10⁸, those in the gap, and
 * those that the bias hides, −∞. Returns the maximum, given that of before. */
static real mask_scores(const lane *l, const strip *s, size_t row, const cut *c, real *score, real top) {
    const bool gap = c->gap < c->gap_end, drop = l->job->drop_logits;
    for (size_t j = c->from; drop && j < c->to; j++)
        score[j] = l->keep_row[j] == 0 ? (real)-1e8 : score[j];
    for (size_t j = c->gap; gap && j < c->gap_end; j++)
        score[j] = -(real)INFINITY;
    hide_columns(l, s, row, c, -(real)INFINITY, score);
    return gap || drop ? l->kernels->maximum(c->to - c->from, score + c->from) : top;
}

static void clear_outside(const cut *c, size_t keys, real *row) {
    if (c->from > 0)
        memset(row, 0, c->from * sizeof(real));
    if (c->to < keys)
        memset(row + c->to, 0, (keys - c->to) * sizeof(real));
}

#endif
