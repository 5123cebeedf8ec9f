/* SPDX-License-Identifier: MIT */
/* mixed: RoPE-Mixed (Heo, Park, Han and Yun 2024, Rotary position embedding for vision transformer, equation 15).
 * Pair i of a head turns by ω_i·p, ω_i a learned vector with a component for each axis of the grid, so that
 * diagonals are as near as rows and columns. Parameter `frequencies` [tables, r, d/2]; see grid_angles.h. */
#include "operators/learned/grid_angles.h"

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    const locus_turning turning = locus_turning_of(term, LOCUS_GRID_TURNING);
    locus_status status = locus_grid_check(term, shape, error);
    if (status != LOCUS_OK)
        return status;
    list[(*count)++] = locus_grid_parameter(term, shape);
    locus_decay_parameter(&turning.decay, list, count);
    return LOCUS_OK;
}

static locus_status initialise(const locus_term *term, const locus_draw *draw, locus_error *error) {
    const locus_turning turning = locus_turning_of(term, LOCUS_GRID_TURNING);
    uint64_t index = 0;
    (void)error;
    locus_grid_draw(term, draw, &index, draw->values[0]);
    locus_decay_initialise(&turning.decay, 1, draw->values);
    return LOCUS_OK;
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error) {
    return locus_grid_bind(bound, term, shape, values, 0, memory, error);
}

static const locus_option_info options[] = {
    LOCUS_GRID_OPTIONS,
};

const locus_encoding_class locus_mixed_class = {
    .info = {.name = "mixed",
             .summary = "rotates pairs of query and key dimensions by learned mixtures of a grid's axes",
             .sites = LOCUS_SITE_QUERY_KEY | LOCUS_SITE_VALUE | LOCUS_SITE_SCORE,
             .learned = "frequencies; rate (decay=learned:c)",
             .source = "Heo et al. 2024, Rotary position embedding for vision transformer (RoPE-Mixed)",
             LOCUS_OPTIONS(options)},
    .shape = LOCUS_NEEDS_HEADS | LOCUS_NEEDS_HEAD_DIM,
    .bound_bytes = sizeof(locus_grid_angles),
    .laws = LOCUS_LAWS_ALL,
    .reals = true,
    .grids_only = true,
    .sites = locus_grid_sites,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = locus_grid_place,
    .normal = locus_grid_normal,
};
