/* SPDX-License-Identifier: MIT */
/* The loops of linear attention, for one element type; see attention_linear.h. d and dv are a head's dimensions. */
#ifndef LOCUS_ATTENTION_LINEAR_BODY_H
#define LOCUS_ATTENTION_LINEAR_BODY_H

/* A worker's scratch and what it works on. */
typedef struct linear_walk {
    const attention_linear_job *job;
    const attention_turn *turn;
    const KERNELS *kernels;
    size_t sequence, head, kv_head, d, dv;
    locus_sequence_span span;
    size_t have, counted;          /* tokens that are in the state's matrix, and in its vector */
    real *state, *vector, *across; /* [state_size], its last d elements, the matrix transposed */
    real *columns, *more;          /* [max(d, dv)][LINEAR_CHUNK]: rows transposed */
    real *tile, *other;            /* [LINEAR_CHUNK][LINEAR_CHUNK] */
} linear_walk;

static size_t linear_carve(const attention_linear_job *job, void *base, linear_walk *w) {
    attention_carver carver = {base, 0};
    const size_t d = job->turn.head_dim, dv = job->turn.value_dim, most = d > dv ? d : dv;
    w->state = kinds_carve(&carver, job->state_size);
    w->vector = w->state ? w->state + d * dv : NULL;
    w->across = kinds_carve(&carver, d * dv);
    w->columns = kinds_carve(&carver, most * LINEAR_CHUNK);
    w->more = kinds_carve(&carver, most * LINEAR_CHUNK);
    w->tile = kinds_carve(&carver, (size_t)LINEAR_CHUNK * LINEAR_CHUNK);
    w->other = kinds_carve(&carver, (size_t)LINEAR_CHUNK * LINEAR_CHUNK);
    return carver.used;
}

static size_t linear_scratch(const attention_turn *turn) {
    linear_walk w;
    return linear_carve((const attention_linear_job *)turn, NULL, &w);
}

/* `head` is of queries, or of keys and values with `keys`. */
static linear_walk linear_walk_of(const attention_linear_job *job, size_t worker, size_t sequence, size_t head,
                                  bool keys) {
    linear_walk w = {.job = job, .turn = &job->turn, .kernels = KERNELS_GET(), .sequence = sequence, .head = head};
    linear_carve(job, job->turn.workers + worker * job->turn.worker_bytes, &w);
    w.kv_head = keys ? head : head / job->turn.group;
    w.d = job->turn.head_dim;
    w.dv = job->turn.value_dim;
    w.span = locus_plan_span(job->turn.plan, sequence);
    return w;
}

/* Rows by their number within the sequence. */
static real *linear_query(const linear_walk *w, const attention_view *view, size_t row, size_t head) {
    return row_of(view, w->sequence, w->span.query_first, w->span.query_first + row, head);
}

static real *linear_key(const linear_walk *w, const attention_view *view, size_t key) {
    return row_of(view, w->sequence, w->span.key_first, w->span.key_first + key, w->kv_head);
}

static real *linear_number(const linear_walk *w, void *numbers, size_t row, size_t head) {
    return (real *)numbers + head * w->turn->query_tokens + w->span.query_first + row;
}

static real *linear_slot(const linear_walk *w, void *states, const attention_cut *cut, size_t slot) {
    const size_t at = cut->of[w->sequence] + w->sequence + slot;
    return (real *)states + (at * w->turn->kv_heads + w->kv_head) * w->job->state_size;
}

/* ---- φ ---- */

static void linear_feature(const KERNELS *kernels, size_t n, real scale, const real *restrict x, real *restrict y) {
    for (size_t i = 0; i < n; i++)
        y[i] = scale * x[i] < 0 ? scale * x[i] : 0;
    kernels->exp_sum(n, 0, y);
    for (size_t i = 0; i < n; i++)
        y[i] += scale * x[i] < 0 ? 0 : scale * x[i]; /* in this order NaN stays NaN */
}

/* What is done to tokens: all queries of a piece and head, or all keys. */
typedef struct linear_rows {
    bool keys;
    size_t sequence, start; /* the sequence's first token */
    size_t first, count, head;
} linear_rows;

static real *linear_row(const linear_rows *rows, const attention_view *view, size_t i) {
    return row_of(view, rows->sequence, rows->start, rows->first + i, rows->head);
}

