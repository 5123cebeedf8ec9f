/* SPDX-License-Identifier: MIT */
/* Forward: for each item (a chunk of one sequence's queries) and key-value head, or a run of them that share distances
 *
 *   q' of the chunk, scaled, of each head of the group; then for each panel of keys that they see k'ᵀ and v', once for
 *   the group; for each of its heads and each tile of 64 queries × 128 keys:
 *     s, m' = max(m, max s), p = exp(s − m'), l = l·exp(m − m') + Σp, o = o·exp(m − m') + dropout(p)·v'
 *   o/l through the inverse value operator, log-sum-exp = m + ln l
 *
 * m and l begin with −∞ and 0; with a sink of score z, which is one more key without a value, with z and 1. Panels and
 * tiles that no row sees are passed over.
 *
 * A worker's memory is bounded by the chunk and the panel, whatever the sequence's length. */
#ifndef LOCUS_ATTENTION_FORWARD_BODY_H
#define LOCUS_ATTENTION_FORWARD_BODY_H

#include "attention/softmax/attention_content_body.h"
#include "attention/softmax/attention_pairs_body.h"
#include "attention/softmax/attention_tile_body.h"
#include "core/call.h"

/* Rows of the task's heads follow one another: row i of the chunk and head g of them is row g·chunk + i. */
typedef struct forward_worker {
    lane l;
    size_t chunk;
    size_t first_kv, heads;   /* of the task: key-value heads, and query heads of all of them */
    real *query;              /* [heads][chunk][ld_key] q', scaled */
    real *content_query;      /* the same of the raw queries, for content terms */
    real *sum;                /* [heads][chunk][ld_value] Σ p v' */
    real *content_sum;        /* Σ p V[b], apart: it does not go through the value operator */
    real *top, *total;        /* [heads][chunk] m and l */
    real *key_columns;        /* a panel */
    real *values, *stage;     /* [panel][ld_value], [128][ld_key] */
    real *tile;               /* [64][128] */
    const real *panel_values; /* values, or the caller's own rows */
    ptrdiff_t ld_panel;
    /* With pairs, in the place of query, key_columns, values and stage: */
    uint16_t *half_query;                 /* [heads][chunk][ld_half_key] q', not scaled */
    uint16_t *half_columns, *half_values; /* a panel: k'ᵀ and v' as pairs */
    size_t room;                          /* rows of half_values */
    bool *bad, any_bad;                   /* [panel] values that were set apart, */
    uint16_t *rare;                       /* [panel][ld_half_value], here */
    uint16_t *weight;                     /* [64][128] */
    real *keep;                           /* [64][128] dropout's factors */
} forward_worker;

static void carve_forward_pairs(const attention_job *job, attention_carver *carver, size_t panel, forward_worker *w) {
    const lane *l = &w->l;
    const size_t tile = (size_t)ATTENTION_QUERY_BLOCK * ATTENTION_KEY_BLOCK;
    w->any_bad = false;
    w->keep = NULL;
    w->room = panel + ATTENTION_PAIRS_MORE;
    if (!job->pairs)
        return;
    w->half_query =
        locus_attention_carve(carver, w->chunk * job->group * job->schedule.run * l->ld_half_key, sizeof(uint16_t));
    w->half_columns = locus_attention_carve(carver, panel * l->ld_half_key, sizeof(uint16_t));
    w->half_values = locus_attention_carve(carver, w->room * l->ld_half_value, sizeof(uint16_t));
    w->bad = locus_attention_carve(carver, panel, sizeof *w->bad);
    w->rare = locus_attention_carve(carver, panel * l->ld_half_value, sizeof(uint16_t));
    w->weight = locus_attention_carve(carver, tile, sizeof(uint16_t));
    if (job->drop_weights)
        w->keep = locus_attention_carve(carver, tile, sizeof(real));
}

