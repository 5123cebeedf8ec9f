/* SPDX-License-Identifier: MIT */
/* See grid_angles.h. */
#include "operators/learned/grid_angles.h"

#include "core/error.h"
#include "operators/learned/haar.h"

#include <math.h>

static size_t axes_of(const locus_term *term) {
    return locus_group_coordinates(locus_term_group(term));
}

static locus_turning turning_of(const locus_term *term) {
    return locus_turning_of(term, LOCUS_GRID_TURNING);
}

unsigned locus_grid_sites(const locus_term *term) {
    const locus_turning turning = turning_of(term);
    return locus_turning_sites(&turning);
}

locus_status locus_grid_check(const locus_term *term, const locus_shape *shape, locus_error *error) {
    const locus_turning turning = turning_of(term);
    locus_status status = locus_turning_check(term, &turning, shape, error);
    if (status != LOCUS_OK || shape->head_dim % 2 == 0)
        return status;
    return locus_fail(error, LOCUS_ERROR_SHAPE, "head_dim", "'%s' turns pairs: head_dim must be even, not %zu",
                      term->class->info.name, shape->head_dim);
}

locus_parameter locus_grid_parameter(const locus_term *term, const locus_shape *shape) {
    const locus_turning turning = turning_of(term);
    const int64_t tables = (int64_t)locus_turning_tables(&turning, shape), pairs = (int64_t)shape->head_dim / 2;
    return (locus_parameter){.name = "frequencies", .rank = 3, .shape = {tables, (int64_t)axes_of(term), pairs}};
}

void locus_grid_draw(const locus_term *term, const locus_draw *draw, uint64_t *index, double *frequencies) {
    const locus_turning turning = turning_of(term);
    const size_t axes = axes_of(term), pairs = draw->shape->head_dim / 2, run = (pairs + axes - 1) / axes;
    const double base = term->options[LOCUS_GRID_BASE].number;
    double directions[LOCUS_COORDINATES_MAX * LOCUS_COORDINATES_MAX] = {1};
    for (size_t table = 0; table < locus_turning_tables(&turning, draw->shape); table++) {
        if (axes > 1)
            locus_haar_orthogonal(axes, &draw->random, index, directions);
        for (size_t axis = 0; axis < axes; axis++)
            for (size_t i = 0; i < pairs; i++) {
                const long double power = -2.0L * (long double)(axes * (i % run)) / (long double)draw->shape->head_dim;
                const double length = (double)powl((long double)base, power); /* rope's, to the last bit */
                frequencies[(table * axes + axis) * pairs + i] = length * directions[i / run * axes + axis];
            }
    }
}

locus_status locus_grid_bind(locus_grid_angles *own, const locus_term *term, const locus_shape *shape,
                             const double *const *values, size_t tensor, locus_owned *memory, locus_error *error) {
    const size_t axes = axes_of(term);
    own->turning = turning_of(term);
    own->rotary = (locus_rotary){.heads = shape->heads,
                                 .dim = shape->head_dim,
                                 .tables = locus_turning_tables(&own->turning, shape),
                                 .side = own->turning.side,
                                 .learned = LOCUS_LEARN_ANGLES,
                                 .angles_slice = {tensor, axes, 0}};
    locus_decay_bind(&own->turning.decay, tensor + 1, values);
    return locus_rotary_bind_axes(&own->rotary, axes, values[tensor], memory, error);
}

locus_status locus_grid_place(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                              locus_error *error) {
    const locus_grid_angles *own = bound;
    locus_status status = LOCUS_OK;
    if (locus_places_ask(places, LOCUS_SITE_QUERY_KEY))
        status = locus_rotary_place(&own->rotary, places, 0, memory, &placed->query_key, error);
    return status == LOCUS_OK ? locus_turning_place(&own->turning, places, memory, placed, error) : status;
}

size_t locus_grid_normal(const void *bound, locus_normal_part parts[LOCUS_COORDINATES_MAX]) {
    const locus_grid_angles *own = bound;
    parts[0] = locus_rotary_normal(&own->rotary, 0, 0);
    return 1;
}