static void linear_feature_rows(const attention_linear_job *job, const linear_rows *rows) {
    const attention_view source = locus_attention_view_of(rows->keys ? job->turn.given->key : job->turn.given->query);
    const attention_view *target = rows->keys ? &job->key_features : &job->query_features;
    for (size_t i = 0; i < rows->count; i++)
        linear_feature(KERNELS_GET(), job->turn.head_dim, rows->keys ? 1 : (real)job->scale,
                       linear_row(rows, &source, i), linear_row(rows, target, i));
}

typedef struct linear_tokens {
    attention_turn *turn;
    void (*visit)(const attention_linear_job *job, const linear_rows *rows);
} linear_tokens;

static void linear_tokens_task(void *context, size_t index, size_t worker) {
    const linear_tokens *tokens = context;
    const attention_linear_job *job = (const attention_linear_job *)tokens->turn;
    const size_t heads = job->turn.heads, kv_heads = job->turn.kv_heads, queries = job->turn.queries.count * heads;
    const bool keys = index >= queries;
    const size_t own = keys ? index - queries : index, width = keys ? kv_heads : heads;
    const attention_piece *piece = &(keys ? job->turn.keys : job->turn.queries).pieces[own / width];
    const locus_sequence_span span = locus_plan_span(job->turn.plan, piece->sequence);
    const size_t start = keys ? span.key_first : span.query_first;
    const linear_rows rows = {keys, piece->sequence, start, start + piece->first, piece->count, own % width};
    (void)worker;
    tokens->visit(job, &rows);
}

static void linear_each_token(linear_tokens tokens) {
    const attention_turn *turn = tokens.turn;
    locus_parallel_for(turn->queries.count * turn->heads + turn->keys.count * turn->kv_heads, linear_tokens_task,
                       &tokens);
}

static void linear_before(attention_turn *turn) {
    attention_linear_job *job = (attention_linear_job *)turn;
    job->given = locus_attention_view_of(turn->gradients ? turn->gradients->output : NULL);
    linear_each_token((linear_tokens){turn, linear_feature_rows});
    turn->query_source = job->feature_query;
    turn->key_source = job->feature_key;
}

/* ---- states ---- */

/* Adds keys first … end − 1 to the matrix: S in the forward, Sᵀ in the backward. */
static void linear_add_keys(const linear_walk *w, size_t first, size_t end, real *state) {
    const attention_view *key = &w->turn->key, *value = &w->turn->value;
    const real *k = linear_key(w, key, first), *v = linear_key(w, value, first);
    if (end <= first)
        return;
    if (w->turn->pass == LOCUS_PASS_FORWARD)
        kinds_add_products(w->kernels, end - first, k, key->token, w->d, v, value->token, w->dv, state);
    else
        kinds_add_products(w->kernels, end - first, v, value->token, w->dv, k, key->token, w->d, state);
}

static void linear_count_keys(const linear_walk *w, size_t first, size_t end, real *vector) {
    for (size_t n = first; n < end; n++)
        w->kernels->add(w->d, vector, linear_key(w, &w->job->key_features, n), vector);
}

/* Adds queries first … end − 1 of all heads of the group to R. */
static void linear_add_queries(const linear_walk *w, size_t first, size_t end, real *state) {
    const attention_view *query = &w->turn->query, *scaled = &w->job->scaled;
    for (size_t g = 0; g < w->turn->group && first < end; g++) {
        const size_t head = w->kv_head * w->turn->group + g;
        kinds_add_products(w->kernels, end - first, linear_query(w, query, first, head), query->token, w->d,
                           linear_query(w, scaled, first, head), scaled->token, w->dv, state);
    }
}

/* r: from the last query to the first, as the walk goes. */
static void linear_count_queries(const linear_walk *w, size_t first, size_t end, real *vector) {
    for (size_t m = end; m-- > first;)
        for (size_t g = 0; g < w->turn->group; g++) {
            const size_t head = w->kv_head * w->turn->group + g;
            w->kernels->axpy(w->d, *linear_number(w, w->job->share, m, head),
                             linear_query(w, &w->job->query_features, m, head), vector);
        }
}

