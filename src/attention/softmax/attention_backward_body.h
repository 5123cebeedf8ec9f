/* SPDX-License-Identifier: MIT */
/* Backward: for each item (all keys of a sequence, or a part of them) and key-value head, for one query head of its
 * group after the other, with weights made again from the log-sum-exp L (Dao et al. 2022), a = exp(s − L), c =
 * dropout's factors, D_m = do_m · o_m − dL_m, of the log-sum-exp's own gradient dL:
 *
 *   forward                           backward
 *   o = Σ (a c) v'                    dv' = (a c)ᵀ do',  da = c (do' v'ᵀ)
 *   a = softmax s                     ds  = a (da − D)
 *   L = ln(Σ exp s + exp z)           dz = −Σ_m exp(z − L_m) D_m, of a sink z
 *   s = capped · factors + biases     dbias = ds,  dfactor = ds · capped · other factors,  dcapped = ds · factors
 *   capped = cap·tanh(product/cap)    dproduct = dcapped · (1 − (capped/cap)²)
 *   product = q'·k'                   dq' = dproduct k',  dk' = dproductᵀ q'
 *   x' = operator x                   the operator's own backward, which also adds to the gradient slot
 *
 * dk and dv are the sums over the heads of a group, in order, run by run of them: each after its own operators, which
 * are linear. Blocks of
 * queries and tiles that see nothing of each other are passed over.
 *
 * A worker's memory is linear in the queries of one sequence: q', do', dq'. Keys pass by in panels. */
#ifndef LOCUS_ATTENTION_BACKWARD_BODY_H
#define LOCUS_ATTENTION_BACKWARD_BODY_H

#include "attention/softmax/attention_backward_tile_body.h"
#include "core/call.h"

/* ---- keys and values: a panel's beginning and end ---- */

/* backward_panel_begin with pairs. */
static void backward_half_panel(backward_worker *w, size_t key, size_t count) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    const size_t token = l->span.key_first + key, ld_key = l->ld_half_key, ld_value = l->ld_half_value;
    w->any_bad_key = false;
    for (size_t first = 0; first < count; first += ATTENTION_KEY_BLOCK) {
        const size_t width = smaller(count - first, ATTENTION_KEY_BLOCK);
        prefetch_kept(l, LOCUS_ROLE_KEY, token + first, width);
        prefetch_kept(l, LOCUS_ROLE_VALUE, token + first, width);
        half_rows(l, &job->key, LOCUS_ROLE_KEY, token + first, width, l->half_rows, ld_key);
        lay_columns(l, width, l->half_rows, ld_key, w->half_key_columns + first * ld_key);
        w->any_bad_key |= set_apart(l, width, l->half_rows, ld_key, w->bad_key + first, w->rare_keys + first * ld_key);
        lay_pairs(l, first, width, first + width == count, l->half_rows, ld_key, w->half_keys, w->room);
        half_rows(l, &job->value, LOCUS_ROLE_VALUE, token + first, width, l->half_rows, ld_value);
        lay_columns(l, width, l->half_rows, ld_value, w->half_value_columns + first * ld_value);
    }
    if (job->wants_key)
        memset(w->g_key_sums, 0, job->head_dim * w->ld_sums * sizeof(real));
    if (job->wants_value)
        memset(w->g_value_sums, 0, job->value_dim * w->ld_sums * sizeof(real));
}