static size_t carve_forward(const attention_job *job, char *base, forward_worker *w) {
    attention_carver carver = {base, 0};
    const attention_schedule *schedule = &job->schedule;
    w->chunk = padded(smaller(schedule->max_queries, schedule->chunk), ATTENTION_STRIP);
    const size_t heads = job->group * schedule->run, rows = w->chunk * heads;
    size_t panel = padded(smaller(schedule->max_keys, ATTENTION_KEY_PANEL), ATTENTION_KEY_BLOCK);
    lane *l = &w->l;
    carve_lane(job, &carver, w->chunk, l);
    w->query = locus_attention_carve(&carver, job->pairs ? 0 : rows * l->ld_key, sizeof(real));
    w->content_query = locus_attention_carve(&carver, job->content_key ? rows * l->ld_key : 0, sizeof(real));
    w->sum = locus_attention_carve(&carver, rows * l->ld_value, sizeof(real));
    w->content_sum = locus_attention_carve(&carver, job->content_value ? rows * l->ld_value : 0, sizeof(real));
    w->top = locus_attention_carve(&carver, rows, sizeof(real));
    w->total = locus_attention_carve(&carver, rows, sizeof(real));
    w->key_columns = locus_attention_carve(&carver, job->pairs ? 0 : panel * job->head_dim, sizeof(real));
    w->values = locus_attention_carve(&carver, job->pairs ? 0 : panel * l->ld_value, sizeof(real));
    w->stage = locus_attention_carve(&carver, job->pairs ? 0 : ATTENTION_KEY_BLOCK * l->ld_key, sizeof(real));
    carve_forward_pairs(job, &carver, panel, w);
    w->tile = locus_attention_carve(&carver, (size_t)ATTENTION_QUERY_BLOCK * ATTENTION_KEY_BLOCK, sizeof(real));
    if (job->distances && heads > 1) {
        const bool alike = job->term_count == 1 && locus_plan_score_term(job->plan, 0)->class->heads_alike;
        void *kept = locus_attention_carve(&carver, w->chunk * panel, alike ? sizeof(real) : sizeof *l->steps);
        l->steps = alike ? NULL : kept;
        l->values = alike ? kept : NULL;
        l->ld_steps = panel;
    }
    return carver.used;
}

/* ---- before and after the tiles ---- */

/* What a row has seen before its first key. */
static void begin_row(const lane *l, real *top, real *total) {
    const real sink = l->job->sinks ? (real)l->job->sinks[l->head] : -(real)INFINITY;
    *top = sink;
    *total = (real)(sink != -(real)INFINITY);
}

static real log_of_sum(real top, real total) {
    return total == 0 ? -(real)INFINITY : top + real_log(total);
}

static void forward_half_queries(const forward_worker *w, const attention_item *item, size_t base) {
    const lane *l = &w->l;
    const size_t token = l->span.query_first + item->first, block = ATTENTION_KEY_BLOCK;
    for (size_t i = 0; i < item->count; i += block)
        half_rows(l, &l->job->query, LOCUS_ROLE_QUERY, token + i, smaller(item->count - i, block),
                  w->half_query + (base + i) * l->ld_half_key, l->ld_half_key);
}

static void forward_turned_queries(forward_worker *w, const attention_item *item, size_t base) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    size_t token = l->span.query_first + item->first;
    const real *q = query_row(l, &job->query, token);
    run r = {LOCUS_ROLE_QUERY, LOCUS_FORWARD, token, item->count, (real)job->scale};
    size_t near = smaller(item->count, ATTENTION_KEY_BLOCK);
    if (base > 0) { /* of the group's first head it was asked for */
        prefetch_rows(q, job->query.token, near, job->head_dim);
        prefetch_rows(query_row(l, &job->output, token), job->output.token, near, job->value_dim);
    }
    operate(l, r, q, job->query.token, w->query + base * l->ld_key, (ptrdiff_t)l->ld_key);
    if (job->content_key) {
        r.scale = (real)job->content_scale;
        copy_rows(l, &r, q, job->query.token, w->content_query + base * l->ld_key, (ptrdiff_t)l->ld_key);
    }
}

static void forward_queries(forward_worker *w, const attention_item *item, size_t base) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    if (l->pairs)
        forward_half_queries(w, item, base);
    else
        forward_turned_queries(w, item, base);
    for (size_t i = 0; i < item->count; i++)
        begin_row(l, &w->top[base + i], &w->total[base + i]);
    memset(w->sum + base * l->ld_value, 0, item->count * l->ld_value * sizeof(real));
    if (job->content_value)
        memset(w->content_sum + base * l->ld_value, 0, item->count * l->ld_value * sizeof(real));
}

