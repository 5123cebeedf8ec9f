/* SPDX-License-Identifier: MIT */
/* Backward: for each item (all keys of a sequence, or a part of them) and head, with weights made again from the
 * log-sum-exp L (Dao et al. 2022), a = exp(s − L), c = dropout's factors, D_m = do_m · o_m:
 *
 *   forward                           backward
 *   o = Σ (a c) v'                    dv' = (a c)ᵀ do',  da = c (do' v'ᵀ)
 *   a = softmax s                     ds  = a (da − D)
 *   s = product · factors + biases    dbias = ds,  dfactor = ds · product · other factors,  dproduct = ds · factors
 *   product = q'·k'                   dq' = ds k',  dk' = dsᵀ q'
 *   x' = operator x                   the operator's own backward, which also adds to the gradient slot
 *
 * A worker's memory is linear in the queries of one sequence: q', do', dq'. Keys pass by in panels. */
#ifndef LOCUS_ATTENTION_BACKWARD_BODY_H
#define LOCUS_ATTENTION_BACKWARD_BODY_H

#include "attention/attention_content_body.h"
#include "attention/attention_tile_body.h"

typedef struct backward_worker {
    lane l;
    char *slot;                      /* of this task's group and head, or NULL */
    real *query, *content_query;     /* [queries][ld_key] q' and raw q, scaled */
    real *g_output, *delta;          /* [queries][ld_value] do', [queries] D */
    real *own_g_query, *own_content; /* [queries][ld_key] of a sequence that is not split */
    real *g_query, *content_g_query; /* where dq' and the content term's dq are summed: own or a partial */
    ptrdiff_t ld_g_query;
    real *keys, *key_columns, *value_columns; /* a panel: [panel][ld_key] k', k'ᵀ, v'ᵀ */
    real *g_key, *g_value;                    /* [panel][ld_key], [panel][ld_value] dk', dv' */
    real *rows;                               /* [128][the longer of both] */
    real *output_rows;                        /* [128][ld_value], where a value operator learns */
    real *weight, *g_weight;                  /* tiles [64][128]: s, then a; da, then ds */
    real *product;                            /* [128] a row of scores before the factors */
} backward_worker;

static size_t carve_backward(const attention_job *job, char *base, backward_worker *w) {
    attention_carver carver = {base, 0};
    size_t queries = job->schedule.max_queries, tile = ATTENTION_QUERY_BLOCK * ATTENTION_KEY_BLOCK;
    size_t panel = padded(smaller(job->schedule.max_keys, ATTENTION_KEY_PANEL), ATTENTION_KEY_BLOCK);
    size_t own = job->schedule.partial_rows > 0 && job->sequences == 1 ? 0 : queries;
    lane *l = &w->l;
    carve_lane(job, &carver, l);
    size_t content = job->content_key ? l->ld_key : 0, longer = l->ld_key > l->ld_value ? l->ld_key : l->ld_value;
    w->query = locus_attention_carve(&carver, queries * l->ld_key, sizeof(real));
    w->content_query = locus_attention_carve(&carver, queries * content, sizeof(real));
    w->g_output = locus_attention_carve(&carver, queries * l->ld_value, sizeof(real));
    w->delta = locus_attention_carve(&carver, queries, sizeof(real));
    w->own_g_query = locus_attention_carve(&carver, own * l->ld_key, sizeof(real));
    w->own_content = locus_attention_carve(&carver, own * content, sizeof(real));
    w->keys = locus_attention_carve(&carver, panel * l->ld_key, sizeof(real));
    w->key_columns = locus_attention_carve(&carver, panel * job->head_dim, sizeof(real));
    w->value_columns = locus_attention_carve(&carver, panel * job->value_dim, sizeof(real));
    w->g_key = locus_attention_carve(&carver, panel * l->ld_key, sizeof(real));
    w->g_value = locus_attention_carve(&carver, panel * l->ld_value, sizeof(real));
    w->rows = locus_attention_carve(&carver, ATTENTION_KEY_BLOCK * longer, sizeof(real));
    w->output_rows = locus_attention_carve(&carver, ATTENTION_KEY_BLOCK * l->ld_value, sizeof(real));
    w->weight = locus_attention_carve(&carver, tile, sizeof(real));
    w->g_weight = locus_attention_carve(&carver, tile, sizeof(real));
    w->product = locus_attention_carve(&carver, ATTENTION_KEY_BLOCK, sizeof(real));
    return carver.used;
}