static void backward_panel_begin(backward_worker *w, size_t key, size_t count) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    if (l->pairs) {
        backward_half_panel(w, key, count);
        return;
    }
    ptrdiff_t ld_value = (ptrdiff_t)l->ld_value;
    size_t token = l->span.key_first + key;
    run r = {LOCUS_ROLE_KEY, LOCUS_FORWARD, token, count, 1};
    size_t near = smaller(count, ATTENTION_KEY_BLOCK);
    if (key > w->first_key) { /* the first ones were asked for */
        prefetch_rows(key_row(l, &job->key, token), job->key.token, near, job->head_dim);
        prefetch_rows(key_row(l, &job->value, token), job->value.token, near, job->value_dim);
    }
    operate_entering(l, r, key_row(l, &job->key, token), job->key.token, w->keys, (ptrdiff_t)l->ld_key, w->entered_key);
    fill_columns(l, count, job->head_dim, w->keys, (ptrdiff_t)l->ld_key, w->key_columns);
    if (key > w->first_key) {
        prefetch_rows(key_row(l, &job->g_key, token), job->g_key.token, near, job->head_dim);
        prefetch_rows(key_row(l, &job->g_value, token), job->g_value.token, near, job->value_dim);
    }
    for (size_t first = 0; first < count; first += ATTENTION_KEY_BLOCK) {
        size_t width = smaller(count - first, ATTENTION_KEY_BLOCK);
        run v = {LOCUS_ROLE_VALUE, LOCUS_FORWARD, token + first, width, 1};
        operate(l, v, key_row(l, &job->value, token + first), job->value.token, w->rows, ld_value);
        fill_columns(l, width, job->value_dim, w->rows, ld_value, w->value_columns + first * job->value_dim);
    }
    if (job->wants_key)
        memset(w->g_key, 0, count * l->ld_key * sizeof(real));
    if (job->wants_value)
        memset(w->g_value, 0, count * l->ld_value * sizeof(real));
}

/* Gradients that only the operator's parameters want: what becomes of them otherwise is written nowhere. */
static void learn_alone(backward_worker *w, run r, const attention_view *view, const real *g, ptrdiff_t ld,
                        size_t slot) {
    const lane *l = &w->l;
    const size_t longer = l->ld_key > l->ld_value ? l->ld_key : l->ld_value;
    for (size_t left = r.count; left > 0; left -= r.count) {
        r.count = smaller(left, ATTENTION_KEY_BLOCK);
        const kept_rows x = rows_at(l, view, r.role, r.first, r.count);
        operate_backward(l, r, x.data, x.stride, g, ld, w->rows, (ptrdiff_t)longer, slot_at(w, slot));
        g += (ptrdiff_t)r.count * ld;
        r.first += r.count;
    }
}

/* Differentiates operate, of rows of a half type into such rows. */
static void operate_backward_half(const backward_worker *w, run r, const attention_view *x, const real *g, ptrdiff_t ld,
                                  const attention_view *target, size_t slot) {
    const lane *l = &w->l;
    for (size_t left = r.count; left > 0; left -= r.count) {
        r.count = smaller(left, ATTENTION_KEY_BLOCK);
        const kept_rows rows = rows_at(l, x, r.role, r.first, r.count);
        operate_backward(l, r, rows.data, rows.stride, g, ld, l->turned, (ptrdiff_t)l->ld_turned, slot_at(w, slot));
        write_rows(l, target, r.role, r.first, r.count, l->turned, l->ld_turned);
        g += (ptrdiff_t)r.count * ld;
        r.first += r.count;
    }
}

/* The same of any rows, into floats. */
static void operate_backward_any(const backward_worker *w, run r, const attention_view *x, const real *g, ptrdiff_t ld,
                                 real *target, ptrdiff_t ld_target, size_t slot) {
    const lane *l = &w->l;
    for (size_t left = r.count; left > 0; left -= r.count) {
        r.count = row_dtype(l, r.role) == REAL_DTYPE ? left : smaller(left, ATTENTION_KEY_BLOCK);
        const kept_rows rows = rows_at(l, x, r.role, r.first, r.count);
        operate_backward_entered(l, r, rows.data, rows.stride, g, ld, target, ld_target, slot_at(w, slot),
                                 r.role == LOCUS_ROLE_KEY ? w->entered_key : NULL);
        g += (ptrdiff_t)r.count * ld;
        target += (ptrdiff_t)r.count * ld_target;
        r.first += r.count;
    }
}

