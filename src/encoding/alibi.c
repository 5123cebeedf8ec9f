/* SPDX-License-Identifier: MIT */
/* alibi: a bias that falls with distance (Press, Smith and Lewis 2022, section 3).
 *
 *   s_mn −= slope_h · |m − n|
 *   n₂ = 2^⌊log₂ H⌋: slope_h = 2^(−8(h+1)/n₂) for h < n₂, else 2^(−4(2(h−n₂)+1)/n₂)
 *
 * Nothing is learned. Float rows are tables, one for each head; double rows, for reference, are computed. */
#include "encoding/score_row.h"

#include <math.h>

enum { GROUP };

typedef struct locus_alibi {
    size_t heads;
    const double *slopes; /* [heads] */
} locus_alibi;

typedef struct locus_alibi_term {
    locus_score_term base;
    const locus_alibi *alibi;
    const locus_placement *placement;
    locus_score_range range;
    const float *rows; /* [heads, range.count] */
} locus_alibi_term;

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    (void)term, (void)list, (void)count;
    if (shape->heads > 0)
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
    (void)term, (void)values;
    locus_alibi *own = locus_owned_get(memory, 1, sizeof *own);
    double *slopes = locus_owned_get(memory, shape->heads, sizeof *slopes);
    if (!own || !slopes)
        return locus_owned_fail(error, shape->heads, sizeof *slopes);
    for (size_t h = 0; h < shape->heads; h++)
        slopes[h] = slope_of(h, shape->heads);
    *own = (locus_alibi){shape->heads, slopes};
    *bound = own;
    return LOCUS_OK;
}

static const void *row(const locus_score_term *term, const locus_score_call *call, void *scratch) {
    const locus_alibi_term *own = (const locus_alibi_term *)term;
    const double slope = own->alibi->slopes[call->head];
    if (call->dtype == LOCUS_FLOAT64) {
        double *out = scratch;
        for (size_t j = 0; j < call->count; j++)
            out[j] = -slope * locus_score_distance(own->placement, call, j);
        return out;
    }
    size_t at = locus_score_row_at(own->placement, own->range, call);
    if (at != SIZE_MAX)
        return own->rows + call->head * own->range.count + at;
    float *out = scratch;
    for (size_t j = 0; j < call->count; j++)
        out[j] = (float)(-slope * locus_score_distance(own->placement, call, j));
    return out;
}

static size_t slot_bytes(const locus_score_term *term) {
    (void)term;
    return 0;
}

static const locus_score_class score_class = {.row = row, .slot_bytes = slot_bytes};

static locus_status place(const void *bound, const locus_placement *placement, size_t first_parameter,
                          locus_owned *memory, locus_placed *placed, locus_error *error) {
    (void)first_parameter;
    const locus_alibi *alibi = bound;
    const locus_score_range range = locus_score_range_of(placement);
    locus_alibi_term *own = locus_owned_get(memory, 1, sizeof *own);
    float *rows = locus_owned_get(memory, alibi->heads * range.count, sizeof *rows);
    if (!own || !rows)
        return locus_owned_fail(error, alibi->heads * range.count, sizeof *rows);
    for (size_t h = 0; h < alibi->heads; h++)
        for (size_t i = 0; i < range.count; i++)
            rows[h * range.count + i] = (float)(-alibi->slopes[h] * fabs((double)(range.first + (int64_t)i)));
    *own = (locus_alibi_term){{&score_class, LOCUS_SCORE_BIAS}, alibi, placement, range, rows};
    placed->score = &own->base;
    return LOCUS_OK;
}

static const locus_option_info options[] = {
    {"group", "group equal to seq", "seq", "whose distance the bias follows"},
};
static const locus_option_rule rules[] = {
    {LOCUS_OPTION_GROUP, 0, 0, false, NULL},
};

const locus_encoding_class locus_alibi_class = {
    .info = {.name = "alibi",
             .summary = "a bias on scores that falls linearly with distance, steeper in some heads",
             .sites = LOCUS_SITE_SCORE,
             .learned = "",
             .source = "Press et al. 2022, Train short, test long",
             .options = options,
             .option_count = sizeof options / sizeof options[0]},
    .rules = rules,
    .parameters = parameters,
    .bind = bind,
    .place = place,
};
