/* SPDX-License-Identifier: MIT */
/* What both passes of contextual attention share, rows of scores, and the forward pass. See attention_contextual.h.
 *
 * In one element type (kernels/real.h), by attention_contextual_typed.c. Letters: ld a row's stride in scratch; j a key
 * of the sequence. */
#ifndef LOCUS_ATTENTION_CONTEXTUAL_BODY_H
#define LOCUS_ATTENTION_CONTEXTUAL_BODY_H

#include "attention/attention_bias_body.h"
#include "attention/attention_rows_body.h"
#include "core/call.h"

typedef struct contextual_worker {
    const contextual_job *job;
    const KERNELS *kernels;
    size_t head, kv_head, sequence;
    locus_sequence_span span;
    size_t ld, ld_key, ld_value; /* ld: contextual_row */
    real *key_columns;           /* [keys/128][head_dim][128] */
    real *value_columns;         /* the same of values; backward */
    real *keys, *g_keys;         /* [keys][ld_key] of the head, next to each other; backward */
    real *values;                /* [keys][ld_value], the same; forward, of pieces that read them more than once */
    real *g_values;              /* backward */
    const real *value;           /* where rows of values are, from the sequence's first key on: there or the caller's */
    ptrdiff_t value_stride;
    real *query;       /* [CONTEXTUAL_ROWS][ld_key] the block's queries */
    real *g_output;    /* [CONTEXTUAL_ROWS][ld_value]; backward */
    real *score;       /* [CONTEXTUAL_ROWS][ld]: products, scores, weights */
    real *g_score;     /* backward */
    real *table;       /* [CONTEXTUAL_ROWS][ld_rows]: q·Eᵀ */
    real *g_table;     /* backward */
    real *sum;         /* [CONTEXTUAL_ROWS][ld_value]; forward */
    real *keep;        /* [ld] dropout's factors of a row */
    real *gate, *part; /* [ld] σ and f of a row's keys from `edge` on */
    uint32_t *below;   /* [ld] ⌊p⌋ of them */
    real *before;      /* [ld] a row's scores before factors and biases */
    real *term;        /* [128] */
    real *bias;        /* [ld] of the row that was last taken, at the keys that it sees; with a bias */
    real *weight;      /* [ld] a row of weights, where these are asked for */
    double *bias_sum;  /* [CONTEXTUAL_BIAS_ROWS][ld]; backward, with a bias */
    size_t edge;       /* keys of the row before it stand at `most` */
    real total[CONTEXTUAL_ROWS];
    attention_seen seen[CONTEXTUAL_ROWS], all; /* of each row, and of all together */
    char *slot;                                /* or NULL */
    bool apart, finite;                        /* backward: see add_block_apart */
} contextual_worker;

/* Keys of the longest sequence, in whole blocks. A bias may have keys where no sequence has. */
static size_t contextual_keys(const contextual_job *job) {
    return padded(job->max_keys > 0 ? job->max_keys : 1, CONTEXTUAL_BLOCK);
}

/* Numbers of a row in scratch: these keys, and a bit more, so that the rows of a block do not lie a power of two apart
 * and share a few sets of the first cache level. */
static size_t contextual_row(const contextual_job *job) {
    return contextual_keys(job) + 16;
}

