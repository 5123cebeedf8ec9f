/* SPDX-License-Identifier: MIT */
/* Rotaries from parameter values: angle tables and bases. Heads are decomposed in parallel. */
#include "operators/rotary/rotary.h"

#include "core/error.h"
#include "linalg/block_form.h"

#include <locus/parallel.h>

#include <math.h>
#include <string.h>

#define BASE 10000.0 /* of a cycle's angles */
#define TURN 6.28318530717958647693

/* Rounded once: at position 2^30 half a bit of a frequency is 6e-8 of an angle. */
void locus_rotary_frequencies(double base, size_t rotated, size_t pairs, double *theta) {
    for (size_t i = 0; i < pairs; i++)
        theta[i] = (double)powl((long double)base, -2.0L * (long double)i / (long double)rotated);
}

/* ---- angles ---- */

static bool are_fixed(const locus_rotary *rotary) {
    return (rotary->learned & (LOCUS_LEARN_ANGLES | LOCUS_LEARN_GENERATOR)) == 0;
}

/* One axis or cycle. */
static locus_status make_angles(locus_rotary *rotary, const locus_angle_rates *rates, locus_owned *memory,
                                locus_error *error) {
    locus_angle_fine *fine = locus_owned_get(memory, 1, sizeof *fine);
    if (!fine)
        return locus_owned_fail(error);
    rotary->pairs = rates->pairs;
    rotary->axes = 1;
    rotary->fine = fine;
    const locus_status status = locus_angle_fine_make(fine, rates, memory, error);
    return status == LOCUS_OK && rates->tables > 1 ? locus_angle_steps_make(fine, memory, error) : status;
}

locus_status locus_rotary_bind_angles(locus_rotary *rotary, const double *theta, locus_owned *memory,
                                      locus_error *error) {
    const locus_angle_rates rates = {
        .tables = rotary->tables, .pairs = rotary->dim / 2, .theta = theta, .fixed = are_fixed(rotary)};
    return make_angles(rotary, &rates, memory, error);
}

locus_status locus_rotary_bind_axes(locus_rotary *rotary, size_t axes, const double *theta, locus_owned *memory,
                                    locus_error *error) {
    const size_t tables = rotary->tables, pairs = rotary->dim / 2, elements = axes * tables * pairs;
    locus_angle_fine *fine = locus_owned_get(memory, axes, sizeof *fine);
    double *copy = locus_owned_get(memory, elements, sizeof *copy); /* [axes, tables, pairs] */
    if (!fine || !copy)
        return locus_owned_fail(error);
    locus_status status = LOCUS_OK;
    for (size_t axis = 0; axis < axes && status == LOCUS_OK; axis++) {
        double *own = copy + axis * tables * pairs;
        for (size_t table = 0; table < tables; table++)
            for (size_t i = 0; i < pairs; i++)
                own[table * pairs + i] = theta[(table * axes + axis) * pairs + i];
        const locus_angle_rates rates = {.tables = tables, .pairs = pairs, .theta = own, .fixed = are_fixed(rotary)};
        status = locus_angle_fine_make(&fine[axis], &rates, memory, error);
    }
    if (status == LOCUS_OK && tables > 1)
        status = locus_angle_steps_make(&fine[axes - 1], memory, error);
    rotary->pairs = pairs;
    rotary->axes = axes;
    rotary->fine = fine;
    return status;
}

locus_status locus_rotary_bind_parts(locus_rotary *rotary, const double *theta, locus_owned *memory,
                                     locus_error *error) {
    const size_t axes = rotary->axes, pairs = rotary->pairs;
    locus_angle_fine *fine = locus_owned_get(memory, axes, sizeof *fine);
    double *sorted = locus_owned_get(memory, pairs, sizeof *sorted);
    if (!fine || !sorted)
        return locus_owned_fail(error);
    for (size_t i = 0; i < pairs; i++)
        sorted[rotary->places ? rotary->places[i] : i] = theta[i];
    locus_status status = LOCUS_OK;
    for (size_t axis = 0; axis < axes && status == LOCUS_OK; axis++) {
        const size_t first = rotary->parts ? rotary->parts[axis] : 0;
        const size_t end = rotary->parts ? rotary->parts[axis + 1] : pairs;
        const locus_angle_rates rates = {
            .tables = 1, .pairs = end - first, .theta = sorted + first, .fixed = are_fixed(rotary)};
        status = locus_angle_fine_make(&fine[axis], &rates, memory, error);
    }
    rotary->fine = fine;
    return status;
}

