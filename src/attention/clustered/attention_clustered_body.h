/* SPDX-License-Identifier: MIT */
/* The loops of clustered attention, for one element type; see attention_clustered.h. C is the number of clusters of a
 * sequence, d and dv are a head's dimensions. */
#ifndef LOCUS_ATTENTION_CLUSTERED_BODY_H
#define LOCUS_ATTENTION_CLUSTERED_BODY_H

#include "core/call.h"

typedef struct clustered_walk {
    const attention_clustered_job *job;
    const attention_turn *turn;
    const KERNELS *kernels;
    size_t sequence, unit, head, kv_head, C, d, dv;
    locus_sequence_span span;
    real *scores;              /* [CLUSTERED_ROWS][C] */
    real *rows, *sum;          /* [CLUSTERED_ROWS] of [d] centroids times scale, of [dv] */
    real *columns, *more;      /* keys and values of a panel, transposed */
    real *tile, *other, *kept; /* [CLUSTERED_ROWS][CLUSTERED_PANEL] */
    real *keep;                /* [CLUSTERED_PANEL] */
    real *top, *total;         /* [CLUSTERED_ROWS] */
} clustered_walk;

static size_t clustered_carve(const attention_clustered_job *job, void *base, clustered_walk *w) {
    attention_carver carver = {base, 0};
    w->scores = kinds_carve(&carver, CLUSTERED_ROWS * job->most);
    w->rows = kinds_carve(&carver, CLUSTERED_ROWS * job->turn.head_dim);
    w->sum = kinds_carve(&carver, CLUSTERED_ROWS * job->turn.value_dim);
    w->columns = kinds_carve(&carver, job->turn.head_dim * CLUSTERED_PANEL);
    w->more = kinds_carve(&carver, job->turn.value_dim * CLUSTERED_PANEL);
    w->tile = kinds_carve(&carver, (size_t)CLUSTERED_ROWS * CLUSTERED_PANEL);
    w->other = kinds_carve(&carver, (size_t)CLUSTERED_ROWS * CLUSTERED_PANEL);
    w->kept = kinds_carve(&carver, (size_t)CLUSTERED_ROWS * CLUSTERED_PANEL);
    w->keep = kinds_carve(&carver, CLUSTERED_PANEL);
    w->top = kinds_carve(&carver, CLUSTERED_ROWS);
    w->total = kinds_carve(&carver, CLUSTERED_ROWS);
    return carver.used;
}

static size_t clustered_scratch(const attention_turn *turn) {
    clustered_walk w;
    return clustered_carve((const attention_clustered_job *)turn, NULL, &w);
}

static clustered_walk clustered_walk_of(const attention_clustered_job *job, size_t worker, size_t sequence,
                                        size_t head) {
    clustered_walk w = {.job = job, .turn = &job->turn, .kernels = KERNELS_GET(), .sequence = sequence, .head = head};
    clustered_carve(job, job->turn.workers + worker * job->turn.worker_bytes, &w);
    w.unit = sequence * job->turn.heads + head;
    w.kv_head = head / job->turn.group;
    w.d = job->turn.head_dim;
    w.dv = job->turn.value_dim;
    w.span = locus_plan_span(job->turn.plan, sequence);
    w.C = locus_attention_clustered_count(job, &w.span);
    return w;
}

static real *clustered_matrix(const clustered_walk *w, void *matrices, size_t index, size_t columns) {
    return (real *)matrices + index * w->job->most * columns;
}

static real *clustered_query(const clustered_walk *w, attention_view view, size_t row) {
    return kinds_row(view, w->sequence, w->span.query_first, row, w->head);
}

static real *clustered_key(const clustered_walk *w, attention_view view, size_t key) {
    return kinds_row(view, w->sequence, w->span.key_first, key, w->kv_head);
}

static uint32_t *clustered_of(const clustered_walk *w, size_t row) {
    return w->job->cluster + w->head * w->turn->query_tokens + w->span.query_first + row;
}

static size_t clustered_cut(size_t done, size_t count, size_t most) {
    return count - done < most ? count - done : most;
}

