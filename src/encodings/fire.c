/* SPDX-License-Identifier: MIT */
/* fire: functional interpolation (Li et al. 2024, equation 9): a bias that a small network makes of the distance, on a
 * logarithmic scale and in proportion to how far the query stands.
 *
 *   s_mn += f_h(x),   x = ln(1 + |c|·|m − n|) / ln(1 + |c|·M),   M = max(m, |L|)
 *   f_h   one hidden layer of ReLU, an output for each head
 *
 * m is the query's position on `seq`. The paper's domain is n ≤ m; keys behind the query get the same by |m − n|. The
 * published code adds 10⁻⁶ to the divisor; here c = 0 or L = 0, where it could be 0, is refused.
 *
 * Parameters `hidden_weight`, `hidden_bias` [hidden], `output_weight` [heads, hidden], `output_bias` [heads], drawn as
 * a linear layer's usually are (the published code's): from U(−1, 1), and U(−1/√hidden, 1/√hidden); `c` and `L` [1]
 * begin with the options of their names.
 *
 * f is piecewise linear (fire_network.h), so a run of keys in one segment costs a multiplication and an addition each:
 * from consecutive keys distances fall to 0 and rise again, so a segment's keys lie side by side, and a search finds
 * where it ends. Logarithms stand in a table by cell. A gradient slot holds, for each segment, Σ g and Σ g·x, and the
 * sums for c and L:
 *
 *   dx/d|c| = (d/(1 + |c|d) − x·M/(1 + |c|M)) / ln(1 + |c|M)
 *   dx/d|L| = −x·|c| / ((1 + |c|M) ln(1 + |c|M)) where |L| ≥ m, else 0 */
#include "scores/fire_network.h"

#include "core/error.h"
#include "core/loop_clones.h"
#include "scores/distance_table.h"
#include "spec/form_writer.h"

#include <math.h>

enum { HIDDEN, SCALE, THRESHOLD };
enum { HIDDEN_WEIGHT, HIDDEN_BIAS, OUTPUT_WEIGHT, OUTPUT_BIAS, C, L, PARAMETERS };

typedef struct locus_fire {
    locus_fire_network network;
    double c, threshold;           /* |c|, |L| */
    double c_sign, threshold_sign; /* of c and L */
} locus_fire;

typedef struct locus_fire_term {
    locus_score_term base;
    const locus_fire *fire;
    const locus_token_side *query;
    locus_distance_table logs; /* ln(1 + |c| d) */
    const double *turns;       /* [cells] d/(1 + |c| d) */
    const double *reach;       /* [query tokens] ln(1 + |c| M) */
    size_t segments;           /* that a slot has room for */
} locus_fire_term;

/* ---- parameters ---- */

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    const int64_t hidden = (int64_t)term->options[HIDDEN].number, heads = (int64_t)shape->heads;
    (void)error;
    list[(*count)++] = (locus_parameter){.name = "hidden_weight", .rank = 1, .shape = {hidden}};
    list[(*count)++] = (locus_parameter){.name = "hidden_bias", .rank = 1, .shape = {hidden}};
    list[(*count)++] = (locus_parameter){.name = "output_weight", .rank = 2, .shape = {heads, hidden}};
    list[(*count)++] = (locus_parameter){.name = "output_bias", .rank = 1, .shape = {heads}};
    list[(*count)++] = (locus_parameter){.name = "c", .rank = 1, .shape = {1}, .constraint = LOCUS_CONSTRAINT_NONZERO};
    list[(*count)++] = (locus_parameter){.name = "L", .rank = 1, .shape = {1}, .constraint = LOCUS_CONSTRAINT_NONZERO};
    return LOCUS_OK;
}