/* max(1, round(n·ω/2π)); beyond 2^53 a double holds every value that it can take. */
static int64_t multiple_of(int64_t n, double omega) {
    double multiple = round((double)n * omega / TURN);
    return multiple < 1 ? 1 : (int64_t)multiple;
}

locus_status locus_rotary_bind_cycle(locus_rotary *rotary, int64_t n, locus_owned *memory, locus_error *error) {
    const size_t pairs = rotary->dim / 2;
    double *omega = locus_owned_get(memory, pairs, sizeof *omega);
    int64_t *multiples = locus_owned_get(memory, pairs, sizeof *multiples);
    if (!omega || !multiples)
        return locus_owned_fail(error);
    locus_rotary_frequencies(BASE, rotary->dim, pairs, omega);
    for (size_t i = 0; i < pairs; i++)
        multiples[i] = multiple_of(n, omega[i]);
    const locus_angle_rates rates = {.tables = 1, .pairs = pairs, .period = n, .multiples = multiples, .fixed = true};
    return make_angles(rotary, &rates, memory, error);
}

/* ---- matrices ---- */

typedef struct locus_matrix_job {
    locus_orthogonal_kind kind;
    size_t dim;
    bool powers; /* else the matrix itself is the basis */
    const double *A;
    double *U, *V; /* V = Uᵀ */
    float *U32, *V32;
    double *theta, *sigma; /* of powers, and of the logarithm of a basis exp(A − Aᵀ) */
    size_t *flip;
    double *skew_basis; /* of that logarithm */
    double *work;       /* locus_orthogonal_work for each table */
    locus_status *status;
} locus_matrix_job;

/* exp(A − Aᵀ), of whose block form the gradient will need to know. */
static locus_status make_exponential(const locus_matrix_job *job, size_t table, double *work) {
    const size_t dim = job->dim, at = table * dim * dim, pairs = dim / 2;
    double *theta = job->theta + table * pairs, *real = work, *imaginary = work + pairs;
    locus_status status = locus_orthogonal_powers(job->kind, dim, job->A + at, job->skew_basis + at, theta,
                                                  job->sigma + table * pairs, &job->flip[table], work);
    if (status != LOCUS_OK)
        return status;
    for (size_t i = 0; i < pairs; i++) {
        real[i] = cos(theta[i]);
        imaginary[i] = sin(theta[i]);
    }
    const locus_block_form form = {dim, job->skew_basis + at, real, imaginary, 1};
    locus_block_compose(&form, job->U + at, work + dim);
    return LOCUS_OK;
}

static locus_status make_orthogonal(const locus_matrix_job *job, size_t table, double *work) {
    const size_t dim = job->dim, at = table * dim * dim, pairs = dim / 2;
    if (job->skew_basis)
        return make_exponential(job, table, work);
    if (!job->powers)
        return locus_orthogonal_make(job->kind, dim, job->A + at, job->U + at, work);
    return locus_orthogonal_powers(job->kind, dim, job->A + at, job->U + at, job->theta + table * pairs,
                                   job->sigma + table * pairs, &job->flip[table], work);
}

static void make_matrix(void *context, size_t table, size_t worker) {
    const locus_matrix_job *job = context;
    const size_t dim = job->dim, square = dim * dim, at = table * square;
    double *work = job->work + table * locus_orthogonal_work(dim);
    (void)worker;
    job->status[table] = make_orthogonal(job, table, work);
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++)
            job->V[at + j * dim + i] = job->U[at + i * dim + j];
    for (size_t i = 0; i < square; i++) {
        job->U32[at + i] = (float)job->U[at + i];
        job->V32[at + i] = (float)job->V[at + i];
    }
}

static locus_status run_job(locus_matrix_job *job, size_t tables, locus_error *error) {
    locus_parallel_for(tables, make_matrix, job);
    for (size_t table = 0; table < tables; table++)
        if (job->status[table] != LOCUS_OK)
            return locus_fail(error, job->status[table], job->powers ? "generators" : "basis",
                              "the %s of head %zu has no eigenbasis: are its values finite and not huge%s?",
                              job->powers ? "generator" : "basis", table,
                              job->kind == LOCUS_ORTHOGONAL_HOUSEHOLDER ? ", and its rows not 0" : "");
    return LOCUS_OK;
}

