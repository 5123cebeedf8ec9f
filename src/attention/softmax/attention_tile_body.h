/* SPDX-License-Identifier: MIT */
/* What forward and backward share: operators over runs of tokens, panels, and the scores of a strip of a tile.
 *
 *   s = q'·k'ᵀ (the scale is in q')  + content terms, then cap·tanh(s/cap), ·factors, + biases, + the caller's bias;
 *   each row over the keys that it sees: one run of columns, or two with a gap of −∞ between them, but for those that
 *   the caller's bias hides by −∞
 *
 * Query head h reads key-value head h / group: operators know the latter only, score terms the former.
 *
 * The bodies of attention_softmax_typed.c, in one element type (kernels/real.h).
 * Letters: a lane is one worker's state; ld a row's stride in scratch. All panels are [keys/128][dim][128]. */
#ifndef LOCUS_ATTENTION_TILE_BODY_H
#define LOCUS_ATTENTION_TILE_BODY_H

#include "attention/attention_bias_body.h"
#include "attention/attention_rows_body.h"

/* A run of ATTENTION_QUERY_BLOCK rows: what they see together, and a run of keys that each of them sees. */
typedef struct row_block {
    attention_seen all;
    attention_range core;
} row_block;

typedef struct lane {
    const attention_job *job;
    const KERNELS *kernels;
    size_t head, kv, sequence; /* the query's head, the key-value head */
    locus_sequence_span span;
    attention_seen *seen; /* of rows seen_first, seen_first + 1, … of the sequence */
    size_t seen_first;
    row_block *blocks;       /* of the same rows */
    size_t ld_key, ld_value; /* strides of scratch rows of head_dim and value_dim */
    void *operator_scratch;
    real *term_row, *product_row, *keep_row; /* [ATTENTION_KEY_BLOCK] */
    real *content;                           /* [ATTENTION_STRIP][ATTENTION_CONTENT_WIDTH] */
    real *widened;                           /* [ATTENTION_KEY_BLOCK][dim], where keys and values are of a half type */
    real *bias_row;                          /* [ATTENTION_KEY_BLOCK], with a bias */
    /* With pairs (attention_pairs_body.h): */
    const locus_kernels_bfloat16 *pairs; /* NULL: without */
    const locus_kernels_half *halves;
    bool plain;                        /* from products to weights in one step */
    size_t ld_half_key, ld_half_value; /* strides of rows of bfloat16 */
    uint16_t *half_rows, *half_pairs;  /* [128][the longer stride]; [the longer stride/16][64/2][16][2] */
    real *turned;                      /* [128][ld_turned] */
    size_t ld_turned;
    size_t *from, *to; /* [64] */
    bool cut;          /* some tile was not seen whole */
    bool apart;        /* weights meet the rows that they see, alone; see "numbers that are not finite" */
} lane;

/* Head g of the group of a key-value head. */
static void choose_head(lane *l, size_t kv, size_t g) {
    l->kv = kv;
    l->head = kv * l->job->group + g;
}

/* Rows of the lane's sequence and head: of queries, outputs and their numbers; of keys and values. */
static real *query_row(const lane *l, const attention_view *view, size_t token) {
    return row_of(view, l->sequence, l->span.query_first, token, l->head);
}

static real *key_row(const lane *l, const attention_view *view, size_t token) {
    return row_of(view, l->sequence, l->span.key_first, token, l->kv);
}

/* What a row sees of the keys [key, key + count): columns [from, to) but for [gap, gap_end). */
typedef struct cut {
    size_t from, to, gap, gap_end;
} cut;

static size_t column_of(size_t at, size_t key, size_t count) {
    return at <= key ? 0 : smaller(at - key, count);
}

static cut cut_of(const lane *l, size_t row, size_t key, size_t count) {
    const attention_seen *seen = &l->seen[row - l->seen_first];
    cut c = {column_of(seen->low, key, count), column_of(seen->high, key, count), 0, 0};
    if (seen->kept_high > key && seen->kept_low < seen->kept_high) { /* the kept keys come first */
        const size_t from = column_of(seen->kept_low, key, count), to = column_of(seen->kept_high, key, count);
        if (c.from >= c.to)
            c = (cut){from, to, 0, 0};
        else if (from < to)
            c = (cut){from, c.to, to, c.from};
    }
    if (c.from >= c.to)
        c.from = c.to = 0;
    return c;
}

