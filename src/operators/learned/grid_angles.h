/* SPDX-License-Identifier: MIT */
/* What `mixed` and `string` share: on a grid of r axes, pair i (2i, 2i + 1) of a head turns by Σ_a
 * p_a·frequencies[a][i], with learned frequencies [tables, r, d/2]. Their options are group, those of turning.h, and
 * base. */
#ifndef LOCUS_GRID_ANGLES_H
#define LOCUS_GRID_ANGLES_H

#include "operators/learned/turning.h"

enum { LOCUS_GRID_GROUP, LOCUS_GRID_TURNING, LOCUS_GRID_BASE = LOCUS_GRID_TURNING + 4 };

#define LOCUS_GRID_OPTIONS \
    {"group", "seq or grid:r", "grid:2", "the grid that positions are points of", LOCUS_OPTION_GROUP, 0, 0, false}, \
        LOCUS_TURNING_OPTIONS, { \
        "base", "number > 0", "10000", "initial frequencies; published for images: 10", LOCUS_OPTION_NUMBER, 0, 1e300, \
            true \
    }

typedef struct locus_grid_angles {
    locus_rotary rotary;
    locus_turning turning;
} locus_grid_angles;

/* The class's `sites`. */
unsigned locus_grid_sites(const locus_term *term);

/* SHAPE unless head_dim is even, and as in turning.h. */
locus_status locus_grid_check(const locus_term *term, const locus_shape *shape, locus_error *error);
locus_parameter locus_grid_parameter(const locus_term *term, const locus_shape *shape);

/* As published for images (Heo et al. 2024, RoPE-Mixed): every table has r directions at right angles to one another,
 * drawn at random, and the pairs fall into r runs, one for each direction, over each of which the length falls from
 * 1 as rope's frequencies do, base^(−2rj/d). On one axis this is rope. *index moves on. */
void locus_grid_draw(const locus_term *term, const locus_draw *draw, uint64_t *index, double *frequencies);

/* Everything but a basis; `tensor` is that of the frequencies, `rate` that of a learned decay. */
locus_status locus_grid_bind(locus_grid_angles *own, const locus_term *term, const locus_shape *shape,
                             const double *const *values, size_t tensor, locus_owned *memory, locus_error *error);

/* The class's `place`; `bound` begins with a locus_grid_angles. */
locus_status locus_grid_place(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                              locus_error *error);

/* The class's `normal`. */
size_t locus_grid_normal(const void *bound, locus_normal_part parts[LOCUS_COORDINATES_MAX]);

#endif
