/* SPDX-License-Identifier: MIT */
/* Decoding: few queries against many keys. Reading the keys is what it costs, so they are read once, where they lie,
 * neither copied nor transposed, and in the order of memory: for each part of a sequence's keys, of one key-value head
 * where its rows follow one another, else of a few whose rows of a token do, with all rows r (query i of head g of a
 * group) at once
 *
 *   s_rj = q'_r · k_j, then what a score becomes elsewhere;  m_r = max_j s_rj,  p = exp(s − m),  l_r = Σ_j p_rj,
 *   o_r = Σ_j dropout(p_rj) v_j
 *
 * and then, for each row, its parts in order: m = max(m, m_p), with l and o of both brought to it. Parts begin at fixed
 * keys, so results depend neither on threads nor on how parts are shared out.
 *
 * Operators on keys and values still act, run by run into scratch. */
#ifndef LOCUS_ATTENTION_DECODE_BODY_H
#define LOCUS_ATTENTION_DECODE_BODY_H

#include "attention/softmax/attention_forward_body.h"
#include "attention/softmax/attention_tile_body.h"

enum {
    DECODE_RUN = 16,  /* keys at a time; those of the next run are asked for meanwhile */
    DECODE_MANY = 12, /* rows from which broadcasting keys against transposed queries beats products of rows */
    DECODE_WIDTH = 16 /* rows are padded to a multiple of it there */
};

typedef struct decode_worker {
    lane l;
    size_t first_kv, kv_count;   /* key-value heads of the task */
    size_t queries, rows, width; /* rows = group · queries; width: rows padded, 0 if they are few */
    real *query;                 /* [kv_count][rows][ld_key] q', scaled */
    real *query_columns;         /* [kv_count][head_dim][width] */
    real *products;              /* [16][width] */
    real *score;                 /* [kv_count][rows][ATTENTION_DECODE_PART] */
    real *turned;                /* [16][ld_key or ld_value], where operators act */
    real *sum;                   /* [kv_count][rows][ld_value] */
    real *top, *total;           /* [rows] */
} decode_worker;

static size_t decode_width(size_t rows) {
    return rows < DECODE_MANY ? 0 : padded(rows, DECODE_WIDTH);
}

static size_t carve_decode(const attention_job *job, char *base, decode_worker *w) {
    attention_carver carver = {base, 0};
    const size_t rows = job->schedule.decode_queries * job->group, width = decode_width(rows);
    const size_t all = rows * job->schedule.decode_heads;
    lane *l = &w->l;
    carve_lane(job, &carver, job->schedule.decode_queries, l);
    const size_t longer = l->ld_key > l->ld_value ? l->ld_key : l->ld_value;
    w->query = locus_attention_carve(&carver, all * l->ld_key, sizeof(real));
    w->query_columns = locus_attention_carve(&carver, job->schedule.decode_heads * width * job->head_dim, sizeof(real));
    w->products = locus_attention_carve(&carver, width * DECODE_RUN, sizeof(real));
    w->score = locus_attention_carve(&carver, all * ATTENTION_DECODE_PART, sizeof(real));
    w->turned = locus_attention_carve(&carver, DECODE_RUN * longer, sizeof(real));
    w->sum = locus_attention_carve(&carver, all * l->ld_value, sizeof(real));
    w->top = locus_attention_carve(&carver, rows, sizeof(real));
    w->total = locus_attention_carve(&carver, rows, sizeof(real));
    return carver.used;
}

static void decode_sequence(decode_worker *w, size_t sequence, size_t heads) {
    lane *l = &w->l;
    l->sequence = sequence;
    l->span = locus_plan_span(l->job->plan, sequence);
    w->first_kv = heads * l->job->schedule.decode_heads;
    w->kv_count = smaller(l->job->kv_heads - w->first_kv, l->job->schedule.decode_heads);
    w->queries = l->span.query_count;
    w->rows = w->queries * l->job->group;
    w->width = decode_width(w->rows);
}

/* Chooses key-value head `k` of the task, and row r of it: returns the query's index. */
static size_t decode_row(decode_worker *w, size_t k, size_t r) {
    choose_head(&w->l, w->first_kv + k, r / w->queries);
    return r % w->queries;
}

