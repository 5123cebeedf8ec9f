/* SPDX-License-Identifier: MIT */
/* Forward: for each item (a chunk of one sequence's queries) and key-value head
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
#include "attention/softmax/attention_tile_body.h"
#include "core/call.h"

/* Rows of the group's heads follow one another: row i of the chunk and head g of the group is row g·chunk + i. */
typedef struct forward_worker {
    lane l;
    size_t chunk;
    real *query;              /* [group][chunk][ld_key] q', scaled */
    real *content_query;      /* the same of the raw queries, for content terms */
    real *sum;                /* [group][chunk][ld_value] Σ p v' */
    real *content_sum;        /* Σ p V[b], apart: it does not go through the value operator */
    real *top, *total;        /* [group][chunk] m and l */
    real *key_columns;        /* a panel */
    real *values, *stage;     /* [panel][ld_value], [128][ld_key] */
    real *tile;               /* [64][128] */
    const real *panel_values; /* values, or the caller's own rows */
    ptrdiff_t ld_panel;
} forward_worker;

static size_t carve_forward(const attention_job *job, char *base, forward_worker *w) {
    attention_carver carver = {base, 0};
    const attention_schedule *schedule = &job->schedule;
    w->chunk = padded(smaller(schedule->max_queries, schedule->chunk), ATTENTION_STRIP);
    size_t rows = w->chunk * job->group;
    size_t panel = padded(smaller(schedule->max_keys, ATTENTION_KEY_PANEL), ATTENTION_KEY_BLOCK);
    lane *l = &w->l;
    carve_lane(job, &carver, w->chunk, l);
    w->query = locus_attention_carve(&carver, rows * l->ld_key, sizeof(real));
    w->content_query = locus_attention_carve(&carver, job->content_key ? rows * l->ld_key : 0, sizeof(real));
    w->sum = locus_attention_carve(&carver, rows * l->ld_value, sizeof(real));
    w->content_sum = locus_attention_carve(&carver, job->content_value ? rows * l->ld_value : 0, sizeof(real));
    w->top = locus_attention_carve(&carver, rows, sizeof(real));
    w->total = locus_attention_carve(&carver, rows, sizeof(real));
    w->key_columns = locus_attention_carve(&carver, panel * job->head_dim, sizeof(real));
    w->values = locus_attention_carve(&carver, panel * l->ld_value, sizeof(real));
    w->stage = locus_attention_carve(&carver, ATTENTION_KEY_BLOCK * l->ld_key, sizeof(real));
    w->tile = locus_attention_carve(&carver, (size_t)ATTENTION_QUERY_BLOCK * ATTENTION_KEY_BLOCK, sizeof(real));
    return carver.used;
}

/* ---- before and after the tiles ---- */

/* What a row has seen before its first key. */
static void begin_row(const lane *l, real *top, real *total) {
    const real sink = l->job->sinks ? (real)l->job->sinks[l->head] : -(real)INFINITY;
    *top = sink;
    *total = sink == -(real)INFINITY ? 0 : 1;
}

static real log_of_sum(real top, real total) {
    return total == 0 ? -(real)INFINITY : top + real_log(total);
}

static void forward_queries(forward_worker *w, const attention_item *item, size_t base) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    size_t token = l->span.query_first + item->first;
    const real *q = query_row(l, &job->query, token);
    run r = {LOCUS_ROLE_QUERY, LOCUS_FORWARD, token, item->count, (real)job->scale};
    size_t near = smaller(item->count, ATTENTION_KEY_BLOCK);
    prefetch_rows(q, job->query.token, near, job->head_dim);
    prefetch_rows(query_row(l, &job->output, token), job->output.token, near, job->value_dim);
    operate(l, r, q, job->query.token, w->query + base * l->ld_key, (ptrdiff_t)l->ld_key);
    if (job->content_key) {
        r.scale = (real)job->content_scale;
        copy_rows(l, &r, q, job->query.token, w->content_query + base * l->ld_key, (ptrdiff_t)l->ld_key);
    }
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

static void forward_panel(forward_worker *w, size_t key, size_t count) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    size_t token = l->span.key_first + key;
    for (size_t first = 0; first < count; first += ATTENTION_KEY_BLOCK) {
        size_t width = smaller(count - first, ATTENTION_KEY_BLOCK);
        run r = {LOCUS_ROLE_KEY, LOCUS_FORWARD, token + first, width, 1};
        prefetch_kept(l, LOCUS_ROLE_KEY, token + first, width);
        prefetch_kept(l, LOCUS_ROLE_VALUE, token + first, width);
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
    real *output = query_row(l, &job->output, token);
    finish_rows(l, token, item->count, w->top + base, w->total + base, w->sum + base * l->ld_value);
    for (size_t i = 0; job->content_value && i < item->count; i++)
        if (w->total[base + i] != 0)
            l->kernels->axpy(job->value_dim, 1 / w->total[base + i], w->content_sum + (base + i) * l->ld_value,
                             output + (ptrdiff_t)i * job->output.token);
}

