/* SPDX-License-Identifier: MIT */
/* liere: positions of a grid act as ⌈p⌉ = exp(Σ_a p_a S_a) with a free skew S_a = A_a − A_aᵀ for each axis (Ostmeier et
 * al. 2024, LieRE). The S_a do not commute, so ⌈p + q⌉ is not ⌈p⌉⌈q⌉, and scores depend on more than relative
 * positions.
 *
 *   generators [heads, axes, d, d]   holds A_a; heads=shared: one set for all heads
 *   rate [1]                         decay=learned:c
 *
 * Initial values: each S_a has rope's angles, divided by the number of axes, in a random basis of its own. Operators:
 * liere.h. Refuses values=on where values are not as wide as queries. */
#include "operators/liere/liere.h"

#include "operators/learned/haar.h"
#include "operators/learned/turning.h"

#include "core/error.h"

enum { GROUP, TURNING };
enum { GENERATORS, RATE }; /* parameters */

#define BASE 10000.0

typedef struct locus_liere_bound {
    locus_liere liere;
    locus_turning turning;
} locus_liere_bound;

static unsigned sites(const locus_term *term) {
    const locus_turning turning = locus_turning_of(term, TURNING);
    return locus_turning_sites(&turning);
}

static size_t axes_of(const locus_term *term) {
    return locus_group_coordinates(term->options[GROUP].group);
}

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    const locus_turning turning = locus_turning_of(term, TURNING);
    const int64_t tables = (int64_t)locus_turning_tables(&turning, shape), dim = (int64_t)shape->head_dim;
    locus_status status = locus_turning_check(term, &turning, shape, error);
    if (status != LOCUS_OK)
        return status;
    list[(*count)++] =
        (locus_parameter){.name = "generators", .rank = 4, .shape = {tables, (int64_t)axes_of(term), dim, dim}};
    locus_decay_parameter(&turning.decay, list, count);
    return LOCUS_OK;
}

static locus_status initialise(const locus_term *term, const locus_draw *draw, locus_error *error) {
    const locus_turning turning = locus_turning_of(term, TURNING);
    const size_t dim = draw->shape->head_dim, square = dim * dim, axes = axes_of(term);
    double *A = draw->values[GENERATORS];
    locus_owned memory = {0};
    uint64_t index = 0;
    double *theta = locus_owned_get(&memory, dim + square, sizeof *theta);
    if (!theta)
        return locus_owned_fail(error);
    locus_rotary_frequencies(BASE, dim, dim / 2, theta);
    for (size_t g = 0; g < locus_turning_tables(&turning, draw->shape) * axes; g++) {
        double *U = theta + dim, *own = A + g * square;
        locus_haar_orthogonal(dim, &draw->random, &index, U);
        locus_skew_assemble(dim, U, theta, own);
        for (size_t i = 0; i < square; i++)
            own[i] /= 2 * (double)axes; /* S = A − Aᵀ: a skew S is given by A = S/2 */
    }
    locus_decay_initialise(&turning.decay, RATE, draw->values);
    locus_owned_release(&memory);
    return LOCUS_OK;
}

/* ---- binding ---- */

static locus_status make_skew(const double *A, locus_liere *liere, locus_owned *memory, locus_error *error) {
    const size_t dim = liere->dim, generators = liere->tables * liere->axes;
    double *skew = locus_owned_get(memory, generators * dim * dim, sizeof *skew);
    if (!skew)
        return locus_owned_fail(error);
    for (size_t g = 0; g < generators; g++)
        for (size_t i = 0; i < dim; i++)
            for (size_t j = 0; j < dim; j++)
                skew[(g * dim + i) * dim + j] = A[(g * dim + i) * dim + j] - A[(g * dim + j) * dim + i];
    liere->skew = skew;
    return LOCUS_OK;
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error) {
    static const unsigned sides[] = {[LOCUS_SIDE_BOTH] = 3, [LOCUS_SIDE_QUERY] = 1, [LOCUS_SIDE_KEY] = 2};
    locus_liere_bound *own = bound;
    own->turning = locus_turning_of(term, TURNING);
    own->liere = (locus_liere){.heads = shape->heads,
                               .dim = shape->head_dim,
                               .axes = axes_of(term),
                               .tables = locus_turning_tables(&own->turning, shape),
                               .sides = sides[own->turning.side]};
    locus_decay_bind(&own->turning.decay, RATE, values);
    return make_skew(values[GENERATORS], &own->liere, memory, error);
}

static locus_status place(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                          locus_error *error) {
    const locus_liere_bound *own = bound;
    locus_status status = LOCUS_OK;
    if (locus_places_ask(places, LOCUS_SITE_QUERY_KEY))
        status = locus_liere_place(&own->liere, places, memory, &placed->query_key_whole, error);
    return status == LOCUS_OK ? locus_turning_place(&own->turning, places, memory, placed, error) : status;
}

static const locus_option_info options[] = {
    {"group", "seq or grid:r", "grid:2", "the grid that positions are elements of", LOCUS_OPTION_GROUP, 0, 0, false},
    LOCUS_TURNING_OPTIONS,
};

const locus_encoding_class locus_liere_class = {
    .info = {.name = "liere",
             .summary = "exponentials of free learned generators act on queries and keys of a grid",
             .sites = LOCUS_SITE_QUERY_KEY | LOCUS_SITE_VALUE | LOCUS_SITE_SCORE,
             .learned = "generators, and rate (decay=learned:c)",
             .source = "Ostmeier et al. 2024, LieRE: generalizing rotary position encodings",
             LOCUS_OPTIONS(options)},
    .shape = LOCUS_NEEDS_HEADS | LOCUS_NEEDS_HEAD_DIM,
    .bound_bytes = sizeof(locus_liere_bound),
    .laws = LOCUS_LAW_ORTHOGONAL,
    .grids_only = true,
    .sites = sites,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = place,
};