/* ---- clusters ---- */

/* What the search for the nearest centroid needs: |x − c|² is least where x·c − |c|²/2 is most. */
static void clustered_prepare(const clustered_walk *w) {
    const real *centroids = clustered_matrix(w, w->job->centroids, w->unit, w->d);
    real *norms = clustered_matrix(w, w->job->norms, w->unit, 1);
    w->kernels->transpose(w->C, w->d, centroids, (ptrdiff_t)w->d, clustered_matrix(w, w->job->columns, w->unit, w->d),
                          (ptrdiff_t)w->C);
    for (size_t c = 0; c < w->C; c++)
        norms[c] = (real)-0.5 * w->kernels->dot(w->d, centroids + c * w->d, centroids + c * w->d);
}

static void clustered_begin_task(void *context, size_t unit, size_t worker) {
    const attention_clustered_job *job = context;
    const clustered_walk w = clustered_walk_of(job, worker, unit / job->turn.heads, unit % job->turn.heads);
    real *centroids = clustered_matrix(&w, job->centroids, unit, w.d);
    for (size_t c = 0; c < w.C; c++)
        memcpy(centroids + c * w.d, clustered_query(&w, job->turn.query, (2 * c + 1) * w.span.query_count / (2 * w.C)),
               w.d * sizeof *centroids);
    clustered_prepare(&w);
}

/* The first of the largest; 0 if there are only NaN. */
static size_t clustered_largest(const KERNELS *kernels, size_t count, const real *row) {
    const real most = kernels->maximum(count, row);
    for (size_t c = 0; c < count; c++)
        if (row[c] == most)
            return c;
    return 0;
}

static void clustered_assign_block(const clustered_walk *w, size_t row, size_t count, real *sums, double *members) {
    const attention_view *query = &w->turn->query;
    const real *norms = clustered_matrix(w, w->job->norms, w->unit, 1);
    const ptrdiff_t C = (ptrdiff_t)w->C;
    for (size_t r = 0; r < count; r++)
        memcpy(w->scores + r * w->C, norms, w->C * sizeof *norms);
    w->kernels->gemm(count, w->C, w->d, clustered_query(w, *query, row), query->token, 1,
                     clustered_matrix(w, w->job->columns, w->unit, w->d), C, w->scores, C, true);
    for (size_t r = 0; r < count; r++) {
        const size_t c = clustered_largest(w->kernels, w->C, w->scores + r * w->C);
        *clustered_of(w, row + r) = (uint32_t)c;
        w->kernels->add(w->d, sums + c * w->d, clustered_query(w, *query, row + r), sums + c * w->d);
        members[c] += 1;
    }
}

static void clustered_assign_task(void *context, size_t index, size_t worker) {
    const attention_clustered_job *job = context;
    const attention_piece *piece = &job->turn.queries.pieces[index / job->turn.heads];
    const clustered_walk w = clustered_walk_of(job, worker, piece->sequence, index % job->turn.heads);
    const size_t wide = w.d > w.dv ? w.d : w.dv;
    real *sums = clustered_matrix(&w, job->partials, index, wide);
    double *members = job->member_partials + index * job->most;
    memset(sums, 0, w.C * w.d * sizeof *sums);
    memset(members, 0, w.C * sizeof *members);
    for (size_t done = 0; done < piece->count; done += CLUSTERED_ROWS)
        clustered_assign_block(&w, piece->first + done, clustered_cut(done, piece->count, CLUSTERED_ROWS), sums,
                               members);
}

/* sum[C, columns] and numbers[C] = the partials of the unit's pieces, in their order. */
static void clustered_fold(const clustered_walk *w, size_t columns, real *sum, double *numbers) {
    const attention_cut *cut = &w->job->turn.queries;
    const size_t wide = w->d > w->dv ? w->d : w->dv;
    memset(sum, 0, w->C * columns * sizeof *sum);
    memset(numbers, 0, w->C * sizeof *numbers);
    for (size_t p = cut->of[w->sequence]; p < cut->of[w->sequence + 1]; p++) {
        const size_t index = p * w->turn->heads + w->head;
        w->kernels->add(w->C * columns, sum, clustered_matrix(w, w->job->partials, index, wide), sum);
        for (size_t c = 0; c < w->C; c++)
            numbers[c] += w->job->member_partials[index * w->job->most + c];
    }
}

