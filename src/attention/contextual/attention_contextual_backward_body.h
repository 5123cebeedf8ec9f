/* SPDX-License-Identifier: MIT */
/* The backward pass of contextual attention (attention_contextual.h). A task does all keys of its sequences for one
 * key-value head, and adds to their dk and dv alone:
 *
 *   forward                        backward, a = exp(s − L), c = dropout's factors, D = do·o − dL
 *   o = Σ (a c) v'                 dv' = (a c)ᵀ do',  da = c (do' v'ᵀ)
 *   a = softmax s (with a sink z)  ds = a (da − D),  dz = −Σ exp(z − L) D
 *   s = t · factors + biases       dbias = ds,  dfactor = ds · t · other factors,  dt = ds · factors
 *   t = cap·tanh(u/cap)            du = dt (1 − (t/cap)²)
 *   u = scale·x + interpolation    see attention_contextual.h
 *   x = q'·k'                      dq' = dx k',  dk' = dxᵀ q' */
#ifndef LOCUS_ATTENTION_CONTEXTUAL_BACKWARD_BODY_H
#define LOCUS_ATTENTION_CONTEXTUAL_BACKWARD_BODY_H

#include "attention/contextual/attention_contextual_body.h"
#include "scores/score_row.h"

static double row_total(const contextual_worker *w, size_t row) {
    return (double)*query_row(w, &w->job->turn.log_sum_exp, w->span.query_first + row);
}

/* Scores become weights again. */
static void backward_weights(contextual_worker *w, size_t row, size_t i) {
    const contextual_job *job = w->job;
    const double total = row_total(w, row);
    const attention_seen *seen = &w->seen[i];
    real *score = w->score + i * w->ld;
    key_run runs[2];
    runs_of(seen, runs);
    size_t count = seen->high - seen->low + (seen->kept_high - seen->kept_low);
    for (size_t r = 0; job->drop_logits && r < 2; r++)
        for (size_t j = runs[r].low; j < runs[r].high; j++)
            count -= is_hidden(w, j);
    for (size_t r = 0; r < 2; r++) {
        /* Every score of the row was dropped: −10⁸ + ln n has no digits left for ln n. */
        for (size_t j = runs[r].low; job->drop_logits && total < -5e7 && j < runs[r].high; j++)
            score[j] = 1 / (real)count;
        if (runs[r].low < runs[r].high && !(job->drop_logits && total < -5e7))
            w->kernels->exp_sum(runs[r].high - runs[r].low, total == -(double)INFINITY ? 0 : (real)total,
                                score + runs[r].low);
    }
    hide_keys(w, i, 0, score);
}

/* ---- score terms ---- */

static void term_backward(const contextual_worker *w, size_t index, const locus_score_call *call, const real *g,
                          const real *before, void *slot) {
    const locus_score_term *term = locus_plan_score_term(w->job->plan, index);
    real *product = w->term + CONTEXTUAL_BLOCK;
    if (term->kind == LOCUS_SCORE_BIAS) {
        term->class->row_backward(term, call, g, slot);
        return;
    }
    w->kernels->multiply(call->count, g, before, product);
    for (size_t t = 0; t < w->job->term_count; t++) {
        const locus_score_term *other = locus_plan_score_term(w->job->plan, t);
        if (t != index && other->kind == LOCUS_SCORE_FACTOR)
            w->kernels->multiply(call->count, product, locus_score_term_row(other, call, w->term), product);
    }
    term->class->row_backward(term, call, product, slot);
}

/* Gradients of learned terms from g = ds, then g = dt, of at most 128 keys. */
static void terms_backward(const contextual_worker *w, size_t row, size_t key, size_t count, real *g) {
    const contextual_job *job = w->job;
    const locus_score_call call = {REAL_DTYPE, w->head, w->span.query_first + row, w->span.key_first + key,
                                   count,      NULL};
    size_t offset = job->slots.terms;
    for (size_t t = 0; w->slot && t < job->term_count; t++) {
        const locus_score_term *term = locus_plan_score_term(job->plan, t);
        const size_t bytes = locus_score_slot_bytes(term);
        if (bytes > 0)
            term_backward(w, t, &call, g, w->before + key, w->slot + offset);
        offset += padded(bytes, LOCUS_ALIGNMENT);
    }
    for (size_t t = 0; t < job->term_count; t++) {
        const locus_score_term *term = locus_plan_score_term(job->plan, t);
        if (term->kind == LOCUS_SCORE_FACTOR)
            w->kernels->multiply(count, g, locus_score_term_row(term, &call, w->term), g);
    }
}