static size_t carve_worker(const contextual_job *job, char *base, contextual_worker *w) {
    attention_carver carver = {base, 0};
    const attention_turn *turn = &job->turn;
    const bool backward = turn->pass == LOCUS_PASS_BACKWARD;
    const size_t keys = contextual_keys(job), ld = contextual_row(job), rows = CONTEXTUAL_ROWS;
    memset(w, 0, sizeof *w);
    w->job = job;
    w->kernels = KERNELS_GET();
    w->ld = ld;
    w->ld_key = padded(turn->head_dim, LOCUS_ALIGNMENT / sizeof(real));
    w->ld_value = padded(turn->value_dim, LOCUS_ALIGNMENT / sizeof(real));
    w->key_columns = locus_attention_carve(&carver, keys * turn->head_dim, sizeof(real));
    w->value_columns = locus_attention_carve(&carver, backward ? keys * turn->value_dim : 0, sizeof(real));
    w->keys = locus_attention_carve(&carver, backward ? keys * w->ld_key : 0, sizeof(real));
    w->g_keys = locus_attention_carve(&carver, backward ? keys * w->ld_key : 0, sizeof(real));
    w->values = locus_attention_carve(&carver, backward || turn->call->weighs ? 0 : keys * w->ld_value, sizeof(real));
    w->g_values = locus_attention_carve(&carver, backward ? keys * w->ld_value : 0, sizeof(real));
    w->query = locus_attention_carve(&carver, rows * w->ld_key, sizeof(real));
    w->g_output = locus_attention_carve(&carver, backward ? rows * w->ld_value : 0, sizeof(real));
    w->score = locus_attention_carve(&carver, rows * ld, sizeof(real));
    w->g_score = locus_attention_carve(&carver, backward ? rows * ld : 0, sizeof(real));
    w->table = locus_attention_carve(&carver, rows * job->ld_rows, sizeof(real));
    w->g_table = locus_attention_carve(&carver, backward ? rows * job->ld_rows : 0, sizeof(real));
    w->sum = locus_attention_carve(&carver, backward ? 0 : rows * w->ld_value, sizeof(real));
    w->keep = locus_attention_carve(&carver, job->dropout > 0 ? ld : 0, sizeof(real));
    w->gate = locus_attention_carve(&carver, ld, sizeof(real));
    w->part = locus_attention_carve(&carver, ld, sizeof(real));
    w->below = locus_attention_carve(&carver, ld, sizeof(uint32_t));
    w->before = locus_attention_carve(&carver, backward ? ld : 0, sizeof(real));
    w->term = locus_attention_carve(&carver, (size_t)2 * CONTEXTUAL_BLOCK, sizeof(real));
    w->bias = locus_attention_carve(&carver, job->biased ? ld : 0, sizeof(real));
    w->weight = locus_attention_carve(&carver, turn->call->weighs ? ld : 0, sizeof(real));
    w->bias_sum =
        locus_attention_carve(&carver, job->biased && backward ? CONTEXTUAL_BIAS_ROWS * ld : 0, sizeof(double));
    return carver.used;
}

static size_t worker_scratch(const attention_turn *turn) {
    contextual_worker w;
    return carve_worker((const contextual_job *)turn, NULL, &w);
}

/* ---- rows of the worker's sequence and head ---- */

static real *query_row(const contextual_worker *w, const attention_view *view, size_t token) {
    return row_of(view, w->sequence, w->span.query_first, token, w->head);
}

static real *key_row(const contextual_worker *w, const attention_view *view, size_t token) {
    return row_of(view, w->sequence, w->span.key_first, token, w->kv_head);
}

/* Rows that lie apart become rows of scratch: products pass over them many times. */
static void gather_rows(const real *from, ptrdiff_t stride, size_t rows, size_t dim, real *to, size_t ld) {
    for (size_t i = 0; i < rows; i++, from += stride, to += ld)
        memcpy(to, from, dim * sizeof(real));
}

/* ---- blocks of keys ---- */

/* Keys [low, high) of one run, piece by piece. */
typedef struct key_run {
    size_t low, high;
} key_run;

/* The runs of a row, from the query back. */
static void runs_of(const attention_seen *seen, key_run runs[2]) {
    runs[0] = (key_run){seen->low, seen->high};
    runs[1] = (key_run){seen->kept_low, seen->kept_high};
}

static size_t seen_first(const attention_seen *seen) {
    return seen->kept_low < seen->kept_high ? seen->kept_low : seen->low;
}

/* ---- the call's bias ---- */

/* Takes that of row `row` of the sequence, row i of the block. */
static void take_bias(const contextual_worker *w, size_t row, size_t i) {
    key_run runs[2];
    runs_of(&w->seen[i], runs);
    for (size_t r = 0; w->job->bias.data && r < 2; r++) {
        const size_t low = runs[r].low, count = runs[r].high - low;
        if (low >= runs[r].high)
            continue;
        const real *values = bias_values(&w->job->bias, w->sequence, w->head, row, low, count, w->bias + low);
        if (values != w->bias + low)
            memcpy(w->bias + low, values, count * sizeof(real));
    }
}

static bool is_hidden(const contextual_worker *w, size_t key) {
    return w->job->bias.data && w->bias[key] == -(real)INFINITY;
}

/* What the bias hides of row i, whose bias was taken, becomes `value`. */
static void hide_keys(const contextual_worker *w, size_t i, real value, real *row) {
    key_run runs[2];
    runs_of(&w->seen[i], runs);
    for (size_t r = 0; w->job->bias.data && r < 2; r++)
        if (runs[r].low < runs[r].high)
            bias_hide(runs[r].high - runs[r].low, w->bias + runs[r].low, value, row + runs[r].low);
}