/* U and Uᵀ, by `job`, whose other outputs the caller has set. */
static locus_status make_matrices(locus_rotary *rotary, locus_matrix_job *job, const double *A, locus_owned *memory,
                                  locus_error *error) {
    const size_t dim = rotary->dim, tables = rotary->tables, elements = tables * dim * dim;
    const size_t work = tables * locus_orthogonal_work(dim);
    locus_owned passing = {0};
    job->dim = dim;
    job->A = A;
    job->U = locus_owned_get(memory, elements, sizeof(double));
    job->V = locus_owned_get(memory, elements, sizeof(double));
    job->U32 = locus_owned_get(memory, elements, sizeof(float));
    job->V32 = locus_owned_get(memory, elements, sizeof(float));
    job->work = locus_owned_get(&passing, work, sizeof(double));
    job->status = locus_owned_get(&passing, tables, sizeof *job->status);
    locus_status status = LOCUS_OK;
    if (!job->U || !job->V || !job->U32 || !job->V32 || !job->work || !job->status)
        status = locus_owned_fail(error);
    else
        status = run_job(job, tables, error);
    locus_owned_release(&passing);
    rotary->kind = job->kind;
    rotary->A = A;
    rotary->basis_float64 = job->U;
    rotary->transposed_float64 = job->V;
    rotary->basis_float32 = job->U32;
    rotary->transposed_float32 = job->V32;
    return status;
}

/* Angles and what goes with them. */
static locus_status take_angles(const locus_rotary *rotary, locus_matrix_job *job, locus_owned *memory,
                                locus_error *error) {
    const size_t elements = rotary->tables * (rotary->dim / 2);
    job->theta = locus_owned_get(memory, elements, sizeof *job->theta);
    job->sigma = locus_owned_get(memory, elements, sizeof *job->sigma);
    job->flip = locus_owned_get(memory, rotary->tables, sizeof *job->flip);
    return job->theta && job->sigma && job->flip ? LOCUS_OK : locus_owned_fail(error);
}

locus_status locus_rotary_bind_basis(locus_rotary *rotary, locus_orthogonal_kind kind, const double *A,
                                     locus_owned *memory, locus_error *error) {
    const size_t elements = rotary->tables * rotary->dim * rotary->dim;
    locus_matrix_job job = {.kind = kind};
    if (kind == LOCUS_ORTHOGONAL_SKEW) {
        locus_status status = take_angles(rotary, &job, memory, error);
        if (status != LOCUS_OK)
            return status;
        job.skew_basis = locus_owned_get(memory, elements, sizeof *job.skew_basis);
        if (!job.skew_basis)
            return locus_owned_fail(error);
    }
    rotary->skew_basis = job.skew_basis;
    rotary->skew_angles = job.theta;
    return make_matrices(rotary, &job, A, memory, error);
}

/* From which pair on each table flips. An odd last coordinate, which also does, is no pair. */
static locus_status find_flips(const locus_rotary *rotary, locus_angle_rates *rates, locus_owned *memory,
                               locus_error *error) {
    size_t *pairs = locus_owned_get(memory, rotary->tables, sizeof *pairs);
    if (!pairs)
        return locus_owned_fail(error);
    for (size_t table = 0; table < rotary->tables; table++)
        pairs[table] = rotary->flip[table] / 2;
    rates->flip_pairs = pairs;
    return LOCUS_OK;
}

locus_status locus_rotary_bind_powers(locus_rotary *rotary, locus_orthogonal_kind kind, const double *A,
                                      locus_owned *memory, locus_error *error) {
    const size_t pairs = rotary->dim / 2, tables = rotary->tables;
    locus_matrix_job job = {.kind = kind, .powers = true};
    locus_status status = take_angles(rotary, &job, memory, error);
    if (status != LOCUS_OK)
        return status;
    locus_angle_rates rates = {.tables = tables, .pairs = pairs, .theta = job.theta, .fixed = are_fixed(rotary)};
    status = make_matrices(rotary, &job, A, memory, error);
    rotary->sigma = job.sigma;
    if (status == LOCUS_OK && kind == LOCUS_ORTHOGONAL_HOUSEHOLDER) {
        rotary->flip = job.flip;
        status = find_flips(rotary, &rates, memory, error);
    }
    return status == LOCUS_OK ? make_angles(rotary, &rates, memory, error) : status;
}