/* ---- the interpolation ---- */

/* dE's coefficients from g = du of keys [first, end). Neighbours mostly stand between the same two rows of E. */
static void add_coefficients(const contextual_worker *w, size_t first, size_t end, const real *g, real *g_table) {
    size_t at = w->below[first];
    real low = g_table[at], high = g_table[at + 1];
    for (size_t j = first; j < end; j++) {
        const real above = g[j] * w->part[j];
        if (w->below[j] != at) {
            g_table[at] = low;
            g_table[at + 1] = high;
            at = w->below[j];
            low = g_table[at];
            high = g_table[at + 1];
        }
        low += g[j] - above;
        high += above;
    }
    g_table[at] = low;
    g_table[at + 1] = high;
}

/* g = du of keys [first, end), at most 128, becomes dx; `carried`: Σ dp of the keys before. */
static void gates_backward(const contextual_worker *w, size_t first, size_t end, const real *table, double *carried,
                           real *g) {
    const double scale = w->job->settled.scale, gate_scale = w->job->gate_scale;
    double sums[CONTEXTUAL_BLOCK];
    for (size_t j = first; j < end; j++) {
        const real *at = table + w->below[j];
        *carried += (double)(g[j] * (at[1] - at[0]));
        sums[j - first] = *carried;
    }
    for (size_t j = first; j < end; j++) {
        const double gate = (double)w->gate[j];
        g[j] = (real)(scale * (double)g[j] + gate_scale * sums[j - first] * gate * (1 - gate));
    }
}

/* g = du of a run becomes dx; `carried`: Σ dp of the keys before. Runs come from the first key on. */
static void table_backward(contextual_worker *w, const key_run *run, size_t i, double *carried, real *g) {
    const contextual_job *job = w->job;
    real *g_table = w->g_table + i * job->ld_rows;
    const size_t edge = w->edge < run->low ? run->low : smaller(w->edge, run->high);
    if (run->low < edge) {
        g_table[job->table->most] += (real)locus_score_sum(REAL_DTYPE, g, run->low, edge - run->low);
        w->kernels->scale(edge - run->low, (real)job->settled.scale, g + run->low, g + run->low);
    }
    for (size_t key = edge, end; key < run->high; key = end) {
        end = smaller(key + CONTEXTUAL_BLOCK, run->high);
        add_coefficients(w, key, end, g, g_table);
        gates_backward(w, key, end, w->table + i * job->ld_rows, carried, g);
    }
}

/* ---- a row ---- */

/* D of a row. */
static real row_delta(const contextual_worker *w, size_t row, real own) {
    const attention_turn *turn = &w->job->turn;
    const size_t token = w->span.query_first + row;
    const attention_view given = locus_attention_view_of(turn->gradients->output);
    return w->kernels->dot(turn->value_dim, query_row(w, &given, token), query_row(w, &turn->output, token)) - own;
}

/* dL of a row's log-sum-exp. */
static real row_own(const contextual_worker *w, size_t row) {
    const attention_view sums = locus_attention_numbers_of(w->job->turn.gradients->log_sum_exp);
    return sums.data ? *query_row(w, &sums, w->span.query_first + row) : 0;
}