/* The slots that some walk starts with; others are not filled in. */
static size_t linear_last_key_slot(const linear_walk *w) {
    const size_t pieces = w->job->turn.queries.of[w->sequence + 1] - w->job->turn.queries.of[w->sequence];
    if (pieces == 0)
        return 0;
    return locus_attention_linear_key_slot(w->job, w->sequence, &w->span, (pieces - 1) * LINEAR_PIECE);
}

static size_t linear_first_query_slot(const linear_walk *w) {
    const size_t keys = w->span.key_count < LINEAR_PIECE ? w->span.key_count : LINEAR_PIECE;
    return keys == 0 ? SIZE_MAX : locus_attention_linear_query_slot(w->job, w->sequence, &w->span, keys - 1);
}

static void linear_key_sum_task(void *context, size_t index, size_t worker) {
    const attention_linear_job *job = context;
    const attention_piece *piece = &job->turn.keys.pieces[index / job->turn.kv_heads];
    const linear_walk w = linear_walk_of(job, worker, piece->sequence, index % job->turn.kv_heads, true);
    if (piece->index >= linear_last_key_slot(&w))
        return;
    real *state = linear_slot(&w, job->key_states, &job->turn.keys, piece->index + 1);
    memset(state, 0, job->state_size * sizeof *state);
    linear_add_keys(&w, piece->first, piece->first + piece->count, state);
    linear_count_keys(&w, piece->first, piece->first + piece->count, state + w.d * w.dv);
}

static void linear_query_sum_task(void *context, size_t index, size_t worker) {
    const attention_linear_job *job = context;
    const attention_piece *piece = &job->turn.queries.pieces[index / job->turn.kv_heads];
    const linear_walk w = linear_walk_of(job, worker, piece->sequence, index % job->turn.kv_heads, true);
    if (piece->index < linear_first_query_slot(&w))
        return;
    real *state = linear_slot(&w, job->query_states, &job->turn.queries, piece->index);
    memset(state, 0, job->state_size * sizeof *state);
    linear_add_queries(&w, piece->first, piece->first + piece->count, state);
    linear_count_queries(&w, piece->first, piece->first + piece->count, state + w.d * w.dv);
}

static void linear_key_scan_task(void *context, size_t index, size_t worker) {
    const attention_linear_job *job = context;
    const linear_walk w = linear_walk_of(job, worker, index / job->turn.kv_heads, index % job->turn.kv_heads, true);
    const size_t last = linear_last_key_slot(&w);
    real *slot = linear_slot(&w, job->key_states, &job->turn.keys, 0);
    memset(slot, 0, job->state_size * sizeof *slot);
    for (size_t p = 1; p <= last; p++) {
        real *next = linear_slot(&w, job->key_states, &job->turn.keys, p);
        w.kernels->add(job->state_size, slot, next, next);
        slot = next;
    }
}

static void linear_query_scan_task(void *context, size_t index, size_t worker) {
    const attention_linear_job *job = context;
    const linear_walk w = linear_walk_of(job, worker, index / job->turn.kv_heads, index % job->turn.kv_heads, true);
    const size_t first = linear_first_query_slot(&w);
    size_t p = job->turn.queries.of[w.sequence + 1] - job->turn.queries.of[w.sequence];
    real *slot = linear_slot(&w, job->query_states, &job->turn.queries, p);
    memset(slot, 0, job->state_size * sizeof *slot);
    while (p-- > 0 && p >= first) {
        real *before = linear_slot(&w, job->query_states, &job->turn.queries, p);
        w.kernels->add(job->state_size, slot, before, before);
        slot = before;
    }
}

static void linear_make_key_states(attention_turn *turn) {
    locus_parallel_for(turn->keys.count * turn->kv_heads, linear_key_sum_task, turn);
    locus_parallel_for(turn->sequences * turn->kv_heads, linear_key_scan_task, turn);
}

static void linear_make_query_states(attention_turn *turn) {
    locus_parallel_for(turn->queries.count * turn->kv_heads, linear_query_sum_task, turn);
    locus_parallel_for(turn->sequences * turn->kv_heads, linear_query_scan_task, turn);
}

/* ---- walks over queries ---- */

