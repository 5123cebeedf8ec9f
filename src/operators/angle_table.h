/* SPDX-License-Identifier: MIT */
/* Cosines and sines of position × frequency for a plan's positions, in two levels of double precision:
 *
 *   e^{ipθ} = e^{i64cθ} · e^{ifθ},  p = 64c + f
 *
 * Real positions that are not whole have rows of their own, e^{ipθ}. Products with θ are carried out to twice double
 * precision before the cosine is taken, so that an angle is as exact at position 1,000,000 as at position 1. On a cycle
 * of n the angles are 2π·(m·p mod n)/n, reduced in integers to the first eighth of a turn: quarters of a turn are
 * exact, and n steps are none. kernels->angles multiplies the levels for a run of tokens and rounds once.
 *
 *   fine    [tables, 64, pairs] (cos, sin)             belongs to the frequencies: made when parameters are bound
 *   steps   [8, tables, pairs] (cos, sin) floats       rows f < 8 of fine, rounded
 *   eighths [tables, 8, pairs] (cos, sin)              rows f = 0, 8, … 56 of fine, side by side
 *   blocks  [tables, 64, pairs] (cos, sin)             the coarse rows of c = 0 … 63, if the frequencies are fixed:
 *                                                      made for the first plan that wants them
 *   coarse  [tables, coarse_count, pairs] (cos, sin)   belongs to positions: made with the plan, or `blocks` themselves
 *
 * A row depends on its position alone, never on the plan around it: a key that was turned when it was new has the bits
 * that a plan over the whole sequence gives it. */
#ifndef LOCUS_ANGLE_TABLE_H
#define LOCUS_ANGLE_TABLE_H

#include "spec/placement.h"

#include <stdatomic.h>

#define LOCUS_STEPS 8 /* more would push the data out of the first cache */

/* How far pairs turn in one step. */
typedef struct locus_angle_rates {
    size_t tables, pairs;
    const double *theta;      /* [tables, pairs]; NULL on a cycle */
    const size_t *flip_pairs; /* [tables] pairs from this one on also change sign with every step; NULL: none do */
    int64_t period;           /* n of a cycle, else 0 */
    const int64_t *multiples; /* [pairs] m of a cycle, in [1, n], the same in all tables: a step is 2π·m/n */
    bool fixed;               /* nobody learns them: what is made once serves many plans */
} locus_angle_rates;

/* Any number of threads may want them at once. */
typedef struct locus_angle_blocks {
    atomic_int state; /* see angle_table.c */
    double *rows;     /* [tables, 64, pairs, 2]: 64·c·θ */
} locus_angle_blocks;

typedef struct locus_angle_fine {
    locus_angle_rates rates;
    const double *fine;         /* [tables, 64, pairs, 2]: f·θ */
    locus_angle_blocks *blocks; /* NULL unless the rates are fixed */
    const double *eighths;      /* [tables, 8, pairs, 2]; this and steps by locus_angle_steps_make, else NULL */
    const float *steps;         /* [8, tables, pairs, 2] */
} locus_angle_fine;

typedef struct locus_angle_table {
    const locus_angle_fine *base;
    size_t coarse_count;
    const double *coarse;
} locus_angle_table;

/* What `rates` points to must outlive the tables. */
locus_status locus_angle_fine_make(locus_angle_fine *fine, const locus_angle_rates *rates, locus_owned *memory,
                                   locus_error *error);

/* For what turns by steps, which it does where tables > 1. */
locus_status locus_angle_steps_make(locus_angle_fine *fine, locus_owned *memory, locus_error *error);

locus_status locus_angle_table_create(locus_angle_table *table, const locus_angle_fine *base,
                                      const locus_placement *placement, locus_owned *memory, locus_error *error);

/* (cos, sin) of 2π·(multiple·x mod period)/period. */
void locus_angle_of_cycle(int64_t multiple, int64_t x, int64_t period, double *out);

static inline const double *locus_angle_fine_of(const locus_angle_table *table, size_t index) {
    return table->base->fine + index * LOCUS_FINE * table->base->rates.pairs * 2;
}
static inline const double *locus_angle_eighths_of(const locus_angle_table *table, size_t index) {
    return table->base->eighths + index * (LOCUS_FINE / LOCUS_STEPS) * table->base->rates.pairs * 2;
}
static inline const double *locus_angle_coarse_of(const locus_angle_table *table, size_t index) {
    return table->coarse + index * table->coarse_count * table->base->rates.pairs * 2;
}

#endif
