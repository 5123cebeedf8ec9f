/* SPDX-License-Identifier: MIT */
/* Cosines and sines of position × frequency for a plan's positions, in two levels of double precision:
 *
 *   e^{ipθ} = e^{i64cθ} · e^{ifθ},  p = 64c + f
 *
 * Products with θ are carried out to twice double precision before the cosine is taken, so that an angle is as exact at
 * position 1,000,000 as at position 1. kernels->angles multiplies the levels for a run of tokens and rounds once.
 *
 *   fine    [tables, 64, pairs] (cos, sin)             belongs to the frequencies: made when parameters are bound
 *   steps   [8, tables, pairs] floats, cosines and sines apart: rows f < 8 of fine, rounded
 *   coarse  [tables, coarse_count, pairs] (cos, sin)   belongs to positions: made with the plan */
#ifndef LOCUS_ANGLE_TABLE_H
#define LOCUS_ANGLE_TABLE_H

#include "encoding/placement.h"

#define LOCUS_STEPS 8 /* more would push the data out of the first cache */

typedef struct locus_angle_fine {
    size_t tables, pairs;
    const double *theta;                  /* [tables, pairs] */
    const double *fine;                   /* [tables, 64, pairs, 2]: f·θ */
    const float *step_cosine, *step_sine; /* if tables > 1 */
} locus_angle_fine;

typedef struct locus_angle_table {
    const locus_angle_fine *base;
    size_t coarse_count;
    const double *coarse;
} locus_angle_table;

/* `theta` must outlive the tables. */
locus_status locus_angle_fine_create(locus_angle_fine *fine, size_t tables, size_t pairs, const double *theta,
                                     locus_owned *memory, locus_error *error);
locus_status locus_angle_table_create(locus_angle_table *table, const locus_angle_fine *base,
                                      const locus_placement *placement, locus_owned *memory, locus_error *error);

static inline const double *locus_angle_fine_of(const locus_angle_table *table, size_t index) {
    return table->base->fine + index * LOCUS_FINE * table->base->pairs * 2;
}
static inline const double *locus_angle_coarse_of(const locus_angle_table *table, size_t index) {
    return table->coarse + index * table->coarse_count * table->base->pairs * 2;
}

#endif