/* Rows that lie near each other are used where they are; far strides would fall on the same few lines of the cache. */
static bool forward_rows_are_near(const lane *l) {
    return l->job->kept == REAL_DTYPE && !l->job->value_operator && l->job->value.token >= 0 &&
           l->job->value.token <= (ptrdiff_t)(2 * l->ld_value);
}

/* Values in the worker's own memory, turned. */
static void forward_panel_values(forward_worker *w, size_t token, size_t count) {
    const lane *l = &w->l;
    for (size_t first = 0; first < count; first += ATTENTION_KEY_BLOCK) {
        const run r = {LOCUS_ROLE_VALUE, LOCUS_FORWARD, token + first, smaller(count - first, ATTENTION_KEY_BLOCK), 1};
        const kept_rows values = kept_at(l, LOCUS_ROLE_VALUE, r.first, r.count);
        operate(l, r, values.data, values.stride, w->values + first * l->ld_value, (ptrdiff_t)l->ld_value);
    }
    w->panel_values = w->values;
    w->ld_panel = (ptrdiff_t)l->ld_value;
}

/* Keys and values of a panel as pairs. */
static void forward_panel_pairs(forward_worker *w, size_t key, size_t count) {
    const lane *l = &w->l;
    const size_t ld_key = l->ld_half_key, ld_value = l->ld_half_value, token = l->span.key_first + key;
    w->any_bad = false;
    for (size_t first = 0; first < count; first += ATTENTION_KEY_BLOCK) {
        const size_t width = smaller(count - first, ATTENTION_KEY_BLOCK);
        prefetch_kept(l, LOCUS_ROLE_KEY, token + first, width);
        prefetch_kept(l, LOCUS_ROLE_VALUE, token + first, width);
        half_rows(l, &l->job->key, LOCUS_ROLE_KEY, token + first, width, l->half_rows, ld_key);
        lay_columns(l, width, l->half_rows, ld_key, w->half_columns + first * ld_key);
        half_rows(l, &l->job->value, LOCUS_ROLE_VALUE, token + first, width, l->half_rows, ld_value);
        w->any_bad |= set_apart(l, width, l->half_rows, ld_value, w->bad + first, w->rare + first * ld_value);
        lay_pairs(l, first, width, first + width == count, l->half_rows, ld_value, w->half_values, w->room);
    }
}

static void forward_panel(forward_worker *w, size_t key, size_t count) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    size_t token = l->span.key_first + key;
    if (l->pairs) {
        forward_panel_pairs(w, key, count);
        return;
    }
    for (size_t first = 0; first < count; first += ATTENTION_KEY_BLOCK) {
        size_t width = smaller(count - first, ATTENTION_KEY_BLOCK);
        run r = {LOCUS_ROLE_KEY, LOCUS_FORWARD, token + first, width, 1};
        if (key + first > 0) { /* the first ones were asked for */
            prefetch_kept(l, LOCUS_ROLE_KEY, token + first, width);
            prefetch_kept(l, LOCUS_ROLE_VALUE, token + first, width);
        }
        kept_rows keys = kept_at(l, LOCUS_ROLE_KEY, token + first, width);
        if (job->query_key) {
            operate(l, r, keys.data, keys.stride, w->stage, (ptrdiff_t)l->ld_key);
            keys = (kept_rows){w->stage, (ptrdiff_t)l->ld_key};
        }
        fill_columns(l, width, job->head_dim, keys.data, keys.stride, w->key_columns + first * job->head_dim);
    }
    w->panel_values = key_row(l, &job->value, token);
    w->ld_panel = job->value.token;
    if (!forward_rows_are_near(l))
        forward_panel_values(w, token, count);
}

