/* SPDX-License-Identifier: MIT */
/* temperature: scores are multiplied by a factor that grows with the query's position p on `seq`, so that a softmax
 * over many keys does not get flat.
 *
 *   s_mn = s_mn · f(p_m)
 *   growth=steps   f(p) = 1 + beta·ln(1 + ⌊(p + first)/length⌋)           Llama 4 (first=1), Ministral 3 (first=0)
 *   growth=log     f(p) = max(least, ln(p + first)/ln(length))            log-n scaling: Qwen (least=1)
 *
 * Models multiply the query: the same, as scores are linear in it; only with a soft cap it is not, which comes before
 * factors. Before position 0 there are no steps, and where the logarithm has no value it is `least`. Nothing is
 * learned. A factor costs one logarithm for a query and a run of keys, so there is no table that could be too long. */
#include "spec/class.h"
#include "spec/form_writer.h"
#include "spec/option.h"

#include <math.h>

enum { GROWTH, LENGTH, BETA, LEAST, FIRST };
enum { STEPS, LOG };

typedef struct locus_temperature {
    bool log;
    double length, beta, least, first;
} locus_temperature;

typedef struct locus_temperature_term {
    locus_score_term base;
    const locus_temperature *temperature;
    const locus_token_side *query;
} locus_temperature_term;

static const char *conflict(const locus_term *term, size_t *option) {
    const bool log = term->options[GROWTH].choice == LOG;
    *option = log ? BETA : LEAST;
    if (locus_term_is_initial(term, *option))
        return NULL;
    return log ? "'beta' is for growth=steps: a logarithm of the position has no other factor than its length"
               : "'least' is for growth=log: steps never fall below 1";
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error) {
    (void)shape, (void)values, (void)memory, (void)error;
    const locus_option_value *options = term->options;
    *(locus_temperature *)bound =
        (locus_temperature){options[GROWTH].choice == LOG, options[LENGTH].number, options[BETA].number,
                            options[LEAST].number, options[FIRST].number};
    return LOCUS_OK;
}

static double factor_at(const locus_temperature *own, double position) {
    const double number = position + own->first;
    if (!own->log)
        return 1 + own->beta * log1p(fmax(floor(number / own->length), 0));
    return number > 0 ? fmax(log(number) / log(own->length), own->least) : own->least;
}

static const void *row(const locus_score_term *term, const locus_score_call *call, void *scratch) {
    const locus_temperature_term *own = (const locus_temperature_term *)term;
    const double factor = factor_at(own->temperature, locus_token_position(own->query, call->query));
    float *narrow = scratch;
    double *wide = scratch;
    for (size_t j = 0; call->dtype == LOCUS_FLOAT32 && j < call->count; j++)
        narrow[j] = (float)factor;
    for (size_t j = 0; call->dtype == LOCUS_FLOAT64 && j < call->count; j++)
        wide[j] = factor;
    return scratch;
}

/* A cell for each token of the queries. */
static void form(const locus_score_term *term, locus_form_writer *writer) {
    const locus_temperature_term *own = (const locus_temperature_term *)term;
    const size_t tokens = own->query->tokens, keys = writer->places->items[0].key.tokens;
    locus_form_begin(writer, LOCUS_FORM_CELLS, 0, "");
    locus_form_multiplies(writer);
    uint32_t *query = locus_form_take(writer, tokens, sizeof *query);
    const uint32_t *key = locus_form_take(writer, keys, sizeof *key);
    double *values = locus_form_take(writer, tokens, sizeof *values);
    for (size_t i = 0; query && values && i < tokens; i++) {
        query[i] = (uint32_t)i;
        values[i] = factor_at(own->temperature, locus_token_position(own->query, i));
    }
    locus_form_add(writer, "query_cell", LOCUS_FORM_UINT32, query, LOCUS_FORM_SHAPE((int64_t)tokens));
    locus_form_add(writer, "key_cell", LOCUS_FORM_UINT32, key, LOCUS_FORM_SHAPE((int64_t)keys));
    locus_form_add(writer, "values", LOCUS_FORM_FLOAT64, values, LOCUS_FORM_SHAPE(1, (int64_t)tokens));
}

static const locus_score_class score_class = {.row = row, .form = form};

static locus_status place(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                          locus_error *error) {
    (void)memory, (void)error;
    locus_temperature_term *own = placed->own;
    *own = (locus_temperature_term){{&score_class, LOCUS_SCORE_FACTOR, NULL, NULL}, bound, &places->items[0].query};
    placed->score = &own->base;
    return LOCUS_OK;
}

static const locus_option_info options[] = {
    {"growth", "steps|log", "steps", "by the logarithm of whole lengths that lie behind, or of the position itself",
     LOCUS_OPTION_CHOICE, 0, 0, false},
    {"length", "integer ≥ 2", "8192", "steps: positions of a step; log: where the factor is 1", LOCUS_OPTION_INTEGER, 2,
     1099511627776.0, false},
    {"beta", "number > 0", "0.1", "steps: how much the factor grows", LOCUS_OPTION_NUMBER, 0, 1e30, true},
    {"least", "number ≥ 0", "1", "log: the factor is at least this", LOCUS_OPTION_NUMBER, 0, 1e30, false},
    {"first", "integer from 0 to 1", "1", "the number of position 0", LOCUS_OPTION_INTEGER, 0, 1, false},
};

const locus_encoding_class locus_temperature_class = {
    .info = {.name = "temperature",
             .summary = "multiplies scores by a factor that grows with the query's position",
             .sites = LOCUS_SITE_SCORE,
             .learned = "",
             .source = "Llama 4 2025 (steps); Bai et al. 2023, Qwen (log)",
             LOCUS_OPTIONS(options)},
    .shape = LOCUS_NEEDS_HEADS,
    .bound_bytes = sizeof(locus_temperature),
    .placed_bytes = sizeof(locus_temperature_term),
    .reals = true,
    .laws = 0,
    .conflict = conflict,
    .bind = bind,
    .place = place,
};