static void *slot_at(const backward_worker *w, size_t offset) {
    return w->slot ? w->slot + offset : NULL;
}

/* ---- rows of a tile ---- */

/* Scores become weights again: a = exp(s − L). Leaves the dropout factors in keep_row. */
static void backward_weights(backward_worker *w, const strip *s, size_t row, size_t count, real *weight) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    real total = *row_of(&job->log_sum_exp, l->span.query_first + row, l->head);
    if (job->learned_factor)
        memcpy(w->product, weight, count * sizeof(real));
    apply_terms(l, s, row, count, weight);
    if (job->dropout > 0)
        dropout_keep(l, s, row, count);
    if (job->drop_logits)
        drop_scores(l, count, weight);
    if (job->drop_logits && total < (real)-5e7) {
        /* Every score of the row was dropped: −10⁸ + ln n has no digits left for ln n. */
        size_t seen = locus_attention_seen(job, l->sequence, &l->span, row);
        for (size_t j = 0; j < count; j++)
            weight[j] = 1 / (real)seen;
        return;
    }
    l->kernels->exp_sum(count, total == -(real)INFINITY ? 0 : total, weight);
}

/* Learned terms' gradients from `g` = dL/ds, then g = dL/d(product). */
static void backward_terms(const backward_worker *w, const strip *s, size_t row, size_t count, real *g) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    size_t offset = job->slots.terms;
    for (size_t t = 0; t < job->term_count && w->slot; t++) {
        const locus_score_term *term = locus_plan_score_term(job->plan, t);
        size_t bytes = term->class->slot_bytes(term);
        const real *gradient = g;
        if (bytes > 0 && term->kind == LOCUS_SCORE_FACTOR) { /* dfactor = ds · product · the other factors */
            gradient = l->product_row;
            l->kernels->multiply(count, g, w->product, l->product_row);
            for (size_t other = 0; other < job->term_count; other++) {
                const locus_score_term *factor = locus_plan_score_term(job->plan, other);
                if (other != t && factor->kind == LOCUS_SCORE_FACTOR)
                    l->kernels->multiply(count, l->product_row, term_values(l, factor, s, row, count), l->product_row);
            }
        }
        locus_score_call call = {REAL_DTYPE, l->head, l->span.query_first + row, l->span.key_first + s->key, count};
        if (bytes > 0)
            term->class->row_backward(term, &call, gradient, w->slot + offset);
        offset += padded(bytes, LOCUS_ALIGNMENT);
    }
    for (size_t t = 0; t < job->term_count; t++) {
        const locus_score_term *term = locus_plan_score_term(job->plan, t);
        if (term->kind == LOCUS_SCORE_FACTOR)
            l->kernels->multiply(count, g, term_values(l, term, s, row, count), g);
    }
}

static void backward_row(backward_worker *w, const strip *s, size_t i, real *g) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    size_t row = s->row + i, count = seen_of(l, row, s->key, s->keys);
    real *weight = s->score + i * ATTENTION_KEY_BLOCK;
    if (count > 0) {
        backward_weights(w, s, row, count, weight);
        if (job->drop_weights)
            l->kernels->multiply(count, g, l->keep_row, g);
        l->kernels->softmax_backward(count, weight, g, w->delta[row], g);
        if (job->drop_weights)
            l->kernels->multiply(count, weight, l->keep_row, weight);
        for (size_t j = 0; job->drop_logits && j < count; j++)
            g[j] = l->keep_row[j] == 0 ? 0 : g[j];
        if (job->term_count > 0)
            backward_terms(w, s, row, count, g);
    }
    if (count < s->keys) {
        memset(weight + count, 0, (s->keys - count) * sizeof(real));
        memset(g + count, 0, (s->keys - count) * sizeof(real));
    }
}

/* ---- strips and tiles ---- */

static void strip_scores(backward_worker *w, const strip *s, const real *columns) {
    const lane *l = &w->l;
    strip_products(l, s, l->job->head_dim, w->query + s->row * l->ld_key, (ptrdiff_t)l->ld_key, columns);
    if (l->job->content_key)
        content_products(l, s, content_keys(l->job), w->content_query + s->row * l->ld_key, (ptrdiff_t)l->ld_key);
}