static void decode_queries(decode_worker *w, size_t k) {
    lane *l = &w->l;
    const attention_job *job = l->job;
    const run r = {LOCUS_ROLE_QUERY, LOCUS_FORWARD, l->span.query_first, w->queries, (real)job->scale};
    real *query = w->query + k * w->rows * l->ld_key, *columns = w->query_columns + k * w->width * job->head_dim;
    for (size_t row = 0; row < w->rows; row += w->queries) {
        decode_row(w, k, row);
        operate(l, r, query_row(l, &job->query, r.first), job->query.token, query + row * l->ld_key,
                (ptrdiff_t)l->ld_key);
    }
    if (w->width == 0)
        return;
    l->kernels->transpose(w->rows, job->head_dim, query, (ptrdiff_t)l->ld_key, columns, (ptrdiff_t)w->width);
    for (size_t d = 0; d < job->head_dim; d++)
        memset(columns + d * w->width + w->rows, 0, (w->width - w->rows) * sizeof(real));
}

/* ---- a run of keys ---- */

/* Whether rows are read as bfloat16 and widened in registers only, so that arithmetic and memory go on together. */
static bool decode_halves(const decode_worker *w, locus_role role) {
    const lane *l = &w->l;
    return REAL_DTYPE == LOCUS_FLOAT32 && row_dtype(l, role) == LOCUS_BFLOAT16 && !role_operator(l, role) &&
           (role == LOCUS_ROLE_KEY ? w->width == 0 : !l->apart);
}

typedef struct decode_rows {
    kept_rows wide;
    const uint16_t *halves; /* or NULL: wide */
} decode_rows;

/* Keys or values `key` … of the head that is chosen, turned. Those of the next run, `next` of them, are asked for
 * unless they follow in memory: there the processor reads ahead by itself, and requests stand in its way. */
static decode_rows decode_run(const decode_worker *w, locus_role role, size_t key, size_t count, size_t next) {
    const lane *l = &w->l;
    const size_t token = l->span.key_first + key, ld = role == LOCUS_ROLE_KEY ? l->ld_key : l->ld_value;
    if (!l->job->rows_follow)
        prefetch_kept(l, role, token + DECODE_RUN, next);
    if (decode_halves(w, role)) {
        const attention_view *view = kept_view(l, role);
        return (decode_rows){{NULL, view->token}, (const uint16_t *)view->data + row_offset(l, view, role, token)};
    }
    const kept_rows rows = kept_at(l, role, token, count);
    if (!role_operator(l, role))
        return (decode_rows){rows, NULL};
    const run r = {role, LOCUS_FORWARD, token, count, 1};
    operate(l, r, rows.data, rows.stride, w->turned, (ptrdiff_t)ld);
    return (decode_rows){{w->turned, (ptrdiff_t)ld}, NULL};
}

#if LOCUS_REAL_BITS == 32
#define DECODE_HALVES(kernel, ...) l->halves->kernel##_bfloat16(__VA_ARGS__)
#else
#define DECODE_HALVES(kernel, ...) (void)0
#endif

static void decode_products(decode_worker *w, size_t k, size_t count, decode_rows rows, real *score) {
    const lane *l = &w->l;
    const kept_rows keys = rows.wide;
    const size_t dim = l->job->head_dim;
    const ptrdiff_t width = (ptrdiff_t)w->width;
    const real *query = w->query + k * w->rows * l->ld_key;
    score += k * w->rows * ATTENTION_DECODE_PART;
    if (rows.halves) {
        DECODE_HALVES(dots, w->rows, count, dim, query, (ptrdiff_t)l->ld_key, rows.halves, keys.stride, score,
                      ATTENTION_DECODE_PART);
        return;
    }
    if (w->width == 0) {
        l->kernels->dots(w->rows, count, dim, query, (ptrdiff_t)l->ld_key, keys.data, keys.stride, score,
                         ATTENTION_DECODE_PART);
        return;
    }
    l->kernels->gemm(count, w->width, dim, keys.data, keys.stride, 1, w->query_columns + k * w->width * dim, width,
                     w->products, width, false);
    l->kernels->transpose(count, w->rows, w->products, width, score, ATTENTION_DECODE_PART);
}

static void decode_sums(decode_worker *w, size_t k, size_t count, decode_rows rows, const real *weight) {
    const lane *l = &w->l;
    const kept_rows values = rows.wide;
    const size_t dim = l->job->value_dim;
    real *sum = w->sum + k * w->rows * l->ld_value;
    weight += k * w->rows * ATTENTION_DECODE_PART;
    if (rows.halves)
        DECODE_HALVES(sums, w->rows, count, dim, weight, ATTENTION_DECODE_PART, rows.halves, values.stride, sum,
                      (ptrdiff_t)l->ld_value);
    else
        l->kernels->gemm(w->rows, dim, count, weight, ATTENTION_DECODE_PART, 1, values.data, values.stride, sum,
                         (ptrdiff_t)l->ld_value, true);
}
#undef DECODE_HALVES

