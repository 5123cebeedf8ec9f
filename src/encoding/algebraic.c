/* SPDX-License-Identifier: MIT */
/* algebraic: positions of a group act as orthogonal operators, ⌈p⌉ = W^p (Kogkalidis, Bernardy and Garg 2024). In this
 * version the group is `seq`: one generator W = exp(S) for each head, S = A − Aᵀ.
 *
 *   generator=skew    parameter `generators` [heads, 1, d, d] holds A; any d. bind finds S = U Λ Uᵀ.
 *   generator=angles  the normal form: parameter `angles` [heads, 1, d/2], U = I, pairs (2i, 2i + 1); d even.
 *   generator=fixed   nothing is learned: W is what `init` draws from seed 0.
 *
 * heads=shared: one generator for all heads. decay=c multiplies scores by c^distance. Operators: rotary.h. */
#include "encoding/class.h"
#include "encoding/haar.h"
#include "encoding/rotary.h"
#include "encoding/score_row.h"

#include "core/error.h"
#include "linalg/linalg.h"

#include <locus/parallel.h>

enum { GROUP, GENERATOR, INIT, HEADS, SIDE, VALUES, DECAY };
enum { GENERATOR_SKEW, GENERATOR_ANGLES, GENERATOR_FIXED };
enum { INIT_ROPE, INIT_IDENTITY, INIT_RANDOM };

#define NOISE 0.01 /* deviation of A and of angles for init=identity */
#define BASE 10000.0

typedef struct locus_algebraic {
    locus_rotary rotary;
    bool values, decays;
    double decay;
} locus_algebraic;

static unsigned sites(const locus_term *term) {
    unsigned mask = LOCUS_SITE_QUERY_KEY;
    mask |= term->options[VALUES].choice == 1 ? (unsigned)LOCUS_SITE_VALUE : 0u;
    return mask | (term->options[DECAY].choice == 1 ? (unsigned)LOCUS_SITE_SCORE : 0u);
}

static size_t tables_of(const locus_term *term, const locus_shape *shape) {
    return term->options[HEADS].choice == 1 ? 1 : shape->heads;
}

static locus_status check(const locus_term *term, const locus_shape *shape, locus_error *error) {
    locus_status status = locus_shape_need_heads(shape, "algebraic", error);
    if (status != LOCUS_OK)
        return status;
    if (term->options[GENERATOR].choice == GENERATOR_ANGLES && shape->head_dim % 2 != 0)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "head_dim",
                          "'algebraic(generator=angles)' turns pairs: head_dim must be even, not %zu (generator=skew "
                          "takes odd ones)",
                          shape->head_dim);
    if (term->options[VALUES].choice == 1 && locus_shape_value_dim(shape) != shape->head_dim)
        return locus_fail(
            error, LOCUS_ERROR_SHAPE, "value_dim",
            "'algebraic(values=on)' acts on values as on queries: value_dim must be head_dim (%zu), not %zu",
            shape->head_dim, locus_shape_value_dim(shape));
    return LOCUS_OK;
}

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    locus_status status = check(term, shape, error);
    int64_t tables = (int64_t)tables_of(term, shape), dim = (int64_t)shape->head_dim;
    if (status != LOCUS_OK || term->options[GENERATOR].choice == GENERATOR_FIXED)
        return status;
    if (term->options[GENERATOR].choice == GENERATOR_ANGLES)
        list[(*count)++] = (locus_parameter){"angles", 3, {tables, 1, dim / 2}};
    else
        list[(*count)++] = (locus_parameter){"generators", 4, {tables, 1, dim, dim}};
    return LOCUS_OK;
}

/* ---- initial values ---- */

static locus_status draw_angles(const locus_term *term, const locus_draw *draw, double *theta, locus_error *error) {
    const size_t dim = draw->shape->head_dim, pairs = dim / 2, tables = tables_of(term, draw->shape);
    locus_owned memory = {0};
    uint64_t index = 0;
    locus_status status = LOCUS_OK;
    double *work = locus_owned_get(&memory, dim * dim + locus_haar_work(dim), sizeof *work);
    if (!work)
        return locus_owned_fail(error, dim * dim + locus_haar_work(dim), sizeof *work);
    for (size_t table = 0; table < tables && status == LOCUS_OK; table++) {
        double *angles = theta + table * pairs;
        if (term->options[INIT].choice == INIT_ROPE)
            locus_rotary_frequencies(BASE, dim, pairs, angles);
        else if (term->options[INIT].choice == INIT_IDENTITY)
            for (size_t i = 0; i < pairs; i++)
                angles[i] = NOISE * locus_random_normal(&draw->random, index++);
        else
            status = locus_haar_logarithm(dim, &draw->random, &index, work, angles, work + dim * dim);
    }
    locus_owned_release(&memory);
    return status;
}

