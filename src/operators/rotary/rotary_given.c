/* SPDX-License-Identifier: MIT */
/* Angles that somebody else says, position by position: a coarse row for each distinct position, fine rows that turn by
 * nothing. Tokens are told where they stand by the number of their position, as if it were a real one: then no walk
 * takes a neighbour's angle for a step of its own. */
#include "operators/rotary/rotary.h"

#include <locus/parallel.h>
#include <math.h>

locus_status locus_rotary_bind_given(locus_rotary *rotary, locus_owned *memory, locus_error *error) {
    const size_t elements = rotary->tables * (rotary->dim / 2);
    const double *theta = locus_owned_get(memory, elements, sizeof *theta);
    if (!theta)
        return locus_owned_fail(error);
    return locus_rotary_bind_angles(rotary, theta, memory, error);
}

/* ---- placing ---- */

typedef struct given_job {
    const locus_rotary_given *given;
    size_t pairs;
    double *rows; /* [tables, count, pairs, 2] */
} given_job;

/* One row (cos, sin). */
static void fill_row(void *context, size_t row, size_t worker) {
    const given_job *job = context;
    const double *angles = job->given->angles + row * job->pairs;
    double *out = job->rows + row * job->pairs * 2;
    (void)worker;
    for (size_t i = 0; i < job->pairs; i++) {
        out[2 * i] = cos(angles[i]);
        out[2 * i + 1] = sin(angles[i]);
    }
}

static locus_status set_side(locus_token_side *side, const uint32_t *numbers, locus_owned *memory, locus_error *error) {
    double *reals = locus_owned_get(memory, side->tokens, sizeof *reals);
    const uint32_t *fine = locus_owned_get(memory, side->tokens, sizeof *fine);
    if (!reals || !fine)
        return locus_owned_fail(error);
    for (size_t t = 0; t < side->tokens; t++)
        reals[t] = (double)numbers[t];
    side->reals = reals;
    side->coarse = numbers;
    side->fine = fine;
    side->ahead = NULL;
    side->consecutive = false;
    return LOCUS_OK;
}

locus_status locus_rotary_place_given(const locus_rotary *rotary, const locus_placement *first,
                                      const locus_rotary_given *given, locus_owned *memory,
                                      const locus_operator **placed, locus_error *error) {
    locus_placement *placement = locus_owned_get(memory, 1, sizeof *placement);
    const size_t rows = rotary->tables * given->count;
    given_job job = {given, rotary->pairs, locus_owned_get(memory, rows * rotary->pairs * 2, sizeof *job.rows)};
    if (!placement || !job.rows)
        return locus_owned_fail(error);
    *placement = *first;
    placement->held = NULL;
    placement->coarse_count = given->count;
    locus_rotary_operator *op = NULL;
    locus_angle_table *angles = NULL;
    locus_status status = set_side(&placement->query, given->query, memory, error);
    if (status == LOCUS_OK)
        status = set_side(&placement->key, given->key, memory, error);
    if (status == LOCUS_OK)
        status = locus_rotary_begin(rotary, placement, memory, &op, &angles, error);
    if (status != LOCUS_OK)
        return status;
    locus_parallel_for(rows, fill_row, &job);
    *angles = (locus_angle_table){rotary->fine, given->count, job.rows};
    op->base.heads_apart = false;
    op->given = given;
    *placed = &op->base;
    return LOCUS_OK;
}