/* Row i of g_score: da becomes ds; of score: a c. */
static void score_gradients(contextual_worker *w, size_t row, size_t i, real delta) {
    const contextual_job *job = w->job;
    real *weight = w->score + i * w->ld, *g = w->g_score + i * w->ld;
    key_run runs[2];
    runs_of(&w->seen[i], runs);
    row_scores(w, row, i, true);
    backward_weights(w, row, i);
    for (size_t r = 2; r-- > 0;) {
        const size_t low = runs[r].low, high = runs[r].high, count = high - low;
        if (low >= high)
            continue;
        if (job->drop_weights)
            w->kernels->multiply(count, g + low, w->keep + low, g + low);
        w->kernels->softmax_backward(count, weight + low, g + low, delta, g + low);
        if (job->drop_weights)
            w->kernels->multiply(count, weight + low, w->keep + low, weight + low);
        for (size_t j = low; job->drop_logits && j < high; j++)
            g[j] = w->keep[j] == 0 ? 0 : g[j];
    }
    hide_keys(w, i, 0, g);
}

/* Row i of g_score: da becomes dx; of score: a c. */
static void backward_row(contextual_worker *w, size_t row, size_t i) {
    const contextual_job *job = w->job;
    real *weight = w->score + i * w->ld, *g = w->g_score + i * w->ld;
    const real own = row_own(w, row), delta = row_delta(w, row, own), cap = (real)job->settled.cap;
    double carried = 0;
    key_run runs[2];
    runs_of(&w->seen[i], runs);
    score_gradients(w, row, i, delta);
    for (size_t r = 2; r-- > 0;) {
        const size_t low = runs[r].low, high = runs[r].high;
        if (low >= high)
            continue;
        for (size_t key = low; job->term_count > 0 && key < high; key += CONTEXTUAL_BLOCK)
            terms_backward(w, row, key, smaller(high - key, CONTEXTUAL_BLOCK), g + key);
        for (size_t j = low; cap != 0 && j < high; j++)
            g[j] *= 1 - (w->before[j] / cap) * (w->before[j] / cap);
        table_backward(w, &runs[r], i, &carried, g);
    }
    hide_keys(w, i, 0, g); /* what is carried may be no number, of a row that sees one */
    clear_hidden(w, &w->seen[i], weight);
    clear_hidden(w, &w->seen[i], g);
    if (job->sinks && w->slot && (runs[0].low < runs[0].high || own != 0))
        *(double *)(void *)(w->slot + job->slots.sinks) -= exp(job->sinks[w->head] - row_total(w, row)) * (double)delta;
}

/* ---- blocks of rows ---- */

/* Rows of do' against the values: da. */
static void begin_gradients(contextual_worker *w, size_t row, size_t rows) {
    const attention_view *g = &w->job->turn.g_output;
    const size_t dim = w->job->turn.value_dim;
    gather_rows(query_row(w, g, w->span.query_first + row), g->token, rows, dim, w->g_output, w->ld_value);
    multiply_columns(w, w->g_output, (ptrdiff_t)w->ld_value, rows, dim, w->value_columns, w->g_score);
}

/* Row i of gradients against keys that it sees, next to each other. */
static void add_part_apart(const contextual_worker *w, size_t token, size_t i, const key_run *part) {
    const attention_turn *turn = &w->job->turn;
    const ptrdiff_t ld_key = (ptrdiff_t)w->ld_key, ld_value = (ptrdiff_t)w->ld_value;
    const size_t width = part->high - part->low, low = part->low;
    const real *weight = w->score + i * w->ld + low, *g = w->g_score + i * w->ld + low;
    if (turn->wants_value)
        w->kernels->gemm(width, turn->value_dim, 1, weight, 1, 0, w->g_output + i * w->ld_value, 0,
                         w->g_values + low * w->ld_value, ld_value, true);
    if (turn->wants_key)
        w->kernels->gemm(width, turn->head_dim, 1, g, 1, 0, w->query + i * w->ld_key, 0, w->g_keys + low * w->ld_key,
                         ld_key, true);
    if (turn->wants_query)
        w->kernels->gemm(1, turn->head_dim, width, g, 0, 1, w->keys + low * w->ld_key, ld_key,
                         query_row(w, &turn->g_query, token), 0, true);
}

/* As forward_sums_apart: each row of gradients meets the rows that it sees, alone. */
static void add_block_apart(contextual_worker *w, size_t token, size_t rows) {
    for (size_t i = 0; i < rows; i++) {
        key_run runs[2];
        runs_of(&w->seen[i], runs);
        take_bias(w, token + i - w->span.query_first, i);
        for (size_t r = 2; r-- > 0;)
            for (key_run part = {0, 0}; next_part(w, &runs[r], &part);)
                add_part_apart(w, token + i, i, &part);
    }
}

