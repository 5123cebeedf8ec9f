/* SPDX-License-Identifier: MIT */
/* alibi: a bias that falls with distance (Press, Smith and Lewis 2022, section 3); the distance is the group's.
 *
 *   s_mn −= slope_h · distance
 *   scaled=on: as much as products are, by 1/√d (Falcon, whose (q·k − slope·distance)/√d)
 *   n₂ = 2^⌊log₂ H⌋: slope_h = 2^(−8(h+1)/n₂) for h < n₂, else 2^(−4(2(h−n₂)+1)/n₂)
 *
 * Every head count that a shape may have (65,536) is served: slopes are 2^−8 at least, and no two are alike in float32.
 * Nothing is learned. Where distances have cells, float rows are tables, one for each head; other rows are computed. */
#include "scores/distance_table.h"
#include "spec/form_writer.h"

#include "core/error.h"

#include <math.h>

enum { SCALED, GROUP };

typedef struct locus_alibi {
    size_t heads;
    const double *slopes; /* [heads] */
} locus_alibi;

typedef struct locus_alibi_term {
    locus_score_term base;
    const locus_alibi *alibi;
    locus_distance_table table;
} locus_alibi_term;

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    const bool scaled = term->options[SCALED].choice == 1;
    (void)list, (void)count;
    return locus_shape_check(shape, scaled ? LOCUS_NEEDS_HEAD_DIM : 0, "alibi", error);
}

static double slope_of(size_t head, size_t heads) {
    size_t power = 1;
    while (power * 2 <= heads)
        power *= 2;
    double n2 = (double)power;
    return head < power ? exp2(-8.0 * (double)(head + 1) / n2) : exp2(-4.0 * (double)(2 * (head - power) + 1) / n2);
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error) {
    (void)values;
    const double divisor = term->options[SCALED].choice == 1 ? sqrt((double)shape->head_dim) : 1;
    double *slopes = locus_owned_get(memory, shape->heads, sizeof *slopes);
    if (!slopes)
        return locus_owned_fail(error);
    for (size_t h = 0; h < shape->heads; h++)
        slopes[h] = slope_of(h, shape->heads) / divisor;
    *(locus_alibi *)bound = (locus_alibi){shape->heads, slopes};
    return LOCUS_OK;
}

static void form(const locus_score_term *term, locus_form_writer *writer) {
    const locus_alibi_term *own = (const locus_alibi_term *)term;
    locus_form_begin(writer, LOCUS_FORM_CELLS, 0, "slope");
    (void)locus_distance_table_form(&own->table, writer);
    locus_form_add(writer, "slope", LOCUS_FORM_FLOAT64, own->alibi->slopes,
                   LOCUS_FORM_SHAPE((int64_t)own->alibi->heads));
}

static const locus_score_class score_class = {.form = form};

static locus_status place(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                          locus_error *error) {
    const locus_alibi *alibi = bound;
    locus_alibi_term *own = placed->own;
    *own = (locus_alibi_term){.base = {&score_class, LOCUS_SCORE_BIAS, &own->table, NULL},
                              .alibi = alibi,
                              .table = {.slopes = alibi->slopes, .heads = alibi->heads, .term = &own->base}};
    placed->score = &own->base;
    return locus_distance_table_create(&own->table, places, memory, error);
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
             LOCUS_OPTIONS(options)},
    .shape = LOCUS_NEEDS_HEADS,
    .bound_bytes = sizeof(locus_alibi),
    .placed_bytes = sizeof(locus_alibi_term),
    .reals = true,
    .laws = LOCUS_LAW_RELATIVITY,
    .parameters = parameters,
    .bind = bind,
    .place = place,
};
