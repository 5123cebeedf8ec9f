/* SPDX-License-Identifier: MIT */
/* See angle_table.h. Long coarse tables are themselves made in two levels (4096 and 64 positions), which replaces a
 * cosine and a sine by a complex product; two roundings more, far below float's and at double's own. */
#include "encoding/angle_table.h"

#include <locus/parallel.h>

#include <math.h>

/* (cos, sin) of x·θ; x·θ = high + low exactly. */
static void exact_angle(double x, double theta, double *out) {
    double high = x * theta, low = fma(x, theta, -high);
    double cosine = cos(high), sine = sin(high);
    out[0] = cosine - low * sine;
    out[1] = sine + low * cosine;
}

static void angle_row(size_t pairs, double x, const double *theta, double *row) {
    for (size_t i = 0; i < pairs; i++)
        exact_angle(x, theta[i], row + 2 * i);
}

static void product_row(size_t pairs, const double *a, const double *b, double *row) {
    for (size_t i = 0; i < 2 * pairs; i += 2) {
        row[i] = a[i] * b[i] - a[i + 1] * b[i + 1];
        row[i + 1] = a[i] * b[i + 1] + a[i + 1] * b[i];
    }
}

/* ---- fine ---- */

typedef struct locus_fine_job {
    size_t pairs;
    const double *theta;
    double *rows;
} locus_fine_job;

static void fill_fine(void *context, size_t index, size_t worker) {
    const locus_fine_job *job = context;
    (void)worker;
    for (size_t f = 0; f < LOCUS_FINE; f++)
        angle_row(job->pairs, (double)f, job->theta + index * job->pairs,
                  job->rows + (index * LOCUS_FINE + f) * job->pairs * 2);
}

/* In the order of a token's row: all heads of one step side by side. */
static locus_status make_steps(locus_angle_fine *fine, locus_owned *memory, locus_error *error) {
    const size_t row = fine->tables * fine->pairs;
    float *cosine = locus_owned_get(memory, LOCUS_STEPS * row, sizeof *cosine);
    float *sine = locus_owned_get(memory, LOCUS_STEPS * row, sizeof *sine);
    if (!cosine || !sine)
        return locus_owned_fail(error, LOCUS_STEPS * row, sizeof *sine);
    for (size_t f = 0; f < LOCUS_STEPS; f++)
        for (size_t i = 0; i < row; i++) {
            const double *at = fine->fine + ((i / fine->pairs * LOCUS_FINE + f) * fine->pairs + i % fine->pairs) * 2;
            cosine[f * row + i] = (float)at[0];
            sine[f * row + i] = (float)at[1];
        }
    fine->step_cosine = cosine;
    fine->step_sine = sine;
    return LOCUS_OK;
}

locus_status locus_angle_fine_create(locus_angle_fine *fine, size_t tables, size_t pairs, const double *theta,
                                     locus_owned *memory, locus_error *error) {
    double *rows = locus_owned_get(memory, tables * LOCUS_FINE * pairs * 2, sizeof *rows);
    if (!rows)
        return locus_owned_fail(error, tables * LOCUS_FINE * pairs * 2, sizeof *rows);
    locus_fine_job job = {pairs, theta, rows};
    locus_parallel_for(tables, fill_fine, &job);
    *fine = (locus_angle_fine){.tables = tables, .pairs = pairs, .theta = theta, .fine = rows};
    return tables > 1 ? make_steps(fine, memory, error) : LOCUS_OK;
}

/* ---- coarse ---- */

#define PIECE 256 /* coarse rows of one task: 16,384 positions in a row */

typedef struct locus_coarse_job {
    const locus_angle_fine *base;
    const int64_t *blocks;
    size_t count, pieces;
    double *rows;  /* [tables, count, pairs, 2] */
    double *steps; /* [tables, 64, pairs, 2] of 64·f·θ, or NULL: each row from its own cosines */
} locus_coarse_job;

static void fill_steps(void *context, size_t index, size_t worker) {
    const locus_coarse_job *job = context;
    size_t pairs = job->base->pairs;
    (void)worker;
    for (size_t f = 0; f < LOCUS_FINE; f++)
        angle_row(pairs, (double)(f * LOCUS_FINE), job->base->theta + index * pairs,
                  job->steps + (index * LOCUS_FINE + f) * pairs * 2);
}

/* Every 64th row of a piece is an anchor with cosines of its own; rows less than 64 blocks behind it are one product
 * away, so roundings never pile up. */
static void fill_coarse(void *context, size_t index, size_t worker) {
    const locus_coarse_job *job = context;
    (void)worker;
    size_t table = index / job->pieces, first = index % job->pieces * PIECE, pairs = job->base->pairs;
    size_t end = first + PIECE < job->count ? first + PIECE : job->count;
    const double *theta = job->base->theta + table * pairs;
    double *rows = job->rows + table * job->count * pairs * 2;
    const double *steps = job->steps ? job->steps + table * LOCUS_FINE * pairs * 2 : NULL;
    for (size_t i = first; i < end; i++) {
        int64_t block = job->blocks[i];
        double *row = rows + i * pairs * 2;
        size_t anchor = first + (i - first) / LOCUS_FINE * LOCUS_FINE;
        int64_t apart = block - job->blocks[anchor];
        if (steps && i != anchor && apart < LOCUS_FINE)
            product_row(pairs, rows + anchor * pairs * 2, steps + (size_t)apart * pairs * 2, row);
        else
            angle_row(pairs, (double)(block * LOCUS_FINE), theta, row);
    }
}

locus_status locus_angle_table_create(locus_angle_table *table, const locus_angle_fine *base,
                                      const locus_placement *placement, locus_owned *memory, locus_error *error) {
    size_t count = placement->coarse_count, elements = base->tables * count * base->pairs * 2;
    double *rows = locus_owned_get(memory, elements, sizeof *rows);
    if (!rows)
        return locus_owned_fail(error, elements, sizeof *rows);
    size_t step_elements = count > 2 * LOCUS_FINE ? base->tables * LOCUS_FINE * base->pairs * 2 : 0;
    locus_owned passing = {0};
    double *steps = locus_owned_get(&passing, step_elements, sizeof *steps);
    if (!steps)
        return locus_owned_fail(error, step_elements, sizeof *steps);
    locus_coarse_job job = {base, placement->coarse, count, (count + PIECE - 1) / PIECE, rows, steps};
    if (step_elements > 0)
        locus_parallel_for(base->tables, fill_steps, &job);
    else
        job.steps = NULL;
    locus_parallel_for(base->tables * job.pieces, fill_coarse, &job);
    locus_owned_release(&passing);
    *table = (locus_angle_table){base, count, rows};
    return LOCUS_OK;
}
