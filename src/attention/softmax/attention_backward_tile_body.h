/* SPDX-License-Identifier: MIT */
/* Backward, the inside: a worker's memory, and one tile of weights and their gradients. See
 * attention_backward_body.h. */
#ifndef LOCUS_ATTENTION_BACKWARD_TILE_BODY_H
#define LOCUS_ATTENTION_BACKWARD_TILE_BODY_H

#include "attention/softmax/attention_content_body.h"
#include "attention/softmax/attention_pairs_body.h"
#include "attention/softmax/attention_tile_body.h"

typedef struct backward_worker {
    lane l;
    size_t first_head, heads;        /* of the group that the task does: a run */
    size_t first_key;                /* of the item */
    char *slot;                      /* of this task's group and query head, or NULL */
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
    real *product;                            /* [128] a row of scores, capped, before the factors */
    real *row_totals;                         /* [64] log-sum-exps */
    real *own_entered, *entered_key;          /* [queries][ld_key], [panel][ld_key] of an operator that enters, or NULL:
                                                 see locus_operator_call */
    real *entered_query;                      /* own, or NULL where others do the rest */
    bool finite;                              /* all sums were, so far */
    /* With pairs. Of queries, which are not scaled then, and do': rows, and blocks of 64 on their side. Of a panel: k'
     * and v' as columns, k' as pairs. What was set apart is kept in rows, or, of keys, in rare_keys. */
    uint16_t *half_query, *half_g_output, *query_sideways, *g_output_sideways;
    uint16_t *half_key_columns, *half_value_columns, *half_keys, *rare_keys;
    size_t room, ld_sums;                     /* rows of half_keys; of the sums below */
    bool *bad_query, *bad_g_output, *bad_key; /* [queries], [queries], [panel] */
    bool any_bad_query, any_bad_g_output, any_bad_key;
    uint16_t *weight_pairs, *ds_pairs, *ds; /* of a tile, twice as [128/16][64/2][16][2], and [64][128] */
    real *g_key_sums, *g_value_sums;        /* [dim][ld_sums] dk' and dv' on their side */
} backward_worker;

static void carve_backward_pairs(const attention_job *job, attention_carver *carver, size_t panel, backward_worker *w) {
    const lane *l = &w->l;
    const size_t queries = padded(job->schedule.max_queries, ATTENTION_QUERY_BLOCK), block = ATTENTION_QUERY_BLOCK;
    const size_t tile = block * ATTENTION_KEY_BLOCK, ld_key = l->ld_half_key, ld_value = l->ld_half_value;
    const size_t size = sizeof(uint16_t), blocks = queries / block;
    w->room = panel + ATTENTION_PAIRS_MORE;
    w->ld_sums = panel + LOCUS_PAIRS_COLUMNS;
    w->any_bad_query = w->any_bad_g_output = w->any_bad_key = false;
    if (!job->pairs)
        return;
    w->half_query = locus_attention_carve(carver, queries * ld_key, size);
    w->half_g_output = locus_attention_carve(carver, queries * ld_value, size);
    w->query_sideways = locus_attention_carve(carver, blocks * sideways_size(ld_key), size);
    w->g_output_sideways = locus_attention_carve(carver, blocks * sideways_size(ld_value), size);
    w->half_key_columns = locus_attention_carve(carver, panel * ld_key, size);
    w->half_value_columns = locus_attention_carve(carver, panel * ld_value, size);
    w->half_keys = locus_attention_carve(carver, w->room * ld_key, size);
    w->rare_keys = locus_attention_carve(carver, panel * ld_key, size);
    w->bad_query = locus_attention_carve(carver, queries, sizeof(bool));
    w->bad_g_output = locus_attention_carve(carver, queries, sizeof(bool));
    w->bad_key = locus_attention_carve(carver, panel, sizeof(bool));
    w->weight_pairs = locus_attention_carve(carver, tile, size);
    w->ds_pairs = locus_attention_carve(carver, tile, size);
    w->ds = locus_attention_carve(carver, tile, size);
    w->g_key_sums = locus_attention_carve(carver, job->head_dim * w->ld_sums, sizeof(real));
    w->g_value_sums = locus_attention_carve(carver, job->value_dim * w->ld_sums, sizeof(real));
}

