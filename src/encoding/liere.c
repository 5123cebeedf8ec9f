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
#include "encoding/liere.h"

#include "encoding/haar.h"
#include "encoding/rotary.h"
#include "encoding/score_row.h"

#include "core/error.h"

enum { GROUP, HEADS, SIDE, VALUES, DECAY };
enum { DECAY_OFF, DECAY_FIXED, DECAY_LEARNED };
enum { GENERATORS, RATE }; /* parameters */

#define BASE 10000.0

typedef struct locus_liere_bound {
    locus_liere liere;
    bool values, decays, learns_decay;
    double decay;
} locus_liere_bound;

static unsigned sites(const locus_term *term) {
    unsigned mask = LOCUS_SITE_QUERY_KEY;
    mask |= term->options[VALUES].choice == 1 ? (unsigned)LOCUS_SITE_VALUE : 0u;
    return mask | (term->options[DECAY].choice != DECAY_OFF ? (unsigned)LOCUS_SITE_SCORE : 0u);
}

static size_t tables_of(const locus_term *term, const locus_shape *shape) {
    return term->options[HEADS].choice == 1 ? 1 : shape->heads;
}

static size_t axes_of(const locus_term *term) {
    return locus_group_coordinates(term->options[GROUP].group);
}

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    locus_status status = locus_shape_need_heads(shape, "liere", error);
    if (status != LOCUS_OK)
        return status;
    if (term->options[VALUES].choice == 1 && locus_shape_value_dim(shape) != shape->head_dim)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "value_dim",
                          "'liere(values=on)' acts on values as on queries: value_dim must be head_dim (%zu), not %zu",
                          shape->head_dim, locus_shape_value_dim(shape));
    const int64_t tables = (int64_t)tables_of(term, shape), dim = (int64_t)shape->head_dim;
    list[(*count)++] = (locus_parameter){"generators", 4, {tables, (int64_t)axes_of(term), dim, dim}};
    if (term->options[DECAY].choice == DECAY_LEARNED)
        list[(*count)++] = (locus_parameter){"rate", 1, {1}};
    return LOCUS_OK;
}

static locus_status initialise(const locus_term *term, const locus_draw *draw, locus_error *error) {
    const size_t dim = draw->shape->head_dim, square = dim * dim, axes = axes_of(term);
    double *A = draw->values[GENERATORS];
    locus_owned memory = {0};
    uint64_t index = 0;
    double *theta = locus_owned_get(&memory, dim + square, sizeof *theta);
    if (!theta)
        return locus_owned_fail(error, dim + square, sizeof *theta);
    locus_rotary_frequencies(BASE, dim, dim / 2, theta);
    for (size_t g = 0; g < tables_of(term, draw->shape) * axes; g++) {
        double *U = theta + dim, *own = A + g * square;
        locus_haar_orthogonal(dim, &draw->random, &index, U);
        locus_skew_assemble(dim, U, theta, own);
        for (size_t i = 0; i < square; i++)
            own[i] /= 2 * (double)axes; /* S = A − Aᵀ: a skew S is given by A = S/2 */
    }
    if (term->options[DECAY].choice == DECAY_LEARNED)
        draw->values[RATE][0] = term->options[DECAY].number;
    locus_owned_release(&memory);
    return LOCUS_OK;
}

/* ---- binding ---- */

static locus_status make_skew(const double *A, locus_liere *liere, locus_owned *memory, locus_error *error) {
    const size_t dim = liere->dim, generators = liere->tables * liere->axes;
    double *skew = locus_owned_get(memory, generators * dim * dim, sizeof *skew);
    if (!skew)
        return locus_owned_fail(error, generators * dim * dim, sizeof *skew);
    for (size_t g = 0; g < generators; g++)
        for (size_t i = 0; i < dim; i++)
            for (size_t j = 0; j < dim; j++)
                skew[(g * dim + i) * dim + j] = A[(g * dim + i) * dim + j] - A[(g * dim + j) * dim + i];
    liere->skew = skew;
    return LOCUS_OK;
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values,
                         locus_owned *memory, void **bound, locus_error *error) {
    static const unsigned sides[] = {3, 1, 2};
    locus_liere_bound *own = locus_owned_get(memory, 1, sizeof *own);
    if (!own)
        return locus_owned_fail(error, 1, sizeof *own);
    *bound = own;
    own->values = term->options[VALUES].choice == 1;
    own->decays = term->options[DECAY].choice != DECAY_OFF;
    own->learns_decay = term->options[DECAY].choice == DECAY_LEARNED;
    own->decay = own->learns_decay ? values[RATE][0] : term->options[DECAY].number;
    own->liere = (locus_liere){.heads = shape->heads,
                               .dim = shape->head_dim,
                               .axes = axes_of(term),
                               .tables = tables_of(term, shape),
                               .sides = sides[term->options[SIDE].choice]};
    if (own->decays && !(own->decay > 0))
        return locus_fail(error, LOCUS_ERROR_NUMERIC, "rate", "the decay's rate of 'liere' is %g: it must be above 0",
                          own->decay);
    return make_skew(values[GENERATORS], &own->liere, memory, error);
}

static locus_status place(const void *bound, const locus_places *places, size_t first_parameter, locus_owned *memory,
                          locus_placed *placed, locus_error *error) {
    const locus_liere_bound *own = bound;
    (void)first_parameter;
    locus_status status = locus_liere_place(&own->liere, places, memory, &placed->query_key_whole, error);
    placed->value_whole = own->values ? placed->query_key_whole : NULL;
    if (status == LOCUS_OK && own->decays)
        status = locus_decay_place(own->decay, own->learns_decay, RATE, places, memory, &placed->score, error);
    return status;
}

static const locus_option_info options[] = {
    {"group", "seq or grid:r", "grid:2", "the grid that positions are elements of"},
    {"heads", "own|shared", "own", "generators for each head, or one set for all"},
    {"side", "both|query|key", "both", "which side is acted on; one alone makes positions absolute"},
    {"values", "off|on", "off", "acts on values, too, and undoes it on the output"},
    {"decay", "off, number with 0 < c ≤ 1, or learned:c", "off", "multiplies scores by c^distance"},
};
static const locus_option_rule rules[] = {
    {LOCUS_OPTION_GROUP, 0, 0, false},  {LOCUS_OPTION_CHOICE, 0, 0, false}, {LOCUS_OPTION_CHOICE, 0, 0, false},
    {LOCUS_OPTION_CHOICE, 0, 0, false}, {LOCUS_OPTION_DECAY, 0, 1, true},
};

const locus_encoding_class locus_liere_class = {
    .info = {.name = "liere",
             .summary = "exponentials of free learned generators act on queries and keys of a grid",
             .sites = LOCUS_SITE_QUERY_KEY | LOCUS_SITE_VALUE | LOCUS_SITE_SCORE,
             .learned = "generators, and rate (decay=learned:c)",
             .source = "Ostmeier et al. 2024, LieRE: generalizing rotary position encodings",
             .options = options,
             .option_count = sizeof options / sizeof options[0]},
    .rules = rules,
    .laws = LOCUS_LAW_ORTHOGONAL,
    .grids_only = true,
    .sites = sites,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = place,
};