/* dk or dv of the key-value heads as run `part` of a group's heads has it: the caller's tensor, or a partial one. */
static attention_view part_view(const attention_job *job, locus_role role, size_t part) {
    if (part == 0 && !job->gathers)
        return role == LOCUS_ROLE_KEY ? job->g_key : job->g_value;
    part -= job->gathers ? 0 : 1;
    const size_t dim = role == LOCUS_ROLE_KEY ? job->head_dim : job->value_dim, row = job->kv_heads * dim;
    real *data = (real *)(void *)(role == LOCUS_ROLE_KEY ? job->key_partials : job->value_partials);
    return (attention_view){
        .data = data + part * locus_plan_key_tokens(job->plan) * row, .token = (ptrdiff_t)row, .head = (ptrdiff_t)dim};
}

/* Later heads of a run add to what the first has written. */
static void backward_panel_write(backward_worker *w, run r, const attention_view *x, real *g, size_t slot) {
    const lane *l = &w->l;
    const bool first = l->head == l->kv * l->job->group + w->first_head;
    const attention_view target = part_view(l->job, r.role, w->first_head / w->heads);
    const size_t dim = role_dim(l, r.role);
    const ptrdiff_t ld = (ptrdiff_t)(r.role == LOCUS_ROLE_KEY ? l->ld_key : l->ld_value);
    if (!(r.role == LOCUS_ROLE_KEY ? l->job->g_key : l->job->g_value).data) {
        learn_alone(w, r, x, g, ld, slot);
        return;
    }
    if (row_dtype(l, r.role) != REAL_DTYPE && !l->job->gathers) {
        operate_backward_half(w, r, x, g, ld, &target, slot);
        return;
    }
    real *to = key_row(l, &target, r.first);
    operate_backward_any(w, r, x, g, ld, first ? to : g, first ? target.token : ld, slot);
    for (size_t i = 0; !first && i < r.count; i++, to += target.token, g += ld)
        l->kernels->add(dim, to, g, to);
}

/* Sums so far, where a tile was cut: if they are not finite, the task is done again with rows apart. */
static void backward_look(backward_worker *w, size_t count, const real *sum) {
    if (w->l.cut && !w->l.apart && !w->l.pairs && w->finite)
        w->finite = all_finite(&w->l, count, sum);
}

/* Sums that lie on their side become rows. */
static void turn_sums(const backward_worker *w, size_t count, size_t dim, const real *sums, real *rows, size_t ld) {
    if (w->l.pairs)
        w->l.kernels->transpose(dim, count, sums, (ptrdiff_t)w->ld_sums, rows, (ptrdiff_t)ld);
}

static void backward_panel_end(backward_worker *w, size_t key, size_t count) {
    const attention_job *job = w->l.job;
    run r = {LOCUS_ROLE_KEY, LOCUS_FORWARD, w->l.span.key_first + key, count, w->l.pairs ? (real)job->scale : 1};
    if (job->wants_key) {
        turn_sums(w, count, job->head_dim, w->g_key_sums, w->g_key, w->l.ld_key);
        backward_look(w, count * w->l.ld_key, w->g_key);
        backward_panel_write(w, r, &job->key, w->g_key, job->slots.query_key);
    }
    r.role = LOCUS_ROLE_VALUE;
    r.scale = 1;
    if (job->wants_value) {
        turn_sums(w, count, job->value_dim, w->g_value_sums, w->g_value, w->l.ld_value);
        backward_look(w, count * w->l.ld_value, w->g_value);
        backward_panel_write(w, r, &job->value, w->g_value, job->slots.value);
    }
}

/* ---- queries: beginning and end ---- */