/* The same into a tensor of any type, ATTENTION_KEY_BLOCK rows at a time. */
static void finish_half_rows(const lane *l, size_t token, size_t count, const real *top, const real *total, real *sum) {
    const attention_job *job = l->job;
    for (size_t i = 0; i < count; i++, sum += l->ld_value) {
        if (total[i] == 0)
            memset(sum, 0, job->value_dim * sizeof(real));
        else
            l->kernels->scale(job->value_dim, 1 / total[i], sum, sum);
        if (job->log_sum_exp.data)
            *query_row(l, &job->log_sum_exp, token + i) = log_of_sum(top[i], total[i]);
    }
    sum -= count * l->ld_value;
    for (size_t i = 0; i < count; i += ATTENTION_KEY_BLOCK) {
        const run r = {LOCUS_ROLE_OUTPUT, LOCUS_FORWARD, token + i, smaller(count - i, ATTENTION_KEY_BLOCK), 1};
        real *rows = sum + i * l->ld_value;
        size_t ld = l->ld_value;
        if (job->value_operator) {
            operate(l, r, rows, (ptrdiff_t)ld, l->turned, (ptrdiff_t)l->ld_turned);
            rows = l->turned;
            ld = l->ld_turned;
        }
        write_rows(l, &job->output, LOCUS_ROLE_OUTPUT, r.first, r.count, rows, ld);
    }
}

/* Divides `count` rows of sums, [ld_value] apart, by their totals and writes them, turned back, with their log-sum-exp.
 * Uses the sums up where an operator acts. */
static void finish_rows(const lane *l, size_t token, size_t count, const real *top, const real *total, real *sum) {
    const attention_job *job = l->job;
    size_t dim = job->value_dim;
    real *output = query_row(l, &job->output, token);
    for (size_t i = 0; i < count; i++) {
        real *from = sum + i * l->ld_value,
             *target = job->value_operator ? from : output + (ptrdiff_t)i * job->output.token;
        if (total[i] == 0)
            memset(target, 0, dim * sizeof(real));
        else
            l->kernels->scale(dim, 1 / total[i], from, target);
        if (job->log_sum_exp.data)
            *query_row(l, &job->log_sum_exp, token + i) = log_of_sum(top[i], total[i]);
    }
    if (job->value_operator) {
        run r = {LOCUS_ROLE_OUTPUT, LOCUS_FORWARD, token, count, 1};
        operate(l, r, sum, (ptrdiff_t)l->ld_value, output, job->output.token);
    }
}

static void forward_finish(forward_worker *w, const attention_item *item, size_t base) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    size_t token = l->span.query_first + item->first;
    if (l->pairs) {
        finish_half_rows(l, token, item->count, w->top + base, w->total + base, w->sum + base * l->ld_value);
        return;
    }
    real *output = query_row(l, &job->output, token);
    finish_rows(l, token, item->count, w->top + base, w->total + base, w->sum + base * l->ld_value);
    for (size_t i = 0; job->content_value && i < item->count; i++)
        if (w->total[base + i] != 0)
            l->kernels->axpy(job->value_dim, 1 / w->total[base + i], w->content_sum + (base + i) * l->ld_value,
                             output + (ptrdiff_t)i * job->output.token);
}

/* ---- one tile ---- */

/* What row `i` of the worker has summed up so far, times `factor`. */
static void rescale_row(forward_worker *w, size_t i, real factor) {
    const lane *l = &w->l;
    real *sum = w->sum + i * l->ld_value;
    l->kernels->scale(l->job->value_dim, factor, sum, sum);
    if (l->job->content_value) {
        sum = w->content_sum + i * l->ld_value;
        l->kernels->scale(l->job->value_dim, factor, sum, sum);
    }
}

/* Weights against the running maximum of row `i` of the worker, given that of these scores; rescales what was summed
 * before. */
static void forward_softmax(forward_worker *w, size_t i, size_t count, real *score, real peak) {
    const lane *l = &w->l;
    real old = w->top[i], top = peak > old ? peak : old;
    /* A row of −∞ alone has no weights, not NaN. */
    real sum = l->kernels->exp_sum(count, top == -(real)INFINITY ? 0 : top, score);
    if (top != old && w->total[i] != 0) {
        real factor = real_exp(old - top);
        w->total[i] *= factor;
        rescale_row(w, i, factor);
    }
    w->top[i] = top;
    w->total[i] += sum;
}

