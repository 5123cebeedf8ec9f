/* SPDX-License-Identifier: MIT */
/* Attention weights as rows: scores of tiles, as in a forward, laid side by side for all keys of the sequence
 *
 *   a_mn = exp(s_mn − max_n s_mn) / (Σ_n exp(…) + exp(z − max)),   z a sink
 *
 * Keys pass by in blocks of 128, for as many rows as stand next to each other in the sequence. A worker's memory is
 * linear in the keys of one sequence. */
#ifndef LOCUS_ATTENTION_WEIGHTS_BODY_H
#define LOCUS_ATTENTION_WEIGHTS_BODY_H

#include "attention/softmax/attention_content_body.h"
#include "attention/softmax/attention_tile_body.h"
#include "core/call.h"

typedef struct weights_worker {
    lane l;
    size_t ld;                   /* keys of the longest sequence, padded */
    real *query, *content_query; /* [ATTENTION_WEIGHTS_ROWS][ld_key] q', scaled; raw, for content terms */
    real *stage, *columns;       /* [128][ld_key], [head_dim][128]: a block of keys */
    real *tile;                  /* [ATTENTION_WEIGHTS_ROWS][128] */
    real *score;                 /* [ATTENTION_WEIGHTS_ROWS][ld] */
} weights_worker;

static size_t carve_weights(const attention_job *job, char *base, weights_worker *w) {
    attention_carver carver = {base, 0};
    const size_t rows = ATTENTION_WEIGHTS_ROWS;
    lane *l = &w->l;
    carve_lane(job, &carver, rows, l);
    w->ld = padded(job->schedule.max_keys, ATTENTION_KEY_BLOCK);
    w->query = locus_attention_carve(&carver, rows * l->ld_key, sizeof(real));
    w->content_query = locus_attention_carve(&carver, job->content_key ? rows * l->ld_key : 0, sizeof(real));
    w->stage = locus_attention_carve(&carver, ATTENTION_KEY_BLOCK * l->ld_key, sizeof(real));
    w->columns = locus_attention_carve(&carver, ATTENTION_KEY_BLOCK * job->head_dim, sizeof(real));
    w->tile = locus_attention_carve(&carver, rows * ATTENTION_KEY_BLOCK, sizeof(real));
    w->score = locus_attention_carve(&carver, rows * w->ld, sizeof(real));
    return carver.used;
}

static void weights_queries(weights_worker *w, size_t row, size_t rows) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    run r = {LOCUS_ROLE_QUERY, LOCUS_FORWARD, l->span.query_first + row, rows, (real)job->scale};
    const real *q = query_row(l, &job->query, r.first);
    operate(l, r, q, job->query.token, w->query, (ptrdiff_t)l->ld_key);
    r.scale = (real)job->content_scale;
    if (job->content_key)
        copy_rows(l, &r, q, job->query.token, w->content_query, (ptrdiff_t)l->ld_key);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < w->ld; j++)
            w->score[i * w->ld + j] = -(real)INFINITY;
}

static void weights_keys(const weights_worker *w, size_t key, size_t count) {
    const lane *l = &w->l;
    const run r = {LOCUS_ROLE_KEY, LOCUS_FORWARD, l->span.key_first + key, count, 1};
    kept_rows keys = kept_at(l, LOCUS_ROLE_KEY, r.first, count);
    if (l->job->query_key) {
        operate(l, r, keys.data, keys.stride, w->stage, (ptrdiff_t)l->ld_key);
        keys = (kept_rows){w->stage, (ptrdiff_t)l->ld_key};
    }
    fill_columns(l, count, l->job->head_dim, keys.data, keys.stride, w->columns);
}

/* A block of scores, of what each row sees, into the rows. `first`: the first row that the lane has looked at. */
static void weights_tile(weights_worker *w, const strip *tile, size_t first) {
    lane *l = &w->l;
    for (size_t i = 0; i < tile->rows;) {
        const strip s = strip_at(l, tile, i, w->tile);
        const size_t at = s.row - first;
        i += s.rows;
        if (s.keys == 0)
            continue;
        strip_products(l, &s, l->job->head_dim, w->query + at * l->ld_key, (ptrdiff_t)l->ld_key,
                       w->columns + (s.key - tile->key));
        if (l->job->content_key)
            content_products(l, &s, content_keys(l->job), w->content_query + at * l->ld_key, (ptrdiff_t)l->ld_key);
        for (size_t r = 0; r < s.rows; r++) {
            const cut c = strip_cut(l, &s, s.row + r);
            real *score = s.score + r * ATTENTION_KEY_BLOCK;
            if (c.from >= c.to)
                continue;
            finish_scores(l, &s, s.row + r, &c, score, NULL);
            mask_scores(l, &s, s.row + r, &c, score, 0);
            memcpy(w->score + (at + r) * w->ld + s.key + c.from, score + c.from, (c.to - c.from) * sizeof(real));
        }
    }
}