/* The next keys of a run, behind `part`, that the bias does not hide; the first ones behind an empty part at 0. */
static bool next_part(const contextual_worker *w, const key_run *run, key_run *part) {
    size_t low = part->high > run->low ? part->high : run->low;
    while (low < run->high && is_hidden(w, low))
        low++;
    part->low = part->high = low;
    while (part->high < run->high && !is_hidden(w, part->high))
        part->high++;
    return part->low < part->high;
}

/* ---- columns ---- */

/* Rows become [count/128][dim][128] from key `first` (a multiple of 128) on; columns past the end are 0. */
static void fill_columns(const contextual_worker *w, const attention_view *view, size_t first, size_t end, size_t dim,
                         real *columns) {
    for (size_t key = first; key < end; key += CONTEXTUAL_BLOCK) {
        const size_t width = smaller(end - key, CONTEXTUAL_BLOCK);
        real *block = columns + key * dim;
        w->kernels->transpose(width, dim, key_row(w, view, w->span.key_first + key), view->token, block,
                              CONTEXTUAL_BLOCK);
        for (size_t d = 0; width < CONTEXTUAL_BLOCK && d < dim; d++)
            memset(block + d * CONTEXTUAL_BLOCK + width, 0, (CONTEXTUAL_BLOCK - width) * sizeof(real));
    }
}

/* Rows become [keys][ld], of keys [first, end). */
static void gather_keys(const contextual_worker *w, const attention_view *view, size_t first, size_t end, size_t dim,
                        real *rows, size_t ld) {
    if (first < end)
        gather_rows(key_row(w, view, w->span.key_first + first), view->token, end - first, dim, rows + first * ld, ld);
}

/* out[rows][ld] = left · columns, over the blocks that a row sees. */
static void multiply_columns(const contextual_worker *w, const real *left, ptrdiff_t ld_left, size_t rows, size_t dim,
                             const real *columns, real *out) {
    for (size_t key = seen_first(&w->all) / CONTEXTUAL_BLOCK * CONTEXTUAL_BLOCK; key < w->all.high;
         key += CONTEXTUAL_BLOCK) {
        const size_t width = smaller(w->all.high - key, CONTEXTUAL_BLOCK);
        if (locus_attention_seen_any(&w->all, key, width))
            w->kernels->gemm(rows, padded(width, 16), dim, left, ld_left, 1, columns + key * dim, CONTEXTUAL_BLOCK,
                             out + key, (ptrdiff_t)w->ld, false);
    }
}

/* Elements of a row that the query does not see become 0, over the blocks of the rows together. */
static void clear_hidden(const contextual_worker *w, const attention_seen *seen, real *row) {
    const size_t first = seen_first(&w->all) / CONTEXTUAL_BLOCK * CONTEXTUAL_BLOCK, end = w->all.high;
    const size_t bounds[] = {first, seen->kept_low, seen->kept_high, seen->low, seen->high, end};
    const bool kept = seen->kept_low < seen->kept_high, any = seen->low < seen->high;
    if (!any)
        memset(row + first, 0, (end - first) * sizeof(real));
    for (size_t i = 0; any && i < 6; i += 2) {
        const size_t low = i == 2 && !kept ? first : bounds[i], high = i == 0 && !kept ? first : bounds[i + 1];
        if (low < high)
            memset(row + low, 0, (high - low) * sizeof(real));
    }
}

/* ---- a row's scores ---- */

/* σ of keys [first, end). */
static void gate_keys(const contextual_worker *w, size_t first, size_t end, const real *product) {
    real *gate = w->gate;
    w->kernels->scale(end - first, (real)-w->job->gate_scale, product + first, gate + first);
    w->kernels->exp_sum(end - first, 0, gate + first);
    for (size_t j = first; j < end; j++)
        gate[j] = 1 / (1 + gate[j]);
    for (size_t j = first; w->job->bias.data && j < end; j++)
        gate[j] = is_hidden(w, j) ? 0 : gate[j];
}

