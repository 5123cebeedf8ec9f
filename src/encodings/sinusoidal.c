/* SPDX-License-Identifier: MIT */
/* sinusoidal: a vector of sines and cosines added to a token's embedding (Vaswani et al. 2017, section 3.5).
 *
 *   interleaved   e[2i] = sin(p·base^(−2i/D)), e[2i+1] = cos(…)
 *   concatenated  e[i] = sin(p·base^(−i/(D/2−1))), e[D/2+i] = cos(…)        (tensor2tensor)
 *
 * The norm of every vector is sqrt(D/2). D must be even. Real positions will do. Nothing is learned. */
#include "operators/angle_table.h"
#include "spec/class.h"

#include "core/error.h"
#include "kernels/kernels.h"
#include "spec/levels.h"

#include <math.h>
#include <string.h>

enum { BASE, LAYOUT };

typedef struct locus_sinusoidal {
    size_t dim;
    bool concatenated;
    locus_angle_fine fine;
} locus_sinusoidal;

typedef struct locus_sinusoidal_embedding {
    locus_embedding base;
    const locus_sinusoidal *sinusoidal;
    const locus_token_side *side;
    locus_angle_table table;
} locus_sinusoidal_embedding;

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    (void)term, (void)list, (void)count;
    if (shape->model_dim % 2 == 0)
        return LOCUS_OK;
    return locus_fail(error, LOCUS_ERROR_SHAPE, "model_dim", "'sinusoidal' needs an even model_dim, not %zu",
                      shape->model_dim);
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error) {
    (void)values;
    size_t pairs = shape->model_dim / 2;
    locus_sinusoidal *own = bound;
    double *theta = locus_owned_get(memory, pairs, sizeof *theta);
    if (!theta)
        return locus_owned_fail(error);
    own->dim = shape->model_dim;
    own->concatenated = term->options[LAYOUT].choice == 1;
    const long double base = (long double)term->options[BASE].number;
    const long double last = own->concatenated ? (long double)pairs - 1 : (long double)pairs;
    for (size_t i = 0; i < pairs; i++) /* rope's; a single concatenated pair has the frequency 1 */
        theta[i] = (double)powl(base, last > 0 ? -(long double)i / last : 0);
    const locus_angle_rates rates = {.tables = 1, .pairs = pairs, .theta = theta, .fixed = true};
    return locus_angle_fine_make(&own->fine, &rates, memory, error);
}

static size_t scratch_bytes(const locus_embedding *embedding, locus_dtype dtype) {
    const locus_sinusoidal_embedding *own = (const locus_sinusoidal_embedding *)embedding;
    return 2 * LOCUS_EMBEDDING_ROWS * own->sinusoidal->fine.rates.pairs * locus_dtype_size(dtype);
}

/* y is x, or shares nothing with it: with x in it already, nothing else is y, and the loops become vectors. */
#define ADD_ROWS(real) \
    static void add_row_##real(size_t pairs, bool concatenated, real sign, const real *restrict cosine, \
                               const real *restrict sine, real *restrict y) { \
        for (size_t i = 0; concatenated && i < pairs; i++) { \
            y[i] += sign * sine[i]; \
            y[pairs + i] += sign * cosine[i]; \
        } \
        for (size_t i = 0; !concatenated && i < pairs; i++) { \
            y[2 * i] += sign * sine[i]; \
            y[2 * i + 1] += sign * cosine[i]; \
        } \
    } \
    static void add_##real(const locus_sinusoidal *own, const locus_embedding_call *call, const real *cosine, \
                           const real *sine) { \
        const size_t pairs = own->fine.rates.pairs; \
        for (size_t t = 0; t < call->count; t++) { \
            const real *x = (const real *)call->x + (ptrdiff_t)t * call->x_stride; \
            real *y = (real *)call->y + (ptrdiff_t)t * call->y_stride; \
            if (x != y) \
                memcpy(y, x, 2 * pairs * sizeof *y); \
            add_row_##real(pairs, own->concatenated, (real)call->sign, cosine + t * pairs, sine + t * pairs, y); \
        } \
    }
ADD_ROWS(float)
ADD_ROWS(double)

static void add(const locus_embedding *embedding, const locus_embedding_call *call) {
    const locus_sinusoidal_embedding *own = (const locus_sinusoidal_embedding *)embedding;
    const locus_angle_table *table = &own->table;
    const size_t pairs = table->base->rates.pairs, block = LOCUS_EMBEDDING_ROWS * pairs;
    const uint32_t *coarse = own->side->coarse + call->first, *fine = own->side->fine + call->first;
    if (call->dtype == LOCUS_FLOAT32) {
        float *cosine = call->scratch, *sine = cosine + block;
        locus_kernels_float32_get()->angles(call->count, pairs, table->coarse, coarse, table->base->fine, fine, cosine,
                                            sine, (ptrdiff_t)pairs);
        add_float(own->sinusoidal, call, cosine, sine);
    } else {
        double *cosine = call->scratch, *sine = cosine + block;
        locus_kernels_float64_get()->angles(call->count, pairs, table->coarse, coarse, table->base->fine, fine, cosine,
                                            sine, (ptrdiff_t)pairs);
        add_double(own->sinusoidal, call, cosine, sine);
    }
}

static const locus_embedding_class embedding_class = {.scratch_bytes = scratch_bytes, .add = add};

static locus_status place(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                          locus_error *error) {
    const locus_placement *placement = NULL;
    const locus_status status = locus_levels_get(places, &placement, memory, error);
    if (status != LOCUS_OK)
        return status;
    locus_sinusoidal_embedding *own = placed->own;
    own->base.class = &embedding_class;
    own->sinusoidal = bound;
    own->side = &placement->query;
    placed->embedding = &own->base;
    return locus_angle_table_create(&own->table, &own->sinusoidal->fine, placement, memory, error);
}

static const locus_option_info options[] = {
    {"base", "number > 0", "10000", "wavelengths grow from 2π to about base·2π", LOCUS_OPTION_NUMBER, 0, 1e300, true},
    {"layout", "interleaved|concatenated", "interleaved", "sine and cosine in turns, or all sines, then all cosines",
     LOCUS_OPTION_CHOICE, 0, 0, false},
};

const locus_encoding_class locus_sinusoidal_class = {
    .info = {.name = "sinusoidal",
             .summary = "fixed sines and cosines added to the embedding",
             .sites = LOCUS_SITE_EMBEDDING,
             .learned = "",
             .source = "Vaswani et al. 2017, Attention is all you need",
             LOCUS_OPTIONS(options)},
    .shape = LOCUS_NEEDS_MODEL_DIM,
    .bound_bytes = sizeof(locus_sinusoidal),
    .placed_bytes = sizeof(locus_sinusoidal_embedding),
    .reals = true,
    .parameters = parameters,
    .bind = bind,
    .place = place,
};