static size_t block_rows(size_t count, size_t block) {
    return smaller(count - block * ATTENTION_QUERY_BLOCK, ATTENTION_QUERY_BLOCK);
}

static row_block look_at_block(const attention_seen *seen, size_t rows) {
    row_block block = {seen[0], {seen[0].low, seen[0].high}};
    for (size_t i = 1; i < rows; i++) {
        block.all = locus_attention_seen_join(&block.all, &seen[i]);
        block.core.low = seen[i].low > block.core.low ? seen[i].low : block.core.low;
        block.core.high = smaller(seen[i].high, block.core.high);
    }
    return block;
}

/* Fills in what rows [first, first + count) of the lane's sequence see; returns what they see together. */
static attention_seen look(lane *l, size_t first, size_t count) {
    attention_seen all = {0, 0, 0, 0};
    l->seen_first = first;
    for (size_t i = 0; i < count; i++)
        l->seen[i] = locus_attention_see(&l->job->sight, l->sequence, &l->span, first + i);
    for (size_t b = 0; b * ATTENTION_QUERY_BLOCK < count; b++) {
        l->blocks[b] = look_at_block(l->seen + b * ATTENTION_QUERY_BLOCK, block_rows(count, b));
        all = locus_attention_seen_join(&all, &l->blocks[b].all);
    }
    return all;
}

/* That which begins at `row`. */
static const row_block *block_at(const lane *l, size_t row) {
    return &l->blocks[(row - l->seen_first) / ATTENTION_QUERY_BLOCK];
}

static size_t operator_scratch_bytes(const attention_job *job) {
    size_t bytes = 0;
    const locus_operator *operators[2] = {job->query_key, job->value_operator};
    for (int i = 0; i < 2; i++)
        if (operators[i]) {
            size_t needed = operators[i]->class->scratch_bytes(operators[i], REAL_DTYPE, ATTENTION_KEY_BLOCK);
            bytes = needed > bytes ? needed : bytes;
        }
    return bytes;
}

static void carve_pairs(const attention_job *job, attention_carver *carver, lane *l) {
    const size_t block = ATTENTION_KEY_BLOCK, rows = ATTENTION_QUERY_BLOCK;
    l->pairs = job->pairs;
    l->halves = locus_kernels_half_get();
    l->plain = job->term_count == 0 && !job->biased && job->cap == 0 && job->dropout == 0 && job->sight.keep == 0 &&
               job->scale > 0;
    l->ld_half_key = padded(job->head_dim, LOCUS_PAIRS_DEPTH);
    l->ld_half_value = padded(job->value_dim, LOCUS_PAIRS_DEPTH);
    l->ld_turned = l->ld_key > l->ld_value ? l->ld_key : l->ld_value;
    const size_t longer = l->ld_half_key > l->ld_half_value ? l->ld_half_key : l->ld_half_value;
    if (!job->pairs)
        return;
    l->half_rows = locus_attention_carve(carver, block * longer, sizeof(uint16_t));
    l->half_pairs = locus_attention_carve(carver, longer * rows, sizeof(uint16_t));
    l->turned = locus_attention_carve(carver, block * l->ld_turned, sizeof(real));
    l->from = locus_attention_carve(carver, rows, sizeof *l->from);
    l->to = locus_attention_carve(carver, rows, sizeof *l->to);
}