/* σ, ⌊p⌋ and f from the query back, until p reaches `most`. */
static void place_keys(contextual_worker *w, const attention_seen *seen, const real *product) {
    const double most = (double)w->job->table->most;
    double place[CONTEXTUAL_BLOCK], sum = 0;
    key_run runs[2];
    runs_of(seen, runs);
    w->edge = 0;
    for (size_t r = 0; r < 2; r++)
        for (size_t end = runs[r].high, first; end > runs[r].low && w->edge == 0; end = first) {
            size_t at = end;
            first = end - runs[r].low > CONTEXTUAL_BLOCK ? end - CONTEXTUAL_BLOCK : runs[r].low;
            gate_keys(w, first, end, product);
            while (at > first && (sum += (double)w->gate[at - 1]) < most) { /* a NaN is not: its score carries it on */
                at--;
                place[at - first] = sum;
            }
            w->edge = at > first ? at : 0;
            for (size_t j = at; j < end; j++) {
                const int32_t below = (int32_t)place[j - first];
                w->below[j] = (uint32_t)below;
                w->part[j] = (real)(place[j - first] - (double)below);
            }
        }
}

/* s = scale·product + the interpolation. */
static void add_table(contextual_worker *w, const key_run *run, const real *table, real *score) {
    const real scale = (real)w->job->settled.scale, last = table[w->job->table->most];
    const size_t edge = w->edge < run->low ? run->low : smaller(w->edge, run->high);
    for (size_t j = run->low; j < edge; j++)
        score[j] = scale * score[j] + last;
    for (size_t j = edge; j < run->high; j++) {
        const real *at = table + w->below[j];
        score[j] = scale * score[j] + (at[0] + w->part[j] * (at[1] - at[0]));
    }
}

static const real *term_values(const contextual_worker *w, const locus_score_term *term, size_t row, size_t key,
                               size_t count) {
    const locus_score_call call = {REAL_DTYPE, w->head, w->span.query_first + row, w->span.key_first + key,
                                   count,      NULL};
    return locus_score_term_row(term, &call, w->term);
}

static void apply_terms(const contextual_worker *w, size_t row, const key_run *run, real *score) {
    for (size_t key = run->low, count; key < run->high; key += count) {
        count = smaller(run->high - key, CONTEXTUAL_BLOCK);
        for (size_t t = 0; t < w->job->term_count; t++) {
            const locus_score_term *term = locus_plan_score_term(w->job->plan, t);
            const real *values = term_values(w, term, row, key, count);
            (term->kind == LOCUS_SCORE_FACTOR ? w->kernels->multiply : w->kernels->add)(count, score + key, values,
                                                                                        score + key);
        }
    }
}

/* What each weight of a row is multiplied by; a row is a query token and a head, as in attention elsewhere. */
static void draw_dropout(const contextual_worker *w, size_t row, const key_run *run) {
    const contextual_job *job = w->job;
    const size_t first = run->low / 8 * 8;
    const uint64_t id = (uint64_t)(w->span.query_first + row) * job->turn.heads + w->head;
    if (run->low < run->high)
        w->kernels->dropout_row(run->high - first, &job->dropout_key, id, first, job->dropout, w->keep + first);
}

/* Products of row `row` become scores, row i of the block; `before` is kept where it is asked for. */
static void row_scores(contextual_worker *w, size_t row, size_t i, bool keep_before) {
    const contextual_job *job = w->job;
    real *score = w->score + i * w->ld;
    const real cap = (real)job->settled.cap;
    key_run runs[2];
    runs_of(&w->seen[i], runs);
    take_bias(w, row, i);
    place_keys(w, &w->seen[i], score);
    for (size_t r = 0; r < 2; r++) {
        const size_t low = runs[r].low, high = runs[r].high;
        if (low >= high)
            continue;
        add_table(w, &runs[r], w->table + i * job->ld_rows, score);
        for (size_t j = low; cap != 0 && j < high; j++)
            score[j] = cap * real_tanh(score[j] / cap);
        if (keep_before)
            memcpy(w->before + low, score + low, (high - low) * sizeof(real));
        apply_terms(w, row, &runs[r], score);
        if (job->bias.data)
            w->kernels->add(high - low, score + low, w->bias + low, score + low);
    }
    for (size_t r = 2; job->dropout > 0 && r-- > 0;) /* the later run last: blocks of 8 may overlap */
        draw_dropout(w, row, &runs[r]);
    for (size_t r = 0; job->drop_logits && r < 2; r++)
        for (size_t j = runs[r].low; j < runs[r].high; j++)
            score[j] = w->keep[j] == 0 ? (real)-1e8 : score[j];
    hide_keys(w, i, -(real)INFINITY, score);
}

