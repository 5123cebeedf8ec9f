/* SPDX-License-Identifier: MIT */
/* string: STRING (Schenck et al. 2025, Learning the RoPEs: better 2D and 3D position encodings with STRING). On a grid,
 *
 *   ⌈p⌉ = exp(Σ_a p_a S_a) = U R(Σ_a p_a θ_a) Uᵀ
 *
 * with skew generators S_a that commute: they share one basis U = exp(A − Aᵀ), and each has angles of its own. So it is
 * `mixed` in a learned basis. Parameters `basis` [tables, d, d] (A) and `frequencies` [tables, r, d/2]: grid_angles.h.
 */
#include "operators/learned/grid_angles.h"

enum { BASIS, FREQUENCIES, RATE };

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    const locus_turning turning = locus_turning_of(term, LOCUS_GRID_TURNING);
    const int64_t tables = (int64_t)locus_turning_tables(&turning, shape), dim = (int64_t)shape->head_dim;
    locus_status status = locus_grid_check(term, shape, error);
    if (status != LOCUS_OK)
        return status;
    list[(*count)++] = (locus_parameter){.name = "basis", .rank = 3, .shape = {tables, dim, dim}};
    list[(*count)++] = locus_grid_parameter(term, shape);
    locus_decay_parameter(&turning.decay, list, count);
    return LOCUS_OK;
}

/* The basis begins as small noise round the identity. */
static locus_status initialise(const locus_term *term, const locus_draw *draw, locus_error *error) {
    const locus_turning turning = locus_turning_of(term, LOCUS_GRID_TURNING);
    const size_t dim = draw->shape->head_dim, elements = locus_turning_tables(&turning, draw->shape) * dim * dim;
    uint64_t index = 0;
    (void)error;
    for (size_t i = 0; i < elements; i++)
        draw->values[BASIS][i] = LOCUS_TURNING_NOISE * locus_random_normal(&draw->random, index++);
    locus_grid_draw(term, draw, &index, draw->values[FREQUENCIES]);
    locus_decay_initialise(&turning.decay, RATE, draw->values);
    return LOCUS_OK;
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error) {
    locus_grid_angles *own = bound;
    locus_status status = locus_grid_bind(own, term, shape, values, FREQUENCIES, memory, error);
    own->rotary.learned |= LOCUS_LEARN_BASIS;
    own->rotary.matrix_slice = (locus_parameter_slice){BASIS, 1, 0};
    return status == LOCUS_OK
               ? locus_rotary_bind_basis(&own->rotary, LOCUS_ORTHOGONAL_SKEW, values[BASIS], memory, error)
               : status;
}

static const locus_option_info options[] = {
    LOCUS_GRID_OPTIONS,
};

const locus_encoding_class locus_string_class = {
    .info = {.name = "string",
             .summary = "rotates query and key dimensions by learned mixtures of a grid's axes in a learned basis",
             .sites = LOCUS_SITE_QUERY_KEY | LOCUS_SITE_VALUE | LOCUS_SITE_SCORE,
             .learned = "basis, frequencies; rate (decay=learned:c)",
             .source = "Schenck et al. 2025, Learning the RoPEs (STRING)",
             LOCUS_OPTIONS(options)},
    .shape = LOCUS_NEEDS_HEADS | LOCUS_NEEDS_HEAD_DIM,
    .bound_bytes = sizeof(locus_grid_angles),
    .laws = LOCUS_LAWS_ALL,
    .reals = true,
    .grids_only = true,
    .sites = locus_grid_sites,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = locus_grid_place,
    .normal = locus_grid_normal,
};