static size_t carve_backward(const attention_job *job, char *base, backward_worker *w) {
    attention_carver carver = {base, 0};
    size_t queries = job->schedule.max_queries, tile = (size_t)ATTENTION_QUERY_BLOCK * ATTENTION_KEY_BLOCK;
    size_t panel = padded(smaller(job->schedule.max_keys, ATTENTION_KEY_PANEL), ATTENTION_KEY_BLOCK);
    size_t own = job->schedule.partial_rows > 0 && job->sequences == 1 ? 0 : queries;
    lane *l = &w->l;
    carve_lane(job, &carver, queries, l);
    size_t content = job->content_key ? l->ld_key : 0, longer = l->ld_key > l->ld_value ? l->ld_key : l->ld_value;
    const size_t floats = job->pairs ? 0 : 1; /* of what there is as pairs */
    w->query = locus_attention_carve(&carver, floats * queries * l->ld_key, sizeof(real));
    w->content_query = locus_attention_carve(&carver, queries * content, sizeof(real));
    w->g_output = locus_attention_carve(&carver, floats * queries * l->ld_value, sizeof(real));
    w->delta = locus_attention_carve(&carver, queries, sizeof(real));
    w->own_g_query = locus_attention_carve(&carver, own * l->ld_key, sizeof(real));
    w->own_content = locus_attention_carve(&carver, own * content, sizeof(real));
    w->keys = locus_attention_carve(&carver, panel * l->ld_key, sizeof(real));
    w->key_columns = locus_attention_carve(&carver, floats * panel * job->head_dim, sizeof(real));
    w->value_columns = locus_attention_carve(&carver, floats * panel * job->value_dim, sizeof(real));
    carve_backward_pairs(job, &carver, panel, w);
    w->g_key = locus_attention_carve(&carver, panel * l->ld_key, sizeof(real));
    w->g_value = locus_attention_carve(&carver, panel * l->ld_value, sizeof(real));
    w->rows = locus_attention_carve(&carver, ATTENTION_KEY_BLOCK * longer, sizeof(real));
    w->output_rows = locus_attention_carve(&carver, ATTENTION_KEY_BLOCK * l->ld_value, sizeof(real));
    w->weight = locus_attention_carve(&carver, tile, sizeof(real));
    w->g_weight = locus_attention_carve(&carver, tile, sizeof(real));
    w->product = locus_attention_carve(&carver, ATTENTION_KEY_BLOCK, sizeof(real));
    if (job->distances && job->term_count == 1)
        l->values = locus_attention_carve(&carver, ATTENTION_KEY_BLOCK, sizeof(real));
    w->row_totals = locus_attention_carve(&carver, ATTENTION_QUERY_BLOCK, sizeof(real));
    w->entered_query = w->own_entered = w->entered_key = NULL;
    w->first_key = 0;
    if (!job->pairs && job->query_key && job->query_key->enters) {
        w->own_entered = locus_attention_carve(&carver, own * l->ld_key, sizeof(real));
        w->entered_key = locus_attention_carve(&carver, panel * l->ld_key, sizeof(real));
    }
    return carver.used;
}

static void *slot_at(const backward_worker *w, size_t offset) {
    return w->slot ? w->slot + offset : NULL;
}

/* ---- rows of a tile ---- */

/* How many keys a row sees. */
static size_t seen_count(const lane *l, size_t row) {
    const attention_seen *all = &l->seen[row - l->seen_first];
    size_t count = all->high - all->low + all->kept_high - all->kept_low;
    for (size_t key = 0; l->job->bias.data && key < all->high; key += ATTENTION_KEY_BLOCK) {
        const seen_columns seen = columns_seen(l, row, key, ATTENTION_KEY_BLOCK);
        for (size_t j = seen.c.from; j < seen.c.to; j++)
            count -= (j < seen.c.gap || j >= seen.c.gap_end) && !sees_column(&seen, j);
    }
    return count;
}

static void clear_gap(const cut *c, real *row) {
    if (c->gap < c->gap_end)
        memset(row + c->gap, 0, (c->gap_end - c->gap) * sizeof(real));
}

