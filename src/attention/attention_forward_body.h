/* SPDX-License-Identifier: MIT */
/* Forward: for each item (a chunk of one sequence's queries) and head
 *
 *   q' of the chunk, scaled; then for each panel of keys k'ᵀ and v'; for each tile of 64 queries × 128 keys:
 *     s, m' = max(m, max s), p = exp(s − m'), l = l·exp(m − m') + Σp, o = o·exp(m − m') + dropout(p)·v'
 *   o/l through the inverse value operator, log-sum-exp = m + ln l
 *
 * A worker's memory is bounded by the chunk and the panel, whatever the sequence's length. */
#ifndef LOCUS_ATTENTION_FORWARD_BODY_H
#define LOCUS_ATTENTION_FORWARD_BODY_H

#include "attention/attention_content_body.h"
#include "attention/attention_tile_body.h"

typedef struct forward_worker {
    lane l;
    real *query;              /* [chunk][ld_key] q', scaled */
    real *content_query;      /* the same of the raw queries, for content terms */
    real *sum;                /* [chunk][ld_value] Σ p v' */
    real *content_sum;        /* Σ p V[b], apart: it does not go through the value operator */
    real *top, *total;        /* [chunk] m and l */
    real *key_columns;        /* a panel */
    real *values, *stage;     /* [panel][ld_value], [128][ld_key] */
    real *tile;               /* [64][128] */
    const real *panel_values; /* values, or the caller's own rows */
    ptrdiff_t ld_panel;
} forward_worker;

static size_t carve_forward(const attention_job *job, char *base, forward_worker *w) {
    attention_carver carver = {base, 0};
    size_t chunk = padded(smaller(job->schedule.max_queries, ATTENTION_QUERY_CHUNK), ATTENTION_STRIP);
    size_t panel = padded(smaller(job->schedule.max_keys, ATTENTION_KEY_PANEL), ATTENTION_KEY_BLOCK);
    lane *l = &w->l;
    carve_lane(job, &carver, l);
    w->query = locus_attention_carve(&carver, chunk * l->ld_key, sizeof(real));
    w->content_query = locus_attention_carve(&carver, job->content_key ? chunk * l->ld_key : 0, sizeof(real));
    w->sum = locus_attention_carve(&carver, chunk * l->ld_value, sizeof(real));
    w->content_sum = locus_attention_carve(&carver, job->content_value ? chunk * l->ld_value : 0, sizeof(real));
    w->top = locus_attention_carve(&carver, chunk, sizeof(real));
    w->total = locus_attention_carve(&carver, chunk, sizeof(real));
    w->key_columns = locus_attention_carve(&carver, panel * job->head_dim, sizeof(real));
    w->values = locus_attention_carve(&carver, panel * l->ld_value, sizeof(real));
    w->stage = locus_attention_carve(&carver, ATTENTION_KEY_BLOCK * l->ld_key, sizeof(real));
    w->tile = locus_attention_carve(&carver, ATTENTION_QUERY_BLOCK * ATTENTION_KEY_BLOCK, sizeof(real));
    return carver.used;
}

/* ---- before and after the tiles ---- */

static void forward_queries(forward_worker *w, const attention_item *item) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    size_t token = l->span.query_first + item->first;
    const real *q = row_of(&job->query, token, l->head);
    run r = {LOCUS_ROLE_QUERY, LOCUS_FORWARD, token, item->count, (real)job->scale};
    size_t near = smaller(item->count, ATTENTION_KEY_BLOCK);
    prefetch_rows(q, job->query.token, near, job->head_dim);
    prefetch_rows(row_of(&job->output, token, l->head), job->output.token, near, job->value_dim);
    operate(l, r, q, job->query.token, w->query, (ptrdiff_t)l->ld_key);
    if (job->content_key) {
        r.scale = (real)job->content_scale;
        copy_rows(l, &r, q, job->query.token, w->content_query, (ptrdiff_t)l->ld_key);
    }
    for (size_t i = 0; i < item->count; i++) {
        w->top[i] = -(real)INFINITY;
        w->total[i] = 0;
    }
    if (job->content_value)
        memset(w->content_sum, 0, item->count * l->ld_value * sizeof(real));
}

/* Rows that lie near each other are used where they are; far strides would fall on the same few lines of the cache. */
static bool forward_rows_are_near(const lane *l) {
    return !l->job->value_operator && l->job->value.token >= 0 && l->job->value.token <= (ptrdiff_t)(2 * l->ld_value);
}