/* A of one head; S = A − Aᵀ, so a skew S is given by A = S/2. */
static locus_status draw_generator(const locus_term *term, const locus_draw *draw, uint64_t *index, double *A,
                                   double *work) {
    const size_t dim = draw->shape->head_dim, square = dim * dim;
    double *theta = work, *U = work + dim;
    if (term->options[INIT].choice == INIT_IDENTITY) {
        for (size_t i = 0; i < square; i++)
            A[i] = NOISE * locus_random_normal(&draw->random, (*index)++);
        return LOCUS_OK;
    }
    if (term->options[INIT].choice == INIT_ROPE) {
        locus_rotary_frequencies(BASE, dim, dim / 2, theta);
        locus_haar_orthogonal(dim, &draw->random, index, U);
        locus_skew_assemble(dim, U, theta, A);
    } else {
        locus_status status = locus_haar_logarithm(dim, &draw->random, index, A, theta, U);
        if (status != LOCUS_OK)
            return status;
    }
    for (size_t i = 0; i < square; i++)
        A[i] /= 2;
    return LOCUS_OK;
}

static locus_status draw_generators(const locus_term *term, const locus_draw *draw, double *A, locus_error *error) {
    const size_t dim = draw->shape->head_dim, work_size = dim + locus_haar_work(dim);
    locus_owned memory = {0};
    uint64_t index = 0;
    double *work = locus_owned_get(&memory, work_size, sizeof *work);
    locus_status status = work ? LOCUS_OK : locus_owned_fail(error, work_size, sizeof *work);
    for (size_t table = 0; status == LOCUS_OK && table < tables_of(term, draw->shape); table++) {
        status = draw_generator(term, draw, &index, A + table * dim * dim, work);
        if (status != LOCUS_OK)
            (void)locus_fail(error, status, "generators",
                             "a random generator could not be decomposed: try another seed");
    }
    locus_owned_release(&memory);
    return status;
}

static locus_status initialise(const locus_term *term, const locus_draw *draw, locus_error *error) {
    if (term->options[GENERATOR].choice == GENERATOR_ANGLES)
        return draw_angles(term, draw, draw->values[0], error);
    return draw_generators(term, draw, draw->values[0], error);
}

/* ---- binding: eigenbases ---- */

typedef struct locus_eigen_job {
    size_t dim, tables;
    const double *A;
    double *theta, *U, *V; /* V = Uᵀ */
    float *U32, *V32;
    double *work; /* for each table: S and what locus_skew_schur wants */
    locus_status *status;
} locus_eigen_job;

static void decompose(void *context, size_t table, size_t worker) {
    const locus_eigen_job *job = context;
    const size_t dim = job->dim, square = dim * dim, at = table * square;
    double *S = job->work + table * (square + locus_skew_work(dim));
    const double *A = job->A + at;
    (void)worker;
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++)
            S[i * dim + j] = A[i * dim + j] - A[j * dim + i];
    job->status[table] = locus_skew_schur(dim, S, job->U + at, job->theta + table * (dim / 2), S + square);
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++)
            job->V[at + j * dim + i] = job->U[at + i * dim + j];
    for (size_t i = 0; i < square; i++) {
        job->U32[at + i] = (float)job->U[at + i];
        job->V32[at + i] = (float)job->V[at + i];
    }
}

/* `theta` is filled too. */
static locus_status find_bases(locus_rotary *rotary, const double *A, double *theta, locus_owned *memory,
                               locus_error *error) {
    const size_t dim = rotary->dim, tables = rotary->tables, elements = tables * dim * dim;
    const size_t work = tables * (dim * dim + locus_skew_work(dim));
    locus_owned passing = {0};
    locus_eigen_job job = {.dim = dim, .tables = tables, .A = A, .theta = theta};
    job.U = locus_owned_get(memory, elements, sizeof(double));
    job.V = locus_owned_get(memory, elements, sizeof(double));
    job.U32 = locus_owned_get(memory, elements, sizeof(float));
    job.V32 = locus_owned_get(memory, elements, sizeof(float));
    job.work = locus_owned_get(&passing, work, sizeof(double));
    job.status = locus_owned_get(&passing, tables, sizeof *job.status);
    locus_status status = LOCUS_OK;
    if (!job.U || !job.V || !job.U32 || !job.V32 || !job.work || !job.status) {
        status = locus_owned_fail(error, work, sizeof(double));
        goto done;
    }
    locus_parallel_for(tables, decompose, &job);
    for (size_t table = 0; table < tables && status == LOCUS_OK; table++)
        if (job.status[table] != LOCUS_OK)
            status =
                locus_fail(error, job.status[table], "generators",
                           "the generator of head %zu has no eigenbasis: are its values finite and not huge?", table);
    rotary->basis_float64 = job.U;
    rotary->transposed_float64 = job.V;
    rotary->basis_float32 = job.U32;
    rotary->transposed_float32 = job.V32;
done:
    locus_owned_release(&passing);
    return status;
}