/* Scores become weights again at the columns of c: a = exp(s − L). Leaves the dropout factors in keep_row, and in
 * `product` what the gradients of the terms need. `weight`: the row's first column. */
static void backward_weights(backward_worker *w, const strip *s, size_t row, const cut *c, real *weight) {
    lane *l = &w->l;
    const attention_job *job = l->job;
    const size_t count = c->to - c->from;
    real total = *query_row(l, &job->log_sum_exp, l->span.query_first + row);
    if (job->distances)
        measure_row(l, s, row, c);
    finish_scores(l, s, row, c, weight, job->learned_factor || job->cap != 0 ? w->product : NULL);
    if (job->dropout > 0)
        dropout_keep(l, s, row, c);
    if (job->drop_logits && total < (real)-5e7) {
        /* Every score of the row was dropped: −10⁸ + ln n has no digits left for ln n. */
        const real each = 1 / (real)seen_count(l, row);
        for (size_t j = c->from; j < c->to; j++)
            weight[j] = j >= c->gap && j < c->gap_end ? 0 : each;
    } else {
        mask_scores(l, s, row, c, weight, 0);
        l->kernels->exp_sum(count, total == -(real)INFINITY ? 0 : total, weight + c->from);
    }
    if (l->pairs)
        clear_gap(c, weight);
    hide_columns(l, s, row, c, 0, weight); /* the total may be NaN, of a row that sees one */
}

/* Learned terms' gradients from `g` = dL/ds at the columns of c, of which it is the first; then g = dL/d(product). */
static void backward_terms(const backward_worker *w, const strip *s, size_t row, const cut *c, real *g) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    const size_t count = c->to - c->from;
    size_t offset = job->slots.terms;
    for (size_t t = 0; t < job->term_count && w->slot; t++) {
        const locus_score_term *term = locus_plan_score_term(job->plan, t);
        size_t bytes = locus_score_slot_bytes(term);
        const real *gradient = g;
        if (bytes > 0 && term->kind == LOCUS_SCORE_FACTOR) { /* dfactor = ds · capped · the other factors */
            gradient = l->product_row;
            l->kernels->multiply(count, g, w->product, l->product_row);
            for (size_t other = 0; other < job->term_count; other++) {
                const locus_score_term *factor = locus_plan_score_term(job->plan, other);
                if (other != t && factor->kind == LOCUS_SCORE_FACTOR)
                    l->kernels->multiply(count, l->product_row, term_values(l, factor, s, row, c), l->product_row);
            }
        }
        const locus_score_call call = term_call(l, term, s, row, c);
        if (bytes > 0)
            term->class->row_backward(term, &call, gradient, w->slot + offset);
        offset += padded(bytes, LOCUS_ALIGNMENT);
    }
    for (size_t t = 0; t < job->term_count; t++) {
        const locus_score_term *term = locus_plan_score_term(job->plan, t);
        if (term->kind == LOCUS_SCORE_FACTOR)
            l->kernels->multiply(count, g, term_values(l, term, s, row, c), g);
    }
    if (job->cap != 0)
        l->kernels->soft_cap_backward(count, (real)job->cap, w->product, g);
}

/* Weights `a`, before dropout, and da at the columns of c: g = da becomes ds. */
static void backward_softmax(const backward_worker *w, const strip *s, size_t row, const cut *c, const real *a,
                             real *g) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    const size_t count = c->to - c->from;
    real *ds = g + c->from;
    if (job->drop_weights)
        l->kernels->multiply(count, ds, l->keep_row + c->from, ds);
    l->kernels->softmax_backward(count, a, ds, w->delta[row], ds);
    if (l->apart || l->pairs) /* weights of 0, but times what is not seen */
        clear_gap(c, g);
    for (size_t j = c->from; job->drop_logits && j < c->to; j++)
        g[j] = l->keep_row[j] == 0 ? 0 : g[j];
    hide_columns(l, s, row, c, 0, g);
}

