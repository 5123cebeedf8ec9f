/* SPDX-License-Identifier: MIT */
/* AdamW (Loshchilov and Hutter, Decoupled weight decay regularization, ICLR 2019, algorithm 2) and Adam, as
 * torch.optim.AdamW and torch.optim.Adam compute them:
 *
 *   decoupled: w ← w − rate·decay·w                    coupled: g ← g + decay·w
 *   m ← β₁ m + (1 − β₁) g,  v ← β₂ v + (1 − β₂) g²
 *   w ← w − rate/(1 − β₁ᵗ) · m / (sqrt(v)/sqrt(1 − β₂ᵗ) + ε)
 *
 * with g scaled by clip / max(norm, clip) before all that. One pass over the memory, in fixed pieces; the norm is
 * summed in double by piece and folded in order. */
#include "train/optimizer.h"
#include "io/fail.h"
#include "nn/clones.h"
#include <locus/parallel.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { PIECE = 1 << 16, NORM_PIECES = 256 };

lab_optimizer_config lab_optimizer_default(void) {
    return (lab_optimizer_config){.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.01, .clip = 0.0};
}

static locus_status config_check(const lab_optimizer_config *config, locus_error *error) {
    if (!(config->beta1 >= 0.0 && config->beta1 < 1.0 && config->beta2 >= 0.0 && config->beta2 < 1.0))
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "beta", "beta is (%g, %g): both must be at least 0 and below 1",
                        config->beta1, config->beta2);
    if (!(config->epsilon >= 0.0 && config->weight_decay >= 0.0 && config->clip >= 0.0))
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "optimizer",
                        "epsilon %g, weight decay %g and clip %g must not be negative", config->epsilon,
                        config->weight_decay, config->clip);
    return LOCUS_OK;
}

locus_status lab_optimizer_create(lab_optimizer *optimizer, const lab_optimizer_config *config, size_t elements,
                                  locus_error *error) {
    *optimizer = (lab_optimizer){.config = *config, .elements = elements};
    locus_status status = config_check(config, error);
    if (status != LOCUS_OK)
        return status;
    optimizer->first = calloc(elements + 1, sizeof(float));
    optimizer->second = calloc(elements + 1, sizeof(float));
    if (optimizer->first && optimizer->second)
        return LOCUS_OK;
    lab_optimizer_destroy(optimizer);
    return lab_fail_memory(error, "the optimiser's moments");
}

void lab_optimizer_destroy(lab_optimizer *optimizer) {
    if (optimizer == NULL)
        return;
    free(optimizer->first);
    free(optimizer->second);
    optimizer->first = optimizer->second = NULL;
}

/* ---- norm ---- */

typedef struct norm_work {
    const lab_pieces *pieces;
    const float *gradients;
    double *sums;
} norm_work;

/* Float squares would overflow for large gradients: eight lanes in double. */
LAB_CLONES static double square_sum(size_t count, const float *restrict x) {
    enum { LANES = 8 };
    double lane[LANES] = {0};
    size_t whole = count / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t j = 0; j < LANES; ++j)
            lane[j] += (double)x[i + j] * (double)x[i + j];
    for (size_t i = whole; i < count; ++i)
        lane[0] += (double)x[i] * (double)x[i];
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static size_t piece_size(size_t elements, size_t piece, size_t index) {
    size_t rest = elements - index * piece;
    return rest < piece ? rest : piece;
}

static void norm_task(void *context, size_t index, size_t worker) {
    (void)worker;
    norm_work *work = context;
    const lab_pieces *own = work->pieces;
    const size_t piece = own->first + index;
    work->sums[piece] = square_sum(piece_size(own->elements, own->piece, piece), work->gradients + piece * own->piece);
}

void lab_square_sums(const lab_pieces *pieces, const float *gradients, double *sums) {
    norm_work work = {.pieces = pieces, .gradients = gradients, .sums = sums};
    if (pieces->first < pieces->end)
        locus_parallel_for(pieces->end - pieces->first, norm_task, &work);
}

static double gradient_norm(size_t elements, const float *gradients) {
    const size_t share = elements / NORM_PIECES + 1, piece = share > PIECE ? share : PIECE;
    const lab_pieces pieces = {.elements = elements, .piece = piece, .end = (elements + piece - 1) / piece};
    double sums[NORM_PIECES], total = 0.0;
    lab_square_sums(&pieces, gradients, sums);
    for (size_t i = 0; i < pieces.end; ++i)
        total += sums[i];
    return sqrt(total);
}