static void strip_content_backward(backward_worker *w, const strip *s, const strip *g) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    if (job->content_value && w->slot) {
        content_targets to = {.left = row_of(&job->g_output, l->span.query_first + s->row, l->head),
                              .ld_left = job->g_output.token,
                              .slot = slot_at(w, job->slots.content_value)};
        content_sums(l, s, content_values(job), to);
    }
    if (job->content_key) {
        content_targets to = {.rows = w->content_g_query + (ptrdiff_t)s->row * w->ld_g_query,
                              .ld = w->ld_g_query,
                              .left = w->content_query + s->row * l->ld_key,
                              .ld_left = (ptrdiff_t)l->ld_key,
                              .slot = slot_at(w, job->slots.content_key)};
        content_sums(l, g, content_keys(job), to);
    }
}

static void backward_strip(backward_worker *w, const strip *s, const strip *g, size_t panel_row) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    const real *query = w->query + s->row * l->ld_key, *g_output = w->g_output + s->row * l->ld_value;
    ptrdiff_t ld_key = (ptrdiff_t)l->ld_key, ld_value = (ptrdiff_t)l->ld_value;
    strip_scores(w, s, w->key_columns + panel_row * job->head_dim);
    strip_products(l, g, job->value_dim, g_output, ld_value, w->value_columns + panel_row * job->value_dim);
    if (job->content_value)
        content_products(l, g, content_values(job), row_of(&job->g_output, l->span.query_first + s->row, l->head),
                         job->g_output.token);
    for (size_t i = 0; i < s->rows; i++)
        backward_row(w, s, i, g->score + i * ATTENTION_KEY_BLOCK);
    l->kernels->gemm(s->keys, job->value_dim, s->rows, s->score, 1, ATTENTION_KEY_BLOCK, g_output, ld_value,
                     w->g_value + panel_row * l->ld_value, ld_value, true);
    l->kernels->gemm(s->keys, job->head_dim, s->rows, g->score, 1, ATTENTION_KEY_BLOCK, query, ld_key,
                     w->g_key + panel_row * l->ld_key, ld_key, true);
    l->kernels->gemm(s->rows, job->head_dim, s->keys, g->score, ATTENTION_KEY_BLOCK, 1, w->keys + panel_row * l->ld_key,
                     ld_key, w->g_query + (ptrdiff_t)s->row * w->ld_g_query, w->ld_g_query, true);
    if (job->content)
        strip_content_backward(w, s, g);
}

static void backward_tile(backward_worker *w, size_t row, size_t rows, size_t key, size_t keys, size_t panel_row) {
    const lane *l = &w->l;
    size_t step = strip_rows(l, row, rows, key, keys);
    for (size_t i = 0; i < rows; i += step) {
        size_t count = smaller(step, rows - i), seen = seen_of(l, row + i + count - 1, key, keys);
        strip s = {row + i, count, key, seen, w->weight + i * ATTENTION_KEY_BLOCK};
        strip g = {row + i, count, key, seen, w->g_weight + i * ATTENTION_KEY_BLOCK};
        if (seen > 0)
            backward_strip(w, &s, &g, panel_row);
    }
}

/* ---- keys and values: a panel's beginning and end ---- */

static void backward_panel_begin(backward_worker *w, size_t key, size_t count) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    ptrdiff_t ld_value = (ptrdiff_t)l->ld_value;
    size_t token = l->span.key_first + key;
    run r = {LOCUS_ROLE_KEY, LOCUS_FORWARD, token, count, 1};
    size_t near = smaller(count, ATTENTION_KEY_BLOCK);
    prefetch_rows(row_of(&job->key, token, l->head), job->key.token, near, job->head_dim);
    prefetch_rows(row_of(&job->value, token, l->head), job->value.token, near, job->value_dim);
    operate(l, r, row_of(&job->key, token, l->head), job->key.token, w->keys, (ptrdiff_t)l->ld_key);
    fill_columns(l, count, job->head_dim, w->keys, (ptrdiff_t)l->ld_key, w->key_columns);
    prefetch_rows(row_of(&job->g_key, token, l->head), job->g_key.token, near, job->head_dim);
    prefetch_rows(row_of(&job->g_value, token, l->head), job->g_value.token, near, job->value_dim);
    for (size_t first = 0; first < count; first += ATTENTION_KEY_BLOCK) {
        size_t width = smaller(count - first, ATTENTION_KEY_BLOCK);
        run v = {LOCUS_ROLE_VALUE, LOCUS_FORWARD, token + first, width, 1};
        operate(l, v, row_of(&job->value, token + first, l->head), job->value.token, w->rows, ld_value);
        fill_columns(l, width, job->value_dim, w->rows, ld_value, w->value_columns + first * job->value_dim);
    }
    memset(w->g_key, 0, count * l->ld_key * sizeof(real));
    memset(w->g_value, 0, count * l->ld_value * sizeof(real));
}