/* ---- one tile ---- */

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
        l->kernels->scale(l->job->value_dim, factor, w->sum + i * l->ld_value, w->sum + i * l->ld_value);
        if (l->job->content_value)
            l->kernels->scale(l->job->value_dim, factor, w->content_sum + i * l->ld_value,
                              w->content_sum + i * l->ld_value);
    }
    w->top[i] = top;
    w->total[i] += sum;
}

static void forward_row(forward_worker *w, const strip *s, size_t i, size_t worker_row) {
    const lane *l = &w->l;
    const cut c = strip_cut(l, s, s->row + i);
    real *score = s->score + i * ATTENTION_KEY_BLOCK;
    if (c.from < c.to) {
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

/* o += dropout(p)·v' of a strip's rows, the first of which stands at `row` among the worker's. */
static void forward_sums(forward_worker *w, const strip *s, size_t row, const real *values) {
    const lane *l = &w->l;
    const size_t dim = l->job->value_dim;
    real *sum = w->sum + row * l->ld_value;
    if (!sums_apart(l, s)) {
        l->kernels->gemm(s->rows, dim, s->keys, s->score, ATTENTION_KEY_BLOCK, 1, values, w->ld_panel, sum,
                         (ptrdiff_t)l->ld_value, true);
        return;
    }
    for (size_t i = 0; i < s->rows; i++) {
        const seen_columns seen = columns_seen(l, s->row + i, s->key, s->keys);
        add_seen_rows(l, &seen, dim, s->score + i * ATTENTION_KEY_BLOCK, values, w->ld_panel, sum + i * l->ld_value);
    }
}

/* `row`: the strip's first among the worker's. */
static void forward_strip(forward_worker *w, const strip *s, size_t row, size_t panel_key) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    const size_t at = s->key - panel_key;
    strip_products(l, s, job->head_dim, w->query + row * l->ld_key, (ptrdiff_t)l->ld_key,
                   columns_at(w->key_columns, at, job->head_dim));
    if (job->content_key)
        content_products(l, s, content_keys(job), w->content_query + row * l->ld_key, (ptrdiff_t)l->ld_key);
    for (size_t i = 0; i < s->rows; i++)
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
    for (size_t at = 0; at < panel->keys; at += ATTENTION_KEY_BLOCK) {
        const strip tile = tile_at(block, row, rows, panel->key + at, smaller(panel->keys - at, ATTENTION_KEY_BLOCK));
        if (locus_attention_seen_any(&block->all, tile.key, tile.keys))
            forward_tile(w, &tile, base, panel->key);
    }
}

/* All heads of the group, up to what is left to be divided and turned. */
static void forward_pass(forward_worker *w, const attention_item *item, size_t kv, const attention_seen *seen) {
    lane *l = &w->l;
    const size_t group = l->job->group, end = item->first + item->count;
    for (size_t g = 0; g < group; g++) {
        choose_head(l, kv, g);
        forward_queries(w, item, g * w->chunk);
    }
    for (size_t key = 0; key < seen->high; key += ATTENTION_KEY_PANEL) {
        const strip panel = {.key = key, .keys = smaller(seen->high - key, ATTENTION_KEY_PANEL)};
        if (!locus_attention_seen_any(seen, panel.key, panel.keys))
            continue;
        forward_panel(w, panel.key, panel.keys);
        for (size_t g = 0; g < group; g++) {
            choose_head(l, kv, g);
            for (size_t row = item->first; row < end && !locus_call_cancelled(); row += ATTENTION_QUERY_BLOCK)
                forward_block(w, g * w->chunk, row, smaller(end - row, ATTENTION_QUERY_BLOCK), &panel);
        }
    }
}

static bool forward_is_finite(const forward_worker *w, const attention_item *item) {
    const size_t row = w->l.ld_value;
    for (size_t g = 0; g < w->l.job->group; g++)
        if (!all_finite(&w->l, item->count * row, w->sum + g * w->chunk * row))
            return false;
    return true;
}

static void forward_item(forward_worker *w, const attention_item *item, size_t kv) {
    lane *l = &w->l;
    const size_t group = l->job->group;
    l->sequence = item->sequence;
    l->span = locus_plan_span(l->job->plan, item->sequence);
    const attention_seen seen = look(l, item->first, item->count);
    l->cut = l->apart = false;
    forward_pass(w, item, kv, &seen);
    if (l->cut && !forward_is_finite(w, item)) {
        l->apart = true;
        forward_pass(w, item, kv, &seen);
    }
    for (size_t g = 0; g < group; g++) {
        choose_head(l, kv, g);
        forward_finish(w, item, g * w->chunk);
    }
}

static void forward_task(void *context, size_t index, size_t worker) {
    const attention_job *job = context;
    const attention_schedule *schedule = &job->schedule;
    forward_worker w;
    carve_forward(job, job->workers + worker * job->worker_bytes, &w);
    /* From the end: under a causal mask the last chunks are the dearest. */
    size_t group = schedule->group_count - 1 - index / job->kv_heads;
    for (size_t i = schedule->groups[group]; i < schedule->groups[group + 1] && !locus_call_cancelled(); i++)
        forward_item(&w, &schedule->items[i], index % job->kv_heads);
}

#endif