/* `rows`: how many of a sequence the lane looks at together. */
static void carve_lane(const attention_job *job, attention_carver *carver, size_t rows, lane *l) {
    bool content = job->content_key || job->content_value;
    l->job = job;
    l->kernels = KERNELS_GET();
    l->cut = l->apart = false;
    l->ld_key = padded(job->head_dim, LOCUS_ALIGNMENT / sizeof(real));
    l->ld_value = padded(job->value_dim, LOCUS_ALIGNMENT / sizeof(real));
    l->seen = locus_attention_carve(carver, rows, sizeof *l->seen);
    l->blocks = locus_attention_carve(carver, rows / ATTENTION_QUERY_BLOCK + 1, sizeof *l->blocks);
    l->operator_scratch = locus_attention_carve(carver, operator_scratch_bytes(job), 1);
    l->term_row = locus_attention_carve(carver, ATTENTION_KEY_BLOCK, sizeof(real));
    l->product_row = locus_attention_carve(carver, ATTENTION_KEY_BLOCK, sizeof(real));
    l->keep_row = locus_attention_carve(carver, ATTENTION_KEY_BLOCK, sizeof(real));
    l->content = locus_attention_carve(carver, content ? ATTENTION_STRIP * ATTENTION_CONTENT_WIDTH : 0, sizeof(real));
    const size_t longer = l->ld_key > l->ld_value ? l->ld_key : l->ld_value;
    l->bias_row = locus_attention_carve(carver, job->biased ? ATTENTION_KEY_BLOCK : 0, sizeof(real));
    l->widened =
        locus_attention_carve(carver, job->kept == REAL_DTYPE ? 0 : ATTENTION_KEY_BLOCK * longer, sizeof(real));
    carve_pairs(job, carver, l);
}

/* ---- operators ---- */

typedef struct run {
    locus_role role;
    locus_direction direction;
    size_t first, count; /* tokens of the role's buffer */
    real scale;
} run;

static size_t role_dim(const lane *l, locus_role role) {
    return role == LOCUS_ROLE_VALUE || role == LOCUS_ROLE_OUTPUT ? l->job->value_dim : l->job->head_dim;
}

static const locus_operator *role_operator(const lane *l, locus_role role) {
    return role == LOCUS_ROLE_VALUE || role == LOCUS_ROLE_OUTPUT ? l->job->value_operator : l->job->query_key;
}

static locus_operator_call operator_call(const lane *l, const run *r, const real *x, ptrdiff_t x_stride) {
    locus_operator_call call = {r->role, r->direction, LOCUS_INNER, REAL_DTYPE,         l->kv, r->first, r->count,
                                x,       x_stride,     r->scale,    l->operator_scratch};
    return call;
}

/* Rows of one head lie heads·dim apart, too far for the processor to guess the next one: all are asked for at once. */
static void prefetch_rows(const real *x, ptrdiff_t stride, size_t rows, size_t dim) {
    const size_t line = LOCUS_ALIGNMENT / sizeof(real);
    for (size_t i = 0; x && i < rows; i++)
        for (size_t d = 0; d < dim; d += line)
            __builtin_prefetch(x + (ptrdiff_t)i * stride + d);
}

/* ---- keys and values as they lie ---- */

typedef struct kept_rows {
    const real *data;
    ptrdiff_t stride;
} kept_rows;

static const attention_view *kept_view(const lane *l, locus_role role) {
    return role == LOCUS_ROLE_KEY ? &l->job->key : &l->job->value;
}

static bool of_keys(locus_role role) {
    return role == LOCUS_ROLE_KEY || role == LOCUS_ROLE_VALUE;
}

static locus_dtype row_dtype(const lane *l, locus_role role) {
    return of_keys(role) ? l->job->kept : l->job->stored;
}

/* Elements from the view's data to a token of the lane's sequence and head. */
static ptrdiff_t row_offset(const lane *l, const attention_view *view, locus_role role, size_t token) {
    const size_t first = of_keys(role) ? l->span.key_first : l->span.query_first;
    return locus_token_rows_shift(view, l->sequence, first) + (ptrdiff_t)token * view->token +
           (ptrdiff_t)(of_keys(role) ? l->kv : l->head) * view->head;
}

/* The same for keys or values. */
static void prefetch_kept(const lane *l, locus_role role, size_t token, size_t rows) {
    const attention_view *view = kept_view(l, role);
    const size_t size = locus_dtype_size(l->job->kept), bytes = role_dim(l, role) * size;
    const char *x = (const char *)view->data + row_offset(l, view, role, token) * (ptrdiff_t)size;
    for (size_t i = 0; i < rows; i++, x += view->token * (ptrdiff_t)size)
        for (size_t at = 0; at < bytes; at += LOCUS_ALIGNMENT)
            __builtin_prefetch(x + at);
}

/* Rows of the lane's head, a role's own: the caller's, or those of a half type widened, at most ATTENTION_KEY_BLOCK of
 * them, into l->widened. */