static void backward_panel_end(backward_worker *w, size_t key, size_t count) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    size_t token = l->span.key_first + key;
    run r = {LOCUS_ROLE_KEY, LOCUS_FORWARD, token, count, 1};
    operate_backward(l, r, row_of(&job->key, token, l->head), job->key.token, w->g_key, (ptrdiff_t)l->ld_key,
                     row_of(&job->g_key, token, l->head), job->g_key.token, slot_at(w, job->slots.query_key));
    r.role = LOCUS_ROLE_VALUE;
    operate_backward(l, r, row_of(&job->value, token, l->head), job->value.token, w->g_value, (ptrdiff_t)l->ld_value,
                     row_of(&job->g_value, token, l->head), job->g_value.token, slot_at(w, job->slots.value));
}

/* ---- queries: beginning and end ---- */

/* Takes what the content term added to the output of rows [row, row + rows) away from `target`: Σ (a c) V[b]. */
static void subtract_content(backward_worker *w, size_t row, size_t rows, real *target) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    size_t keys = seen_of(l, row + rows - 1, 0, l->span.key_count);
    for (size_t key = 0; key < keys; key += ATTENTION_KEY_BLOCK) {
        strip s = {row, rows, key, smaller(keys - key, ATTENTION_KEY_BLOCK), w->weight};
        run r = {LOCUS_ROLE_KEY, LOCUS_FORWARD, l->span.key_first + key, s.keys, 1};
        operate(l, r, row_of(&job->key, r.first, l->head), job->key.token, w->keys, (ptrdiff_t)l->ld_key);
        fill_columns(l, s.keys, job->head_dim, w->keys, (ptrdiff_t)l->ld_key, w->key_columns);
        strip_scores(w, &s, w->key_columns);
        for (size_t i = 0; i < rows; i++) {
            real *weight = w->weight + i * ATTENTION_KEY_BLOCK;
            size_t count = seen_of(l, row + i, key, s.keys);
            if (count == 0)
                continue;
            backward_weights(w, &s, row + i, count, weight);
            if (job->drop_weights)
                l->kernels->multiply(count, weight, l->keep_row, weight);
            l->kernels->scale(count, -1, weight, weight);
        }
        content_sums(l, &s, content_values(job), (content_targets){.rows = target, .ld = (ptrdiff_t)l->ld_value});
    }
}

/* What the value operator's inverse was given for these rows, got back from the output: operators on values are
 * orthogonal. */
static const real *operator_input(backward_worker *w, size_t row, size_t rows) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    size_t token = l->span.query_first + row;
    ptrdiff_t ld = (ptrdiff_t)l->ld_value;
    run r = {LOCUS_ROLE_OUTPUT, LOCUS_INVERSE, token, rows, 1};
    copy_rows(l, &r, row_of(&job->output, token, l->head), job->output.token, w->rows, ld);
    if (job->content_value)
        subtract_content(w, row, rows, w->rows);
    operate(l, r, w->rows, ld, w->output_rows, ld);
    return w->output_rows;
}