/* ---- blocks of rows ---- */

/* Rows [row, row + rows) of the sequence's queries: what they see, products, and q·Eᵀ. */
static void begin_block(contextual_worker *w, size_t row, size_t rows) {
    const contextual_job *job = w->job;
    const size_t token = w->span.query_first + row, dim = job->turn.head_dim;
    w->all = (attention_seen){0, 0, 0, 0};
    for (size_t i = 0; i < rows; i++) {
        w->seen[i] = locus_attention_see(&job->sight, w->sequence, &w->span, row + i);
        w->all = locus_attention_seen_join(&w->all, &w->seen[i]);
    }
    gather_rows(query_row(w, &job->turn.query, token), job->turn.query.token, rows, dim, w->query, w->ld_key);
    multiply_columns(w, w->query, (ptrdiff_t)w->ld_key, rows, dim, w->key_columns, w->score);
    w->kernels->gemm(rows, job->ld_rows, dim, query_row(w, &job->raw_query, token), job->raw_query.token, 1,
                     (const real *)(const void *)job->row_columns, (ptrdiff_t)job->ld_rows, w->table,
                     (ptrdiff_t)job->ld_rows, false);
}

/* Eᵀ, with zeros behind its last row. */
static void fill_rows(const contextual_job *job) {
    real *columns = (real *)(void *)job->row_columns;
    const size_t dim = job->turn.head_dim;
    KERNELS_GET()->transpose(job->row_count, dim, job->rows, (ptrdiff_t)dim, columns, (ptrdiff_t)job->ld_rows);
    for (size_t d = 0; d < dim; d++)
        memset(columns + d * job->ld_rows + job->row_count, 0, (job->ld_rows - job->row_count) * sizeof(real));
}

/* ---- forward ---- */

/* Scores become weights that still lack 1/total; the log-sum-exp is written. */
static void forward_softmax(contextual_worker *w, size_t row, size_t i) {
    const contextual_job *job = w->job;
    real *score = w->score + i * w->ld, top = -(real)INFINITY, total = 0;
    key_run runs[2];
    runs_of(&w->seen[i], runs);
    for (size_t r = 0; r < 2; r++)
        if (runs[r].low < runs[r].high) {
            const real peak = w->kernels->maximum(runs[r].high - runs[r].low, score + runs[r].low);
            top = peak > top ? peak : top;
        }
    const bool sink = job->sinks != NULL; /* of a row that sees no key, too: then it is all of the log-sum-exp */
    if (sink && (real)job->sinks[w->head] > top)
        top = (real)job->sinks[w->head];
    const real shift = top == -(real)INFINITY ? 0 : top; /* a row of −∞ alone has no weights, not NaN */
    for (size_t r = 2; r-- > 0;)
        if (runs[r].low < runs[r].high)
            total += w->kernels->exp_sum(runs[r].high - runs[r].low, shift, score + runs[r].low);
    total += sink ? (real)exp(job->sinks[w->head] - (double)shift) : 0;
    for (size_t r = 0; job->drop_weights && r < 2; r++)
        if (runs[r].low < runs[r].high)
            w->kernels->multiply(runs[r].high - runs[r].low, score + runs[r].low, w->keep + runs[r].low,
                                 score + runs[r].low);
    clear_hidden(w, &w->seen[i], score);
    w->total[i] = total;
    if (job->turn.log_sum_exp.data)
        *query_row(w, &job->turn.log_sum_exp, w->span.query_first + row) =
            total == 0 ? -(real)INFINITY : (real)((double)top + log((double)total));
}

/* Numbers that are not finite: weights of 0 would carry them to rows that do not see them, as attention_tile_body.h
 * tells. Sums are made again then, of each row over what it sees. */
static void forward_sums_apart(contextual_worker *w, size_t row, size_t rows) {
    const attention_turn *turn = &w->job->turn;
    memset(w->sum, 0, rows * w->ld_value * sizeof(real));
    for (size_t i = 0; i < rows; i++) {
        key_run runs[2];
        runs_of(&w->seen[i], runs);
        take_bias(w, row + i, i);
        for (size_t r = 2; r-- > 0;)
            for (key_run part = {0, 0}; next_part(w, &runs[r], &part);)
                w->kernels->gemm(1, turn->value_dim, part.high - part.low, w->score + i * w->ld + part.low, 0, 1,
                                 w->value + (ptrdiff_t)part.low * w->value_stride, w->value_stride,
                                 w->sum + i * w->ld_value, 0, true);
    }
}

