/* SPDX-License-Identifier: MIT */
/* cope: contextual positions (Golovneva et al. 2024): a key's position is how many of the keys from it up to the query
 * the query takes notice of.
 *
 *   p_mn = min(max, Σ_{j=n..m} sigmoid(g_mj)),   g = q'·k' (gate=raw) or scale·q'·k' (gate=scaled)
 *   s_mn += (⌈p⌉ − p)·q_m·E[⌊p⌋] + (p − ⌊p⌋)·q_m·E[⌈p⌉]
 *
 * Keys are counted by their order in the sequence, whatever positions say, so any group will do; attention must be
 * causal. Gates see queries and keys as scores do (turned by the sum's operators), E the query before any operator. The
 * published code takes `max` rows and cuts positions at max − 1; here E has max + 1 rows. Attention does the work
 * (attention_contextual.c); this file hands the table over.
 *
 * Parameter `table` [max + 1, head_dim], shared by heads, 0 at first as in the published code. */
#include "spec/class.h"

enum { MOST, GATE };

static size_t rows_of(const locus_term *term) {
    return (size_t)term->options[MOST].number + 1;
}

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    (void)error;
    list[(*count)++] =
        (locus_parameter){.name = "table", .rank = 2, .shape = {(int64_t)rows_of(term), (int64_t)shape->head_dim}};
    return LOCUS_OK;
}

static locus_status initialise(const locus_term *term, const locus_draw *draw, locus_error *error) {
    (void)term, (void)draw, (void)error; /* the table is 0 */
    return LOCUS_OK;
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error) {
    const float *narrow = locus_owned_round(memory, values[0], rows_of(term) * shape->head_dim, error);
    *(locus_contextual_table *)bound = (locus_contextual_table){
        .most = rows_of(term) - 1, .scaled = term->options[GATE].choice == 1, .float32 = narrow, .float64 = values[0]};
    return narrow ? LOCUS_OK : LOCUS_ERROR_MEMORY;
}

static locus_status place(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                          locus_error *error) {
    (void)places, (void)memory, (void)error;
    locus_contextual_table *table = placed->own;
    *table = *(const locus_contextual_table *)bound;
    table->parameter = placed->first_parameter;
    placed->contextual = table;
    return LOCUS_OK;
}

static unsigned needs(const locus_term *term) {
    (void)term;
    return LOCUS_TRAIT_CAUSAL;
}

static const locus_option_info options[] = {
    {"max", "integer from 1 to 65536", "64", "positions are cut here; the table has one more row", LOCUS_OPTION_INTEGER,
     1, 65536, false},
    {"gate", "raw|scaled", "raw", "whether a gate sees the bare product or the score, scaled", LOCUS_OPTION_CHOICE, 0,
     0, false},
};

const locus_encoding_class locus_cope_class = {
    .info = {.name = "cope",
             .summary = "learned vectors for positions that are counted by context, in the score",
             .sites = LOCUS_SITE_SCORE,
             .learned = "table",
             .source = "Golovneva et al. 2024, Contextual position encoding",
             LOCUS_OPTIONS(options)},
    .shape = LOCUS_NEEDS_HEADS | LOCUS_NEEDS_HEAD_DIM,
    .bound_bytes = sizeof(locus_contextual_table),
    .placed_bytes = sizeof(locus_contextual_table),
    .claim = "bring a table that queries are multiplied with",
    .multiplies = true,
    .needs = needs,
    .reals = true,
    .any_group = true,
    .laws = LOCUS_LAW_RELATIVITY,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = place,
};