/* `learn`: this item adds the output operator's gradient (the first part of a sequence does, once for all). */
static void backward_queries_begin(backward_worker *w, size_t row, size_t rows, bool learn) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    size_t token = l->span.query_first + row;
    const real *q = row_of(&job->query, token, l->head), *o = row_of(&job->output, token, l->head);
    const real *g = row_of(&job->g_output, token, l->head), *x = NULL;
    run r = {LOCUS_ROLE_QUERY, LOCUS_FORWARD, token, rows, (real)job->scale};
    prefetch_rows(q, job->query.token, rows, job->head_dim);
    prefetch_rows(g, job->g_output.token, rows, job->value_dim);
    prefetch_rows(o, job->output.token, rows, job->value_dim);
    operate(l, r, q, job->query.token, w->query + row * l->ld_key, (ptrdiff_t)l->ld_key);
    if (job->content_key) {
        r.scale = (real)job->content_scale;
        copy_rows(l, &r, q, job->query.token, w->content_query + row * l->ld_key, (ptrdiff_t)l->ld_key);
    }
    learn = learn && w->slot && job->value_operator && job->value_operator->class->slot_bytes(job->value_operator) > 0;
    if (learn)
        x = operator_input(w, row, rows);
    run out = {LOCUS_ROLE_OUTPUT, LOCUS_FORWARD, token, rows, 1};
    operate_backward(l, out, x, (ptrdiff_t)l->ld_value, g, job->g_output.token, w->g_output + row * l->ld_value,
                     (ptrdiff_t)l->ld_value, learn ? slot_at(w, job->slots.value) : NULL);
    g = row_of(&job->g_given, token, l->head);
    for (size_t i = 0; i < rows; i++)
        w->delta[row + i] = l->kernels->dot(job->value_dim, g + (ptrdiff_t)i * job->g_given.token,
                                            o + (ptrdiff_t)i * job->output.token);
}

/* dq from the sums of rows [row, row + rows), which start at `g` and `content`. */
static void backward_queries_end(backward_worker *w, size_t row, size_t rows, const real *g, const real *content,
                                 ptrdiff_t ld) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    size_t token = l->span.query_first + row;
    real *target = row_of(&job->g_query, token, l->head);
    run r = {LOCUS_ROLE_QUERY, LOCUS_FORWARD, token, rows, (real)job->scale};
    operate_backward(l, r, row_of(&job->query, token, l->head), job->query.token, g, ld, target, job->g_query.token,
                     slot_at(w, job->slots.query_key));
    for (size_t i = 0; job->content_key && i < rows; i++)
        l->kernels->axpy(job->head_dim, (real)job->content_scale, content + (ptrdiff_t)i * ld,
                         target + (ptrdiff_t)i * job->g_query.token);
}

/* ---- items ---- */

static size_t partial_offset(const backward_worker *w, const attention_item *item) {
    const attention_job *job = w->l.job;
    return (item->partial * job->heads + w->l.head * w->l.span.query_count) * job->head_dim;
}

static void begin_item(backward_worker *w, const attention_item *item, size_t head) {
    lane *l = &w->l;
    const attention_job *job = l->job;
    l->head = head;
    l->sequence = item->sequence;
    l->span = locus_plan_span(job->plan, item->sequence);
    w->g_query = w->own_g_query;
    w->content_g_query = w->own_content;
    w->ld_g_query = (ptrdiff_t)l->ld_key;
    if (item->partial != ATTENTION_NO_PARTIAL) {
        size_t offset = partial_offset(w, item);
        w->g_query = (real *)(void *)job->partials + offset;
        w->content_g_query = (real *)(void *)job->content_partials + offset;
        w->ld_g_query = (ptrdiff_t)job->head_dim;
    }
    size_t bytes = l->span.query_count * (size_t)w->ld_g_query * sizeof(real);
    memset(w->g_query, 0, bytes);
    if (job->content_key)
        memset(w->content_g_query, 0, bytes);
}

static void backward_panel(backward_worker *w, size_t first_row, size_t panel, size_t count) {
    const lane *l = &w->l;
    backward_panel_begin(w, panel, count);
    for (size_t row = first_row; row < l->span.query_count; row += ATTENTION_QUERY_BLOCK) {
        size_t rows = smaller(l->span.query_count - row, ATTENTION_QUERY_BLOCK);
        size_t seen = seen_of(l, row + rows - 1, panel, count);
        for (size_t key = 0; key < seen; key += ATTENTION_KEY_BLOCK)
            backward_tile(w, row, rows, panel + key, smaller(seen - key, ATTENTION_KEY_BLOCK), key);
    }
    backward_panel_end(w, panel, count);
}

