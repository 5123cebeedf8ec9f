/* SPDX-License-Identifier: MIT */
/* See turning.h. */
#include "encoding/turning.h"

#include "core/error.h"
#include "encoding/score_row.h"

locus_turning locus_turning_of(const locus_term *term, size_t first) {
    const locus_option_value *options = term->options + first;
    locus_turning turning = {.shared = options[0].choice == 1,
                             .side = (locus_side)options[1].choice,
                             .values = options[2].choice == 1,
                             .rate = options[3].number};
    turning.decay = options[3].choice == 0   ? LOCUS_DECAY_OFF
                    : options[3].choice == 1 ? LOCUS_DECAY_FIXED
                                             : LOCUS_DECAY_LEARNED;
    return turning;
}

unsigned locus_turning_sites(const locus_turning *turning) {
    unsigned mask = LOCUS_SITE_QUERY_KEY;
    mask |= turning->values ? (unsigned)LOCUS_SITE_VALUE : 0u;
    return mask | (turning->decay != LOCUS_DECAY_OFF ? (unsigned)LOCUS_SITE_SCORE : 0u);
}

size_t locus_turning_tables(const locus_turning *turning, const locus_shape *shape) {
    return turning->shared ? 1 : shape->heads;
}

locus_status locus_turning_check(const locus_term *term, const locus_turning *turning, const locus_shape *shape,
                                 locus_error *error) {
    const char *name = term->class->info.name;
    locus_status status = locus_shape_need_heads(shape, name, error);
    if (status != LOCUS_OK || !turning->values || locus_shape_value_dim(shape) == shape->head_dim)
        return status;
    return locus_fail(error, LOCUS_ERROR_SHAPE, "value_dim",
                      "'%s(values=on)' acts on values as on queries: value_dim must be head_dim (%zu), not %zu", name,
                      shape->head_dim, locus_shape_value_dim(shape));
}

void locus_turning_parameter(const locus_turning *turning, locus_parameter *list, size_t *count) {
    if (turning->decay == LOCUS_DECAY_LEARNED)
        list[(*count)++] = (locus_parameter){"rate", 1, {1}};
}

void locus_turning_initialise(const locus_turning *turning, size_t parameter, double *const *values) {
    if (turning->decay == LOCUS_DECAY_LEARNED)
        values[parameter][0] = turning->rate;
}

locus_status locus_turning_bind(locus_turning *turning, const locus_term *term, size_t parameter,
                                const double *const *values, locus_error *error) {
    turning->parameter = parameter;
    if (turning->decay == LOCUS_DECAY_LEARNED)
        turning->rate = values[parameter][0];
    if (turning->decay == LOCUS_DECAY_OFF || turning->rate > 0)
        return LOCUS_OK;
    return locus_fail(error, LOCUS_ERROR_NUMERIC, "rate", "the rate of '%s' is %g: it must be above 0",
                      term->class->info.name, turning->rate);
}

locus_status locus_turning_place(const locus_turning *turning, const locus_places *places, locus_owned *memory,
                                 locus_placed *placed, locus_error *error) {
    if (turning->values) {
        placed->value = placed->query_key;
        placed->value_whole = placed->query_key_whole;
    }
    if (turning->decay == LOCUS_DECAY_OFF)
        return LOCUS_OK;
    return locus_decay_place(turning->rate, turning->decay == LOCUS_DECAY_LEARNED, turning->parameter, places, memory,
                             &placed->score, error);
}