/* Takes what the content term added to the output of rows [row, row + rows) away from `target`: Σ (a c) V[b]. */
static void subtract_content(backward_worker *w, size_t row, size_t rows, real *target) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    const attention_seen seen = block_at(l, row)->all;
    for (size_t key = 0; key < seen.high; key += ATTENTION_KEY_BLOCK) {
        strip s = {row, rows, key, smaller(seen.high - key, ATTENTION_KEY_BLOCK), w->weight, false};
        run r = {LOCUS_ROLE_KEY, LOCUS_FORWARD, l->span.key_first + key, s.keys, 1};
        if (!locus_attention_seen_any(&seen, key, s.keys))
            continue;
        operate(l, r, key_row(l, &job->key, r.first), job->key.token, w->keys, (ptrdiff_t)l->ld_key);
        fill_columns(l, s.keys, job->head_dim, w->keys, (ptrdiff_t)l->ld_key, w->key_columns);
        strip_scores(w, &s, w->key_columns);
        for (size_t i = 0; i < rows; i++) {
            real *weight = w->weight + i * ATTENTION_KEY_BLOCK;
            const cut c = cut_of(l, row + i, key, s.keys);
            if (c.from < c.to)
                backward_weights(w, &s, row + i, &c, weight);
            if (c.from < c.to && job->drop_weights)
                l->kernels->multiply(c.to - c.from, weight + c.from, l->keep_row + c.from, weight + c.from);
            clear_outside(&c, s.keys, weight);
            l->kernels->scale(s.keys, -1, weight, weight);
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
    const kept_rows output = rows_at(l, &job->output, LOCUS_ROLE_OUTPUT, token, rows);
    copy_rows(l, &r, output.data, output.stride, w->rows, ld);
    if (job->content_value)
        subtract_content(w, row, rows, w->rows);
    operate(l, r, w->rows, ld, w->output_rows, ld);
    return w->output_rows;
}

/* dz −= exp(z − L) D, of the head's sink z. */
static void backward_sink(const backward_worker *w, size_t row, size_t rows) {
    const lane *l = &w->l;
    const double sink = (double)(real)l->job->sinks[l->head];
    double *sum = slot_at(w, l->job->slots.sinks);
    for (size_t i = row; i < row + rows; i++) {
        const double total = (double)*query_row(l, &l->job->log_sum_exp, l->span.query_first + i);
        if (w->delta[i] != 0) /* a row that sees nothing has 0, whatever its log-sum-exp is */
            *sum -= exp(sink - total) * (double)w->delta[i];
    }
}

/* do·o of these rows, of a half type. */
static void half_delta(const backward_worker *w, size_t row, size_t rows) {
    const lane *l = &w->l;
    const attention_view *g = &l->job->g_given, *o = &l->job->output;
    const size_t token = l->span.query_first + row;
    l->pairs->dots(rows, l->job->value_dim, (const uint16_t *)g->data + row_offset(l, g, LOCUS_ROLE_OUTPUT, token),
                   g->token, (const uint16_t *)o->data + row_offset(l, o, LOCUS_ROLE_OUTPUT, token), o->token,
                   as_floats(w->delta + row));
}

/* D of these rows; with `learn` the gradient of the sink, too. */
static void backward_delta(const backward_worker *w, size_t row, size_t rows, bool learn) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    const bool half = row_dtype(l, LOCUS_ROLE_OUTPUT) != REAL_DTYPE;
    if (half)
        half_delta(w, row, rows);
    for (size_t i = row; i < row + rows; i++) {
        const size_t token = l->span.query_first + i;
        if (!half)
            w->delta[i] =
                l->kernels->dot(job->value_dim, query_row(l, &job->g_given, token), query_row(l, &job->output, token));
        if (job->g_log_sum_exp.data)
            w->delta[i] -= *query_row(l, &job->g_log_sum_exp, token);
    }
    if (learn && w->slot && job->sinks)
        backward_sink(w, row, rows);
}

/* do' of these rows; `turn`: its operator learns. */
static void half_g_output(backward_worker *w, size_t row, size_t rows, bool turn) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    const size_t token = l->span.query_first + row, ld = l->ld_half_value;
    uint16_t *to = w->half_g_output + row * ld;
    if (!job->value_operator) {
        half_rows(l, &job->g_output, LOCUS_ROLE_OUTPUT, token, rows, to, ld);
        return;
    }
    const real *x = turn ? operator_input(w, row, rows) : NULL;
    const kept_rows g = rows_at(l, &job->g_output, LOCUS_ROLE_OUTPUT, token, rows);
    const run out = {LOCUS_ROLE_OUTPUT, LOCUS_FORWARD, token, rows, 1};
    operate_backward(l, out, x, (ptrdiff_t)l->ld_value, g.data, g.stride, l->turned, (ptrdiff_t)l->ld_turned,
                     turn ? slot_at(w, job->slots.value) : NULL);
    l->pairs->narrow(rows, job->value_dim, as_floats(l->turned), (ptrdiff_t)l->ld_turned, to, (ptrdiff_t)ld);
    for (size_t i = 0; i < rows; i++)
        memset(to + i * ld + job->value_dim, 0, (ld - job->value_dim) * sizeof *to);
}

