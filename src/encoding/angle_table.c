/* SPDX-License-Identifier: MIT */
/* See angle_table.h. Long coarse tables are themselves made in two levels (4096 and 64 positions), which replaces a
 * cosine and a sine by a complex product; two roundings more, far below float's and at double's own. */
#include "encoding/angle_table.h"

#include <locus/parallel.h>

#include <math.h>

#define QUARTER_TURN 1.57079632679489661923

#define LOW_LINEAR 1e-8 /* its square is below the last bit */

/* (cos, sin) of x·θ; x·θ = high + low exactly. From about 2^26 turns on low is no small angle. */
static void exact_angle(double x, double theta, double *out) {
    const double high = x * theta, low = fma(x, theta, -high);
    const double cosine = cos(high), sine = sin(high);
    const bool small = fabs(low) < LOW_LINEAR;
    const double low_cosine = small ? 1 : cos(low), low_sine = small ? low : sin(low);
    out[0] = cosine * low_cosine - low_sine * sine;
    out[1] = sine * low_cosine + low_sine * cosine;
}

/* a·b mod n, a, b < n < 2^63 */
static uint64_t multiply_modulo(uint64_t a, uint64_t b, uint64_t n) {
    if (n <= UINT32_MAX)
        return a * b % n;
    uint64_t product = 0;
    for (; b > 0; b >>= 1) { /* doubling stays below 2^64 */
        if (b & 1)
            product = product + a < n ? product + a : product + a - n;
        a = 2 * a < n ? 2 * a : 2 * a - n;
    }
    return product;
}

/* With r = m·x mod n, folds 2πr/n = π·s/n, s = 2r, into the first eighth of a turn by comparisons of integers. What is
 * left is (π/2)·k/n with 0 ≤ k ≤ n/2. */
void locus_angle_of_cycle(int64_t multiple, int64_t x, int64_t period, double *out) {
    const uint64_t n = (uint64_t)period, r = multiply_modulo((uint64_t)multiple % n, (uint64_t)x % n, n);
    const bool below = r > n - r, left = 2 * (below ? n - r : r) > n - 2 * (below ? n - r : r);
    uint64_t s = 2 * (below ? n - r : r); /* at most n */
    s = left ? n - s : s;                 /* at most n/2 */
    const bool steep = 2 * s > n - 2 * s;
    const double angle = QUARTER_TURN * ((double)(steep ? n - 2 * s : 2 * s) / (double)n);
    const double cosine = steep ? sin(angle) : cos(angle), sine = steep ? cos(angle) : sin(angle);
    out[0] = left ? -cosine : cosine;
    out[1] = below ? -sine : sine;
}

/* The row of position x in one table. */
static void angle_row(const locus_angle_rates *rates, size_t table, int64_t x, double *row) {
    const size_t flips = rates->flip_pairs && x % 2 != 0 ? rates->flip_pairs[table] : rates->pairs;
    for (size_t i = 0; i < rates->pairs; i++)
        if (rates->period > 0)
            locus_angle_of_cycle(rates->multiples[i], x, rates->period, row + 2 * i);
        else
            exact_angle((double)x, rates->theta[table * rates->pairs + i], row + 2 * i);
    for (size_t i = 2 * flips; i < 2 * rates->pairs; i++)
        row[i] = -row[i];
}

static void product_row(size_t pairs, const double *a, const double *b, double *row) {
    for (size_t i = 0; i < 2 * pairs; i += 2) {
        row[i] = a[i] * b[i] - a[i + 1] * b[i + 1];
        row[i + 1] = a[i] * b[i + 1] + a[i + 1] * b[i];
    }
}

/* ---- fine ---- */

typedef struct locus_fine_job {
    const locus_angle_rates *rates;
    double *rows;
} locus_fine_job;

static void fill_fine(void *context, size_t index, size_t worker) {
    const locus_fine_job *job = context;
    (void)worker;
    for (size_t f = 0; f < LOCUS_FINE; f++)
        angle_row(job->rates, index, (int64_t)f, job->rows + (index * LOCUS_FINE + f) * job->rates->pairs * 2);
}