/* The same with `apart`: keys `key` … of the sequence. */
static void decode_sums_apart(decode_worker *w, size_t k, size_t key, size_t count, kept_rows values,
                              const real *weight) {
    for (size_t r = 0; r < w->rows; r++) {
        const seen_columns seen = columns_seen(&w->l, decode_row(w, k, r), key, count);
        add_seen_rows(&w->l, &seen, w->l.job->value_dim, weight + (k * w->rows + r) * ATTENTION_DECODE_PART,
                      values.data, values.stride, w->sum + (k * w->rows + r) * w->l.ld_value);
    }
}

/* Keys, or values, of a part that some query sees, run by run; within a run head by head. */
static void decode_walk(decode_worker *w, locus_role role, const attention_item *part, const attention_seen *seen) {
    for (size_t first = 0; first < part->count; first += DECODE_RUN) {
        const size_t count = smaller(part->count - first, DECODE_RUN), left = part->count - first - count;
        if (!locus_attention_seen_any(seen, part->first + first, count))
            continue;
        for (size_t k = 0; k < w->kv_count; k++) {
            choose_head(&w->l, w->first_kv + k, 0);
            const decode_rows rows = decode_run(w, role, part->first + first, count, smaller(left, DECODE_RUN));
            if (role == LOCUS_ROLE_KEY)
                decode_products(w, k, count, rows, w->score + first);
            else if (w->l.apart)
                decode_sums_apart(w, k, part->first + first, count, rows.wide, w->score + first);
            else
                decode_sums(w, k, count, rows, w->score + first);
        }
    }
}

/* ---- a part ---- */

/* Block `block` of a part as a strip of one row. */
static strip decode_strip(const attention_item *part, size_t query, size_t block, real *score) {
    const size_t at = block * ATTENTION_KEY_BLOCK;
    strip s = {
        query,      1,    part->first + at, at < part->count ? smaller(part->count - at, ATTENTION_KEY_BLOCK) : 0,
        score + at, false};
    return s;
}

enum { DECODE_BLOCKS = ATTENTION_DECODE_PART / ATTENTION_KEY_BLOCK };

/* Scores of query i, head l->head, become weights, zero where it sees nothing. */
static void decode_softmax(const lane *l, const attention_item *part, size_t i, real *score, real *top, real *total) {
    const attention_job *job = l->job;
    *top = -(real)INFINITY;
    *total = 0;
    for (size_t b = 0; b < DECODE_BLOCKS; b++) {
        const strip s = decode_strip(part, i, b, score);
        const cut c = s.keys > 0 ? cut_of(l, i, s.key, s.keys) : (cut){0, 0, 0, 0};
        if (c.from >= c.to)
            continue;
        real peak = finish_scores(l, &s, i, &c, s.score, NULL);
        if (job->drop_logits)
            dropout_keep(l, &s, i, &c);
        peak = mask_scores(l, &s, i, &c, s.score, peak);
        *top = peak > *top ? peak : *top;
    }
    for (size_t b = 0; b < DECODE_BLOCKS; b++) {
        const strip s = decode_strip(part, i, b, score);
        const cut c = s.keys > 0 ? cut_of(l, i, s.key, s.keys) : (cut){0, 0, 0, 0};
        const size_t count = c.to - c.from;
        if (count > 0)
            *total += l->kernels->exp_sum(count, *top == -(real)INFINITY ? 0 : *top, s.score + c.from);
        if (count > 0 && job->drop_weights) {
            dropout_keep(l, &s, i, &c);
            l->kernels->multiply(count, s.score + c.from, l->keep_row + c.from, s.score + c.from);
        }
        clear_outside(&c, s.keys, s.score);
    }
}

static size_t decode_at(const decode_worker *w, const attention_item *part, size_t i) {
    return (part->partial + i) * w->l.job->heads + w->l.head;
}