/* Lays rows [row, row + rows) of a block on their side, but for those that are set apart. */
static bool lay_block(const backward_worker *w, size_t row, size_t rows, const uint16_t *from, size_t ld, bool *bad,
                      uint16_t *sideways) {
    const lane *l = &w->l;
    memcpy(l->half_rows, from + row * ld, rows * ld * sizeof *from);
    const bool any = set_apart(l, rows, l->half_rows, ld, bad + row, NULL);
    lay_sideways(l, rows, l->half_rows, ld, sideways + row / ATTENTION_QUERY_BLOCK * sideways_size(ld));
    return any;
}

/* backward_queries_begin with pairs. */
static void backward_half_queries(backward_worker *w, size_t row, size_t rows, bool learn, bool turn) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    const size_t token = l->span.query_first + row, ld = l->ld_half_key;
    half_rows(l, &job->query, LOCUS_ROLE_QUERY, token, rows, w->half_query + row * ld, ld);
    w->any_bad_query |= lay_block(w, row, rows, w->half_query, ld, w->bad_query, w->query_sideways);
    half_g_output(w, row, rows, turn);
    w->any_bad_g_output |=
        lay_block(w, row, rows, w->half_g_output, l->ld_half_value, w->bad_g_output, w->g_output_sideways);
    backward_delta(w, row, rows, learn);
}

/* `learn`: this item adds the gradients of the sink and of the output's operator for these rows. One does for each
 * block of rows: that with the first key that they see. */
static void backward_queries_begin(backward_worker *w, size_t row, size_t rows, bool learn) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    size_t token = l->span.query_first + row;
    const bool turn = learn && w->slot && locus_operator_slot_bytes(job->value_operator) > 0;
    if (l->pairs) {
        backward_half_queries(w, row, rows, learn, turn);
        return;
    }
    const real *q = query_row(l, &job->query, token), *o = query_row(l, &job->output, token);
    const real *g = query_row(l, &job->g_output, token), *x = NULL;
    run r = {LOCUS_ROLE_QUERY, LOCUS_FORWARD, token, rows, (real)job->scale};
    if (row >= ATTENTION_KEY_BLOCK) { /* the first ones were asked for */
        prefetch_rows(q, job->query.token, rows, job->head_dim);
        prefetch_rows(g, job->g_output.token, rows, job->value_dim);
        prefetch_rows(o, job->output.token, rows, job->value_dim);
    }
    operate_entering(l, r, q, job->query.token, w->query + row * l->ld_key, (ptrdiff_t)l->ld_key,
                     w->entered_query ? w->entered_query + row * l->ld_key : NULL);
    if (job->content_key) {
        r.scale = (real)job->content_scale;
        copy_rows(l, &r, q, job->query.token, w->content_query + row * l->ld_key, (ptrdiff_t)l->ld_key);
    }
    if (turn)
        x = operator_input(w, row, rows);
    run out = {LOCUS_ROLE_OUTPUT, LOCUS_FORWARD, token, rows, 1};
    operate_backward(l, out, x, (ptrdiff_t)l->ld_value, g, job->g_output.token, w->g_output + row * l->ld_value,
                     (ptrdiff_t)l->ld_value, turn ? slot_at(w, job->slots.value) : NULL);
    backward_delta(w, row, rows, learn);
}

