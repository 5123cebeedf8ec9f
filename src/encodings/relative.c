/* SPDX-License-Identifier: MIT */
/* relative: learned vectors for clipped distances, shared by heads (Shaw, Uszkoreit and Vaswani 2018, equations 3 to
 * 5).
 *
 *   s_mn += q_m · K[clip(n − m, −w, w) + w] / sqrt(d)        scaled=off: without the division
 *   o_m  += Σ_n a_mn V[clip(n − m, −w, w) + w]               values=on
 *
 * Parameters `key_table` [2w + 1, head_dim], `value_table` [2w + 1, value_dim], drawn from N(0, 1/dim). Attention walks
 * the tables; this file only hands them over. */
#include "spec/class.h"

#include <math.h>

enum { WINDOW, VALUES, SCALED };

static int64_t rows_of(const locus_term *term) {
    return 2 * (int64_t)term->options[WINDOW].number + 1;
}

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    (void)error;
    list[(*count)++] =
        (locus_parameter){.name = "key_table", .rank = 2, .shape = {rows_of(term), (int64_t)shape->head_dim}};
    if (term->options[VALUES].choice == 1)
        list[(*count)++] = (locus_parameter){
            .name = "value_table", .rank = 2, .shape = {rows_of(term), (int64_t)locus_shape_value_dim(shape)}};
    return LOCUS_OK;
}

static locus_status initialise(const locus_term *term, const locus_draw *draw, locus_error *error) {
    (void)error;
    const size_t dims[] = {draw->shape->head_dim, locus_shape_value_dim(draw->shape)};
    size_t rows = (size_t)rows_of(term), drawn = 0;
    for (size_t table = 0; table < (term->options[VALUES].choice == 1 ? 2u : 1u); table++)
        for (size_t i = 0; i < rows * dims[table]; i++)
            draw->values[table][i] = locus_random_normal(&draw->random, drawn++) / sqrt((double)dims[table]);
    return LOCUS_OK;
}

/* Positions and parameters are filled in by each plan. */
static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error) {
    const size_t rows = (size_t)rows_of(term);
    const bool all = term->options[VALUES].choice == 1;
    locus_content_table *table = bound;
    table->window = (size_t)term->options[WINDOW].number;
    table->scaled = term->options[SCALED].choice == 0;
    table->key_float64 = values[0];
    table->key_float32 = locus_owned_round(memory, values[0], rows * shape->head_dim, error);
    if (!table->key_float32 || !all)
        return table->key_float32 ? LOCUS_OK : LOCUS_ERROR_MEMORY;
    table->value_float64 = values[1];
    table->value_float32 = locus_owned_round(memory, values[1], rows * locus_shape_value_dim(shape), error);
    return table->value_float32 ? LOCUS_OK : LOCUS_ERROR_MEMORY;
}

static locus_status place(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                          locus_error *error) {
    const locus_placement *placement = &places->items[0];
    locus_content_table *table = placed->own;
    (void)memory, (void)error;
    *table = *(const locus_content_table *)bound;
    table->query_positions = placement->query.values;
    table->key_positions = placement->key.values;
    table->key_parameter = placed->first_parameter;
    table->value_parameter = placed->first_parameter + 1;
    placed->content = table;
    return LOCUS_OK;
}

static const locus_option_info options[] = {
    {"window", "integer from 1 to 16777216", "100", "distances are clipped to −window … window", LOCUS_OPTION_INTEGER,
     1, 16777216, false},
    {"values", "off|on", "off", "also adds a table's rows to the output", LOCUS_OPTION_CHOICE, 0, 0, false},
    {"scaled", "on|off", "on", "off leaves the table's term undivided by sqrt(head_dim)", LOCUS_OPTION_CHOICE, 0, 0,
     false},
};

const locus_encoding_class locus_relative_class = {
    .info = {.name = "relative",
             .summary = "learned vectors for clipped distances, in the score and, if asked, the output",
             .sites = LOCUS_SITE_SCORE,
             .learned = "key_table, value_table",
             .source = "Shaw et al. 2018, Self-attention with relative position representations",
             LOCUS_OPTIONS(options)},
    .shape = LOCUS_NEEDS_HEADS | LOCUS_NEEDS_HEAD_DIM,
    .bound_bytes = sizeof(locus_content_table),
    .placed_bytes = sizeof(locus_content_table),
    .claim = "bring a table that queries are multiplied with",
    .multiplies = true,
    .laws = LOCUS_LAW_RELATIVITY,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = place,
};