static linear_walk linear_query_walk(const attention_linear_job *job, const attention_piece *piece, size_t head,
                                     size_t worker) {
    linear_walk w = linear_walk_of(job, worker, piece->sequence, head, false);
    const size_t slot = locus_attention_linear_key_slot(job, w.sequence, &w.span, piece->first);
    const size_t keys = slot * LINEAR_PIECE;
    w.have = w.counted = keys < w.span.key_count ? keys : w.span.key_count;
    memcpy(w.state, linear_slot(&w, job->key_states, &job->turn.keys, slot), job->state_size * sizeof(real));
    return w;
}

/* Row r of a tile sees the first seen(row + r) − from of its columns. */
static void linear_mask_rows(const linear_walk *w, size_t row, size_t count, size_t from, size_t width, real *tile) {
    for (size_t r = 0; r < count; r++) {
        const size_t seen = locus_attention_linear_seen(w->job, w->sequence, &w->span, row + r) - from;
        memset(tile + r * LINEAR_CHUNK + seen, 0, (width - seen) * sizeof *tile);
    }
}

/* ---- numbers that are not finite ---- */

/* A tile's zeros would carry them to rows that do not see them, as attention_tile_body.h tells: where what the tile is
 * multiplied with is not finite, each of its rows meets what it sees, alone. */
static bool linear_rows_finite(const linear_walk *w, size_t count, size_t dim, const real *rows, ptrdiff_t ld) {
    real sum = 0;
    for (size_t i = 0; i < count; i++, rows += ld)
        sum += w->kernels->dot(dim, rows, rows) * 0;
    return sum == 0;
}

/* Keys or values from `from` on, and the rows of queries that the tile adds them up to. */
typedef struct linear_products {
    size_t row, count, from, width, dim;
    const real *rows;
    ptrdiff_t ld;
    real *sums;
    ptrdiff_t ld_sums;
} linear_products;

/* sums[r] += tile[r] · rows, over the first seen(row + r) − from columns: the others are 0. */
static void linear_add_tile(const linear_walk *w, const linear_products *p) {
    if (linear_rows_finite(w, p->width, p->dim, p->rows, p->ld)) {
        w->kernels->gemm(p->count, p->dim, p->width, w->tile, LINEAR_CHUNK, 1, p->rows, p->ld, p->sums, p->ld_sums,
                         true);
        return;
    }
    for (size_t r = 0; r < p->count; r++) {
        const size_t seen = locus_attention_linear_seen(w->job, w->sequence, &w->span, p->row + r) - p->from;
        if (seen > 0)
            w->kernels->gemm(1, p->dim, seen, w->tile + r * LINEAR_CHUNK, 0, 1, p->rows, p->ld,
                             p->sums + (ptrdiff_t)r * p->ld_sums, 0, true);
    }
}

/* ---- a row's denominator ---- */

/* z of one row, the vector brought up to what the row sees. */
static real linear_denominator(linear_walk *w, size_t row) {
    const size_t seen = locus_attention_linear_seen(w->job, w->sequence, &w->span, row);
    linear_count_keys(w, w->counted, seen, w->vector);
    w->counted = seen > w->counted ? seen : w->counted;
    return w->kernels->dot(w->d, linear_query(w, &w->job->query_features, row, w->head), w->vector);
}

static void linear_forward_chunk(linear_walk *w, size_t row, size_t count) {
    const attention_turn *turn = w->turn;
    const KERNELS *k = w->kernels;
    const size_t seen = locus_attention_linear_seen(w->job, w->sequence, &w->span, row);
    const size_t width = locus_attention_linear_seen(w->job, w->sequence, &w->span, row + count - 1) - seen;
    const real *query = linear_query(w, &turn->query, row, w->head);
    real *output = linear_query(w, &turn->output, row, w->head);
    linear_add_keys(w, w->have, seen, w->state);
    w->have = seen;
    k->gemm(count, w->dv, w->d, query, turn->query.token, 1, w->state, (ptrdiff_t)w->dv, output, turn->output.token,
            false);
    if (width > 0) {
        k->transpose(width, w->d, linear_key(w, &turn->key, seen), turn->key.token, w->columns, LINEAR_CHUNK);
        k->gemm(count, width, w->d, query, turn->query.token, 1, w->columns, LINEAR_CHUNK, w->tile, LINEAR_CHUNK,
                false);
        linear_mask_rows(w, row, count, seen, width, w->tile);
        const linear_products values = {row,
                                        count,
                                        seen,
                                        width,
                                        w->dv,
                                        linear_key(w, &turn->value, seen),
                                        turn->value.token,
                                        output,
                                        turn->output.token};
        linear_add_tile(w, &values);
    }
    for (size_t r = 0; r < count; r++, output += turn->output.token) {
        const real z = linear_denominator(w, row + r);
        k->scale(w->dv, z == 0 ? 0 : 1 / z, output, output);
        kinds_set(linear_query(w, &turn->log_sum_exp, row + r, w->head), log((double)z));
    }
}