static void forward_row(forward_worker *w, const strip *s, size_t i, size_t worker_row) {
    lane *l = &w->l;
    const cut c = strip_cut(l, s, s->row + i);
    real *score = s->score + i * ATTENTION_KEY_BLOCK;
    if (c.from < c.to) {
        if (l->job->distances)
            measure_row(l, s, s->row + i, &c);
        real top = finish_scores(l, s, s->row + i, &c, score, NULL);
        if (l->job->dropout > 0)
            dropout_keep(l, s, s->row + i, &c);
        top = mask_scores(l, s, s->row + i, &c, score, top);
        forward_softmax(w, worker_row, c.to - c.from, score + c.from, top);
        if (l->job->drop_weights)
            l->kernels->multiply(c.to - c.from, score + c.from, l->keep_row + c.from, score + c.from);
    }
    clear_outside(&c, s->keys, score);
}

/* All rows of a plain call's strip, the first of which stands at `row` among the worker's. */
static void forward_plain_rows(forward_worker *w, const strip *s, size_t row) {
    real factor[ATTENTION_QUERY_BLOCK];
    const locus_softmax_rows all = strip_cuts(&w->l, s);
    for (size_t i = 0, count; i < s->rows; i += count) {
        count = asks(&w->l) ? smaller(ASK_EVERY, s->rows - i) : s->rows - i;
        const locus_softmax_rows rows = {count, all.columns, all.from + i, all.to + i, all.ld};
        ask(&w->l, ASK_ROWS);
        w->l.kernels->softmax_rows(&rows, s->score + i * ATTENTION_KEY_BLOCK, w->top + row + i, w->total + row + i,
                                   factor + i);
    }
    for (size_t i = 0; i < s->rows; i++)
        if (factor[i] != 1)
            rescale_row(w, row + i, factor[i]);
}

/* o += dropout(p)·v' of a strip's rows, the first of which stands at `row` among the worker's. */
static void forward_sums(forward_worker *w, const strip *s, size_t row, const real *values) {
    lane *l = &w->l;
    const size_t dim = l->job->value_dim;
    real *sum = w->sum + row * l->ld_value;
    if (!sums_apart(l, s)) {
        product_asking(l, s->rows, dim, s->keys, s->score, ATTENTION_KEY_BLOCK, 1, values, w->ld_panel, sum,
                       (ptrdiff_t)l->ld_value, true);
        return;
    }
    for (size_t i = 0; i < s->rows; i++) {
        const seen_columns seen = columns_seen(l, s->row + i, s->key, s->keys);
        add_seen_rows(l, &seen, dim, s->score + i * ATTENTION_KEY_BLOCK, values, w->ld_panel, sum + i * l->ld_value);
    }
}

/* Scores of a strip's row go through all that acts on them; what the row does not see is left out. */
static void forward_half_row(forward_worker *w, const strip *s, size_t i) {
    lane *l = &w->l;
    const cut c = strip_cut(l, s, s->row + i);
    real *score = s->score + i * ATTENTION_KEY_BLOCK;
    if (c.from >= c.to)
        return;
    if (l->job->distances)
        measure_row(l, s, s->row + i, &c);
    const real top = finish_scores(l, s, s->row + i, &c, score, NULL);
    if (l->job->dropout > 0)
        dropout_keep(l, s, s->row + i, &c);
    if (w->keep)
        memcpy(w->keep + i * ATTENTION_KEY_BLOCK, l->keep_row, c.to * sizeof(real));
    mask_scores(l, s, s->row + i, &c, score, top);
}