/* In the order of a token's row: all heads of one step side by side. */
static locus_status make_steps(locus_angle_fine *fine, locus_owned *memory, locus_error *error) {
    const size_t pairs = fine->rates.pairs, row = fine->rates.tables * pairs;
    float *cosine = locus_owned_get(memory, LOCUS_STEPS * row, sizeof *cosine);
    float *sine = locus_owned_get(memory, LOCUS_STEPS * row, sizeof *sine);
    if (!cosine || !sine)
        return locus_owned_fail(error, LOCUS_STEPS * row, sizeof *sine);
    for (size_t f = 0; f < LOCUS_STEPS; f++)
        for (size_t i = 0; i < row; i++) {
            const double *at = fine->fine + ((i / pairs * LOCUS_FINE + f) * pairs + i % pairs) * 2;
            cosine[f * row + i] = (float)at[0];
            sine[f * row + i] = (float)at[1];
        }
    fine->step_cosine = cosine;
    fine->step_sine = sine;
    return LOCUS_OK;
}

locus_status locus_angle_fine_make(locus_angle_fine *fine, const locus_angle_rates *rates, locus_owned *memory,
                                   locus_error *error) {
    const size_t elements = rates->tables * LOCUS_FINE * rates->pairs * 2;
    double *rows = locus_owned_get(memory, elements, sizeof *rows);
    if (!rows)
        return locus_owned_fail(error, elements, sizeof *rows);
    locus_fine_job job = {rates, rows};
    locus_parallel_for(rates->tables, fill_fine, &job);
    *fine = (locus_angle_fine){.rates = *rates, .fine = rows};
    return rates->tables > 1 ? make_steps(fine, memory, error) : LOCUS_OK;
}

locus_status locus_angle_fine_create(locus_angle_fine *fine, size_t tables, size_t pairs, const double *theta,
                                     locus_owned *memory, locus_error *error) {
    const locus_angle_rates rates = {.tables = tables, .pairs = pairs, .theta = theta};
    return locus_angle_fine_make(fine, &rates, memory, error);
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
    size_t pairs = job->base->rates.pairs;
    (void)worker;
    for (size_t f = 0; f < LOCUS_FINE; f++)
        angle_row(&job->base->rates, index, (int64_t)(f * LOCUS_FINE),
                  job->steps + (index * LOCUS_FINE + f) * pairs * 2);
}

/* Every 64th row of a piece is an anchor with cosines of its own; rows less than 64 blocks behind it are one product
 * away, so roundings never pile up. */
static void fill_coarse(void *context, size_t index, size_t worker) {
    const locus_coarse_job *job = context;
    (void)worker;
    size_t table = index / job->pieces, first = index % job->pieces * PIECE;
    const size_t pairs = job->base->rates.pairs;
    size_t end = first + PIECE < job->count ? first + PIECE : job->count;
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
            angle_row(&job->base->rates, table, block * LOCUS_FINE, row);
    }
}

locus_status locus_angle_table_create(locus_angle_table *table, const locus_angle_fine *base,
                                      const locus_placement *placement, locus_owned *memory, locus_error *error) {
    const size_t tables = base->rates.tables, pairs = base->rates.pairs;
    size_t count = placement->coarse_count, elements = tables * count * pairs * 2;
    double *rows = locus_owned_get(memory, elements, sizeof *rows);
    if (!rows)
        return locus_owned_fail(error, elements, sizeof *rows);
    size_t step_elements = count > 2 * LOCUS_FINE ? tables * LOCUS_FINE * pairs * 2 : 0;
    locus_owned passing = {0};
    double *steps = locus_owned_get(&passing, step_elements, sizeof *steps);
    if (!steps)
        return locus_owned_fail(error, step_elements, sizeof *steps);
    locus_coarse_job job = {base, placement->coarse, count, (count + PIECE - 1) / PIECE, rows, steps};
    if (step_elements > 0)
        locus_parallel_for(tables, fill_steps, &job);
    else
        job.steps = NULL;
    locus_parallel_for(tables * job.pieces, fill_coarse, &job);
    locus_owned_release(&passing);
    *table = (locus_angle_table){base, count, rows};
    return LOCUS_OK;
}