static void linear_forward_task(void *context, size_t index, size_t worker) {
    const attention_linear_job *job = context;
    const attention_piece *piece = &job->turn.queries.pieces[index / job->turn.heads];
    linear_walk w = linear_query_walk(job, piece, index % job->turn.heads, worker);
    for (size_t done = 0; done < piece->count; done += LINEAR_CHUNK) {
        const size_t left = piece->count - done;
        linear_forward_chunk(&w, piece->first + done, left < LINEAR_CHUNK ? left : LINEAR_CHUNK);
    }
}

static void linear_forward(attention_turn *turn) {
    linear_make_key_states(turn);
    locus_parallel_for(turn->queries.count * turn->heads, linear_forward_task, turn);
}

/* z, 1/z, e, g and e·c of a row: o'_m = q'_m S_m / z_m. */
static void linear_row_backward(linear_walk *w, size_t row) {
    const attention_turn *turn = w->turn;
    const real z = linear_denominator(w, row), inverse = z == 0 ? 0 : 1 / z;
    const real *given = linear_query(w, &w->job->given, row, w->head);
    const real share = -inverse * w->kernels->dot(w->dv, given, linear_query(w, &turn->output, row, w->head));
    *linear_number(w, w->job->inverse, row, w->head) = inverse;
    *linear_number(w, w->job->share, row, w->head) = share;
    w->kernels->scale(w->dv, inverse, linear_query(w, &turn->g_output, row, w->head),
                      linear_query(w, &w->job->scaled, row, w->head));
    if (!turn->wants_query)
        return;
    if (turn->acts_query_key)
        w->kernels->scale(w->d, share, w->vector, linear_query(w, &w->job->rest_query, row, w->head));
    else
        w->kernels->axpy(w->d, share, w->vector, linear_query(w, &turn->g_query, row, w->head));
}

/* dq' = g Sᵀ, and within the chunk dq' += (g v'ᵀ masked) k'. */
static void linear_backward_chunk(linear_walk *w, size_t row, size_t count) {
    const attention_turn *turn = w->turn;
    const attention_view *scaled = &w->job->scaled;
    const KERNELS *k = w->kernels;
    const size_t seen = locus_attention_linear_seen(w->job, w->sequence, &w->span, row);
    const size_t width = locus_attention_linear_seen(w->job, w->sequence, &w->span, row + count - 1) - seen;
    const real *g = linear_query(w, scaled, row, w->head);
    real *g_query = linear_query(w, &turn->g_query, row, w->head);
    if (turn->wants_query)
        kinds_zero_rows(turn->g_query, g_query, count, w->d);
    for (size_t r = 0; r < count; r++)
        linear_row_backward(w, row + r);
    if (!turn->wants_query)
        return;
    linear_add_keys(w, w->have, seen, w->state);
    w->have = seen;
    k->gemm(count, w->d, w->dv, g, scaled->token, 1, w->state, (ptrdiff_t)w->d, g_query, turn->g_query.token, true);
    if (width == 0)
        return;
    k->transpose(width, w->dv, linear_key(w, &turn->value, seen), turn->value.token, w->columns, LINEAR_CHUNK);
    k->gemm(count, width, w->dv, g, scaled->token, 1, w->columns, LINEAR_CHUNK, w->tile, LINEAR_CHUNK, false);
    linear_mask_rows(w, row, count, seen, width, w->tile);
    const linear_products keys = {
        row, count, seen, width, w->d, linear_key(w, &turn->key, seen), turn->key.token, g_query, turn->g_query.token};
    linear_add_tile(w, &keys);
}