static void forward_panel(forward_worker *w, size_t key, size_t count) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    size_t token = l->span.key_first + key;
    for (size_t first = 0; first < count; first += ATTENTION_KEY_BLOCK) {
        size_t width = smaller(count - first, ATTENTION_KEY_BLOCK);
        const real *k = row_of(&job->key, token + first, l->head);
        run r = {LOCUS_ROLE_KEY, LOCUS_FORWARD, token + first, width, 1};
        prefetch_rows(k, job->key.token, width, job->head_dim);
        prefetch_rows(row_of(&job->value, token + first, l->head), job->value.token, width, job->value_dim);
        if (job->query_key) {
            operate(l, r, k, job->key.token, w->stage, (ptrdiff_t)l->ld_key);
            fill_columns(l, width, job->head_dim, w->stage, (ptrdiff_t)l->ld_key,
                         w->key_columns + first * job->head_dim);
        } else {
            fill_columns(l, width, job->head_dim, k, job->key.token, w->key_columns + first * job->head_dim);
        }
    }
    w->panel_values = row_of(&job->value, token, l->head);
    w->ld_panel = job->value.token;
    if (!forward_rows_are_near(l)) {
        run r = {LOCUS_ROLE_VALUE, LOCUS_FORWARD, token, count, 1};
        operate(l, r, w->panel_values, w->ld_panel, w->values, (ptrdiff_t)l->ld_value);
        w->panel_values = w->values;
        w->ld_panel = (ptrdiff_t)l->ld_value;
    }
}

static void forward_finish(forward_worker *w, const attention_item *item) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    size_t token = l->span.query_first + item->first, dim = job->value_dim;
    real *output = row_of(&job->output, token, l->head);
    for (size_t i = 0; i < item->count; i++) {
        real *sum = w->sum + i * l->ld_value,
             *target = job->value_operator ? sum : output + (ptrdiff_t)i * job->output.token;
        if (w->total[i] == 0)
            memset(target, 0, dim * sizeof(real));
        else
            l->kernels->scale(dim, 1 / w->total[i], sum, target);
        if (job->log_sum_exp.data)
            *row_of(&job->log_sum_exp, token + i, l->head) =
                w->total[i] == 0 ? -(real)INFINITY : w->top[i] + REAL_LOG(w->total[i]);
    }
    if (job->value_operator) {
        run r = {LOCUS_ROLE_OUTPUT, LOCUS_FORWARD, token, item->count, 1};
        operate(l, r, w->sum, (ptrdiff_t)l->ld_value, output, job->output.token);
    }
    for (size_t i = 0; job->content_value && i < item->count; i++)
        if (w->total[i] != 0)
            l->kernels->axpy(dim, 1 / w->total[i], w->content_sum + i * l->ld_value,
                             output + (ptrdiff_t)i * job->output.token);
}

/* ---- one tile ---- */

/* A row's weights against the running maximum `at` of row `i` of the chunk; rescales what was summed before. */
static void forward_softmax(forward_worker *w, size_t i, size_t count, real *score) {
    const lane *l = &w->l;
    real peak = l->kernels->maximum(count, score), old = w->top[i], top = peak > old ? peak : old;
    /* A row of −∞ alone has no weights, not NaN. */
    real sum = l->kernels->exp_sum(count, top == -(real)INFINITY ? 0 : top, score);
    if (top != old && w->total[i] != 0) {
        real factor = REAL_EXP(old - top);
        w->total[i] *= factor;
        l->kernels->scale(l->job->value_dim, factor, w->sum + i * l->ld_value, w->sum + i * l->ld_value);
        if (l->job->content_value)
            l->kernels->scale(l->job->value_dim, factor, w->content_sum + i * l->ld_value,
                              w->content_sum + i * l->ld_value);
    }
    w->top[i] = top;
    w->total[i] += sum;
}

static void forward_row(forward_worker *w, const strip *s, size_t chunk_row, size_t row) {
    const lane *l = &w->l;
    size_t count = seen_of(l, s->row + row, s->key, s->keys);
    real *score = s->score + row * ATTENTION_KEY_BLOCK;
    if (count > 0) {
        apply_terms(l, s, s->row + row, count, score);
        if (l->job->dropout > 0)
            dropout_keep(l, s, s->row + row, count);
        if (l->job->drop_logits)
            drop_scores(l, count, score);
        forward_softmax(w, chunk_row + row, count, score);
        if (l->job->drop_weights)
            l->kernels->multiply(count, score, l->keep_row, score);
    }
    if (count < s->keys)
        memset(score + count, 0, (s->keys - count) * sizeof(real));
}

