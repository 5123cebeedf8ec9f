/* SPDX-License-Identifier: MIT */
/* Cells as data (docs/forms.md): those that rows are read from, or where rows are computed, a cell for each pair of a
 * query and a key of one sequence. */
#include "core/call.h"
#include "core/error.h"
#include "scores/score_row.h"
#include "spec/form_writer.h"

/* ---- all pairs ---- */

size_t locus_score_pairs(const locus_places *places, locus_score_visit *visit, void *context) {
    size_t cell = 0;
    for (size_t s = 0; s < places->items[0].sequences; s++) {
        const locus_sequence_span *span = &places->items[0].spans[s];
        for (size_t i = 0; visit && i < span->query_count && !locus_call_cancelled(); i++) {
            const locus_score_call call = {LOCUS_FLOAT64,   0,   span->query_first + i, span->key_first,
                                           span->key_count, NULL};
            visit(context, &call, cell + i * span->key_count);
        }
        cell += span->query_count * span->key_count;
    }
    return cell;
}

typedef struct locus_pair_cells {
    uint32_t *query, *key;
} locus_pair_cells;

static void number_pairs(void *context, const locus_score_call *call, size_t cell) {
    const locus_pair_cells *cells = context;
    cells->query[call->query] = (uint32_t)cell;
    for (size_t j = 0; j < call->count; j++)
        cells->key[call->key_first + j] = (uint32_t)j;
}

static void add_cells(locus_form_writer *writer, const uint32_t *query, const uint32_t *key) {
    const locus_placement *first = &writer->places->items[0];
    locus_form_add(writer, "query_cell", LOCUS_FORM_UINT32, query, LOCUS_FORM_SHAPE((int64_t)first->query.tokens));
    locus_form_add(writer, "key_cell", LOCUS_FORM_UINT32, key, LOCUS_FORM_SHAPE((int64_t)first->key.tokens));
}

void locus_score_pairs_form(locus_form_writer *writer) {
    const locus_placement *first = &writer->places->items[0];
    locus_pair_cells cells = {.query = locus_form_take(writer, first->query.tokens, sizeof *cells.query),
                              .key = locus_form_take(writer, first->key.tokens, sizeof *cells.key)};
    if (writer->status == LOCUS_OK && locus_score_pairs(writer->places, NULL, NULL) > UINT32_MAX)
        locus_form_fail(writer, locus_fail(writer->error, LOCUS_ERROR_UNSUPPORTED, "plan",
                                           "more than 2^32 − 1 pairs of a query and a key: take forms of fewer "
                                           "sequences at a time"));
    if (writer->status == LOCUS_OK)
        (void)locus_score_pairs(writer->places, number_pairs, &cells);
    add_cells(writer, cells.query, cells.key);
}

/* ---- rows ---- */

typedef struct locus_pair_distances {
    const locus_score_rows *rows;
    double *distance;
} locus_pair_distances;

static void fill_distances(void *context, const locus_score_call *call, size_t cell) {
    const locus_pair_distances *distances = context;
    locus_score_rows_distance(distances->rows, call, distances->distance + cell);
}

locus_score_form locus_score_rows_form(const locus_score_rows *rows, locus_form_writer *writer) {
    locus_score_form form = {.distance = rows->distance, .cells = rows->cells, .made = rows->cells == 0};
    if (form.made) {
        form.cells = locus_score_pairs(writer->places, NULL, NULL);
        locus_pair_distances distances = {rows, locus_form_take(writer, form.cells, sizeof(double))};
        locus_score_pairs_form(writer);
        if (writer->status == LOCUS_OK)
            (void)locus_score_pairs(writer->places, fill_distances, &distances);
        form.distance = distances.distance;
    } else {
        add_cells(writer, rows->query, rows->key);
    }
    locus_form_add(writer, "distance", LOCUS_FORM_FLOAT64, form.distance, LOCUS_FORM_SHAPE((int64_t)form.cells));
    return form;
}
