/* SPDX-License-Identifier: MIT */
/* See turning.h. */
#include "operators/learned/turning.h"

#include "core/error.h"

locus_turning locus_turning_of(const locus_term *term, size_t first) {
    const locus_option_value *options = term->options + first;
    return (locus_turning){.shared = options[0].choice == 1,
                           .side = (locus_side)options[1].choice,
                           .values = options[2].choice == 1,
                           .decay = locus_decay_of(&options[3])};
}

unsigned locus_turning_sites(const locus_turning *turning) {
    unsigned mask = LOCUS_SITE_QUERY_KEY;
    mask |= turning->values ? (unsigned)LOCUS_SITE_VALUE : 0u;
    return mask | (turning->decay.acts ? (unsigned)LOCUS_SITE_SCORE : 0u);
}

size_t locus_turning_tables(const locus_turning *turning, const locus_shape *shape) {
    return turning->shared ? 1 : shape->heads;
}

locus_status locus_turning_check(const locus_term *term, const locus_turning *turning, const locus_shape *shape,
                                 locus_error *error) {
    if (!turning->values || locus_shape_value_dim(shape) == shape->head_dim)
        return LOCUS_OK;
    return locus_fail(error, LOCUS_ERROR_SHAPE, "value_dim",
                      "'%s(values=on)' acts on values as on queries: value_dim must be head_dim (%zu), not %zu",
                      term->class->info.name, shape->head_dim, locus_shape_value_dim(shape));
}

locus_status locus_turning_place(const locus_turning *turning, const locus_places *places, locus_owned *memory,
                                 locus_placed *placed, locus_error *error) {
    if (turning->values) {
        placed->value = placed->query_key;
        placed->value_whole = placed->query_key_whole;
    }
    if (!locus_places_ask(places, LOCUS_SITE_SCORE))
        return LOCUS_OK;
    return locus_decay_place(&turning->decay, places, memory, placed, error);
}