/* dq from the sums of rows [row, row + rows), which start at `g` and `content`. */
static void backward_queries_end(backward_worker *w, size_t row, size_t rows, const real *g, const real *content,
                                 ptrdiff_t ld) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    size_t token = l->span.query_first + row;
    run r = {LOCUS_ROLE_QUERY, LOCUS_FORWARD, token, rows, (real)job->scale};
    if (!job->g_query.data) {
        learn_alone(w, r, &job->query, g, ld, job->slots.query_key);
        return;
    }
    if (row_dtype(l, LOCUS_ROLE_QUERY) != REAL_DTYPE) {
        operate_backward_half(w, r, &job->query, g, ld, &job->g_query, job->slots.query_key);
        return;
    }
    real *target = query_row(l, &job->g_query, token);
    operate_backward_entered(l, r, query_row(l, &job->query, token), job->query.token, g, ld, target,
                             job->g_query.token, slot_at(w, job->slots.query_key),
                             w->entered_query ? w->entered_query + row * l->ld_key : NULL);
    for (size_t i = 0; job->content_key && i < rows; i++)
        l->kernels->axpy(job->head_dim, (real)job->content_scale, content + (ptrdiff_t)i * ld,
                         target + (ptrdiff_t)i * job->g_query.token);
}

/* ---- items ---- */

static size_t partial_offset(const backward_worker *w, const attention_item *item) {
    const attention_job *job = w->l.job;
    return (item->partial * job->heads + w->l.head * w->l.span.query_count) * job->head_dim;
}

static void begin_sequence(backward_worker *w, size_t sequence) {
    w->l.sequence = sequence;
    w->l.span = locus_plan_span(w->l.job->plan, sequence);
}

/* The item's head is chosen: where dq' is summed, and zero there. */
static void begin_item(backward_worker *w, const attention_item *item) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    w->g_query = w->own_g_query;
    w->content_g_query = w->own_content;
    w->ld_g_query = (ptrdiff_t)l->ld_key;
    w->entered_query = item->partial == ATTENTION_NO_PARTIAL ? w->own_entered : NULL;
    if (item->partial != ATTENTION_NO_PARTIAL) {
        size_t offset = partial_offset(w, item);
        w->g_query = (real *)(void *)job->partials + offset;
        w->content_g_query = (real *)(void *)job->content_partials + offset;
        w->ld_g_query = (ptrdiff_t)job->head_dim;
    }
    if (!job->wants_query)
        return;
    size_t bytes = l->span.query_count * (size_t)w->ld_g_query * sizeof(real);
    memset(w->g_query, 0, bytes);
    if (job->content_key)
        memset(w->content_g_query, 0, bytes);
}

static void backward_panel(backward_worker *w, size_t panel, size_t count) {
    const size_t queries = w->l.span.query_count;
    backward_panel_begin(w, panel, count);
    for (size_t row = 0; row < queries && !locus_call_cancelled(); row += ATTENTION_QUERY_BLOCK) {
        const row_block *block = block_at(&w->l, row);
        const size_t rows = smaller(queries - row, ATTENTION_QUERY_BLOCK);
        if (!locus_attention_seen_any(&block->all, panel, count))
            continue;
        tiles_begin(&w->l, true);
        for (size_t at = 0; at < count; at += ATTENTION_KEY_BLOCK) {
            const strip tile = tile_at(block, row, rows, panel + at, smaller(count - at, ATTENTION_KEY_BLOCK));
            if (locus_attention_seen_any(&block->all, tile.key, tile.keys))
                backward_tile(w, &tile, panel);
        }
        tiles_end(&w->l, true);
    }
    backward_panel_end(w, panel, count);
}

/* What the lane's item writes, and what the next one begins with. */
static void backward_expect(lane *l, const attention_item *item, coming_item next) {
    const attention_job *job = l->job;
    expect_none(l);
    if (l->pairs)
        return;
    if (item->partial == ATTENTION_NO_PARTIAL)
        expect(l, &job->g_query, LOCUS_ROLE_QUERY, l->span.query_first, l->span.query_count);
    expect(l, &job->g_key, LOCUS_ROLE_KEY, l->span.key_first + item->first, item->count);
    expect(l, &job->g_value, LOCUS_ROLE_VALUE, l->span.key_first + item->first, item->count);
    if (!next.item)
        return;
    const lane here = stand_at(l, next);
    expect(l, &job->query, LOCUS_ROLE_QUERY, l->span.query_first, l->span.query_count);
    expect(l, &job->g_output, LOCUS_ROLE_OUTPUT, l->span.query_first, l->span.query_count);
    expect(l, &job->output, LOCUS_ROLE_OUTPUT, l->span.query_first, l->span.query_count);
    expect(l, &job->key, LOCUS_ROLE_KEY, l->span.key_first + next.item->first, next.item->count);
    expect(l, &job->value, LOCUS_ROLE_VALUE, l->span.key_first + next.item->first, next.item->count);
    stand_back(l, &here);
}