static void decode_part(decode_worker *w, const attention_item *part, size_t heads) {
    lane *l = &w->l;
    const attention_job *job = l->job;
    real *tops = (real *)(void *)job->decode_tops, *totals = (real *)(void *)job->decode_totals;
    real *sums = (real *)(void *)job->decode_sums;
    decode_sequence(w, part->sequence, heads);
    const attention_seen seen = look(l, 0, w->queries);
    for (size_t k = 0; k < w->kv_count; k++)
        decode_queries(w, k);
    decode_walk(w, LOCUS_ROLE_KEY, part, &seen);
    for (size_t k = 0; k < w->kv_count; k++)
        for (size_t r = 0; r < w->rows; r++) {
            const size_t i = decode_row(w, k, r), at = decode_at(w, part, i);
            decode_softmax(l, part, i, w->score + (k * w->rows + r) * ATTENTION_DECODE_PART, &tops[at], &totals[at]);
        }
    const size_t summed = w->kv_count * w->rows * l->ld_value;
    do {
        memset(w->sum, 0, summed * sizeof(real));
        decode_walk(w, LOCUS_ROLE_VALUE, part, &seen);
        l->apart = !l->apart && !all_finite(l, summed, w->sum);
    } while (l->apart);
    for (size_t k = 0; k < w->kv_count; k++)
        for (size_t r = 0; r < w->rows; r++) {
            const size_t i = decode_row(w, k, r);
            memcpy(sums + decode_at(w, part, i) * job->value_dim, w->sum + (k * w->rows + r) * l->ld_value,
                   job->value_dim * sizeof(real));
        }
}

/* ---- all parts of a sequence ---- */

static void join_row(decode_worker *w, const attention_item *parts, size_t i, size_t row) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    const real *tops = (const real *)(void *)job->decode_tops, *totals = (const real *)(void *)job->decode_totals;
    const real *sums = (const real *)(void *)job->decode_sums;
    real *sum = w->sum + row * l->ld_value, top, total;
    begin_row(l, &top, &total);
    memset(sum, 0, job->value_dim * sizeof(real));
    for (size_t p = 0; p < parts->parts; p++) {
        const size_t at = decode_at(w, &parts[p], i);
        if (totals[at] == 0)
            continue;
        real factor = 1;
        if (tops[at] > top) {
            const real before = real_exp(top - tops[at]);
            l->kernels->scale(job->value_dim, before, sum, sum);
            total *= before;
            top = tops[at];
        } else {
            factor = real_exp(tops[at] - top);
        }
        total += factor * totals[at];
        l->kernels->axpy(job->value_dim, factor, sums + at * job->value_dim, sum);
    }
    w->top[row] = top;
    w->total[row] = total;
}

static void join_parts(decode_worker *w, const attention_item *parts, size_t heads) {
    lane *l = &w->l;
    decode_sequence(w, parts->sequence, heads);
    for (size_t k = 0; k < w->kv_count; k++)
        for (size_t row = 0; row < w->rows; row += w->queries) {
            decode_row(w, k, row);
            for (size_t i = 0; i < w->queries; i++)
                join_row(w, parts, i, row + i);
            finish_rows(l, l->span.query_first, w->queries, w->top + row, w->total + row, w->sum + row * l->ld_value);
        }
}

static void decode_task(void *context, size_t index, size_t worker) {
    const attention_job *job = context;
    const size_t runs = job->schedule.decode_head_runs;
    decode_worker w;
    carve_decode(job, job->workers + worker * job->worker_bytes, &w);
    decode_part(&w, &job->schedule.parts[index / runs], index % runs);
}

static void join_decode_task(void *context, size_t index, size_t worker) {
    const attention_job *job = context;
    const size_t runs = job->schedule.decode_head_runs;
    decode_worker w;
    carve_decode(job, job->workers + worker * job->worker_bytes, &w);
    join_parts(&w, &job->schedule.parts[job->schedule.joins[index / runs]], index % runs);
}

/* ---- the forward pass ---- */

static size_t forward_scratch(const attention_job *job) {
    forward_worker tiles;
    decode_worker decode;
    const size_t of_tiles = job->schedule.item_count > 0 ? carve_forward(job, NULL, &tiles) : 0;
    const size_t of_decode = job->schedule.part_count > 0 ? carve_decode(job, NULL, &decode) : 0;
    return of_tiles > of_decode ? of_tiles : of_decode;
}

static void forward(attention_job *job) {
    const attention_schedule *schedule = &job->schedule;
    size_t rows = job->content ? 2 * job->content->window + 1 : 0;
    if (job->content_key)
        fill_table_columns(KERNELS_GET(), rows, job->head_dim, job->content_key, job->content_key_columns);
    if (schedule->group_count > 0)
        locus_parallel_for(schedule->group_count * attention_head_runs(job), forward_task, job);
    if (schedule->part_count == 0)
        return;
    locus_parallel_for(schedule->part_count * schedule->decode_head_runs, decode_task, job);
    locus_parallel_for(schedule->join_count * schedule->decode_head_runs, join_decode_task, job);
}

#endif
