/* SPDX-License-Identifier: MIT */
/* Biases and factors that a callback says, pair by pair: asked for once for every cell (pair_cells.h) and head, and
 * read from tables. A gradient slot holds a number for each cell, what comes in for it, and room for the gradients of
 * the parameters, which the callback makes of all cells of a head at once:
 *
 *   slot   | dL/dvalue [cells] | dL/dparameters [elements] | of the cells that are read [count] | */
#include "extension/extension_class.h"

#include "core/error.h"
#include "scores/pair_cells.h"
#include "spec/form_writer.h"

typedef struct extension_score {
    locus_score_term base;
    const locus_extension_bound *bound;
    locus_pair_cells cells;
    locus_extension_places places;
    const double *wide; /* [tables, cells] */
    const float *narrow;
} extension_score;

/* ---- rows ---- */

static const void *row(const locus_score_term *term, const locus_score_call *call, void *scratch) {
    const extension_score *own = (const extension_score *)term;
    const size_t table = own->bound->tables == 1 ? 0 : call->head * own->cells.rows.cells;
    const void *values = call->dtype == LOCUS_FLOAT32 ? (const void *)(own->narrow + table) : own->wide + table;
    return locus_pair_cells_row(&own->cells, call, values, scratch);
}

/* ---- gradients ---- */

static bool learns(const extension_score *own) {
    return own->bound->own->description.parameter_count > 0;
}

static size_t slot_bytes(const locus_score_term *term) {
    const extension_score *own = (const extension_score *)term;
    const size_t listed = own->cells.cell ? own->cells.count : 0;
    const size_t numbers = own->cells.rows.cells + own->bound->elements + listed;
    return learns(own) ? numbers * sizeof(double) : 0;
}

static void row_backward(const locus_score_term *term, const locus_score_call *call, const void *gradient, void *slot) {
    locus_pair_cells_add(&((const extension_score *)term)->cells, call, gradient, slot);
}

static void reduce(const locus_score_term *term, size_t head, void *slots, size_t slot_count, size_t slot_stride,
                   const locus_tensor *tensors) {
    const extension_score *own = (const extension_score *)term;
    const size_t cells = own->cells.rows.cells;
    double *sums = locus_slots_fold(slots, slot_count, slot_stride, cells);
    if (!sums)
        return;
    double *work = sums + cells, *listed = work + own->bound->elements;
    for (size_t i = 0; own->cells.cell && i < own->cells.count; i++)
        listed[i] = sums[own->cells.cell[i]];
    locus_extension_learn(own->bound, &own->places, own->bound->tables == 1 ? 0 : head, own->cells.cell ? listed : sums,
                          work, tensors);
}

static void form(const locus_score_term *term, locus_form_writer *writer) {
    const extension_score *own = (const extension_score *)term;
    const locus_placement *first = &writer->places->items[0];
    const locus_score_rows *rows = &own->cells.rows;
    locus_form_begin(writer, LOCUS_FORM_CELLS, 0, "given");
    if (own->base.kind == LOCUS_SCORE_FACTOR)
        locus_form_multiplies(writer);
    locus_form_add(writer, "query_cell", LOCUS_FORM_UINT32, rows->query,
                   LOCUS_FORM_SHAPE((int64_t)first->query.tokens));
    locus_form_add(writer, "key_cell", LOCUS_FORM_UINT32, rows->key, LOCUS_FORM_SHAPE((int64_t)first->key.tokens));
    locus_form_add(writer, "values", LOCUS_FORM_FLOAT64, own->wide,
                   LOCUS_FORM_SHAPE((int64_t)own->bound->tables, (int64_t)rows->cells));
}

/* The fewest cells are taken, so there are no more than pairs (pair_cells.h), and no more than fit the plan's
 * workspace; all of them may be read. */
static void widen(locus_score_term *term, const locus_limits *limits) {
    static const uint32_t listed;
    extension_score *own = (extension_score *)term;
    const double of_queries = (double)limits->queries * (double)limits->longest_key;
    const double of_keys = (double)limits->keys * (double)limits->longest_query;
    const size_t each = own->bound->tables * (sizeof(double) + sizeof(float)) + sizeof(uint32_t) + 3 * sizeof(double);
    const size_t most = limits->workspace / each;
    const double pairs = 1 + (of_queries < of_keys ? of_queries : of_keys), fit = (double)most;
    own->cells.rows.cells = own->cells.count = (size_t)(pairs < fit ? pairs : fit);
    own->cells.cell = &listed;
}

static const locus_score_class score_class = {
    .row = row, .row_backward = row_backward, .slot_bytes = slot_bytes, .reduce = reduce, .form = form, .widen = widen};

/* ---- placing ---- */

/* One table: what the callback says for the cells that are read; nobody looks at others. */
static locus_status fill_table(const extension_score *own, size_t head, double *wide, float *narrow, double *answers,
                               locus_error *error) {
    const locus_pair_cells *cells = &own->cells;
    const locus_status status = locus_extension_ask(own->bound, &own->places, head, answers, error);
    for (size_t i = 0; status == LOCUS_OK && i < cells->count; i++) {
        const size_t cell = cells->cell ? cells->cell[i] : i;
        wide[cell] = answers[i];
        narrow[cell] = (float)answers[i];
    }
    return status;
}

static locus_status fill_tables(extension_score *own, locus_owned *memory, locus_error *error) {
    const size_t tables = own->bound->tables, cells = own->cells.rows.cells;
    locus_owned passing = {0};
    double *wide = locus_owned_get(memory, tables * cells, sizeof *wide);
    float *narrow = locus_owned_get(memory, tables * cells, sizeof *narrow);
    double *answers = locus_owned_get(&passing, own->cells.count, sizeof *answers);
    locus_status status = wide && narrow && answers ? LOCUS_OK : locus_owned_fail(error);
    for (size_t t = 0; t < tables && status == LOCUS_OK; t++)
        status = fill_table(own, t, wide + t * cells, narrow + t * cells, answers, error);
    locus_owned_release(&passing);
    own->wide = wide;
    own->narrow = narrow;
    return status;
}

locus_status locus_extension_place_score(const locus_extension_bound *bound, const locus_places *places,
                                         locus_owned *memory, locus_placed *placed, locus_error *error) {
    const locus_encoding_description *description = &bound->own->description;
    const bool factor = description->kind == LOCUS_EXTENSION_FACTOR;
    const locus_pair_asked asked = {.name = description->name,
                                    .relative = (description->laws & LOCUS_LAW_RELATIVITY) != 0,
                                    .bytes = bound->tables * (sizeof(double) + sizeof(float))};
    extension_score *own = locus_owned_get(memory, 1, sizeof *own);
    if (!own)
        return locus_owned_fail(error);
    own->base = (locus_score_term){&score_class, factor ? LOCUS_SCORE_FACTOR : LOCUS_SCORE_BIAS, NULL, NULL};
    own->bound = bound;
    locus_status status = locus_pair_cells_create(&own->cells, places, &asked, memory, error);
    if (status != LOCUS_OK)
        return status;
    own->places = (locus_extension_places){.count = own->cells.count,
                                           .coordinates = places->count,
                                           .length = places->length,
                                           .query = {own->cells.query, own->cells.query_words},
                                           .key = {own->cells.key, own->cells.key_words},
                                           .distance = own->cells.distance};
    placed->score = &own->base;
    return fill_tables(own, memory, error);
}