static locus_status initialise(const locus_term *term, const locus_draw *draw, locus_error *error) {
    (void)error;
    const size_t hidden = (size_t)term->options[HIDDEN].number, heads = draw->shape->heads;
    const size_t counts[] = {hidden, hidden, heads * hidden, heads};
    const double inner = 1 / sqrt((double)hidden), bounds[] = {1, 1, inner, inner};
    size_t drawn = 0;
    for (size_t p = HIDDEN_WEIGHT; p <= OUTPUT_BIAS; p++)
        for (size_t i = 0; i < counts[p]; i++)
            draw->values[p][i] = bounds[p] * (2 * locus_random_uniform(&draw->random, drawn++) - 1);
    draw->values[C][0] = term->options[SCALE].number;
    draw->values[L][0] = term->options[THRESHOLD].number;
    return LOCUS_OK;
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error) {
    const double c = values[C][0], threshold = values[L][0];
    locus_fire *own = bound;
    own->network.heads = shape->heads;
    own->network.hidden = (size_t)term->options[HIDDEN].number;
    own->c = fabs(c);
    own->threshold = fabs(threshold);
    own->c_sign = c < 0 ? -1 : 1;
    own->threshold_sign = threshold < 0 ? -1 : 1;
    if (!(log1p(own->c * own->threshold) > 0))
        return locus_fail(error, LOCUS_ERROR_NUMERIC, "L",
                          "'L' of 'fire' is %g: distances are divided by ln(1 + |c·L|), which must be above 0",
                          threshold);
    return locus_fire_network_create(&own->network, values, memory, error);
}

/* ---- runs of keys in one segment ---- */

typedef struct fire_run {
    size_t end; /* of the piece's keys; it begins where the one before ends */
    size_t segment;
} fire_run;

/* A piece of at most LOCUS_SCORE_RUN keys. */
typedef struct fire_piece {
    const double *logs;
    const float *narrow;
    const double *turns;   /* NULL: not asked for */
    double reach, inverse; /* 1/reach */
    size_t count, runs;
    fire_run run[LOCUS_SCORE_RUN];
    double log_room[LOCUS_SCORE_RUN], turn_room[LOCUS_SCORE_RUN];
    float narrow_room[LOCUS_SCORE_RUN];
} fire_piece;

static void add_run(fire_piece *piece, size_t end, size_t segment) {
    if (piece->runs > 0 && piece->run[piece->runs - 1].segment == segment)
        piece->run[piece->runs - 1].end = end;
    else
        piece->run[piece->runs++] = (fire_run){end, segment};
}

/* The first of [begin, end) on the other side of `edge`, on which the last one is: logs rise (or fall) along them.
 * Without branches, of which every other one would be a surprise. */
static size_t find_end(const double *logs, size_t begin, size_t end, double edge, bool rise) {
    for (size_t left = end - begin; left > 1;) {
        const size_t half = left / 2;
        begin = (logs[begin + half - 1] <= edge) == rise ? begin + half : begin;
        left -= half;
    }
    return begin;
}

/* Of two neighbours at least the second lies beyond the edge between them, mostly in the next segment. */
static size_t next_segment(const locus_fire_network *network, size_t segment, double log, double reach, bool rise) {
    if (rise)
        while (segment + 1 < network->segments && network->edges[segment] * reach < log)
            segment++;
    else
        while (segment > 0 && !(network->edges[segment - 1] * reach < log))
            segment--;
    return segment;
}

static void list_monotone(const locus_fire_network *network, fire_piece *piece, size_t begin, size_t end, bool rise) {
    if (begin == end)
        return;
    const double *logs = piece->logs, reach = piece->reach;
    size_t segment = locus_fire_segment(network, logs[begin], reach, piece->inverse);
    const size_t last = next_segment(network, segment, logs[end - 1], reach, rise);
    while (rise ? segment < last : segment > last) { /* and so there is an edge before the last key */
        begin = find_end(logs, begin + 1, end, network->edges[rise ? segment : segment - 1] * reach, rise);
        add_run(piece, begin, segment);
        segment = next_segment(network, segment, logs[begin], reach, rise);
    }
    add_run(piece, end, segment);
}

static void list_any(const locus_fire_network *network, fire_piece *piece) {
    for (size_t j = 0; j < piece->count; j++)
        add_run(piece, j + 1, locus_fire_segment(network, piece->logs[j], piece->reach, piece->inverse));
}

static double log_of(const locus_fire *fire, double distance) {
    return log1p(fire->c * distance);
}

/* What the logarithms of a query's distances are divided by. */
static double reach_of(const locus_fire_term *own, size_t query) {
    return log_of(own->fire, fmax(locus_token_position(own->query, query), own->fire->threshold));
}

static double turn_of(const locus_fire *fire, double distance) {
    return distance / (1 + fire->c * distance);
}

static void fill_logs(const void *own, size_t head, size_t count, const double *distance, double *values) {
    (void)head;
    for (size_t i = 0; i < count; i++)
        values[i] = log_of(own, distance[i]);
}