/* The sums are folded over the centroids' columns, which are made again. */
static void clustered_update_task(void *context, size_t unit, size_t worker) {
    const attention_clustered_job *job = context;
    const clustered_walk w = clustered_walk_of(job, worker, unit / job->turn.heads, unit % job->turn.heads);
    real *centroids = clustered_matrix(&w, job->centroids, unit, w.d);
    real *sums = clustered_matrix(&w, job->columns, unit, w.d);
    double *members = job->members + unit * job->most;
    clustered_fold(&w, w.d, sums, members);
    for (size_t c = 0; c < w.C; c++)
        if (members[c] > 0)
            w.kernels->scale(w.d, (real)(1 / members[c]), sums + c * w.d, centroids + c * w.d);
    clustered_prepare(&w);
}

static void clustered_find(attention_clustered_job *job) {
    const size_t units = job->turn.sequences * job->turn.heads;
    locus_parallel_for(units, clustered_begin_task, job);
    for (size_t i = 0; i < job->iterations && !locus_call_cancelled(); i++) {
        locus_parallel_for(job->turn.queries.count * job->turn.heads, clustered_assign_task, job);
        locus_parallel_for(units, clustered_update_task, job);
    }
}

/* ---- attention of the centroids ---- */

static void clustered_take_rows(const clustered_walk *w, size_t first, size_t count) {
    w->kernels->scale(count * w->d, (real)w->job->scale,
                      clustered_matrix(w, w->job->centroids, w->unit, w->d) + first * w->d, w->rows);
}

/* tile[r, n] = scale · c_{first + r}·k'_{key + n}, for keys in `columns`. */
static void clustered_scores(const clustered_walk *w, size_t count, size_t width) {
    w->kernels->gemm(count, width, w->d, w->rows, (ptrdiff_t)w->d, 1, w->columns, CLUSTERED_PANEL, w->tile,
                     CLUSTERED_PANEL, false);
}

static void clustered_keep_row(const clustered_walk *w, size_t cluster, size_t key, size_t width) {
    const uint64_t row = (uint64_t)(w->span.query_first + cluster) * w->turn->heads + w->head;
    w->kernels->dropout_row(width, &w->job->dropout_key, row, key, w->job->dropout, w->keep);
}

/* One row of a tile: exponentials under the highest score so far, what was summed up before brought down to it. */
static void clustered_softmax_row(const clustered_walk *w, size_t r, size_t width) {
    real *tile = w->tile + r * CLUSTERED_PANEL, most = w->kernels->maximum(width, tile);
    most = most > w->top[r] ? most : w->top[r];
    most = most > -(real)INFINITY ? most : 0;
    if (most != w->top[r]) {
        const real factor = (real)exp((double)(w->top[r] - most));
        w->total[r] *= factor;
        w->kernels->scale(w->dv, factor, w->sum + r * w->dv, w->sum + r * w->dv);
        w->top[r] = most;
    }
    w->total[r] += w->kernels->exp_sum(width, most, tile);
}

static void clustered_panel(const clustered_walk *w, size_t first, size_t count, size_t key) {
    const attention_turn *turn = w->turn;
    const size_t width = clustered_cut(key, w->span.key_count, CLUSTERED_PANEL);
    w->kernels->transpose(width, w->d, clustered_key(w, turn->key, key), turn->key.token, w->columns, CLUSTERED_PANEL);
    clustered_scores(w, count, width);
    for (size_t r = 0; r < count; r++) {
        real *tile = w->tile + r * CLUSTERED_PANEL;
        clustered_softmax_row(w, r, width);
        if (w->job->dropout > 0) {
            clustered_keep_row(w, first + r, key, width);
            w->kernels->multiply(width, tile, w->keep, tile);
        }
    }
    w->kernels->gemm(count, w->dv, width, w->tile, CLUSTERED_PANEL, 1, clustered_key(w, turn->value, key),
                     turn->value.token, w->sum, (ptrdiff_t)w->dv, true);
}