/* forward_strip with pairs. */
static void forward_half_strip(forward_worker *w, const strip *s, size_t row, size_t panel_key) {
    const lane *l = &w->l;
    const size_t at = s->key - panel_key, ld_key = l->ld_half_key, dim = l->job->value_dim;
    real *sum = w->sum + row * l->ld_value;
    tiles_begin(l, false);
    pairs_products(l, s, at, w->half_query + row * ld_key, ld_key, w->half_columns);
    tiles_end(l, false);
    if (!l->plain)
        scale_strip(l, s);
    for (size_t i = 0; !l->plain && i < s->rows; i++)
        forward_half_row(w, s, i);
    const locus_bfloat16_softmax rows = {.scores = strip_rows(l, s, l->plain ? (real)l->job->scale : 1),
                                         .keep = w->keep ? as_floats(w->keep) : NULL,
                                         .top = as_floats(w->top + row),
                                         .total = as_floats(w->total + row),
                                         .sum = as_floats(sum),
                                         .ld_sum = (ptrdiff_t)l->ld_value,
                                         .dim = dim,
                                         .weight = w->weight,
                                         .ld_weight = ATTENTION_KEY_BLOCK};
    l->pairs->softmax(&rows);
    tiles_begin(l, false);
    l->pairs->product(s->rows, dim, padded(s->keys, LOCUS_PAIRS_DEPTH), w->weight, ATTENTION_KEY_BLOCK,
                      w->half_values + at * LOCUS_PAIRS_COLUMNS, (ptrdiff_t)(w->room * LOCUS_PAIRS_COLUMNS),
                      as_floats(sum), (ptrdiff_t)l->ld_value, true);
    tiles_end(l, false);
    if (w->any_bad)
        add_rare_rows(l, s, w->bad + at, w->rare + at * l->ld_half_value, l->ld_half_value, dim, w->weight, sum,
                      (ptrdiff_t)l->ld_value);
}

/* `row`: the strip's first among the worker's. */
static void forward_strip(forward_worker *w, const strip *s, size_t row, size_t panel_key) {
    lane *l = &w->l;
    const attention_job *job = l->job;
    const size_t at = s->key - panel_key;
    if (l->pairs) {
        forward_half_strip(w, s, row, panel_key);
        return;
    }
    strip_products(l, s, job->head_dim, w->query + row * l->ld_key, (ptrdiff_t)l->ld_key,
                   columns_at(w->key_columns, at, job->head_dim));
    if (job->content_key)
        content_products(l, s, content_keys(job), w->content_query + row * l->ld_key, (ptrdiff_t)l->ld_key);
    if (l->plain)
        forward_plain_rows(w, s, row);
    for (size_t i = 0; !l->plain && i < s->rows; i++)
        forward_row(w, s, i, row + i);
    forward_sums(w, s, row, w->panel_values + (ptrdiff_t)at * w->ld_panel);
    if (job->content_value)
        content_sums(l, s, content_values(job),
                     (content_targets){.rows = w->content_sum + row * l->ld_value, .ld = (ptrdiff_t)l->ld_value});
}

/* `base`: row 0 of the chunk among the worker's rows. */
static void forward_tile(forward_worker *w, const strip *tile, size_t base, size_t panel_key) {
    w->l.cut = w->l.cut || !tile->full || w->l.job->biased;
    for (size_t i = 0; i < tile->rows;) {
        const strip s = strip_at(&w->l, tile, i, w->tile);
        if (s.keys > 0)
            forward_strip(w, &s, base + tile->row + i - w->l.seen_first, panel_key);
        i += s.rows;
    }
}

/* ---- items ---- */

static void forward_block(forward_worker *w, size_t base, size_t row, size_t rows, const strip *panel) {
    const row_block *block = block_at(&w->l, row);
    tiles_begin(&w->l, true);
    for (size_t at = 0; at < panel->keys; at += ATTENTION_KEY_BLOCK) {
        const strip tile = tile_at(block, row, rows, panel->key + at, smaller(panel->keys - at, ATTENTION_KEY_BLOCK));
        if (locus_attention_seen_any(&block->all, tile.key, tile.keys))
            forward_tile(w, &tile, base, panel->key);
    }
    tiles_end(&w->l, true);
}

/* Query head `head` of the task, whose first row this returns. */
static size_t forward_head(forward_worker *w, size_t head) {
    const size_t group = w->l.job->group;
    choose_head(&w->l, w->first_kv + head / group, head % group);
    return head * w->chunk;
}