static void backward_head(backward_worker *w, const attention_item *item, coming_item next) {
    const size_t queries = w->l.span.query_count, end = item->first + item->count;
    begin_item(w, item);
    backward_expect(&w->l, item, next);
    w->first_key = item->first;
    for (size_t row = 0; row < queries && !locus_call_cancelled(); row += ATTENTION_QUERY_BLOCK) {
        const attention_seen *seen = &block_at(&w->l, row)->all;
        const size_t first = seen->kept_low < seen->kept_high ? seen->kept_low : seen->low;
        const size_t rows = smaller(queries - row, ATTENTION_QUERY_BLOCK);
        const bool any = locus_attention_seen_any(seen, item->first, item->count);
        if (!any && w->entered_query) /* their gradients are 0, and are multiplied with these */
            memset(w->entered_query + row * w->l.ld_key, 0, rows * w->l.ld_key * sizeof(real));
        if (any)
            backward_queries_begin(w, row, rows, first >= item->first && first < end);
        else if (seen->low >= seen->high && item->first == 0 && w->l.job->g_log_sum_exp.data)
            backward_delta(w, row, rows, true); /* all that these see is the sink */
    }
    const attention_job *job = w->l.job;
    const bool tiles = job->wants_scores || job->wants_value || (job->content_value && w->slot);
    for (size_t key = 0; tiles && key < item->count; key += ATTENTION_KEY_PANEL)
        backward_panel(w, item->first + key, smaller(item->count - key, ATTENTION_KEY_PANEL));
    ask(&w->l, SIZE_MAX);
    if (!job->wants_query)
        return;
    backward_look(w, queries * (size_t)w->ld_g_query, w->g_query);
    if (job->content_key)
        backward_look(w, queries * (size_t)w->ld_g_query, w->content_g_query);
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

static void join_head(backward_worker *w, const attention_item *item) {
    const lane *l = &w->l;
    const attention_job *job = l->job;
    for (size_t row = 0; row < l->span.query_count; row += ATTENTION_KEY_BLOCK) {
        size_t rows = smaller(l->span.query_count - row, ATTENTION_KEY_BLOCK);
        add_partials(w, job->partials, item, row, rows, w->keys);
        if (job->content_key)
            add_partials(w, job->content_partials, item, row, rows, w->g_key);
        backward_queries_end(w, row, rows, w->keys, w->g_key, (ptrdiff_t)job->head_dim);
    }
}

/* Adds the other runs' dk or dv of the item's keys to the first's, in order. */
static void join_keys(const backward_worker *w, const attention_item *item, locus_role role) {
    const lane *l = &w->l;
    const attention_view target = part_view(l->job, role, 0);
    const attention_view *given = role == LOCUS_ROLE_KEY ? &l->job->g_key : &l->job->g_value;
    if (!given->data)
        return;
    for (size_t part = 1; part < l->job->schedule.head_parts; part++) {
        const attention_view source = part_view(l->job, role, part);
        for (size_t i = 0; i < item->count; i++) {
            real *to = key_row(l, &target, l->span.key_first + item->first + i);
            l->kernels->add(role_dim(l, role), to, key_row(l, &source, l->span.key_first + item->first + i), to);
        }
    }
    if (l->job->gathers)
        write_rows(l, given, role, l->span.key_first + item->first, item->count,
                   key_row(l, &target, l->span.key_first + item->first), (size_t)target.token);
}

/* Task (group, key-value head, run of its query heads); returns the group. */
static size_t begin_task(const attention_job *job, size_t index, size_t worker, backward_worker *w) {
    const size_t parts = job->schedule.head_parts;
    carve_backward(job, job->workers + worker * job->worker_bytes, w);
    w->slot = NULL;
    w->heads = job->group / parts;
    w->first_head = index % parts * w->heads;
    w->l.kv = index / parts % job->kv_heads;
    return index / parts / job->kv_heads;
}

static void begin_head(backward_worker *w, size_t group, size_t kv, size_t g) {
    const attention_job *job = w->l.job;
    choose_head(&w->l, kv, g);
    if (job->slots_wanted && job->slots.bytes > 0)
        w->slot = job->slot_data + (w->l.head * job->schedule.group_count + group) * job->slots.bytes;
}

/* A thread mostly takes tasks that follow one another. */
static coming_item backward_next(const attention_job *job, size_t index, size_t item) {
    const attention_schedule *schedule = &job->schedule;
    const size_t parts = schedule->head_parts, tasks = schedule->group_count * job->kv_heads * parts;
    const bool last = item + 1 == schedule->groups[index / parts / job->kv_heads + 1];
    index += last;
    if (index == tasks)
        return (coming_item){NULL, 0, 0};
    return (coming_item){&schedule->items[last ? schedule->groups[index / parts / job->kv_heads] : item + 1],
                         index / parts % job->kv_heads, index % parts * (job->group / parts)};
}

/* All that a task writes is begun anew here. */
static void backward_pass(backward_worker *w, size_t index, size_t group) {
    const attention_job *job = w->l.job;
    const size_t kv = w->l.kv, end = w->first_head + w->heads;
    for (size_t g = w->first_head; g < end; g++) {
        begin_head(w, group, kv, g);
        if (w->slot)
            memset(w->slot, 0, job->slots.bytes);
    }
    for (size_t i = job->schedule.groups[group]; i < job->schedule.groups[group + 1]; i++) {
        const attention_item *item = &job->schedule.items[i];
        if (locus_call_cancelled())
            return;
        begin_sequence(w, item->sequence);
        look(&w->l, 0, w->l.span.query_count);
        for (size_t g = w->first_head; g < end; g++) {
            begin_head(w, group, kv, g);
            backward_head(w, item, g + 1 < end ? (coming_item){item, kv, g + 1} : backward_next(job, index, i));
        }
    }
}

static void backward_task(void *context, size_t index, size_t worker) {
    const attention_job *job = context;
    backward_worker w;
    const size_t group = begin_task(job, index, worker, &w);
    w.finite = true;
    backward_pass(&w, index, group);
    if (!w.finite) {
        w.l.apart = true;
        backward_pass(&w, index, group);
    }
}

/* Partial sums are complete only after the first loop: dq' of split sequences, dk and dv of groups that were shared
 * out. */
static void join_task(void *context, size_t index, size_t worker) {
    const attention_job *job = context;
    backward_worker w;
    const size_t group = begin_task(job, index, worker, &w), kv = w.l.kv, end = w.first_head + w.heads;
    for (size_t i = job->schedule.groups[group]; i < job->schedule.groups[group + 1]; i++) {
        const attention_item *item = &job->schedule.items[i];
        begin_sequence(&w, item->sequence);
        if (w.first_head == 0)
            join_keys(&w, item, LOCUS_ROLE_KEY);
        if (end == job->group)
            join_keys(&w, item, LOCUS_ROLE_VALUE);
        for (size_t g = w.first_head; job->wants_query && item->parts > 0 && g < end; g++) {
            begin_head(&w, group, kv, g);
            join_head(&w, item);
        }
    }
}

static void backward(attention_job *job) {
    const size_t tasks = job->schedule.group_count * job->kv_heads * job->schedule.head_parts;
    const size_t rows = job->content ? 2 * job->content->window + 1 : 0;
    if (job->content_key)
        fill_table_columns(KERNELS_GET(), rows, job->head_dim, job->content_key, job->content_key_columns);
    if (job->content_value)
        fill_table_columns(KERNELS_GET(), rows, job->value_dim, job->content_value, job->content_value_columns);
    locus_parallel_for(tasks, backward_task, job);
    if (job->schedule.partial_rows > 0 || job->schedule.head_parts > 1 || job->gathers)
        locus_parallel_for(tasks, join_task, job);
}

#endif