static size_t clustered_blocks(size_t C) {
    return (C + CLUSTERED_ROWS - 1) / CLUSTERED_ROWS;
}

/* Rows are shared out evenly over a unit's blocks. */
static void clustered_block_task(void *context, size_t index, size_t worker) {
    const attention_clustered_job *job = context;
    const size_t most = clustered_blocks(job->most), unit = index / most, block = index % most;
    const clustered_walk w = clustered_walk_of(job, worker, unit / job->turn.heads, unit % job->turn.heads);
    const size_t blocks = clustered_blocks(w.C);
    if (block >= blocks)
        return;
    const size_t first = block * w.C / blocks, count = (block + 1) * w.C / blocks - first;
    real *results = clustered_matrix(&w, job->results, unit, w.dv) + first * w.dv;
    real *log_sums = clustered_matrix(&w, job->log_sums, unit, 1) + first;
    clustered_take_rows(&w, first, count);
    memset(w.sum, 0, count * w.dv * sizeof(real));
    for (size_t r = 0; r < count; r++) {
        w.top[r] = -(real)INFINITY;
        w.total[r] = 0;
    }
    for (size_t key = 0; key < w.span.key_count && !locus_call_cancelled(); key += CLUSTERED_PANEL)
        clustered_panel(&w, first, count, key);
    for (size_t r = 0; r < count; r++) {
        w.kernels->scale(w.dv, w.span.key_count > 0 ? 1 / w.total[r] : 0, w.sum + r * w.dv, results + r * w.dv);
        log_sums[r] = (real)((double)w.top[r] + log((double)w.total[r]));
    }
}

static void clustered_scatter_task(void *context, size_t index, size_t worker) {
    const attention_clustered_job *job = context;
    const attention_piece *piece = &job->turn.queries.pieces[index / job->turn.heads];
    const clustered_walk w = clustered_walk_of(job, worker, piece->sequence, index % job->turn.heads);
    const real *results = clustered_matrix(&w, job->results, w.unit, w.dv);
    const real *log_sums = clustered_matrix(&w, job->log_sums, w.unit, 1);
    for (size_t row = piece->first; row < piece->first + piece->count; row++) {
        const size_t c = *clustered_of(&w, row);
        memcpy(clustered_query(&w, job->turn.output, row), results + c * w.dv, w.dv * sizeof *results);
        kinds_set(clustered_query(&w, job->turn.log_sum_exp, row), (double)log_sums[c]);
    }
}

static void clustered_forward(attention_turn *turn) {
    attention_clustered_job *job = (attention_clustered_job *)turn;
    clustered_find(job);
    locus_parallel_for(turn->sequences * turn->heads * clustered_blocks(job->most), clustered_block_task, job);
    locus_parallel_for(turn->queries.count * turn->heads, clustered_scatter_task, job);
}

/* ---- backward ---- */

/* Queries of a cluster share an output: do'_c = Σ do'_m, and D_c = Σ do_m·o_m. */
static void clustered_gather_task(void *context, size_t index, size_t worker) {
    const attention_clustered_job *job = context;
    const attention_piece *piece = &job->turn.queries.pieces[index / job->turn.heads];
    const clustered_walk w = clustered_walk_of(job, worker, piece->sequence, index % job->turn.heads);
    const attention_view given = locus_attention_view_of(job->turn.gradients->output);
    real *sums = clustered_matrix(&w, job->partials, index, w.d > w.dv ? w.d : w.dv);
    double *shares = job->member_partials + index * job->most;
    memset(sums, 0, w.C * w.dv * sizeof *sums);
    memset(shares, 0, w.C * sizeof *shares);
    for (size_t row = piece->first; row < piece->first + piece->count; row++) {
        const size_t c = *clustered_of(&w, row);
        w.kernels->add(w.dv, sums + c * w.dv, clustered_query(&w, job->turn.g_output, row), sums + c * w.dv);
        shares[c] +=
            (double)w.kernels->dot(w.dv, clustered_query(&w, given, row), clustered_query(&w, job->turn.output, row));
    }
}