static void backward_item(backward_worker *w, const attention_item *item, size_t head) {
    const lane *l = &w->l;
    begin_item(w, item, head);
    size_t queries = l->span.query_count, first_row = 0;
    while (first_row + ATTENTION_QUERY_BLOCK < queries &&
           seen_of(l, first_row + ATTENTION_QUERY_BLOCK - 1, item->first, item->count) == 0)
        first_row += ATTENTION_QUERY_BLOCK; /* rows that see nothing of this item */
    for (size_t row = first_row; row < queries; row += ATTENTION_QUERY_BLOCK)
        backward_queries_begin(w, row, smaller(queries - row, ATTENTION_QUERY_BLOCK), item->first == 0);
    for (size_t key = 0; key < item->count; key += ATTENTION_KEY_PANEL)
        backward_panel(w, first_row, item->first + key, smaller(item->count - key, ATTENTION_KEY_PANEL));
    if (item->partial == ATTENTION_NO_PARTIAL && queries > 0)
        backward_queries_end(w, 0, queries, w->g_query, w->content_g_query, w->ld_g_query);
}

/* target = the first part's rows + the second's + …, in this order. */
static void add_partials(const backward_worker *w, const char *partials, const attention_item *item, size_t row,
                         size_t rows, real *target) {
    const attention_job *job = w->l.job;
    const real *source = (const real *)(const void *)partials + partial_offset(w, item) + row * job->head_dim;
    size_t count = rows * job->head_dim, step = w->l.span.query_count * job->heads * job->head_dim;
    memcpy(target, source, count * sizeof(real));
    for (size_t part = 1; part < item->parts; part++)
        w->l.kernels->add(count, target, source + part * step, target);
}

static void join_item(backward_worker *w, const attention_item *item, size_t head) {
    lane *l = &w->l;
    const attention_job *job = l->job;
    l->head = head;
    l->sequence = item->sequence;
    l->span = locus_plan_span(job->plan, item->sequence);
    for (size_t row = 0; row < l->span.query_count; row += ATTENTION_KEY_BLOCK) {
        size_t rows = smaller(l->span.query_count - row, ATTENTION_KEY_BLOCK);
        add_partials(w, job->partials, item, row, rows, w->keys);
        if (job->content_key)
            add_partials(w, job->content_partials, item, row, rows, w->g_key);
        backward_queries_end(w, row, rows, w->keys, w->g_key, (ptrdiff_t)job->head_dim);
    }
}

static size_t begin_task(const attention_job *job, size_t index, size_t worker, backward_worker *w) {
    const attention_schedule *schedule = &job->schedule;
    size_t group = index / job->heads, head = index % job->heads;
    carve_backward(job, job->workers + worker * job->worker_bytes, w);
    w->slot = job->slots_wanted && job->slots.bytes > 0
                  ? job->slot_data + (head * schedule->group_count + group) * job->slots.bytes
                  : NULL;
    return group;
}

static void backward_task(void *context, size_t index, size_t worker) {
    const attention_job *job = context;
    backward_worker w;
    size_t group = begin_task(job, index, worker, &w);
    if (w.slot)
        memset(w.slot, 0, job->slots.bytes);
    for (size_t i = job->schedule.groups[group]; i < job->schedule.groups[group + 1]; i++)
        backward_item(&w, &job->schedule.items[i], index % job->heads);
}

/* Split sequences: their partial sums of dq' are complete only after the first loop. */
static void join_task(void *context, size_t index, size_t worker) {
    const attention_job *job = context;
    backward_worker w;
    size_t group = begin_task(job, index, worker, &w);
    for (size_t i = job->schedule.groups[group]; i < job->schedule.groups[group + 1]; i++)
        if (job->schedule.items[i].parts > 0)
            join_item(&w, &job->schedule.items[i], index % job->heads);
}

size_t REAL_NAME(locus_attention_backward_scratch)(const attention_job *job) {
    backward_worker w;
    return carve_backward(job, NULL, &w);
}

void REAL_NAME(locus_attention_backward)(const attention_job *job) {
    attention_job shared = *job;
    size_t tasks = job->schedule.group_count * job->heads, rows = job->content ? 2 * job->content->window + 1 : 0;
    if (job->content_key)
        fill_table_columns(KERNELS_GET(), rows, job->head_dim, job->content_key, job->content_key_columns);
    if (job->content_value)
        fill_table_columns(KERNELS_GET(), rows, job->value_dim, job->content_value, job->content_value_columns);
    locus_parallel_for(tasks, backward_task, &shared);
    if (job->schedule.partial_rows > 0)
        locus_parallel_for(tasks, join_task, &shared);
}

#endif
