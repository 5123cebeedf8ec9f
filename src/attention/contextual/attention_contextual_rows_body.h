/* SPDX-License-Identifier: MIT */
/* What is made of rows of contextual attention beside outputs and their gradients: the gradient of the call's bias,
 * rectangle by rectangle (attention_bias.h), and rows of weights (attention_weights.h). */
#ifndef LOCUS_ATTENTION_CONTEXTUAL_ROWS_BODY_H
#define LOCUS_ATTENTION_CONTEXTUAL_ROWS_BODY_H

#include "attention/contextual/attention_contextual_backward_body.h"

/* ---- the bias's gradient: ds of a forward that is made once more ---- */

static void add_bias_row(contextual_worker *w, const attention_bias_rectangle *place, size_t row, size_t i) {
    const real *g = w->g_score + i * w->ld;
    double *to = w->bias_sum + (place->one_row ? 0 : row - place->first_row) * w->ld;
    key_run runs[2];
    runs_of(&w->seen[i], runs);
    score_gradients(w, row, i, row_delta(w, row, row_own(w, row)));
    for (size_t r = 2; r-- > 0;) {
        const size_t low = runs[r].low > place->first_key ? runs[r].low : place->first_key;
        for (size_t j = low; j < smaller(runs[r].high, place->end_key); j++)
            to[place->one_key ? 0 : j - place->first_key] += (double)g[j];
    }
}

static void add_bias_head(contextual_worker *w, const attention_bias_rectangle *place) {
    const size_t end = smaller(place->end_row, w->span.query_count);
    for (size_t row = place->first_row; row < end && !locus_call_cancelled(); row += CONTEXTUAL_ROWS) {
        const size_t rows = smaller(end - row, CONTEXTUAL_ROWS);
        begin_block(w, row, rows);
        begin_gradients(w, row, rows);
        for (size_t i = 0; i < rows; i++)
            add_bias_row(w, place, row + i, i);
    }
}

static void add_bias_sequence(contextual_worker *w, const attention_bias_rectangle *place) {
    const attention_turn *turn = &w->job->turn;
    w->span = locus_plan_span(w->job->plan, w->sequence);
    if (place->first_row >= w->span.query_count || place->first_key >= w->span.key_count)
        return;
    for (w->head = place->first_head; w->head < place->end_head && !locus_call_cancelled(); w->head++) {
        w->kv_head = w->head / turn->group;
        if (w->head == place->first_head || w->head % turn->group == 0) {
            fill_columns(w, &turn->key, 0, w->span.key_count, turn->head_dim, w->key_columns);
            fill_columns(w, &turn->value, 0, w->span.key_count, turn->value_dim, w->value_columns);
        }
        add_bias_head(w, place);
    }
}

static void bias_task(void *context, size_t index, size_t worker) {
    const contextual_job *job = context;
    contextual_worker w;
    carve_worker(job, job->turn.workers + worker * job->turn.worker_bytes, &w);
    const attention_bias_cut grid = locus_attention_bias_cut(&job->g_bias, CONTEXTUAL_BIAS_ROWS, w.ld);
    const attention_bias_rectangle place =
        locus_attention_bias_rectangle(&job->g_bias, &grid, index, job->turn.sequences, job->turn.heads);
    memset(w.bias_sum, 0, CONTEXTUAL_BIAS_ROWS * w.ld * sizeof(double));
    for (w.sequence = place.first_sequence; w.sequence < place.end_sequence; w.sequence++)
        add_bias_sequence(&w, &place);
    locus_attention_bias_write(&job->g_bias, &place, w.bias_sum, w.ld);
}

static void backward(attention_turn *turn) {
    contextual_job *job = (contextual_job *)turn;
    fill_rows(job);
    locus_parallel_for(job->groups * turn->kv_heads, backward_task, job);
    if (job->g_bias.data) {
        const attention_bias_cut grid =
            locus_attention_bias_cut(&job->g_bias, CONTEXTUAL_BIAS_ROWS, contextual_row(job));
        locus_parallel_for(grid.tasks, bias_task, job);
    }
}

/* ---- weights ---- */

static void write_weights(contextual_worker *w, size_t head, size_t index, size_t row, size_t i) {
    const real *score = w->score + i * w->ld;
    key_run runs[2];
    runs_of(&w->seen[i], runs);
    row_scores(w, row, i, false);
    forward_softmax(w, row, i);
    memset(w->weight, 0, w->span.key_count * sizeof(real));
    for (size_t r = 0; r < 2; r++)
        if (runs[r].low < runs[r].high)
            w->kernels->scale(runs[r].high - runs[r].low, w->total[i] == 0 ? 0 : 1 / w->total[i], score + runs[r].low,
                              w->weight + runs[r].low);
    hide_keys(w, i, 0, w->weight);
    locus_attention_choice_write(&w->job->choice, head, index, REAL_DTYPE, w->weight);
}

static void weights_task(void *context, size_t task, size_t worker) {
    const contextual_job *job = context;
    const attention_choice *choice = &job->choice;
    const size_t parts = locus_attention_choice_parts(choice), head = task / parts;
    const size_t first = task % parts * ATTENTION_WEIGHTS_ROWS;
    const size_t end = smaller(first + ATTENTION_WEIGHTS_ROWS, choice->query_count);
    contextual_worker w;
    carve_worker(job, job->turn.workers + worker * job->turn.worker_bytes, &w);
    w.head = locus_attention_chosen_head(choice, head);
    w.kv_head = w.head / job->turn.group;
    w.sequence = choice->sequence;
    w.span = locus_plan_span(job->plan, choice->sequence);
    if (w.span.key_count == 0)
        return;
    fill_columns(&w, &job->turn.key, 0, w.span.key_count, job->turn.head_dim, w.key_columns);
    for (size_t index = first, rows; index < end && !locus_call_cancelled(); index += rows) {
        const size_t row = locus_attention_chosen_query(choice, index);
        rows = locus_attention_choice_run(choice, index, end, CONTEXTUAL_ROWS);
        begin_block(&w, row, rows);
        for (size_t i = 0; i < rows; i++)
            write_weights(&w, head, index + i, row + i, i);
    }
}

static void weights(attention_turn *turn) {
    contextual_job *job = (contextual_job *)turn;
    fill_rows(job);
    locus_parallel_for(job->choice.head_count * locus_attention_choice_parts(&job->choice), weights_task, job);
}

const attention_bodies REAL_NAME(locus_attention_contextual) = {
    .scratch = worker_scratch, .forward = forward, .backward = backward, .weights = weights, .after = finish};

#endif