static void clustered_share_task(void *context, size_t unit, size_t worker) {
    const attention_clustered_job *job = context;
    const clustered_walk w = clustered_walk_of(job, worker, unit / job->turn.heads, unit % job->turn.heads);
    real *shares = clustered_matrix(&w, job->shares, unit, 1), *log_sums = clustered_matrix(&w, job->log_sums, unit, 1);
    double *sums = job->share_sums + unit * job->most;
    clustered_fold(&w, w.dv, clustered_matrix(&w, job->g_results, unit, w.dv), sums);
    for (size_t c = 0; c < w.C; c++) {
        shares[c] = (real)sums[c];
        log_sums[c] = (real)INFINITY; /* a cluster without queries has no weights */
    }
    for (size_t row = 0; row < w.span.query_count; row++)
        log_sums[*clustered_of(&w, row)] = *clustered_query(&w, job->turn.log_sum_exp, row);
}

/* P = exp(S − lse), dP = do'·v'ᵀ, dS = P∘(dP − D): dv' += Pᵀ·do', dk' += dSᵀ·scale·c, dc += dS·k' (scaled at the
 * end). */
static void clustered_panel_backward(const clustered_walk *w, size_t first, size_t count, size_t key, real *g_rows) {
    const attention_turn *turn = w->turn;
    const KERNELS *k = w->kernels;
    const size_t width = clustered_cut(key, w->span.key_count, CLUSTERED_PANEL);
    const real *g_results = clustered_matrix(w, w->job->g_results, w->unit, w->dv) + first * w->dv;
    const real *log_sums = clustered_matrix(w, w->job->log_sums, w->unit, 1) + first;
    const real *shares = clustered_matrix(w, w->job->shares, w->unit, 1) + first;
    const real *weights = w->job->dropout > 0 ? w->kept : w->tile;
    const ptrdiff_t d = (ptrdiff_t)w->d, dv = (ptrdiff_t)w->dv;
    const bool wants_scores = turn->wants_query || turn->wants_key;
    clustered_take_rows(w, first, count);
    clustered_scores(w, count, width);
    if (wants_scores)
        k->gemm(count, width, w->dv, g_results, dv, 1, w->more, CLUSTERED_PANEL, w->other, CLUSTERED_PANEL, false);
    for (size_t r = 0; r < count; r++) {
        real *tile = w->tile + r * CLUSTERED_PANEL, *other = w->other + r * CLUSTERED_PANEL;
        k->exp_sum(width, log_sums[r], tile);
        if (w->job->dropout > 0) {
            clustered_keep_row(w, first + r, key, width);
            k->multiply(width, tile, w->keep, w->kept + r * CLUSTERED_PANEL);
        }
        if (wants_scores && w->job->dropout > 0)
            k->multiply(width, other, w->keep, other);
        if (wants_scores)
            k->softmax_backward(width, tile, other, shares[r], other);
    }
    if (turn->wants_value)
        k->gemm(width, w->dv, count, weights, 1, CLUSTERED_PANEL, g_results, dv, clustered_key(w, turn->g_value, key),
                turn->g_value.token, true);
    if (turn->wants_key)
        k->gemm(width, w->d, count, w->other, 1, CLUSTERED_PANEL, w->rows, d, clustered_key(w, turn->g_key, key),
                turn->g_key.token, true);
    if (turn->wants_query)
        k->gemm(count, w->d, width, w->other, CLUSTERED_PANEL, 1, clustered_key(w, turn->key, key), turn->key.token,
                g_rows + first * w->d, d, true);
}