static void add_block(contextual_worker *w, size_t token, size_t rows) {
    const attention_turn *turn = &w->job->turn;
    const ptrdiff_t ld = (ptrdiff_t)w->ld, ld_key = (ptrdiff_t)w->ld_key, ld_value = (ptrdiff_t)w->ld_value;
    real *g_query = query_row(w, &turn->g_query, token);
    for (size_t i = 0; turn->wants_query && i < rows; i++)
        memset(g_query + (ptrdiff_t)i * turn->g_query.token, 0, turn->head_dim * sizeof(real));
    if (w->apart) {
        add_block_apart(w, token, rows);
        return;
    }
    for (size_t key = seen_first(&w->all) / CONTEXTUAL_BLOCK * CONTEXTUAL_BLOCK; key < w->all.high;
         key += CONTEXTUAL_BLOCK) {
        const size_t width = smaller(w->all.high - key, CONTEXTUAL_BLOCK);
        if (!locus_attention_seen_any(&w->all, key, width))
            continue;
        if (turn->wants_value)
            w->kernels->gemm(width, turn->value_dim, rows, w->score + key, 1, ld, w->g_output, ld_value,
                             w->g_values + key * w->ld_value, ld_value, true);
        if (turn->wants_key)
            w->kernels->gemm(width, turn->head_dim, rows, w->g_score + key, 1, ld, w->query, ld_key,
                             w->g_keys + key * w->ld_key, ld_key, true);
        if (turn->wants_query)
            w->kernels->gemm(rows, turn->head_dim, width, w->g_score + key, ld, 1, w->keys + key * w->ld_key, ld_key,
                             g_query, turn->g_query.token, true);
    }
}

/* dq from E (beside dq', or in a buffer of its own where an operator stands between), and dE. */
static void add_rows(contextual_worker *w, size_t token, size_t rows) {
    const contextual_job *job = w->job;
    const size_t dim = job->turn.head_dim;
    const attention_view *to = &job->raw_g_query;
    if (job->turn.gradients->query)
        w->kernels->gemm(rows, dim, job->row_count, w->g_table, (ptrdiff_t)job->ld_rows, 1, job->rows, (ptrdiff_t)dim,
                         query_row(w, to, token), to->token, !job->turn.acts_query_key);
    if (w->slot)
        w->kernels->gemm(job->row_count, dim, rows, w->g_table, 1, (ptrdiff_t)job->ld_rows,
                         query_row(w, &job->raw_query, token), job->raw_query.token,
                         (real *)(void *)(w->slot + job->slots.table), (ptrdiff_t)dim, true);
}

static void backward_block(contextual_worker *w, size_t row, size_t rows) {
    const contextual_job *job = w->job;
    const size_t token = w->span.query_first + row;
    begin_block(w, row, rows);
    begin_gradients(w, row, rows);
    memset(w->g_table, 0, rows * job->ld_rows * sizeof(real));
    for (size_t i = 0; i < rows; i++)
        backward_row(w, row + i, i);
    add_block(w, token, rows);
    add_rows(w, token, rows);
}

/* What is not wanted is. */
static bool rows_are_finite(const contextual_worker *w, const attention_view *view, size_t first, size_t count,
                            size_t head, size_t dim) {
    const real *row = row_of(view, w->sequence, first, first, head);
    real sum = 0;
    for (size_t t = 0; row && t < count; t++, row += view->token)
        sum += w->kernels->dot(dim, row, row);
    return sum * 0 == 0;
}

static bool sequence_is_finite(const contextual_worker *w) {
    const attention_turn *turn = &w->job->turn;
    const locus_sequence_span *s = &w->span;
    bool finite = rows_are_finite(w, &turn->g_key, s->key_first, s->key_count, w->kv_head, turn->head_dim) &&
                  rows_are_finite(w, &turn->g_value, s->key_first, s->key_count, w->kv_head, turn->value_dim);
    for (size_t h = w->kv_head * turn->group; finite && h < (w->kv_head + 1) * turn->group; h++)
        finite = rows_are_finite(w, &turn->g_query, s->query_first, s->query_count, h, turn->head_dim);
    return finite;
}