static void forward_sums(contextual_worker *w, size_t row, size_t rows) {
    const attention_turn *turn = &w->job->turn;
    memset(w->sum, 0, rows * w->ld_value * sizeof(real));
    for (size_t key = seen_first(&w->all) / CONTEXTUAL_BLOCK * CONTEXTUAL_BLOCK; key < w->all.high;
         key += CONTEXTUAL_BLOCK) {
        const size_t width = smaller(w->all.high - key, CONTEXTUAL_BLOCK);
        if (locus_attention_seen_any(&w->all, key, width))
            w->kernels->gemm(rows, turn->value_dim, width, w->score + key, (ptrdiff_t)w->ld, 1,
                             w->value + (ptrdiff_t)key * w->value_stride, w->value_stride, w->sum,
                             (ptrdiff_t)w->ld_value, true);
    }
    if (w->kernels->dot(rows * w->ld_value, w->sum, w->sum) * 0 != 0)
        forward_sums_apart(w, row, rows);
}

static void forward_block(contextual_worker *w, size_t row, size_t rows) {
    const attention_turn *turn = &w->job->turn;
    const size_t token = w->span.query_first + row, dim = turn->value_dim;
    begin_block(w, row, rows);
    for (size_t i = 0; i < rows; i++) {
        row_scores(w, row + i, i, false);
        forward_softmax(w, row + i, i);
    }
    forward_sums(w, row, rows);
    for (size_t i = 0; i < rows; i++)
        w->kernels->scale(dim, w->total[i] == 0 ? 0 : 1 / w->total[i], w->sum + i * w->ld_value,
                          query_row(w, &turn->output, token + i));
}

/* A piece of one block, as a decoded token is, reads values once, where they are. */
static void take_values(contextual_worker *w, bool gathers, size_t low, size_t high) {
    const attention_turn *turn = &w->job->turn;
    if (gathers)
        gather_keys(w, &turn->value, low, high, turn->value_dim, w->values, w->ld_value);
    w->value = gathers ? w->values : key_row(w, &turn->value, w->span.key_first);
    w->value_stride = gathers ? (ptrdiff_t)w->ld_value : turn->value.token;
}

static void forward_piece(contextual_worker *w, const attention_piece *piece) {
    const contextual_job *job = w->job;
    w->sequence = piece->sequence;
    w->span = locus_plan_span(job->plan, piece->sequence);
    const attention_seen first = locus_attention_see(&job->sight, w->sequence, &w->span, piece->first);
    const attention_seen last =
        locus_attention_see(&job->sight, w->sequence, &w->span, piece->first + piece->count - 1);
    /* With documents, or keys that are kept, rows between may see more than the first and the last. */
    const bool plain = !job->sight.ranges && job->sight.keep == 0 && first.low < first.high;
    const size_t low = plain ? first.low / CONTEXTUAL_BLOCK * CONTEXTUAL_BLOCK : 0;
    const size_t high = job->sight.ranges ? w->span.key_count : last.high;
    fill_columns(w, &job->turn.key, low, high, job->turn.head_dim, w->key_columns);
    take_values(w, piece->count > CONTEXTUAL_ROWS, low, high);
    for (size_t row = 0; row < piece->count && !locus_call_cancelled(); row += CONTEXTUAL_ROWS)
        forward_block(w, piece->first + row, smaller(piece->count - row, CONTEXTUAL_ROWS));
}

static void forward_task(void *context, size_t index, size_t worker) {
    const contextual_job *job = context;
    const size_t heads = job->turn.heads, group = job->groups - 1 - index / heads; /* the dearest pieces first */
    const size_t end = (group + 1) * job->turn.queries.count / job->groups;
    contextual_worker w;
    carve_worker(job, job->turn.workers + worker * job->turn.worker_bytes, &w);
    w.head = index % heads;
    w.kv_head = w.head / job->turn.group;
    for (size_t i = group * job->turn.queries.count / job->groups; i < end; i++)
        forward_piece(&w, &job->turn.queries.pieces[i]);
}

static void forward(attention_turn *turn) {
    contextual_job *job = (contextual_job *)turn;
    fill_rows(job);
    locus_parallel_for(job->groups * turn->heads, forward_task, job);
}

#endif