static void clustered_key_task(void *context, size_t index, size_t worker) {
    const attention_clustered_job *job = context;
    const attention_turn *turn = &job->turn;
    const attention_piece *piece = &job->turn.keys.pieces[index / turn->kv_heads];
    const size_t kv_head = index % turn->kv_heads, last = piece->first + piece->count;
    clustered_walk w = clustered_walk_of(job, worker, piece->sequence, kv_head * turn->group);
    real *g_rows = clustered_matrix(&w, job->g_partials, index / turn->kv_heads * turn->heads + w.head, w.d);
    if (turn->wants_key)
        kinds_zero_rows(turn->g_key, clustered_key(&w, turn->g_key, piece->first), piece->count, w.d);
    if (turn->wants_value)
        kinds_zero_rows(turn->g_value, clustered_key(&w, turn->g_value, piece->first), piece->count, w.dv);
    memset(g_rows, 0, turn->group * job->most * w.d * sizeof *g_rows); /* of the group's heads: side by side */
    for (size_t key = piece->first; w.C > 0 && key < last && !locus_call_cancelled(); key += CLUSTERED_PANEL) {
        const size_t width = clustered_cut(key, w.span.key_count, CLUSTERED_PANEL);
        w.kernels->transpose(width, w.d, clustered_key(&w, turn->key, key), turn->key.token, w.columns,
                             CLUSTERED_PANEL);
        w.kernels->transpose(width, w.dv, clustered_key(&w, turn->value, key), turn->value.token, w.more,
                             CLUSTERED_PANEL);
        for (size_t g = 0; g < turn->group; g++) {
            clustered_walk own = w;
            own.head += g;
            own.unit += g;
            for (size_t first = 0; first < w.C; first += CLUSTERED_ROWS)
                clustered_panel_backward(&own, first, clustered_cut(first, w.C, CLUSTERED_ROWS), key,
                                         g_rows + g * job->most * w.d);
        }
    }
}

/* dq'_m = dc/|cluster|. */
static void clustered_centroid_task(void *context, size_t unit, size_t worker) {
    const attention_clustered_job *job = context;
    const clustered_walk w = clustered_walk_of(job, worker, unit / job->turn.heads, unit % job->turn.heads);
    real *sum = clustered_matrix(&w, job->g_centroids, unit, w.d);
    memset(sum, 0, w.C * w.d * sizeof *sum);
    for (size_t p = job->turn.keys.of[w.sequence]; p < job->turn.keys.of[w.sequence + 1]; p++)
        w.kernels->add(w.C * w.d, sum, clustered_matrix(&w, job->g_partials, p * job->turn.heads + w.head, w.d), sum);
    for (size_t c = 0; c < w.C; c++) {
        const double members = job->members[unit * job->most + c];
        w.kernels->scale(w.d, (real)(members > 0 ? job->scale / members : 0), sum + c * w.d, sum + c * w.d);
    }
}

static void clustered_spread_task(void *context, size_t index, size_t worker) {
    const attention_clustered_job *job = context;
    const attention_piece *piece = &job->turn.queries.pieces[index / job->turn.heads];
    const clustered_walk w = clustered_walk_of(job, worker, piece->sequence, index % job->turn.heads);
    const real *g_centroids = clustered_matrix(&w, job->g_centroids, w.unit, w.d);
    for (size_t row = piece->first; row < piece->first + piece->count; row++)
        memcpy(clustered_query(&w, job->turn.g_query, row), g_centroids + *clustered_of(&w, row) * w.d,
               w.d * sizeof *g_centroids);
}

static void clustered_backward(attention_turn *turn) {
    const size_t units = turn->sequences * turn->heads, queries = turn->queries.count * turn->heads;
    clustered_find((attention_clustered_job *)turn);
    locus_parallel_for(queries, clustered_gather_task, turn);
    locus_parallel_for(units, clustered_share_task, turn);
    locus_parallel_for(turn->keys.count * turn->kv_heads, clustered_key_task, turn);
    if (!turn->wants_query)
        return;
    locus_parallel_for(units, clustered_centroid_task, turn);
    locus_parallel_for(queries, clustered_spread_task, turn);
}

const attention_bodies REAL_NAME(locus_attention_clustered) = {
    .scratch = clustered_scratch, .forward = clustered_forward, .backward = clustered_backward};

#endif