/* The bias's gradient, where an element has one score: ds at the columns of c; `g` is the row's first column. */
static void store_bias_row(const lane *l, const strip *s, size_t row, const cut *c, const real *g) {
    const bool gap = c->gap < c->gap_end;
    const attention_range parts[] = {{c->from, gap ? c->gap : c->to}, {gap ? c->gap_end : c->to, c->to}};
    for (size_t i = 0; i < 2; i++)
        if (parts[i].low < parts[i].high)
            locus_attention_bias_store(&l->job->g_bias, l->sequence, l->head, row, s->key + parts[i].low,
                                       parts[i].high - parts[i].low, REAL_DTYPE, g + parts[i].low);
}

static void backward_row(backward_worker *w, const strip *s, size_t i, real *g) {
    const lane *l = &w->l;
    const size_t row = s->row + i;
    const cut c = strip_cut(l, s, row);
    real *weight = s->score + i * ATTENTION_KEY_BLOCK, *a = weight + c.from;
    if (c.from < c.to) {
        backward_weights(w, s, row, &c, weight);
        if (l->job->wants_scores)
            backward_softmax(w, s, row, &c, a, g);
        if (l->job->stores_bias)
            store_bias_row(l, s, row, &c, g);
        if (l->job->wants_scores && (l->job->term_count > 0 || l->job->cap != 0))
            backward_terms(w, s, row, &c, g + c.from);
        if (l->pairs) { /* terms were of what is not seen, too */
            clear_gap(&c, g);
            hide_columns(l, s, row, &c, 0, g);
        }
        if (l->job->drop_weights)
            l->kernels->multiply(c.to - c.from, a, l->keep_row + c.from, a);
    }
    clear_outside(&c, s->keys, weight);
    if (l->job->wants_scores)
        clear_outside(&c, s->keys, g);
}

/* The log-sum-exps of a strip's rows, side by side. */
static const real *strip_totals(const backward_worker *w, const strip *s) {
    const lane *l = &w->l;
    const attention_view *totals = &l->job->log_sum_exp;
    const real *total = query_row(l, totals, l->span.query_first + s->row);
    for (size_t i = 0; i < s->rows; i++, total += totals->token)
        w->row_totals[i] = *total;
    return w->row_totals;
}

/* All rows of a plain call's strip. */
static void backward_plain_rows(const backward_worker *w, const strip *s, const strip *g) {
    const locus_softmax_rows rows = strip_cuts(&w->l, s);
    w->l.kernels->softmax_rows_backward(&rows, strip_totals(w, s), w->delta + s->row, s->score,
                                        w->l.job->wants_scores ? g->score : NULL);
}

/* ---- strips and tiles ---- */

static void strip_scores(backward_worker *w, const strip *s, const real *columns) {
    lane *l = &w->l;
    strip_products(l, s, l->job->head_dim, w->query + s->row * l->ld_key, (ptrdiff_t)l->ld_key, columns);
    if (l->job->content_key)
        content_products(l, s, content_keys(l->job), w->content_query + s->row * l->ld_key, (ptrdiff_t)l->ld_key);
}

static void strip_content_backward(backward_worker *w, const strip *s, const strip *g) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    if (job->content_value && w->slot) {
        content_targets to = {.left = query_row(l, &job->g_output, l->span.query_first + s->row),
                              .ld_left = job->g_output.token,
                              .slot = slot_at(w, job->slots.content_value)};
        content_sums(l, s, content_values(job), to);
    }
    if (job->content_key && (job->wants_query || w->slot)) {
        content_targets to = {.rows = !job->wants_query ? NULL : w->content_g_query + (ptrdiff_t)s->row * w->ld_g_query,
                              .ld = w->ld_g_query,
                              .left = w->content_query + s->row * l->ld_key,
                              .ld_left = (ptrdiff_t)l->ld_key,
                              .slot = slot_at(w, job->slots.content_key)};
        content_sums(l, g, content_keys(job), to);
    }
}