/* All heads of the task, up to what is left to be divided and turned. */
static void forward_pass(forward_worker *w, const attention_item *item, const attention_seen *seen) {
    lane *l = &w->l;
    const size_t end = item->first + item->count;
    for (size_t head = 0; head < w->heads; head++) {
        const size_t base = forward_head(w, head);
        forward_queries(w, item, base);
    }
    for (size_t key = 0; key < seen->high; key += ATTENTION_KEY_PANEL) {
        const strip panel = {.key = key, .keys = smaller(seen->high - key, ATTENTION_KEY_PANEL)};
        if (!locus_attention_seen_any(seen, panel.key, panel.keys))
            continue;
        for (size_t head = 0; head < w->heads; head++) {
            const size_t base = forward_head(w, head);
            l->measured = head > 0;
            if (head % l->job->group == 0)
                forward_panel(w, panel.key, panel.keys);
            for (size_t row = item->first; row < end && !locus_call_cancelled(); row += ATTENTION_QUERY_BLOCK)
                forward_block(w, base, row, smaller(end - row, ATTENTION_QUERY_BLOCK), &panel);
        }
    }
}

static bool forward_is_finite(const forward_worker *w, const attention_item *item) {
    const size_t row = w->l.ld_value;
    for (size_t head = 0; head < w->heads; head++)
        if (!all_finite(&w->l, item->count * row, w->sum + head * w->chunk * row))
            return false;
    return true;
}

/* What the lane's item writes, and what the next one begins with. */
static void forward_expect(lane *l, const attention_item *item, coming_item next) {
    const attention_job *job = l->job;
    expect_none(l);
    if (l->pairs)
        return;
    expect(l, &job->output, LOCUS_ROLE_OUTPUT, l->span.query_first + item->first, item->count);
    if (!next.item)
        return;
    const lane here = stand_at(l, next);
    expect(l, &job->query, LOCUS_ROLE_QUERY, l->span.query_first + next.item->first, next.item->count);
    expect(l, &job->key, LOCUS_ROLE_KEY, l->span.key_first, l->span.key_count);
    expect(l, &job->value, LOCUS_ROLE_VALUE, l->span.key_first, l->span.key_count);
    stand_back(l, &here);
}

static void forward_item(forward_worker *w, const attention_item *item, coming_item next) {
    lane *l = &w->l;
    l->sequence = item->sequence;
    l->span = locus_plan_span(l->job->plan, item->sequence);
    const attention_seen seen = look(l, item->first, item->count);
    l->cut = l->apart = false;
    forward_head(w, 0);
    forward_expect(l, item, next);
    forward_pass(w, item, &seen);
    if (!l->pairs && l->cut && !forward_is_finite(w, item)) {
        l->apart = true;
        forward_pass(w, item, &seen);
    }
    ask(l, SIZE_MAX);
    for (size_t head = 0; head < w->heads; head++) {
        const size_t base = forward_head(w, head);
        forward_finish(w, item, base);
    }
}

/* From the end: under a causal mask the last chunks are the dearest. */
static size_t forward_group(const attention_job *job, size_t index) {
    return job->schedule.group_count - 1 - index / attention_head_runs(job);
}

/* A thread mostly takes tasks that follow one another. */
static coming_item forward_next(const attention_job *job, size_t index, size_t item) {
    const attention_schedule *schedule = &job->schedule;
    const size_t runs = attention_head_runs(job);
    if (item + 1 < schedule->groups[forward_group(job, index) + 1])
        return (coming_item){&schedule->items[item + 1], index % runs * schedule->run, 0};
    if (++index == schedule->group_count * runs)
        return (coming_item){NULL, 0, 0};
    return (coming_item){&schedule->items[schedule->groups[forward_group(job, index)]], index % runs * schedule->run,
                         0};
}

static void forward_task(void *context, size_t index, size_t worker) {
    const attention_job *job = context;
    const attention_schedule *schedule = &job->schedule;
    const size_t group = forward_group(job, index);
    forward_worker w;
    carve_forward(job, job->workers + worker * job->worker_bytes, &w);
    w.first_kv = index % attention_head_runs(job) * schedule->run;
    w.heads = smaller(schedule->run, job->kv_heads - w.first_kv) * job->group;
    for (size_t i = schedule->groups[group]; i < schedule->groups[group + 1] && !locus_call_cancelled(); i++)
        forward_item(&w, &schedule->items[i], forward_next(job, index, i));
}

#endif
