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

typedef struct locus_relative {
    locus_content_table table; /* positions and parameters are filled in by each plan */
} locus_relative;

static int64_t rows_of(const locus_term *term) {
    return 2 * (int64_t)term->options[WINDOW].number + 1;
}

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    locus_status status = locus_shape_need_heads(shape, "relative", error);
    if (status != LOCUS_OK)
        return status;
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

static locus_status round_table(const double *values, size_t count, const float **narrow, locus_owned *memory,
                                locus_error *error) {
    float *floats = locus_owned_take(memory, count, sizeof *floats);
    if (!floats)
        return locus_owned_fail(error, count, sizeof *floats);
    for (size_t i = 0; i < count; i++)
        floats[i] = (float)values[i];
    *narrow = floats;
    return LOCUS_OK;
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values,
                         locus_owned *memory, void **bound, locus_error *error) {
    locus_relative *own = locus_owned_get(memory, 1, sizeof *own);
    if (!own)
        return locus_owned_fail(error, 1, sizeof *own);
    locus_content_table *table = &own->table;
    table->window = (size_t)term->options[WINDOW].number;
    table->scaled = term->options[SCALED].choice == 0;
    *bound = own;
    size_t rows = (size_t)rows_of(term);
    table->key_float64 = values[0];
    locus_status status = round_table(values[0], rows * shape->head_dim, &table->key_float32, memory, error);
    if (status != LOCUS_OK || term->options[VALUES].choice == 0)
        return status;
    table->value_float64 = values[1];
    return round_table(values[1], rows * locus_shape_value_dim(shape), &table->value_float32, memory, error);
}

static locus_status place(const void *bound, const locus_places *places, size_t first_parameter, locus_owned *memory,
                          locus_placed *placed, locus_error *error) {
    const locus_placement *placement = &places->items[0];
    locus_content_table *table = locus_owned_get(memory, 1, sizeof *table);
    if (!table)
        return locus_owned_fail(error, 1, sizeof *table);
    *table = ((const locus_relative *)bound)->table;
    table->query_positions = placement->query.values;
    table->key_positions = placement->key.values;
    table->key_parameter = first_parameter;
    table->value_parameter = first_parameter + 1;
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
             .options = options,
             .option_count = sizeof options / sizeof options[0]},
    .claim = "bring a table that queries are multiplied with",
    .multiplies = true,
    .laws = LOCUS_LAW_RELATIVITY,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = place,
};