static void linear_query_task(void *context, size_t index, size_t worker) {
    const attention_linear_job *job = context;
    const attention_piece *piece = &job->turn.queries.pieces[index / job->turn.heads];
    linear_walk w = linear_query_walk(job, piece, index % job->turn.heads, worker);
    for (size_t done = 0; done < piece->count; done += LINEAR_CHUNK) {
        const size_t left = piece->count - done;
        linear_backward_chunk(&w, piece->first + done, left < LINEAR_CHUNK ? left : LINEAR_CHUNK);
    }
}

/* ---- walks over keys, from the last to the first ---- */

/* sums[j] += tile[j] · rows, of queries first … first + count − 1, over the columns that key + j is seen by: the others
 * are 0. */
static void linear_add_corner(const linear_walk *w, size_t key, size_t keys, size_t first, size_t count, size_t dim,
                              const real *tile, const real *rows, ptrdiff_t ld, attention_view to) {
    if (linear_rows_finite(w, count, dim, rows, ld)) {
        w->kernels->gemm(keys, dim, count, tile, LINEAR_CHUNK, 1, rows, ld, linear_key(w, &to, key), to.token, true);
        return;
    }
    for (size_t j = 0; j < keys; j++) {
        const size_t blind = locus_attention_linear_first(w->job, w->sequence, &w->span, key + j) - first;
        if (blind < count)
            w->kernels->gemm(1, dim, count - blind, tile + j * LINEAR_CHUNK + blind, 0, 1, rows + (ptrdiff_t)blind * ld,
                             ld, linear_key(w, &to, key + j), 0, true);
    }
}

/* Queries first … first + count − 1, none of which sees all of the chunk's keys: dk' += (v' gᵀ masked) q', and
 * dv' += (k' q'ᵀ masked) g. Column c is seen by key j if the query first + c sees it. */
static void linear_key_corner(linear_walk *w, size_t key, size_t keys, size_t first, size_t count) {
    const attention_turn *turn = w->turn;
    const attention_view *scaled = &w->job->scaled;
    const KERNELS *k = w->kernels;
    for (size_t g = 0; g < turn->group; g++) {
        const size_t head = w->kv_head * turn->group + g;
        const real *query = linear_query(w, &turn->query, first, head), *grad = linear_query(w, scaled, first, head);
        if (turn->wants_value) {
            k->transpose(count, w->d, query, turn->query.token, w->columns, LINEAR_CHUNK);
            k->gemm(keys, count, w->d, linear_key(w, &turn->key, key), turn->key.token, 1, w->columns, LINEAR_CHUNK,
                    w->tile, LINEAR_CHUNK, false);
        }
        if (turn->wants_key) {
            k->transpose(count, w->dv, grad, scaled->token, w->more, LINEAR_CHUNK);
            k->gemm(keys, count, w->dv, linear_key(w, &turn->value, key), turn->value.token, 1, w->more, LINEAR_CHUNK,
                    w->other, LINEAR_CHUNK, false);
        }
        for (size_t j = 0; j < keys; j++) {
            const size_t blind = locus_attention_linear_first(w->job, w->sequence, &w->span, key + j) - first;
            memset(w->tile + j * LINEAR_CHUNK, 0, blind * sizeof(real));
            memset(w->other + j * LINEAR_CHUNK, 0, blind * sizeof(real));
        }
        if (turn->wants_value)
            linear_add_corner(w, key, keys, first, count, w->dv, w->tile, grad, scaled->token, turn->g_value);
        if (turn->wants_key)
            linear_add_corner(w, key, keys, first, count, w->d, w->other, query, turn->query.token, turn->g_key);
    }
}

/* r of the chunk's keys; the last use of its k' is over. */
static void linear_key_rests(linear_walk *w, size_t key, size_t keys) {
    for (size_t j = key + keys; j-- > key;) {
        const size_t first = locus_attention_linear_first(w->job, w->sequence, &w->span, j);
        linear_count_queries(w, first, w->counted, w->vector);
        w->counted = first;
        if (w->turn->acts_query_key)
            memcpy(linear_key(w, &w->job->rest_key, j), w->vector, w->d * sizeof(real));
        else
            w->kernels->add(w->d, linear_key(w, &w->turn->g_key, j), w->vector, linear_key(w, &w->turn->g_key, j));
    }
}

