/* SPDX-License-Identifier: MIT */
/* The gradient of a call's bias, rectangle by rectangle (attention_bias.h): dbias = ds, which is made a second time,
 * after the backward's own loops and by the functions of its tiles. */
#ifndef LOCUS_ATTENTION_BIAS_GRADIENT_BODY_H
#define LOCUS_ATTENTION_BIAS_GRADIENT_BODY_H

#include "attention/softmax/attention_backward_body.h"

enum { ATTENTION_BIAS_ROWS = 256 }; /* of a rectangle; its keys are those of a panel */

typedef struct bias_worker {
    backward_worker b;
    attention_bias_rectangle place;
    size_t rows; /* that are looked at together */
    double *sum; /* [rows][ATTENTION_KEY_PANEL] */
} bias_worker;

static size_t bias_rows(const attention_job *job) {
    size_t rows = ATTENTION_BIAS_LEAST;
    while (rows < ATTENTION_BIAS_ROWS && rows < job->schedule.max_queries)
        rows *= 2;
    return rows;
}

static size_t carve_bias(const attention_job *job, char *base, bias_worker *w) {
    attention_carver carver = {base, carve_backward(job, base, &w->b)};
    w->rows = bias_rows(job);
    w->sum = locus_attention_carve(&carver, w->rows * ATTENTION_KEY_PANEL, sizeof(double));
    return carver.used;
}

/* ---- a tile ---- */

static void add_bias_row(bias_worker *w, const strip *s, size_t i, real *g) {
    const attention_bias_rectangle *place = &w->place;
    const size_t row = s->row + i;
    const cut c = strip_cut(&w->b.l, s, row);
    real *weight = s->score + i * ATTENTION_KEY_BLOCK;
    double *to = w->sum + (place->one_row ? 0 : row - place->first_row) * ATTENTION_KEY_PANEL;
    if (c.from >= c.to)
        return;
    backward_weights(&w->b, s, row, &c, weight);
    backward_softmax(&w->b, s, row, &c, weight + c.from, g);
    for (size_t j = c.from; place->one_key && j < c.to; j++)
        *to += (double)g[j];
    to += place->one_key ? 0 : s->key - place->first_key;
    for (size_t j = c.from; !place->one_key && j < c.to; j++)
        to[j] += (double)g[j];
}

static void add_bias_tile(bias_worker *w, const strip *tile, size_t panel_key) {
    for (size_t i = 0; i < tile->rows;) {
        const strip s = strip_at(&w->b.l, tile, i, w->b.weight);
        strip g = s;
        g.score = w->b.g_weight;
        if (s.keys > 0)
            strip_begin(&w->b, &s, &g, panel_key);
        for (size_t r = 0; s.keys > 0 && r < s.rows; r++)
            add_bias_row(w, &s, r, g.score + r * ATTENTION_KEY_BLOCK);
        i += s.rows;
    }
}

/* ---- a sequence and head ---- */

static void add_bias_panel(bias_worker *w, size_t first, size_t end, size_t key, size_t keys) {
    for (size_t row = first; row < end && !locus_call_cancelled(); row += ATTENTION_QUERY_BLOCK) {
        const row_block *block = block_at(&w->b.l, row);
        for (size_t at = 0; at < keys; at += ATTENTION_KEY_BLOCK) {
            const strip tile = tile_at(block, row, smaller(end - row, ATTENTION_QUERY_BLOCK), key + at,
                                       smaller(keys - at, ATTENTION_KEY_BLOCK));
            if (locus_attention_seen_any(&block->all, tile.key, tile.keys))
                add_bias_tile(w, &tile, key);
        }
    }
}

/* Queries [first, end), which the lane has looked at and sees `all` of. */
static void add_bias_head(bias_worker *w, size_t head, size_t first, size_t end, const attention_seen *all) {
    lane *l = &w->b.l;
    const size_t first_key = w->place.first_key, end_key = smaller(w->place.end_key, l->span.key_count);
    if (first_key >= end_key || !locus_attention_seen_any(all, first_key, end_key - first_key))
        return;
    choose_head(l, head / l->job->group, head % l->job->group);
    for (size_t row = first; row < end; row += ATTENTION_QUERY_BLOCK)
        if (block_at(l, row)->all.low < block_at(l, row)->all.high)
            backward_queries_begin(&w->b, row, smaller(end - row, ATTENTION_QUERY_BLOCK), false);
    for (size_t key = first_key; key < end_key && !locus_call_cancelled(); key += ATTENTION_KEY_PANEL) {
        const size_t keys = smaller(end_key - key, ATTENTION_KEY_PANEL);
        if (!locus_attention_seen_any(all, key, keys))
            continue;
        backward_panel_begin(&w->b, key, keys);
        add_bias_panel(w, first, end, key, keys);
    }
}

static void add_bias_sequence(bias_worker *w, size_t sequence) {
    const attention_bias_rectangle *place = &w->place;
    begin_sequence(&w->b, sequence);
    const size_t end = smaller(place->end_row, w->b.l.span.query_count);
    for (size_t row = place->first_row; row < end; row += w->rows) {
        const size_t rows = smaller(end - row, w->rows);
        const attention_seen all = look(&w->b.l, row, rows);
        for (size_t head = place->first_head; head < place->end_head && !locus_call_cancelled(); head++)
            add_bias_head(w, head, row, row + rows, &all);
    }
}

static void bias_task(void *context, size_t index, size_t worker) {
    const attention_job *job = context;
    bias_worker w;
    carve_bias(job, job->workers + worker * job->worker_bytes, &w);
    const attention_bias_cut grid = locus_attention_bias_cut(&job->g_bias, w.rows, ATTENTION_KEY_PANEL);
    w.place = locus_attention_bias_rectangle(&job->g_bias, &grid, index, job->sequences, job->heads);
    w.b.slot = NULL;
    w.b.l.apart = true; /* gradients in gaps are 0 */
    memset(w.sum, 0, w.rows * ATTENTION_KEY_PANEL * sizeof(double));
    for (size_t s = w.place.first_sequence; s < w.place.end_sequence && !locus_call_cancelled(); s++)
        add_bias_sequence(&w, s);
    locus_attention_bias_write(&job->g_bias, &w.place, w.sum, ATTENTION_KEY_PANEL);
}

static void bias_gradient(attention_job *job) {
    attention_job shared = *job;
    shared.wants_query = shared.wants_key = shared.wants_value = shared.slots_wanted = false;
    shared.wants_scores = true;
    const attention_bias_cut grid = locus_attention_bias_cut(&job->g_bias, bias_rows(job), ATTENTION_KEY_PANEL);
    locus_parallel_for(grid.tasks, bias_task, &shared);
}

static size_t backward_scratch(const attention_job *job) {
    bias_worker w;
    return job->biased ? carve_bias(job, NULL, &w) : carve_backward(job, NULL, &w.b);
}

#endif