static kept_rows rows_at(const lane *l, const attention_view *view, locus_role role, size_t token, size_t count) {
    const ptrdiff_t at = row_offset(l, view, role, token);
#if LOCUS_REAL_BITS == 32
    if (row_dtype(l, role) != REAL_DTYPE) {
        const size_t dim = role_dim(l, role), ld = dim == l->job->head_dim ? l->ld_key : l->ld_value;
        const uint16_t *from = (const uint16_t *)view->data + at;
        void (*const widen)(size_t, const uint16_t *, float *) =
            row_dtype(l, role) == LOCUS_FLOAT16 ? l->halves->widen_float16 : l->halves->widen_bfloat16;
        for (size_t i = 0; i < count; i++, from += view->token)
            widen(dim, from, l->widened + i * ld);
        return (kept_rows){l->widened, (ptrdiff_t)ld};
    }
#endif
    (void)count;
    return (kept_rows){view->data ? (const real *)view->data + at : NULL, view->token};
}

static kept_rows kept_at(const lane *l, locus_role role, size_t token, size_t count) {
    return rows_at(l, kept_view(l, role), role, token, count);
}

static void copy_rows(const lane *l, const run *r, const real *x, ptrdiff_t x_stride, real *y, ptrdiff_t y_stride) {
    size_t dim = role_dim(l, r->role);
    for (size_t i = 0; i < r->count; i++, x += x_stride, y += y_stride)
        if (r->scale != (real)1)
            l->kernels->scale(dim, r->scale, x, y);
        else if (x != y)
            memcpy(y, x, dim * sizeof(real));
}

/* y = scale · operator x, in blocks that the operator's scratch is made for. */
static void operate(const lane *l, run r, const real *x, ptrdiff_t x_stride, real *y, ptrdiff_t y_stride) {
    const locus_operator *op = role_operator(l, r.role);
    if (!op) {
        copy_rows(l, &r, x, x_stride, y, y_stride);
        return;
    }
    for (size_t left = r.count; left > 0; left -= r.count) {
        r.count = smaller(left, ATTENTION_KEY_BLOCK);
        locus_operator_call call = operator_call(l, &r, x, x_stride);
        op->class->forward(op, &call, y, y_stride);
        x += (ptrdiff_t)r.count * x_stride;
        y += (ptrdiff_t)r.count * y_stride;
        r.first += r.count;
    }
}

/* Differentiates operate: gx = scale · operatorᵀ gy, and the parameters' gradient into the slot (NULL: not wanted). */
static void operate_backward(const lane *l, run r, const real *x, ptrdiff_t x_stride, const real *gy,
                             ptrdiff_t gy_stride, real *gx, ptrdiff_t gx_stride, void *slot) {
    const locus_operator *op = role_operator(l, r.role);
    if (!op) {
        copy_rows(l, &r, gy, gy_stride, gx, gx_stride);
        return;
    }
    for (size_t left = r.count; left > 0; left -= r.count) {
        r.count = smaller(left, ATTENTION_KEY_BLOCK);
        locus_operator_call call = operator_call(l, &r, x, x_stride);
        op->class->backward(op, &call, gy, gy_stride, gx, gx_stride, slot);
        x = x ? x + (ptrdiff_t)r.count * x_stride : NULL;
        gy += (ptrdiff_t)r.count * gy_stride;
        gx += (ptrdiff_t)r.count * gx_stride;
        r.first += r.count;
    }
}

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

/* Computed a little wider than seen: whole vectors are faster, and the surplus is never read. */
static void strip_products(const lane *l, const strip *s, size_t dim, const real *left, ptrdiff_t ld,
                           const real *columns) {
    l->kernels->gemm(s->rows, padded(s->keys, 16), dim, left, ld, 1, columns, ATTENTION_KEY_BLOCK, s->score,
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

static const real *term_values(const lane *l, const locus_score_term *term, const strip *s, size_t row, const cut *c) {
    locus_score_call call = {REAL_DTYPE, l->head, l->span.query_first + row, l->span.key_first + s->key + c->from,
                             c->to - c->from};
    return term->class->row(term, &call, l->term_row);
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
