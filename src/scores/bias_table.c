/* SPDX-License-Identifier: MIT */
/* See bias_table.h. */
#include "scores/bias_table.h"

#include "spec/form_writer.h"

#define NUMBERS 2 /* of a head's cell: a double and a float */

/* ---- making ---- */

static double distance_at(const locus_bias_table *table, size_t index) {
    return table->rows.cells > 0 ? table->rows.distance[index] : (double)index;
}

static locus_status fill_numbers(locus_bias_table *table, locus_owned *memory, locus_error *error) {
    double *wide = locus_owned_get(memory, table->heads * table->count, sizeof *wide);
    float *narrow = locus_owned_get(memory, table->heads * table->count, sizeof *narrow);
    if (!wide || !narrow)
        return locus_owned_fail(error, table->heads * table->count, sizeof *wide);
    for (size_t h = 0; h < table->heads; h++) {
        double *own = wide + h * table->count;
        for (size_t i = 0; i < table->count; i++) {
            const size_t twin = locus_score_rows_twin(&table->rows, i);
            own[i] = twin < i ? own[twin] : table->value(table->own, h, distance_at(table, i));
            narrow[h * table->count + i] = (float)own[i];
        }
    }
    table->wide = wide;
    table->narrow = narrow;
    return LOCUS_OK;
}

locus_status locus_bias_table_create(locus_bias_table *table, const locus_places *places, locus_owned *memory,
                                     locus_error *error) {
    const size_t tables = table->heads * NUMBERS + table->more;
    locus_status status = locus_score_rows_create(&table->rows, places, tables, table->directed, memory, error);
    if (status != LOCUS_OK)
        return status;
    const locus_score_rows *rows = &table->rows;
    table->count = rows->cells;
    if (rows->cells == 0 && !rows->directed && locus_distances_fit(rows->distances) &&
        rows->most + 1 < locus_score_list_most(places, tables))
        table->count = (size_t)rows->most + 1;
    return fill_numbers(table, memory, error);
}

/* ---- rows ---- */

static void store(locus_dtype dtype, void *out, size_t at, double value) {
    if (dtype == LOCUS_FLOAT32)
        ((float *)out)[at] = (float)value;
    else
        ((double *)out)[at] = value;
}

static void look_up(const locus_bias_table *table, const locus_score_call *call, size_t at, void *out) {
    int32_t steps[LOCUS_SCORE_RUN];
    const double *wide = table->wide + call->head * table->count;
    const float *narrow = table->narrow + call->head * table->count;
    locus_distances_steps(table->rows.distances, call, steps);
    if (call->dtype == LOCUS_FLOAT32)
        for (size_t j = 0; j < call->count; j++)
            ((float *)out)[at + j] = narrow[steps[j]];
    else
        for (size_t j = 0; j < call->count; j++)
            ((double *)out)[at + j] = wide[steps[j]];
}

static void compute(const locus_bias_table *table, const locus_score_call *call, size_t at, void *out) {
    double distance[LOCUS_SCORE_RUN];
    locus_score_rows_distance(&table->rows, call, distance);
    for (size_t j = 0; j < call->count; j++)
        store(call->dtype, out, at + j, table->value(table->own, call->head, distance[j]));
}

const void *locus_bias_table_row(const locus_bias_table *table, const locus_score_call *call, void *scratch) {
    const bool single = call->dtype == LOCUS_FLOAT32;
    const double *wide = table->wide + call->head * table->count;
    const float *narrow = table->narrow + call->head * table->count;
    const size_t at = locus_score_rows_at(&table->rows, call);
    if (at != SIZE_MAX)
        return single ? (const void *)(narrow + at) : wide + at;
    if (table->rows.cells > 0 && single)
        locus_score_rows_copy_float32(&table->rows, call, narrow, scratch);
    else if (table->rows.cells > 0)
        locus_score_rows_copy_float64(&table->rows, call, wide, scratch);
    else {
        locus_score_call piece = *call;
        for (size_t done = 0; done < call->count; done += piece.count) {
            const size_t left = call->count - done;
            piece.key_first = call->key_first + done;
            piece.count = left < LOCUS_SCORE_RUN ? left : LOCUS_SCORE_RUN;
            (table->count > 0 ? look_up : compute)(table, &piece, done, scratch);
        }
    }
    return scratch;
}

/* ---- as data ---- */

locus_score_form locus_bias_table_form(const locus_bias_table *table, locus_form_writer *writer) {
    const locus_score_form form = locus_score_rows_form(&table->rows, writer);
    const double *values = table->wide;
    if (form.made) {
        double *made = locus_form_take(writer, table->heads * form.cells, sizeof *made);
        for (size_t i = 0; made && i < table->heads * form.cells; i++)
            made[i] = table->value(table->own, i / form.cells, form.distance[i % form.cells]);
        values = made;
    }
    locus_form_add(writer, "values", LOCUS_FORM_FLOAT64, values,
                   LOCUS_FORM_SHAPE((int64_t)table->heads, (int64_t)form.cells));
    return form;
}
