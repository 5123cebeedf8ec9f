/* SPDX-License-Identifier: MIT */
/* See distance_table.h. */
#include "scores/distance_table.h"

#include "spec/form_writer.h"

/* ---- numbers that fall with the distance ---- */

static void fall(double slope, size_t count, const double *distance, double *values) {
    for (size_t i = 0; i < count; i++)
        values[i] = -slope * distance[i];
}

static void fall_rounded(double slope, size_t count, const double *distance, float *values) {
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(-slope * distance[i]);
}

static void fill_values(const locus_distance_table *table, size_t head, size_t count, const double *distance,
                        double *values) {
    if (table->slopes)
        fall(table->slopes[head], count, distance, values);
    else
        table->fill(table->own, head, count, distance, values);
}

/* ---- making ---- */

/* Of distances 0, 1, 2, … */
static void fill_list(const locus_distance_table *table, size_t head, size_t count, double *values) {
    double distance[LOCUS_SCORE_RUN];
    for (size_t done = 0, run; done < count; done += run) {
        const size_t left = count - done;
        run = left < LOCUS_SCORE_RUN ? left : LOCUS_SCORE_RUN;
        for (size_t i = 0; i < run; i++)
            distance[i] = (double)(done + i);
        table->fill(table->own, head, run, distance, values + done);
    }
}

/* The last distance of a list by distance. */
static double last_of(const locus_distance_table *table) {
    return table->settled > 0 && table->settled < table->rows.most ? table->settled : table->rows.most;
}

/* Of all cells, [heads, cells]; by way of `list`, if there is one, which has room for all distances up to the last. */
static void fill_cells(const locus_distance_table *table, double *list, double *wide, float *narrow) {
    const locus_score_rows *rows = &table->rows;
    const double last = last_of(table);
    for (size_t h = 0; h < table->heads; h++, wide += rows->cells, narrow += rows->cells) {
        if (list)
            fill_list(table, h, (size_t)last + 1, list);
        else
            table->fill(table->own, h, rows->cells, rows->distance, wide);
        for (size_t i = 0; list && i < rows->cells; i++)
            wide[i] = list[(ptrdiff_t)(rows->distance[i] < last ? rows->distance[i] : last)];
        for (size_t i = 0; i < rows->cells; i++)
            narrow[i] = (float)wide[i];
    }
}

/* What is dear to make of a distance is made once: fewer distances than cells go through a list. */
static locus_status fill_numbers(locus_distance_table *table, locus_owned *memory, locus_error *error) {
    const locus_score_rows *rows = &table->rows;
    const size_t numbers = table->heads * table->count;
    const bool whole = rows->whole && !rows->directed, shorter = whole && last_of(table) + 1 < (double)rows->cells;
    locus_owned passing = {0};
    double *wide = table->slopes ? NULL : locus_owned_get(memory, numbers, sizeof *wide);
    double *list = shorter && wide ? locus_owned_get(&passing, (size_t)last_of(table) + 1, sizeof *list) : NULL;
    float *narrow = locus_owned_get(memory, numbers, sizeof *narrow);
    const bool fits = narrow && (table->slopes || (wide && (list || !shorter)));
    for (size_t h = 0; fits && table->slopes && h < table->heads; h++)
        fall_rounded(table->slopes[h], rows->cells, rows->distance, narrow + h * rows->cells);
    for (size_t h = 0; fits && wide && rows->cells == 0 && h < table->heads; h++)
        fill_list(table, h, table->count, wide + h * table->count);
    for (size_t i = 0; fits && wide && rows->cells == 0 && i < numbers; i++)
        narrow[i] = (float)wide[i];
    if (fits && wide && rows->cells > 0)
        fill_cells(table, list, wide, narrow);
    table->wide = wide;
    table->narrow = narrow;
    locus_owned_release(&passing);
    return fits ? LOCUS_OK : locus_owned_fail(error);
}

locus_status locus_distance_table_create(locus_distance_table *table, const locus_places *places, locus_owned *memory,
                                         locus_error *error) {
    const size_t tables = table->heads * (table->slopes ? 1 : 2) + table->more;
    locus_status status = locus_score_rows_create(&table->rows, places, tables, table->directed, memory, error);
    if (status != LOCUS_OK)
        return status;
    const locus_score_rows *rows = &table->rows;
    const bool listed = rows->cells == 0 && !table->slopes && !rows->directed && rows->whole;
    table->count = rows->cells;
    if (table->term && !rows->directed)
        table->term->apart = rows->distances;
    if (listed && last_of(table) + 1 < locus_score_list_most(places, tables))
        table->count = (size_t)last_of(table) + 1;
    return fill_numbers(table, memory, error);
}

