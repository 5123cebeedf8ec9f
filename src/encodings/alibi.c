/* SPDX-License-Identifier: MIT */
/* alibi: a bias that falls with distance (Press, Smith and Lewis 2022, section 3); the distance is the group's.
 *
 *   s_mn −= slope_h · distance
 *   scaled=on: as much as products are, by 1/√d (Falcon, whose (q·k − slope·distance)/√d)
 *   n₂ = 2^⌊log₂ H⌋: slope_h = 2^(−8(h+1)/n₂) for h < n₂, else 2^(−4(2(h−n₂)+1)/n₂)
 *
 * Every head count that a shape may have (65,536) is served: slopes are 2^−8 at least, and no two are alike in float32.
 * Nothing is learned. Where distances have cells, float rows are tables, one for each head; other rows are computed. */
#include "scores/score_row.h"
#include "spec/form_writer.h"

#include <math.h>

enum { SCALED, GROUP };

typedef struct locus_alibi {
    size_t heads;
    const double *slopes; /* [heads] */
} locus_alibi;

typedef struct locus_alibi_term {
    locus_score_term base;
    const locus_alibi *alibi;
    locus_score_rows rows;
    const float *tables; /* [heads, rows.cells] */
} locus_alibi_term;

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    (void)list, (void)count;
    if (shape->heads > 0 && (shape->head_dim > 0 || term->options[SCALED].choice == 0))
        return LOCUS_OK;
    return locus_shape_need_heads(shape, "alibi", error);
}

static double slope_of(size_t head, size_t heads) {
    size_t power = 1;
    while (power * 2 <= heads)
        power *= 2;
    double n2 = (double)power;
    return head < power ? exp2(-8.0 * (double)(head + 1) / n2) : exp2(-4.0 * (double)(2 * (head - power) + 1) / n2);
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values,
                         locus_owned *memory, void **bound, locus_error *error) {
    (void)values;
    const double divisor = term->options[SCALED].choice == 1 ? sqrt((double)shape->head_dim) : 1;
    locus_alibi *own = locus_owned_get(memory, 1, sizeof *own);
    double *slopes = locus_owned_get(memory, shape->heads, sizeof *slopes);
    if (!own || !slopes)
        return locus_owned_fail(error, shape->heads, sizeof *slopes);
    for (size_t h = 0; h < shape->heads; h++)
        slopes[h] = slope_of(h, shape->heads) / divisor;
    *own = (locus_alibi){shape->heads, slopes};
    *bound = own;
    return LOCUS_OK;
}

static void bias_from_steps(const locus_alibi_term *own, const locus_score_call *call, double slope, float *out) {
    int32_t steps[LOCUS_SCORE_RUN];
    locus_distances_steps(own->rows.distances, call, steps);
    for (size_t j = 0; j < call->count; j++)
        out[j] = (float)(-slope * (double)steps[j]);
}

static void bias_from_distance(const locus_alibi_term *own, const locus_score_call *call, double slope, float *out) {
    double distance[LOCUS_SCORE_RUN];
    locus_distances_row(own->rows.distances, call, distance);
    for (size_t j = 0; j < call->count; j++)
        out[j] = (float)(-slope * distance[j]);
}

static const void *row(const locus_score_term *term, const locus_score_call *call, void *scratch) {
    const locus_alibi_term *own = (const locus_alibi_term *)term;
    const double slope = own->alibi->slopes[call->head];
    if (call->dtype == LOCUS_FLOAT64) {
        double *out = scratch;
        locus_score_rows_distance(&own->rows, call, out);
        for (size_t j = 0; j < call->count; j++)
            out[j] *= -slope;
        return out;
    }
    const float *table = own->tables + call->head * own->rows.cells;
    const size_t at = locus_score_rows_at(&own->rows, call);
    if (at != SIZE_MAX)
        return table + at;
    if (own->rows.cells > 0) {
        locus_score_rows_copy_float32(&own->rows, call, table, scratch);
        return scratch;
    }
    locus_score_call piece = *call;
    float *out = scratch;
    for (size_t left = call->count; left > 0; left -= piece.count) {
        piece.count = left < LOCUS_SCORE_RUN ? left : LOCUS_SCORE_RUN;
        (locus_distances_fit(own->rows.distances) ? bias_from_steps : bias_from_distance)(own, &piece, slope, out);
        out += piece.count;
        piece.key_first += piece.count;
    }
    return scratch;
}

static size_t slot_bytes(const locus_score_term *term) {
    (void)term;
    return 0;
}

static void form(const locus_score_term *term, locus_form_writer *writer) {
    const locus_alibi_term *own = (const locus_alibi_term *)term;
    const size_t heads = own->alibi->heads;
    locus_form_begin(writer, LOCUS_FORM_CELLS, 0, "slope");
    const locus_score_form form = locus_score_rows_form(&own->rows, writer);
    double *values = locus_form_take(writer, heads * form.cells, sizeof *values);
    for (size_t i = 0; values && i < heads * form.cells; i++)
        values[i] = form.distance[i % form.cells] * -own->alibi->slopes[i / form.cells];
    locus_form_add(writer, "values", LOCUS_FORM_FLOAT64, values, LOCUS_FORM_SHAPE((int64_t)heads, (int64_t)form.cells));
    locus_form_add(writer, "slope", LOCUS_FORM_FLOAT64, own->alibi->slopes, LOCUS_FORM_SHAPE((int64_t)heads));
}

static const locus_score_class score_class = {.row = row, .slot_bytes = slot_bytes, .form = form};

static locus_status place(const void *bound, const locus_places *places, size_t first_parameter, locus_owned *memory,
                          locus_placed *placed, locus_error *error) {
    (void)first_parameter;
    const locus_alibi *alibi = bound;
    locus_alibi_term *own = locus_owned_get(memory, 1, sizeof *own);
    if (!own)
        return locus_owned_fail(error, 1, sizeof *own);
    *own = (locus_alibi_term){.base = {&score_class, LOCUS_SCORE_BIAS}, .alibi = alibi};
    locus_status status = locus_score_rows_create(&own->rows, places, alibi->heads, false, memory, error);
    if (status != LOCUS_OK)
        return status;
    const size_t cells = own->rows.cells;
    float *tables = locus_owned_get(memory, alibi->heads * cells, sizeof *tables);
    if (!tables)
        return locus_owned_fail(error, alibi->heads * cells, sizeof *tables);
    for (size_t h = 0; h < alibi->heads; h++)
        for (size_t i = 0; i < cells; i++)
            tables[h * cells + i] = (float)(-alibi->slopes[h] * own->rows.distance[i]);
    own->tables = tables;
    placed->score = &own->base;
    return LOCUS_OK;
}

static const locus_option_info options[] = {
    {"scaled", "off|on", "off", "the bias is divided by √d, as products are", LOCUS_OPTION_CHOICE, 0, 0, false},
    {"group", "group", "seq", "whose distance the bias follows", LOCUS_OPTION_GROUP, 0, 0, false},
};

const locus_encoding_class locus_alibi_class = {
    .info = {.name = "alibi",
             .summary = "a bias on scores that falls linearly with distance, steeper in some heads",
             .sites = LOCUS_SITE_SCORE,
             .learned = "",
             .source = "Press et al. 2022, Train short, test long",
             .options = options,
             .option_count = sizeof options / sizeof options[0]},
    .reals = true,
    .laws = LOCUS_LAW_RELATIVITY,
    .parameters = parameters,
    .bind = bind,
    .place = place,
};