static void linear_key_chunk(linear_walk *w, size_t key, size_t keys) {
    const attention_turn *turn = w->turn;
    const KERNELS *k = w->kernels;
    const size_t first = locus_attention_linear_first(w->job, w->sequence, &w->span, key);
    const size_t all = locus_attention_linear_first(w->job, w->sequence, &w->span, key + keys - 1);
    linear_add_queries(w, all, w->have, w->state);
    w->have = all;
    if (turn->wants_value)
        k->gemm(keys, w->dv, w->d, linear_key(w, &turn->key, key), turn->key.token, 1, w->state, (ptrdiff_t)w->dv,
                linear_key(w, &turn->g_value, key), turn->g_value.token, false);
    if (turn->wants_key) {
        k->transpose(w->d, w->dv, w->state, (ptrdiff_t)w->dv, w->across, (ptrdiff_t)w->d);
        k->gemm(keys, w->d, w->dv, linear_key(w, &turn->value, key), turn->value.token, 1, w->across, (ptrdiff_t)w->d,
                linear_key(w, &turn->g_key, key), turn->g_key.token, false);
    }
    if (all > first)
        linear_key_corner(w, key, keys, first, all - first);
    if (turn->wants_key)
        linear_key_rests(w, key, keys);
}

static void linear_key_task(void *context, size_t index, size_t worker) {
    const attention_linear_job *job = context;
    const attention_piece *piece = &job->turn.keys.pieces[index / job->turn.kv_heads];
    linear_walk w = linear_walk_of(job, worker, piece->sequence, index % job->turn.kv_heads, true);
    size_t end = piece->first + piece->count;
    const size_t slot = locus_attention_linear_query_slot(job, w.sequence, &w.span, end - 1);
    const size_t after = slot * LINEAR_PIECE;
    w.have = w.counted = after < w.span.query_count ? after : w.span.query_count;
    memcpy(w.state, linear_slot(&w, job->query_states, &job->turn.queries, slot), job->state_size * sizeof(real));
    while (end > piece->first) {
        size_t key = end - piece->first > LINEAR_CHUNK ? end - LINEAR_CHUNK : piece->first;
        if (job->mask == LOCUS_MASK_PREFIX && key < job->prefix[w.sequence] && job->prefix[w.sequence] < end)
            key = job->prefix[w.sequence]; /* the first query that sees a key jumps there */
        linear_key_chunk(&w, key, end - key);
        end = key;
    }
}

static void linear_backward(attention_turn *turn) {
    linear_make_key_states(turn);
    locus_parallel_for(turn->queries.count * turn->heads, linear_query_task, turn);
    if (!turn->wants_key && !turn->wants_value)
        return;
    linear_make_query_states(turn);
    locus_parallel_for(turn->keys.count * turn->kv_heads, linear_key_task, turn);
}

/* ---- through φ ---- */

/* dL/dx = (dL/dφ)·φ'(x): φ' is 1 above 0, and φ itself below, and takes the place of φ. */
static void linear_finish_row(const KERNELS *kernels, size_t n, real scale, real *feature, const real *rest,
                              real *gradient) {
    for (size_t i = 0; i < n; i++)
        feature[i] = feature[i] > 1 ? 1 : feature[i];
    if (rest)
        kernels->add(n, gradient, rest, gradient);
    kernels->multiply(n, gradient, feature, gradient);
    kernels->scale(n, scale, gradient, gradient);
}

static void linear_finish_rows(const attention_linear_job *job, const linear_rows *rows) {
    const attention_view *feature = rows->keys ? &job->key_features : &job->query_features;
    const attention_view gradient = rows->keys ? job->turn.g_key : job->turn.g_query;
    const attention_view rest = rows->keys ? job->rest_key : job->rest_query;
    if (!gradient.data)
        return;
    for (size_t i = 0; i < rows->count; i++)
        linear_finish_row(KERNELS_GET(), job->turn.head_dim, rows->keys ? 1 : (real)job->scale,
                          linear_row(rows, feature, i), linear_row(rows, &rest, i), linear_row(rows, &gradient, i));
}

static void linear_after(attention_turn *turn) {
    linear_each_token((linear_tokens){turn, linear_finish_rows});
}

const attention_bodies REAL_NAME(locus_attention_linear) = {.scratch = linear_scratch,
                                                            .before = linear_before,
                                                            .forward = linear_forward,
                                                            .backward = linear_backward,
                                                            .after = linear_after};

#endif
