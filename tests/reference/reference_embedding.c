/* SPDX-License-Identifier: MIT */
/* Vectors that are added to tokens: sinusoidal, learned, chebyshev, shiv-quirk. */
#include "reference/reference.h"

#include <math.h>
#include <string.h>

static void sinusoidal(const reference_model *model, size_t term, double p, double *vector) {
    const size_t D = model->shape.model_dim, half = D / 2;
    const bool interleaved = reference_says(model, term, "layout", "interleaved");
    const long double base = reference_number(model, term, "base");
    for (size_t i = 0; i < half; i++) {
        const long double last = interleaved ? (long double)half : (long double)half - 1;
        const double omega = (double)powl(base, last > 0 ? -(long double)i / last : 0);
        const long double angle = (long double)p * omega;
        vector[interleaved ? 2 * i : i] += (double)sinl(angle);
        vector[interleaved ? 2 * i + 1 : half + i] += (double)cosl(angle);
    }
}

static void chebyshev(const reference_model *model, size_t term, double p, double *vector) {
    const long double x = 2 * (long double)p / (reference_number(model, term, "size") - 1) - 1;
    for (size_t i = 0; i < model->shape.model_dim; i++)
        vector[i] += (double)cosl((long double)i * acosl(x));
}

static void shiv_quirk(const reference_model *model, size_t term, const reference_position *p, double *vector) {
    const size_t D = model->shape.model_dim, k = (size_t)reference_number(model, term, "k");
    const size_t depth = (size_t)reference_number(model, term, "depth"), P = D / (depth * k);
    const double *w = reference_values(model, term, "decays");
    for (size_t t = 0; t < depth && t < p->letters[0]; t++) {
        const size_t branch = (size_t)p->word[0][p->letters[0] - 1 - t] - 1;
        for (size_t j = 0; j < P; j++) {
            const double T = tanh(w[j]);
            vector[(t * k + branch) * P + j] += pow(T, (double)t) / cosh(w[j]) * sqrt((double)D / 2);
        }
    }
}

void reference_embedding(const reference_model *model, unsigned site, const reference_position *p, double *vector) {
    const size_t D = model->shape.model_dim;
    memset(vector, 0, D * sizeof *vector);
    for (size_t term = 0; term < reference_terms(model); term++) {
        const bool encoded =
            reference_term_is(model, term, "chebyshev") && reference_says(model, term, "site", "output");
        if (encoded != (site == LOCUS_SITE_ENCODED))
            continue;
        if (reference_term_is(model, term, "sinusoidal"))
            sinusoidal(model, term, p->value[0], vector);
        if (reference_term_is(model, term, "chebyshev"))
            chebyshev(model, term, p->value[0], vector);
        if (reference_term_is(model, term, "shiv-quirk"))
            shiv_quirk(model, term, p, vector);
        for (size_t i = 0; i < D && reference_term_is(model, term, "learned"); i++)
            vector[i] += reference_values(model, term, "table")[(size_t)p->value[0] * D + i];
    }
}