/* ---- step ---- */

typedef struct update {
    float gradient_scale, keep; /* keep = 1 − rate · decay, where it is decoupled */
    float decay;                /* where it is coupled; else 0 */
    float beta1, beta2, rest1, rest2;
    float rate, root, epsilon; /* rate / (1 − β₁ᵗ), 1 / sqrt(1 − β₂ᵗ) */
    float *values, *first, *second;
    const float *gradients;
    size_t elements;
} update;

LAB_CLONES static void update_run(const update *u, size_t count, float *restrict w, const float *restrict g,
                                  float *restrict m, float *restrict v) {
    const float scale = u->gradient_scale, keep = u->keep, beta1 = u->beta1, beta2 = u->beta2, rest1 = u->rest1,
                rest2 = u->rest2, rate = u->rate, root = u->root, epsilon = u->epsilon;
    for (size_t i = 0; i < count; ++i) {
        float gradient = g[i] * scale;
        float first = beta1 * m[i] + rest1 * gradient, second = beta2 * v[i] + rest2 * gradient * gradient;
        m[i] = first;
        v[i] = second;
        w[i] = keep * w[i] - rate * first / (sqrtf(second) * root + epsilon);
    }
}

/* A loop of its own, so that the one above keeps its bits. */
LAB_CLONES static void update_coupled(const update *u, size_t count, float *restrict w, const float *restrict g,
                                      float *restrict m, float *restrict v) {
    const float scale = u->gradient_scale, decay = u->decay, beta1 = u->beta1, beta2 = u->beta2, rest1 = u->rest1,
                rest2 = u->rest2, rate = u->rate, root = u->root, epsilon = u->epsilon;
    for (size_t i = 0; i < count; ++i) {
        float gradient = g[i] * scale + decay * w[i];
        float first = beta1 * m[i] + rest1 * gradient, second = beta2 * v[i] + rest2 * gradient * gradient;
        m[i] = first;
        v[i] = second;
        w[i] -= rate * first / (sqrtf(second) * root + epsilon);
    }
}

static void update_task(void *context, size_t piece, size_t worker) {
    (void)worker;
    const update *u = context;
    size_t at = piece * PIECE;
    (u->decay > 0.0f ? update_coupled : update_run)(u, piece_size(u->elements, PIECE, piece), u->values + at,
                                                    u->gradients + at, u->first + at, u->second + at);
}

static update update_make(const lab_optimizer *optimizer, double rate, double scale, double norm) {
    const lab_optimizer_config *c = &optimizer->config;
    double t = (double)optimizer->step;
    const bool clipped = c->clip > 0.0 && norm > c->clip, coupled = c->decay == LAB_DECAY_COUPLED;
    return (update){.gradient_scale = (float)(clipped ? c->clip / norm * scale : scale),
                    .keep = coupled ? 1.0f : (float)(1.0 - rate * c->weight_decay),
                    .decay = coupled ? (float)c->weight_decay : 0.0f,
                    .beta1 = (float)c->beta1,
                    .beta2 = (float)c->beta2,
                    .rest1 = (float)(1.0 - c->beta1),
                    .rest2 = (float)(1.0 - c->beta2),
                    .rate = (float)(rate / (1.0 - pow(c->beta1, t))),
                    .root = (float)(1.0 / sqrt(1.0 - pow(c->beta2, t))),
                    .epsilon = (float)c->epsilon};
}

locus_status lab_optimizer_update(lab_optimizer *optimizer, double rate, double scale, double norm, float *values,
                                  const float *gradients, locus_error *error) {
    if (!isfinite(norm))
        return lab_fail(error, LOCUS_ERROR_NUMERIC, "gradient",
                        "the gradient is not finite at step %llu: a smaller learning rate or clipping may help",
                        (unsigned long long)(optimizer->step + 1));
    ++optimizer->step;
    update u = update_make(optimizer, rate, scale, norm);
    u.values = values;
    u.gradients = gradients;
    u.first = optimizer->first;
    u.second = optimizer->second;
    u.elements = optimizer->elements;
    locus_parallel_for((u.elements + PIECE - 1) / PIECE, update_task, &u);
    return LOCUS_OK;
}

locus_status lab_optimizer_step(lab_optimizer *optimizer, double rate, float *values, const float *gradients,
                                double *norm, locus_error *error) {
    *norm = gradient_norm(optimizer->elements, gradients);
    return lab_optimizer_update(optimizer, rate, 1.0, *norm, values, gradients, error);
}