static void fill_turns(const void *own, size_t head, size_t count, const double *distance, double *values) {
    (void)head;
    for (size_t i = 0; i < count; i++)
        values[i] = turn_of(own, distance[i]);
}

/* Logarithms (and turns) of a piece whose cells are no neighbours, or that has none. */
static void gather(const locus_fire_term *own, const locus_score_call *call, bool turns, fire_piece *piece) {
    locus_score_call wide = *call;
    double distance[LOCUS_SCORE_RUN];
    wide.dtype = LOCUS_FLOAT64;
    piece->logs = locus_distance_table_row(&own->logs, &wide, piece->log_room);
    if (turns) {
        locus_score_rows_distance(&own->logs.rows, call, distance);
        fill_turns(own->fire, 0, call->count, distance, piece->turn_room);
    }
    for (size_t j = 0; j < call->count; j++)
        piece->narrow_room[j] = (float)piece->logs[j];
    piece->narrow = piece->narrow_room;
    piece->turns = turns ? piece->turn_room : NULL;
}

static void prepare(const locus_fire_term *own, const locus_score_call *call, bool turns, fire_piece *piece) {
    const locus_fire_network *network = &own->fire->network;
    const size_t at = locus_score_rows_at(&own->logs.rows, call);
    piece->runs = 0;
    piece->count = call->count;
    piece->reach = own->reach ? own->reach[call->query] : reach_of(own, call->query);
    piece->inverse = 1 / piece->reach;
    if (at == SIZE_MAX || !own->logs.rows.line) {
        gather(own, call, turns, piece);
        list_any(network, piece);
        return;
    }
    const int64_t nearest = own->logs.rows.origin - (int64_t)at;
    const size_t turning = nearest < 0 ? 0 : nearest < (int64_t)call->count ? (size_t)nearest : call->count;
    piece->logs = own->logs.wide + at;
    piece->narrow = own->logs.narrow + at;
    piece->turns = own->turns + at;
    list_monotone(network, piece, 0, turning, false);
    list_monotone(network, piece, turning, call->count, true);
}

/* ---- rows ---- */

#define BRIEF_RUN 8 /* shorter ones are not worth a call */

LOCUS_CLONES static void fire_line_float32(size_t count, float slope, float intercept, const float *restrict x,
                                           float *restrict y) {
    for (size_t j = 0; j < count; j++)
        y[j] = slope * x[j] + intercept;
}

LOCUS_CLONES static void fire_line_float64(size_t count, double slope, double intercept, const double *restrict x,
                                           double *restrict y) {
    for (size_t j = 0; j < count; j++)
        y[j] = slope * x[j] + intercept;
}

static void fill(const locus_fire_term *own, const locus_score_call *call, const fire_piece *piece, char *out) {
    const locus_fire_network *network = &own->fire->network;
    float *narrow = (float *)(void *)out;
    double *wide = (double *)(void *)out;
    for (size_t r = 0, begin = 0; r < piece->runs; begin = piece->run[r++].end) {
        const size_t line = call->head * network->segments + piece->run[r].segment, end = piece->run[r].end;
        const double slope = network->slope[line] * piece->inverse, intercept = network->intercept[line];
        const bool brief = end - begin < BRIEF_RUN;
        for (size_t j = begin; brief && j < end; j++)
            if (call->dtype == LOCUS_FLOAT32)
                narrow[j] = (float)slope * piece->narrow[j] + (float)intercept;
            else
                wide[j] = slope * piece->logs[j] + intercept;
        if (!brief && call->dtype == LOCUS_FLOAT32)
            fire_line_float32(end - begin, (float)slope, (float)intercept, piece->narrow + begin, narrow + begin);
        else if (!brief)
            fire_line_float64(end - begin, slope, intercept, piece->logs + begin, wide + begin);
    }
}

static const void *row(const locus_score_term *term, const locus_score_call *call, void *scratch) {
    const locus_fire_term *own = (const locus_fire_term *)term;
    const size_t size = locus_dtype_size(call->dtype);
    fire_piece piece;
    for (locus_score_call part = locus_score_before(call); locus_score_next(call, &part);) {
        prepare(own, &part, false, &piece);
        fill(own, &part, &piece, (char *)scratch + (part.key_first - call->key_first) * size);
    }
    return scratch;
}