/* A row that sees NaN is NaN there, and 0 where it does not look. */
static void weights_of_no_number(const lane *l, size_t row, real *weight) {
    for (size_t key = 0; key < l->span.key_count; key += ATTENTION_KEY_BLOCK) {
        const size_t count = smaller(l->span.key_count - key, ATTENTION_KEY_BLOCK);
        const seen_columns seen = columns_seen(l, row, key, count);
        for (size_t j = 0; j < count; j++)
            if (j < seen.c.from || j >= seen.c.to || !sees_column(&seen, j))
                weight[key + j] = 0;
    }
}

static void weights_row(const lane *l, size_t row, real *weight) {
    const size_t keys = l->span.key_count;
    const real sink = l->job->sinks ? (real)l->job->sinks[l->head] : -(real)INFINITY;
    real top = l->kernels->maximum(keys, weight);
    top = sink > top ? sink : top;
    if (top == -(real)INFINITY)
        top = 0; /* a row of −∞ alone has no weights, not NaN */
    const real total = l->kernels->exp_sum(keys, top, weight) + real_exp(sink - top);
    l->kernels->scale(keys, total == 0 ? 0 : 1 / total, weight, weight);
    if (!(total * 0 == 0))
        weights_of_no_number(l, row, weight);
}

/* Rows [row, row + rows) of the sequence's queries, those from chosen query `index` on. */
static void weights_run(weights_worker *w, const attention_choice *choice, size_t head, size_t index, size_t row,
                        size_t rows) {
    lane *l = &w->l;
    const size_t keys = l->span.key_count;
    const attention_seen seen = look(l, row, rows);
    weights_queries(w, row, rows);
    for (size_t key = 0; key < seen.high && !locus_call_cancelled(); key += ATTENTION_KEY_BLOCK) {
        const strip tile = tile_at(block_at(l, row), row, rows, key, smaller(keys - key, ATTENTION_KEY_BLOCK));
        if (!locus_attention_seen_any(&seen, key, tile.keys))
            continue;
        weights_keys(w, key, tile.keys);
        weights_tile(w, &tile, row);
    }
    for (size_t i = 0; i < rows && keys > 0; i++) {
        weights_row(l, row + i, w->score + i * w->ld);
        locus_attention_choice_write(choice, head, index + i, REAL_DTYPE, w->score + i * w->ld);
    }
}

static void weights_task(void *context, size_t index, size_t worker) {
    const attention_job *job = context;
    const attention_choice *choice = &job->choice;
    const size_t parts = locus_attention_choice_parts(choice), head = index / parts;
    const size_t first = index % parts * ATTENTION_WEIGHTS_ROWS;
    const size_t end = smaller(first + ATTENTION_WEIGHTS_ROWS, choice->query_count);
    weights_worker w;
    carve_weights(job, job->workers + worker * job->worker_bytes, &w);
    const size_t chosen = locus_attention_chosen_head(choice, head);
    choose_head(&w.l, chosen / job->group, chosen % job->group);
    w.l.sequence = choice->sequence;
    w.l.span = locus_plan_span(job->plan, choice->sequence);
    for (size_t i = first, rows; i < end && !locus_call_cancelled(); i += rows) {
        rows = locus_attention_choice_run(choice, i, end, ATTENTION_WEIGHTS_ROWS);
        weights_run(&w, choice, head, i, locus_attention_chosen_query(choice, i), rows);
    }
}

static void weights(attention_job *job) {
    if (job->content_key)
        fill_table_columns(KERNELS_GET(), 2 * job->content->window + 1, job->head_dim, job->content_key,
                           job->content_key_columns);
    locus_parallel_for(job->choice.head_count * locus_attention_choice_parts(&job->choice), weights_task, job);
}

#endif
