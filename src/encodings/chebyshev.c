/* SPDX-License-Identifier: MIT */
/* chebyshev: Chebyshev polynomials of a position's place in a window of `size`, added to tokens, or with site=output to
 * what the encoder gives.
 *
 *   x = 2p/(size−1) − 1,  e[i] = T_i(x) = cos(i·arccos x),  0 ≤ p ≤ size − 1
 *
 * arccos is ill-conditioned towards ±1, where x has lost the digits of p, so the angle is taken from p itself:
 * sin²(θ/2) = (1−x)/2 = (size−1−p)/(size−1). With m the distance to the nearer end, φ = 2·atan2(√m, √(size−1−m)) is
 * in [0, π/2], and T_i = cos(iφ), times (−1)^i in the lower half: no error beyond i·φ's own, and T_i(±1) is exact. A
 * row is made in two levels, i = 64c + f: 64 + D/64 cosines and sines, then one rotation for each number.
 *
 * The encoding's published code puts it behind the encoder and then reads token 0 only, where x = −1 and the vector is
 * the constant (−1)^i, whatever the sentence.
 *
 * Real positions will do. Nothing is learned. Refuses positions outside of 0 … size − 1. */
#include "spec/class.h"

#include "core/error.h"

#include <math.h>

enum { SIZE, SITE };

#define FINE 64 /* of the two levels of a row */

typedef struct locus_chebyshev {
    size_t size, dim;
    bool output;
} locus_chebyshev;

typedef struct locus_chebyshev_embedding {
    locus_embedding base;
    const locus_chebyshev *chebyshev;
    const locus_token_side *side;
} locus_chebyshev_embedding;

static unsigned sites(const locus_term *term) {
    return term->options[SITE].choice == 1 ? LOCUS_SITE_ENCODED : LOCUS_SITE_EMBEDDING;
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error) {
    (void)values, (void)memory, (void)error;
    *(locus_chebyshev *)bound =
        (locus_chebyshev){(size_t)term->options[SIZE].number, shape->model_dim, term->options[SITE].choice == 1};
    return LOCUS_OK;
}

/* ---- one row ---- */

static size_t coarse_count(size_t dim) {
    return (dim + FINE - 1) / FINE;
}

/* Scratch: cosines and sines of fφ [FINE], and of 64cφ [coarse_count]. Folds the sign (−1)^i, which is (−1)^f, into the
 * fine level. */
static void fill_levels(const locus_chebyshev *own, double position, double *levels) {
    const double last = (double)own->size - 1;
    const bool lower = position < last - position;
    const double near = lower ? position : last - position;
    const double phi = 2 * atan2(sqrt(near), sqrt(last - near));
    const size_t coarse = coarse_count(own->dim), fine = own->dim < FINE ? own->dim : FINE;
    double *cosine = levels, *sine = levels + FINE, *far_cosine = levels + 2 * FINE, *far_sine = far_cosine + coarse;
    for (size_t f = 0; f < fine; f++) {
        cosine[f] = cos((double)f * phi);
        sine[f] = sin((double)f * phi);
    }
    for (size_t f = 1; lower && f < fine; f += 2) {
        cosine[f] = -cosine[f];
        sine[f] = -sine[f];
    }
    for (size_t c = 0; c < coarse; c++) {
        far_cosine[c] = cos((double)(c * FINE) * phi);
        far_sine[c] = sin((double)(c * FINE) * phi);
    }
}

static size_t scratch_bytes(const locus_embedding *embedding, locus_dtype dtype) {
    (void)dtype;
    return 2 * (FINE + coarse_count(((const locus_chebyshev_embedding *)embedding)->chebyshev->dim)) * sizeof(double);
}