/* dv' += (a c)ᵀ do', dk' += dproductᵀ q', dq' += dproduct k' of a strip, whose keys begin at row `at` of the panel. */
static void backward_sums(backward_worker *w, const strip *s, const strip *g, size_t at) {
    lane *l = &w->l;
    const attention_job *job = l->job;
    const real *query = w->query + s->row * l->ld_key, *g_output = w->g_output + s->row * l->ld_value;
    const ptrdiff_t ld_key = (ptrdiff_t)l->ld_key, ld_value = (ptrdiff_t)l->ld_value;
    real *g_value = w->g_value + at * l->ld_value, *g_key = w->g_key + at * l->ld_key;
    real *g_query = w->g_query + (ptrdiff_t)s->row * w->ld_g_query;
    if (!sums_apart(l, s)) {
        if (job->wants_value)
            product_asking(l, s->keys, job->value_dim, s->rows, s->score, 1, ATTENTION_KEY_BLOCK, g_output, ld_value,
                           g_value, ld_value, true);
        if (job->wants_key)
            product_asking(l, s->keys, job->head_dim, s->rows, g->score, 1, ATTENTION_KEY_BLOCK, query, ld_key, g_key,
                           ld_key, true);
        if (job->wants_query)
            product_asking(l, s->rows, job->head_dim, s->keys, g->score, ATTENTION_KEY_BLOCK, 1,
                           w->keys + at * l->ld_key, ld_key, g_query, w->ld_g_query, true);
        return;
    }
    for (size_t i = 0; i < s->rows; i++) {
        const seen_columns seen = columns_seen(l, s->row + i, s->key, s->keys);
        const real *weight = s->score + i * ATTENTION_KEY_BLOCK, *ds = g->score + i * ATTENTION_KEY_BLOCK;
        if (job->wants_value)
            add_to_seen_rows(l, &seen, job->value_dim, weight, g_output + i * l->ld_value, g_value, ld_value);
        if (job->wants_key)
            add_to_seen_rows(l, &seen, job->head_dim, ds, query + i * l->ld_key, g_key, ld_key);
        if (job->wants_query)
            add_seen_rows(l, &seen, job->head_dim, ds, w->keys + at * l->ld_key, ld_key,
                          g_query + (ptrdiff_t)i * w->ld_g_query);
    }
}

/* strip_begin with pairs. Products of a plain call are not scaled. */
static void half_strip_begin(backward_worker *w, const strip *s, const strip *g, size_t at) {
    const lane *l = &w->l;
    tiles_begin(l, false);
    pairs_products(l, s, at, w->half_query + s->row * l->ld_half_key, l->ld_half_key, w->half_key_columns);
    if (l->job->wants_scores)
        pairs_products(l, g, at, w->half_g_output + s->row * l->ld_half_value, l->ld_half_value, w->half_value_columns);
    tiles_end(l, false);
    if (!l->plain)
        scale_strip(l, s);
}

/* Scores of a plain call, or weights and ds that are there already, become those of bfloat16. */
static void half_strip_weights(backward_worker *w, const strip *s, const strip *g) {
    const lane *l = &w->l;
    const locus_bfloat16_backward rows = {.scores = strip_rows(l, s, (real)l->job->scale),
                                          .g = l->job->wants_scores ? as_floats(g->score) : NULL,
                                          .log_sum_exp =
                                              l->plain ? (const float *)(const void *)strip_totals(w, s) : NULL,
                                          .delta = as_floats(w->delta + s->row),
                                          .ready = !l->plain,
                                          .weight_pairs = w->weight_pairs,
                                          .ds_pairs = w->ds_pairs,
                                          .ds = w->ds,
                                          .panel = ATTENTION_PAIRS_PANEL,
                                          .ld_ds = ATTENTION_KEY_BLOCK};
    l->pairs->backward(&rows);
}

/* sums += rowsᵀ · weights of a strip, both on their side: `sideways` is of all queries, [dim][64] for each block. */
static void add_sideways(const backward_worker *w, const strip *s, size_t dim, const uint16_t *sideways, size_t ld,
                         const uint16_t *weight, real *sums) {
    const size_t block = ATTENTION_QUERY_BLOCK;
    w->l.pairs->product(dim, padded(s->keys, LOCUS_PAIRS_COLUMNS), padded(s->rows, LOCUS_PAIRS_DEPTH),
                        sideways + s->row / block * sideways_size(ld) + s->row % block, (ptrdiff_t)block, weight,
                        ATTENTION_PAIRS_PANEL, as_floats(sums), (ptrdiff_t)w->ld_sums, true);
}

