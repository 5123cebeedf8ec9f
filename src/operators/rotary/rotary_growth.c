/* SPDX-License-Identifier: MIT */
/* Rotations that also stretch (xPos): the tables of queries hold e^{ipθ + (p − centre)λ}, those of keys
 * e^{ipθ − (p − centre)λ}, as products of a coarse and a fine row as ever. The centre is part of the coarse rows, so a
 * fine row of step 0 stays 1. */
#include "operators/rotary/rotary.h"

#include "core/error.h"

#include <math.h>
#include <string.h>

/* What stretches one of both tables. */
typedef struct locus_stretch {
    const double *growth; /* [pairs] */
    double sign;          /* 1 for queries, −1 for keys */
} locus_stretch;

/* One row (cos, sin) of `pairs`, `distance` from where it is 1. */
static void stretch_row(const locus_stretch *stretch, size_t pairs, double distance, double *row) {
    for (size_t i = 0; i < pairs; i++) {
        const double length = exp(stretch->sign * distance * stretch->growth[i]);
        row[2 * i] *= length;
        row[2 * i + 1] *= length;
    }
}

/* `fine` with a copy of its rows that grow. */
static locus_status stretch_fine(const locus_stretch *stretch, locus_angle_fine *fine, locus_owned *memory,
                                 locus_error *error) {
    const size_t pairs = fine->rates.pairs, elements = LOCUS_FINE * pairs * 2;
    double *rows = locus_owned_get(memory, elements, sizeof *rows);
    if (!rows)
        return locus_owned_fail(error);
    memcpy(rows, fine->fine, elements * sizeof *rows);
    for (size_t f = 0; f < LOCUS_FINE; f++)
        stretch_row(stretch, pairs, (double)f, rows + f * pairs * 2);
    fine->fine = rows;
    return LOCUS_OK;
}

locus_status locus_rotary_bind_growth(locus_rotary *rotary, const double *growth, double centre, locus_owned *memory,
                                      locus_error *error) {
    locus_angle_fine *both = locus_owned_get(memory, 2, sizeof *both);
    if (!both)
        return locus_owned_fail(error);
    both[0] = both[1] = rotary->fine[0];
    rotary->growth = growth;
    rotary->centre = centre;
    rotary->fine = &both[0];
    rotary->key_fine = &both[1];
    locus_status status = LOCUS_OK;
    for (size_t side = 0; side < 2 && status == LOCUS_OK; side++) {
        const locus_stretch stretch = {growth, side == 0 ? 1 : -1};
        status = stretch_fine(&stretch, &both[side], memory, error);
    }
    return status;
}

/* ---- placed ---- */

static locus_status check_range(const locus_rotary *rotary, const locus_token_side *side, const char *which,
                                locus_error *error) {
    for (size_t r = 0; r < side->run_count; r++)
        for (size_t t = side->runs[r].first; t < side->runs[r].first + side->runs[r].count; t++) {
            const double p = locus_token_position(side, t);
            if (!(fabs(p - rotary->centre) <= rotary->range))
                return locus_fail(
                    error, LOCUS_ERROR_POSITION, "positions",
                    "position %.15g of token %zu of %s is too far from the centre %.15g: xpos reaches %.0f "
                    "either way before float32 overflows",
                    p, t, which, rotary->centre, floor(rotary->range));
        }
    return LOCUS_OK;
}

/* The coarse rows of `from` that are used, of which there may be fewer than it has, grown, into `table`. */
static locus_status stretch_coarse(const locus_rotary_operator *op, const locus_stretch *stretch,
                                   const locus_angle_table *from, locus_angle_table *table, locus_owned *memory,
                                   locus_error *error) {
    const locus_placement *placement = op->placement;
    const size_t pairs = op->rotary->pairs, count = placement->coarse_count, elements = count * pairs * 2;
    double *rows = locus_owned_get(memory, elements, sizeof *rows);
    if (!rows)
        return locus_owned_fail(error);
    memcpy(rows, from->coarse, elements * sizeof *rows);
    for (size_t c = 0; c < count; c++) {
        const double p =
            placement->coarse_reals ? placement->coarse_reals[c] : (double)(placement->coarse[c] * LOCUS_FINE);
        stretch_row(stretch, pairs, p - op->rotary->centre, rows + c * pairs * 2);
    }
    table->coarse = rows;
    table->coarse_count = count;
    return LOCUS_OK;
}

locus_status locus_rotary_place_growth(locus_rotary_operator *op, locus_owned *memory, locus_error *error) {
    const locus_rotary *rotary = op->rotary;
    locus_angle_table *both = locus_owned_get(memory, 2, sizeof *both);
    if (!both)
        return locus_owned_fail(error);
    locus_status status = check_range(rotary, &op->placement->query, "queries", error);
    if (status == LOCUS_OK)
        status = check_range(rotary, &op->placement->key, "keys", error);
    for (size_t side = 0; side < 2 && status == LOCUS_OK; side++) {
        const locus_stretch stretch = {rotary->growth, side == 0 ? 1 : -1};
        both[side] = op->angles[0];
        both[side].base = side == 0 ? rotary->fine : rotary->key_fine;
        status = stretch_coarse(op, &stretch, &op->angles[0], &both[side], memory, error);
    }
    op->angles = &both[0];
    op->key_angles = &both[1];
    return status;
}