/* Rows [keys][ld] of the sequence become those of a view. */
static void scatter_keys(const contextual_worker *w, const attention_view *view, size_t dim, const real *rows,
                         size_t ld) {
    for (size_t key = 0; key < w->span.key_count; key++)
        memcpy(key_row(w, view, w->span.key_first + key), rows + key * ld, dim * sizeof(real));
}

static void backward_sequence(contextual_worker *w, size_t group) {
    const contextual_job *job = w->job;
    const attention_turn *turn = &job->turn;
    w->span = locus_plan_span(job->plan, w->sequence);
    const size_t keys = w->span.key_count;
    fill_columns(w, &turn->key, 0, keys, turn->head_dim, w->key_columns);
    fill_columns(w, &turn->value, 0, keys, turn->value_dim, w->value_columns);
    if (turn->wants_query)
        gather_keys(w, &turn->key, 0, keys, turn->head_dim, w->keys, w->ld_key);
    if (turn->wants_key)
        memset(w->g_keys, 0, keys * w->ld_key * sizeof(real));
    if (turn->wants_value)
        memset(w->g_values, 0, keys * w->ld_value * sizeof(real));
    for (w->head = w->kv_head * turn->group; w->head < (w->kv_head + 1) * turn->group; w->head++) {
        w->slot = job->slots_wanted ? job->slot_data + (w->head * job->groups + group) * job->slots.bytes : NULL;
        for (size_t row = 0; row < w->span.query_count && !locus_call_cancelled(); row += CONTEXTUAL_ROWS)
            backward_block(w, row, smaller(w->span.query_count - row, CONTEXTUAL_ROWS));
    }
    if (turn->wants_key)
        scatter_keys(w, &turn->g_key, turn->head_dim, w->g_keys, w->ld_key);
    if (turn->wants_value)
        scatter_keys(w, &turn->g_value, turn->value_dim, w->g_values, w->ld_value);
    w->finite = w->finite && sequence_is_finite(w);
}

/* All that a task writes is begun anew here. */
static void backward_pass(contextual_worker *w, size_t group) {
    const contextual_job *job = w->job;
    const size_t end = (group + 1) * job->turn.sequences / job->groups;
    for (size_t h = w->kv_head * job->turn.group; h < (w->kv_head + 1) * job->turn.group; h++)
        memset(job->slot_data + (h * job->groups + group) * job->slots.bytes, 0, job->slots.bytes);
    for (w->sequence = group * job->turn.sequences / job->groups; w->sequence < end; w->sequence++)
        backward_sequence(w, group);
}

static void backward_task(void *context, size_t index, size_t worker) {
    const contextual_job *job = context;
    const size_t kv_heads = job->turn.kv_heads, group = index / kv_heads;
    contextual_worker w;
    carve_worker(job, job->turn.workers + worker * job->turn.worker_bytes, &w);
    w.kv_head = index % kv_heads;
    w.finite = true;
    backward_pass(&w, group);
    w.apart = !w.finite;
    if (w.apart)
        backward_pass(&w, group);
}

/* ---- after the operators ---- */

static void finish_task(void *context, size_t sequence, size_t worker) {
    const contextual_job *job = context;
    const locus_sequence_span span = locus_plan_span(job->plan, sequence);
    const attention_view to = locus_attention_view_of(job->turn.gradients->query);
    (void)worker;
    for (size_t h = 0; h < job->turn.heads; h++)
        for (size_t t = span.query_first; t < span.query_first + span.query_count; t++) {
            real *row = row_of(&to, sequence, span.query_first, t, h);
            KERNELS_GET()->add(job->turn.head_dim, row, row_of(&job->raw_g_query, sequence, span.query_first, t, h),
                               row);
        }
}

/* dq += E's part, which no operator stands before. */
static void finish(attention_turn *turn) {
    if (turn->acts_query_key && turn->gradients->query)
        locus_parallel_for(turn->sequences, finish_task, turn);
}

#endif