/* The A of generator=fixed. */
static locus_status draw_fixed(const locus_term *term, const locus_shape *shape, double **A, locus_owned *passing,
                               locus_error *error) {
    size_t elements = tables_of(term, shape) * shape->head_dim * shape->head_dim;
    *A = locus_owned_get(passing, elements, sizeof **A);
    if (!*A)
        return locus_owned_fail(error, elements, sizeof **A);
    const locus_draw draw = {.shape = shape, .random = {.seed = 0, .purpose = 0x11u, .step = 0}};
    return draw_generators(term, &draw, *A, error);
}

static locus_status make_rotary(const locus_term *term, const locus_shape *shape, const double *const *values,
                                locus_rotary *rotary, locus_owned *memory, locus_error *error) {
    const size_t angles = rotary->tables * rotary->pairs, generator = term->options[GENERATOR].choice;
    locus_owned passing = {0};
    double *theta = locus_owned_get(memory, angles, sizeof *theta), *drawn = NULL;
    if (!theta)
        return locus_owned_fail(error, angles, sizeof *theta);
    locus_status status = LOCUS_OK;
    if (generator == GENERATOR_ANGLES)
        for (size_t i = 0; i < angles; i++)
            theta[i] = values[0][i];
    else if (generator == GENERATOR_FIXED)
        status = draw_fixed(term, shape, &drawn, &passing, error);
    if (status == LOCUS_OK && generator != GENERATOR_ANGLES)
        status = find_bases(rotary, drawn ? drawn : values[0], theta, memory, error);
    locus_owned_release(&passing);
    return status == LOCUS_OK
               ? locus_angle_fine_create(&rotary->fine, rotary->tables, rotary->pairs, theta, memory, error)
               : status;
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values,
                         locus_owned *memory, void **bound, locus_error *error) {
    static const locus_rotary_learning learning[] = {LOCUS_LEARN_SKEW, LOCUS_LEARN_ANGLES, LOCUS_LEARN_NOTHING};
    locus_algebraic *own = locus_owned_get(memory, 1, sizeof *own);
    if (!own)
        return locus_owned_fail(error, 1, sizeof *own);
    own->values = term->options[VALUES].choice == 1;
    own->decays = term->options[DECAY].choice == 1;
    own->decay = term->options[DECAY].number;
    own->rotary = (locus_rotary){.heads = shape->heads,
                                 .dim = shape->head_dim,
                                 .pairs = shape->head_dim / 2,
                                 .tables = tables_of(term, shape),
                                 .side = (locus_side)term->options[SIDE].choice,
                                 .learned = learning[term->options[GENERATOR].choice]};
    *bound = own;
    return make_rotary(term, shape, values, &own->rotary, memory, error);
}

static locus_status place(const void *bound, const locus_placement *placement, size_t first_parameter,
                          locus_owned *memory, locus_placed *placed, locus_error *error) {
    (void)first_parameter;
    const locus_algebraic *own = bound;
    locus_status status = locus_rotary_place(&own->rotary, placement, memory, &placed->query_key, error);
    placed->value = own->values ? placed->query_key : NULL;
    if (status == LOCUS_OK && own->decays)
        status = locus_decay_place(own->decay, false, placement, memory, &placed->score, error);
    return status;
}

static const locus_option_info options[] = {
    {"group", "group equal to seq", "seq", "the group that positions are elements of"},
    {"generator", "skew|angles|fixed", "skew",
     "learned exp(A − Aᵀ), learned angles in the standard basis, or not learned"},
    {"init", "rope|identity|random", "rope", "rope's angles in a random basis, small noise, or Haar"},
    {"heads", "own|shared", "own", "generators for each head, or one set for all"},
    {"side", "both|query|key", "both", "which side is acted on; one alone makes positions absolute"},
    {"values", "off|on", "off", "acts on values, too, and undoes it on the output"},
    {"decay", "off, or number with 0 < c ≤ 1", "off", "multiplies scores by c^distance"},
};
static const locus_option_rule rules[] = {
    {LOCUS_OPTION_GROUP, 0, 0, false, NULL},        {LOCUS_OPTION_CHOICE, 0, 0, false, "cayley|householder"},
    {LOCUS_OPTION_CHOICE, 0, 0, false, NULL},       {LOCUS_OPTION_CHOICE, 0, 0, false, NULL},
    {LOCUS_OPTION_CHOICE, 0, 0, false, NULL},       {LOCUS_OPTION_CHOICE, 0, 0, false, NULL},
    {LOCUS_OPTION_OFF_OR_NUMBER, 0, 1, true, NULL},
};

const locus_encoding_class locus_algebraic_class = {
    .info = {.name = "algebraic",
             .summary = "powers of learned orthogonal matrices act on queries and keys",
             .sites = LOCUS_SITE_QUERY_KEY | LOCUS_SITE_VALUE | LOCUS_SITE_SCORE,
             .learned = "generators, or angles (generator=angles)",
             .source = "Kogkalidis et al. 2024, Algebraic positional encodings",
             .options = options,
             .option_count = sizeof options / sizeof options[0]},
    .rules = rules,
    .later = "split",
    .angles = true,
    .sites = sites,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = place,
};