static void forward_strip(forward_worker *w, const strip *s, size_t chunk_row, const real *columns,
                          const real *values) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    real *sum = w->sum + chunk_row * l->ld_value;
    strip_products(l, s, job->head_dim, w->query + chunk_row * l->ld_key, (ptrdiff_t)l->ld_key, columns);
    if (job->content_key)
        content_products(l, s, content_keys(job), w->content_query + chunk_row * l->ld_key, (ptrdiff_t)l->ld_key);
    for (size_t i = 0; i < s->rows; i++)
        forward_row(w, s, chunk_row, i);
    /* Every row sees key 0 if it sees any: the first tile starts the sums. */
    l->kernels->gemm(s->rows, job->value_dim, s->keys, s->score, ATTENTION_KEY_BLOCK, 1, values, w->ld_panel, sum,
                     (ptrdiff_t)l->ld_value, s->key > 0);
    if (job->content_value)
        content_sums(l, s, content_values(job),
                     (content_targets){.rows = w->content_sum + chunk_row * l->ld_value, .ld = (ptrdiff_t)l->ld_value});
}

static void forward_tile(forward_worker *w, const attention_item *item, size_t chunk_row, size_t rows, size_t key,
                         size_t keys, size_t panel_key) {
    const lane *l = &w->l;
    const real *columns = w->key_columns + (key - panel_key) * l->job->head_dim;
    const real *values = w->panel_values + (ptrdiff_t)(key - panel_key) * w->ld_panel;
    size_t step = strip_rows(l, item->first + chunk_row, rows, key, keys);
    for (size_t i = 0; i < rows; i += step) {
        size_t count = smaller(step, rows - i), last = item->first + chunk_row + i + count - 1;
        strip s = {item->first + chunk_row + i, count, key, seen_of(l, last, key, keys),
                   w->tile + i * ATTENTION_KEY_BLOCK};
        if (s.keys > 0)
            forward_strip(w, &s, chunk_row + i, columns, values);
    }
}

/* ---- items ---- */

static void forward_item(forward_worker *w, const attention_item *item, size_t head) {
    lane *l = &w->l;
    l->head = head;
    l->sequence = item->sequence;
    l->span = locus_plan_span(l->job->plan, item->sequence);
    forward_queries(w, item);
    size_t keys = seen_of(l, item->first + item->count - 1, 0, l->span.key_count);
    for (size_t panel = 0; panel < keys; panel += ATTENTION_KEY_PANEL) {
        size_t panel_end = panel + smaller(keys - panel, ATTENTION_KEY_PANEL);
        forward_panel(w, panel, panel_end - panel);
        for (size_t row = 0; row < item->count; row += ATTENTION_QUERY_BLOCK) {
            size_t rows = smaller(item->count - row, ATTENTION_QUERY_BLOCK);
            size_t end = panel + seen_of(l, item->first + row + rows - 1, panel, panel_end - panel);
            for (size_t key = panel; key < end; key += ATTENTION_KEY_BLOCK)
                forward_tile(w, item, row, rows, key, smaller(end - key, ATTENTION_KEY_BLOCK), panel);
        }
    }
    forward_finish(w, item);
}

static void forward_task(void *context, size_t index, size_t worker) {
    const attention_job *job = context;
    const attention_schedule *schedule = &job->schedule;
    forward_worker w;
    carve_forward(job, job->workers + worker * job->worker_bytes, &w);
    /* From the end: under a causal mask the last chunks are the dearest. */
    size_t group = schedule->group_count - 1 - index / job->heads;
    for (size_t i = schedule->groups[group]; i < schedule->groups[group + 1]; i++)
        forward_item(&w, &schedule->items[i], index % job->heads);
}

size_t REAL_NAME(locus_attention_forward_scratch)(const attention_job *job) {
    forward_worker w;
    return carve_forward(job, NULL, &w);
}

void REAL_NAME(locus_attention_forward)(const attention_job *job) {
    attention_job writable = *job;
    size_t rows = job->content ? 2 * job->content->window + 1 : 0;
    if (job->content_key)
        fill_table_columns(KERNELS_GET(), rows, job->head_dim, job->content_key, job->content_key_columns);
    locus_parallel_for(job->schedule.group_count * job->heads, forward_task, &writable);
}

#endif