/* backward_sums with pairs. */
static void backward_half_sums(backward_worker *w, const strip *s, size_t at) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    const size_t ld_key = l->ld_half_key, ld_value = l->ld_half_value;
    real *g_query = w->g_query + (ptrdiff_t)s->row * w->ld_g_query;
    tiles_begin(l, false);
    if (job->wants_value)
        add_sideways(w, s, job->value_dim, w->g_output_sideways, ld_value, w->weight_pairs, w->g_value_sums + at);
    if (job->wants_key)
        add_sideways(w, s, job->head_dim, w->query_sideways, ld_key, w->ds_pairs, w->g_key_sums + at);
    if (job->wants_query)
        l->pairs->product(s->rows, job->head_dim, padded(s->keys, LOCUS_PAIRS_DEPTH), w->ds, ATTENTION_KEY_BLOCK,
                          w->half_keys + at * LOCUS_PAIRS_COLUMNS, (ptrdiff_t)(w->room * LOCUS_PAIRS_COLUMNS),
                          as_floats(g_query), w->ld_g_query, true);
    tiles_end(l, false);
    if (job->wants_value && w->any_bad_g_output)
        add_to_rare_rows(l, s, w->bad_g_output + s->row, w->half_g_output + s->row * ld_value, ld_value, job->value_dim,
                         w->weight_pairs, w->g_value_sums + at, w->ld_sums);
    if (job->wants_key && w->any_bad_query)
        add_to_rare_rows(l, s, w->bad_query + s->row, w->half_query + s->row * ld_key, ld_key, job->head_dim,
                         w->ds_pairs, w->g_key_sums + at, w->ld_sums);
    if (job->wants_query && w->any_bad_key)
        add_rare_rows(l, s, w->bad_key + at, w->rare_keys + at * ld_key, ld_key, job->head_dim, w->ds, g_query,
                      w->ld_g_query);
}

/* Products of `s`, to become scores, and of `g`, the gradients of their weights. */
static void strip_begin(backward_worker *w, const strip *s, const strip *g, size_t panel_key) {
    lane *l = &w->l;
    const attention_job *job = l->job;
    const size_t at = s->key - panel_key;
    if (l->pairs) {
        half_strip_begin(w, s, g, at);
        return;
    }
    const real *g_output = w->g_output + s->row * l->ld_value;
    strip_scores(w, s, columns_at(w->key_columns, at, job->head_dim));
    if (job->wants_scores)
        strip_products(l, g, job->value_dim, g_output, (ptrdiff_t)l->ld_value,
                       columns_at(w->value_columns, at, job->value_dim));
    if (job->wants_scores && job->content_value)
        content_products(l, g, content_values(job), query_row(l, &job->g_output, l->span.query_first + s->row),
                         job->g_output.token);
}

/* `s` of the scores, then the weights; `g` the same strip of their gradients. */
static void backward_strip(backward_worker *w, const strip *s, const strip *g, size_t panel_key) {
    strip_begin(w, s, g, panel_key);
    if (w->l.plain && !w->l.pairs)
        backward_plain_rows(w, s, g);
    for (size_t i = 0; i < s->rows && !w->l.plain; i++)
        backward_row(w, s, i, g->score + i * ATTENTION_KEY_BLOCK);
    if (w->l.pairs) {
        half_strip_weights(w, s, g);
        backward_half_sums(w, s, s->key - panel_key);
        return;
    }
    backward_sums(w, s, g, s->key - panel_key);
    if (w->l.job->content)
        strip_content_backward(w, s, g);
}

static void backward_tile(backward_worker *w, const strip *tile, size_t panel_key) {
    w->l.cut = w->l.cut || !tile->full || w->l.job->biased;
    for (size_t i = 0; i < tile->rows;) {
        const strip s = strip_at(&w->l, tile, i, w->weight);
        strip g = s;
        g.score = w->g_weight;
        if (s.keys > 0)
            backward_strip(w, &s, &g, panel_key);
        i += s.rows;
    }
}

#endif