/* y = x + sign·T_i, cos(a + b) = cos a cos b − sin a sin b. */
#define ADD_ROW(real) \
    static void add_row_##real(size_t dim, const double *levels, double sign, const real *x, real *y) { \
        const size_t coarse = coarse_count(dim); \
        const double *cosine = levels, *sine = levels + FINE; \
        for (size_t c = 0; c < coarse; c++) { \
            const double far_cosine = sign * levels[2 * FINE + c], far_sine = sign * levels[2 * FINE + coarse + c]; \
            const size_t first = c * FINE, count = dim - first < FINE ? dim - first : FINE; \
            for (size_t f = 0; f < count; f++) \
                y[first + f] = x[first + f] + (real)(far_cosine * cosine[f] - far_sine * sine[f]); \
        } \
    }
ADD_ROW(float)
ADD_ROW(double)

static void add(const locus_embedding *embedding, const locus_embedding_call *call) {
    const locus_chebyshev_embedding *own = (const locus_chebyshev_embedding *)embedding;
    const locus_chebyshev *chebyshev = own->chebyshev;
    double *levels = call->scratch, before = -1;
    for (size_t t = 0; t < call->count; t++) {
        const double position = locus_token_position(own->side, call->first + t);
        const ptrdiff_t x = (ptrdiff_t)t * call->x_stride, y = (ptrdiff_t)t * call->y_stride;
        if (!(position <= before && position >= before)) /* neighbours may share a position */
            fill_levels(chebyshev, position, levels);
        before = position;
        if (call->dtype == LOCUS_FLOAT32)
            add_row_float(chebyshev->dim, levels, call->sign, (const float *)call->x + x, (float *)call->y + y);
        else
            add_row_double(chebyshev->dim, levels, call->sign, (const double *)call->x + x, (double *)call->y + y);
    }
}

static const locus_embedding_class embedding_class = {.scratch_bytes = scratch_bytes, .add = add};

/* ---- placing ---- */

static locus_status check_positions(const locus_token_side *side, size_t size, locus_error *error) {
    for (size_t r = 0; r < side->run_count; r++)
        for (size_t t = side->runs[r].first; t < side->runs[r].first + side->runs[r].count; t++) {
            const double position = locus_token_position(side, t);
            if (!(position >= 0 && position <= (double)size - 1))
                return locus_fail(error, LOCUS_ERROR_POSITION, "positions",
                                  "position %.17g of token %zu is outside of 'chebyshev', which spans 0 … %zu: raise "
                                  "'size' or move the positions",
                                  position, t, size - 1);
        }
    return LOCUS_OK;
}

static locus_status place(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                          locus_error *error) {
    const locus_token_side *side = &places->items[0].query;
    locus_chebyshev_embedding *own = placed->own;
    (void)memory;
    *own = (locus_chebyshev_embedding){{&embedding_class}, bound, side};
    if (own->chebyshev->output)
        placed->encoded = &own->base;
    else
        placed->embedding = &own->base;
    return check_positions(side, own->chebyshev->size, error);
}

static const locus_option_info options[] = {
    {"size", "integer ≥ 2", "512", "positions 0 to size − 1 are spread over −1 … 1", LOCUS_OPTION_INTEGER, 2,
     1099511627776.0, false},
    {"site", "input|output", "input", "added to the tokens, or to what the encoder gives (as its author's code does)",
     LOCUS_OPTION_CHOICE, 0, 0, false},
};

const locus_encoding_class locus_chebyshev_class = {
    .info = {.name = "chebyshev",
             .summary = "fixed Chebyshev polynomials of the position, added to the embedding or the encoder's output",
             .sites = LOCUS_SITE_EMBEDDING | LOCUS_SITE_ENCODED,
             .learned = "",
             .source = "Hastings 2024, Chebyshev positional encoding in Transformers",
             LOCUS_OPTIONS(options)},
    .shape = LOCUS_NEEDS_MODEL_DIM,
    .bound_bytes = sizeof(locus_chebyshev),
    .placed_bytes = sizeof(locus_chebyshev_embedding),
    .reals = true,
    .sites = sites,
    .bind = bind,
    .place = place,
};