/* ---- gradients: the slot is [segments] Σ g | [segments] Σ g·x | d|c|, d|L| ---- */

/* Σ g, Σ g·ln(1 + |c| d), Σ g·d/(1 + |c| d) of a run. */
typedef struct run_sums {
    double plain, logs, turns;
} run_sums;

static run_sums sum_brief(locus_dtype dtype, const fire_piece *piece, size_t begin, size_t end, const void *gradient) {
    run_sums sums = {0, 0, 0};
    for (size_t j = begin; j < end; j++) {
        const double g = locus_score_gradient(dtype, gradient, j);
        sums.plain += g;
        sums.logs += g * piece->logs[j];
        sums.turns += g * piece->turns[j];
    }
    return sums;
}

static run_sums sum_long(locus_dtype dtype, const fire_piece *piece, size_t begin, size_t end, const void *gradient) {
    const size_t count = end - begin;
    return (run_sums){locus_score_sum(dtype, gradient, begin, count),
                      locus_score_dot(dtype, gradient, begin, count, piece->logs + begin),
                      locus_score_dot(dtype, gradient, begin, count, piece->turns + begin)};
}

static void sum_piece(const locus_fire_term *own, const locus_score_call *call, const fire_piece *piece,
                      const void *gradient, double *sums) {
    const locus_fire *fire = own->fire;
    const size_t segments = fire->network.segments;
    const double position = locus_token_position(own->query, call->query), reach = piece->reach;
    const double most = position > fire->threshold ? position : fire->threshold;
    double x_sum = 0, turn_sum = 0; /* Σ g·slope·x and Σ g·slope·d/(1 + |c| d) */
    for (size_t r = 0, begin = 0; r < piece->runs; begin = piece->run[r++].end) {
        const size_t segment = piece->run[r].segment, end = piece->run[r].end;
        const double slope = fire->network.slope[call->head * segments + segment];
        const run_sums run = end - begin < BRIEF_RUN ? sum_brief(call->dtype, piece, begin, end, gradient)
                                                     : sum_long(call->dtype, piece, begin, end, gradient);
        sums[segment] += run.plain;
        sums[segments + segment] += run.logs / reach;
        x_sum += slope * run.logs / reach;
        turn_sum += slope * run.turns;
    }
    sums[2 * segments] += (turn_sum - x_sum * turn_of(fire, most)) / reach;
    if (fire->threshold >= position)
        sums[2 * segments + 1] -= x_sum * fire->c / ((1 + fire->c * most) * reach);
}

static void row_backward(const locus_score_term *term, const locus_score_call *call, const void *gradient, void *slot) {
    const locus_fire_term *own = (const locus_fire_term *)term;
    const size_t size = locus_dtype_size(call->dtype);
    fire_piece piece;
    for (locus_score_call part = locus_score_before(call); locus_score_next(call, &part);) {
        prepare(own, &part, true, &piece);
        sum_piece(own, &part, &piece, (const char *)gradient + (part.key_first - call->key_first) * size, slot);
    }
}

static size_t slot_bytes(const locus_score_term *term) {
    return (2 * ((const locus_fire_term *)term)->segments + 2) * sizeof(double);
}

static void reduce(const locus_score_term *term, size_t head, void *slots, size_t slot_count, size_t slot_stride,
                   const locus_tensor *tensors) {
    const locus_fire *fire = ((const locus_fire_term *)term)->fire;
    const size_t segments = fire->network.segments;
    const double *sums = locus_slots_fold(slots, slot_count, slot_stride, 2 * segments + 2);
    if (!sums)
        return;
    locus_fire_network_gradient(&fire->network, head, sums, sums + segments, tensors);
    locus_tensor_add(&tensors[C], 0, fire->c_sign * sums[2 * segments]);
    locus_tensor_add(&tensors[L], 0, fire->threshold_sign * sums[2 * segments + 1]);
}

/* ---- as data ---- */

static void add_logs(const locus_fire_term *own, locus_form_writer *writer) {
    const locus_score_form form = locus_score_rows_form(&own->logs.rows, writer);
    locus_form_add(writer, "logs", LOCUS_FORM_FLOAT64, locus_distance_table_values(&own->logs, &form, writer),
                   LOCUS_FORM_SHAPE((int64_t)form.cells));
    locus_form_add(writer, "reach", LOCUS_FORM_FLOAT64, own->reach, LOCUS_FORM_SHAPE((int64_t)own->query->tokens));
}