const double *locus_distance_table_beside(const locus_distance_table *table, locus_distance_fill *fill,
                                          locus_owned *memory, locus_error *error) {
    const size_t cells = table->rows.cells;
    double *values = locus_owned_get(memory, table->heads * cells, sizeof *values);
    if (!values)
        (void)locus_owned_fail(error);
    for (size_t h = 0; values && h < table->heads; h++)
        fill(table->own, h, cells, table->rows.distance, values + h * cells);
    return values;
}

/* ---- rows ---- */

/* The call's steps, made in `room` if nobody has. */
static const int32_t *steps_of(const locus_distance_table *table, const locus_score_call *call, int32_t *room) {
    if (call->steps)
        return call->steps;
    locus_distances_steps(table->rows.distances, call, room);
    return room;
}

static void look_up(const locus_distance_table *table, size_t first, const locus_score_call *call, void *out) {
    int32_t room[LOCUS_SCORE_RUN];
    const double *wide = table->wide + first;
    const float *narrow = table->narrow + first;
    const int32_t last = (int32_t)(table->count - 1), *steps = steps_of(table, call, room);
    if (table->rows.most > (double)last) {
        for (size_t j = 0; j < call->count; j++)
            room[j] = steps[j] < last ? steps[j] : last;
        steps = room;
    }
    if (call->dtype == LOCUS_FLOAT32)
        for (size_t j = 0; j < call->count; j++)
            ((float *)out)[j] = narrow[steps[j]];
    else
        for (size_t j = 0; j < call->count; j++)
            ((double *)out)[j] =
                wide[steps[j]]; // NOLINT(clang-analyzer-core.NullDereference): of this type it is there
}

static void compute(const locus_distance_table *table, size_t head, const locus_score_call *call, void *out) {
    double distance[LOCUS_SCORE_RUN], values[LOCUS_SCORE_RUN];
    float *narrow = out;
    locus_score_rows_distance(&table->rows, call, distance);
    fill_values(table, head, call->count, distance, call->dtype == LOCUS_FLOAT64 ? out : values);
    for (size_t j = 0; call->dtype == LOCUS_FLOAT32 && j < call->count; j++)
        narrow[j] = (float)values[j];
}

/* What compute() says of floats that fall with the distance, from whole numbers. */
static void fall_along(const locus_distance_table *table, size_t head, const locus_score_call *call, float *out) {
    int32_t room[LOCUS_SCORE_RUN];
    const int32_t *steps = steps_of(table, call, room);
    const double slope = table->slopes[head];
    for (size_t j = 0; j < call->count; j++)
        out[j] = (float)(-slope * (double)steps[j]);
}

const void *locus_distance_table_row(const locus_distance_table *table, const locus_score_call *call, void *scratch) {
    const bool single = call->dtype == LOCUS_FLOAT32;
    const size_t head = table->heads > 1 ? call->head : 0, first = head * table->count;
    const size_t at = single || table->wide ? locus_score_rows_at(&table->rows, call) : SIZE_MAX;
    if (at != SIZE_MAX)
        return single ? (const void *)(table->narrow + first + at) : table->wide + first + at;
    if (table->rows.cells > 0 && single) {
        locus_score_rows_copy_float32(&table->rows, call, table->narrow + first, scratch);
    } else if (table->rows.cells > 0 && table->wide) {
        locus_score_rows_copy_float64(&table->rows, call, table->wide + first, scratch);
    } else {
        const bool fits = table->rows.cells == 0 && locus_distances_fit(table->rows.distances);
        char *out = scratch;
        for (locus_score_call piece = locus_score_before(call); locus_score_next(call, &piece);) {
            if (fits && table->count > 0)
                look_up(table, first, &piece, out);
            else if (fits && single && table->slopes)
                fall_along(table, head, &piece, (float *)(void *)out);
            else
                compute(table, head, &piece, out);
            out += piece.count * locus_dtype_size(call->dtype);
        }
    }
    return scratch;
}

/* ---- as data ---- */

const double *locus_distance_table_values(const locus_distance_table *table, const locus_score_form *form,
                                          locus_form_writer *writer) {
    if (!form->made && table->wide)
        return table->wide;
    double *made = locus_form_take(writer, table->heads * form->cells, sizeof *made);
    for (size_t h = 0; made && h < table->heads; h++)
        fill_values(table, h, form->cells, form->distance, made + h * form->cells);
    return made;
}

locus_score_form locus_distance_table_form(const locus_distance_table *table, locus_form_writer *writer) {
    const locus_score_form form = locus_score_rows_form(&table->rows, writer);
    locus_form_add(writer, "values", LOCUS_FORM_FLOAT64, locus_distance_table_values(table, &form, writer),
                   LOCUS_FORM_SHAPE((int64_t)table->heads, (int64_t)form.cells));
    return form;
}