static void form(const locus_score_term *term, locus_form_writer *writer) {
    const locus_fire_term *own = (const locus_fire_term *)term;
    const int64_t hidden = (int64_t)own->fire->network.hidden, heads = (int64_t)own->fire->network.heads;
    static const char *const names[] = {"hidden_weight", "hidden_bias", "output_weight", "output_bias", "c", "L"};
    const int64_t counts[] = {hidden, hidden, heads * hidden, heads, 1, 1};
    const double *at = writer->values;
    locus_form_begin(writer, LOCUS_FORM_NETWORK, 0, "logarithms");
    add_logs(own, writer);
    for (size_t p = 0; p < PARAMETERS; at += counts[p++]) {
        if (p == OUTPUT_WEIGHT)
            locus_form_add(writer, names[p], LOCUS_FORM_FLOAT64, at, LOCUS_FORM_SHAPE(heads, hidden));
        else
            locus_form_add(writer, names[p], LOCUS_FORM_FLOAT64, at, LOCUS_FORM_SHAPE(counts[p]));
        locus_form_learned(writer, p, 0);
    }
    locus_form_positions(writer, 0, &writer->places->items[0]);
}

/* Values decide how many of the hidden units bend where distances are. */
static void widen(locus_score_term *term, const locus_limits *limits) {
    locus_fire_term *own = (locus_fire_term *)term;
    (void)limits;
    own->segments = own->fire->network.hidden + 1;
}

static const locus_score_class score_class = {
    .row = row, .row_backward = row_backward, .slot_bytes = slot_bytes, .reduce = reduce, .form = form, .widen = widen};

/* ---- placing ---- */

static locus_status fill_reach(locus_fire_term *own, locus_owned *memory, locus_error *error) {
    const locus_token_side *query = own->query;
    double *reach = locus_owned_get(memory, query->tokens, sizeof *reach);
    if (!reach)
        return locus_owned_fail(error);
    for (size_t r = 0; r < query->run_count; r++)
        for (size_t t = query->runs[r].first; t < query->runs[r].first + query->runs[r].count; t++)
            reach[t] = reach_of(own, t);
    own->reach = reach;
    return LOCUS_OK;
}

static locus_status place(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                          locus_error *error) {
    locus_fire_term *own = placed->own;
    *own = (locus_fire_term){.base = {&score_class, LOCUS_SCORE_BIAS, NULL, NULL},
                             .fire = bound,
                             .segments = ((const locus_fire *)bound)->network.segments,
                             .query = &places->items[0].query,
                             .logs = {.fill = fill_logs, .own = bound, .heads = 1, .more = 1, .term = &own->base}};
    placed->score = &own->base;
    const locus_status status = locus_distance_table_create(&own->logs, places, memory, error);
    if (status != LOCUS_OK)
        return status;
    own->turns = locus_distance_table_beside(&own->logs, fill_turns, memory, error);
    if (!own->turns)
        return LOCUS_ERROR_MEMORY;
    return places->grows ? LOCUS_OK : fill_reach(own, memory, error);
}

static const locus_option_info options[] = {
    {"hidden", "integer from 1 to 4096", "32", "units of the hidden layer", LOCUS_OPTION_INTEGER, 1, 4096, false},
    {"c", "number > 0", "0.1", "where the parameter c begins: how soon distances are told apart less finely",
     LOCUS_OPTION_NUMBER, 0, 1e9, true},
    {"L", "number > 0", "512", "where the parameter L begins: queries before it are not normalised",
     LOCUS_OPTION_NUMBER, 0, 1e12, true},
};

const locus_encoding_class locus_fire_class = {
    .info = {.name = "fire",
             .summary = "a bias on scores that a small network makes of the distance, relative to the query's position",
             .sites = LOCUS_SITE_SCORE,
             .learned = "hidden_weight, hidden_bias, output_weight, output_bias, c, L",
             .source = "Li et al. 2024, Functional interpolation for relative positions",
             LOCUS_OPTIONS(options)},
    .shape = LOCUS_NEEDS_HEADS,
    .bound_bytes = sizeof(locus_fire),
    .placed_bytes = sizeof(locus_fire_term),
    .reals = true,
    .laws = 0,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = place,
};
