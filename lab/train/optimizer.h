/* SPDX-License-Identifier: MIT */
/* AdamW with decoupled weight decay (Loshchilov and Hutter 2019) or Adam with the decay in the gradient (Kingma and Ba
 * 2015, as PyTorch's weight_decay), global-norm clipping, schedules. */
#ifndef LAB_OPTIMIZER_H
#define LAB_OPTIMIZER_H

#include <locus/status.h>

typedef enum lab_decay_kind { LAB_DECAY_DECOUPLED = 0, LAB_DECAY_COUPLED = 1 } lab_decay_kind;

typedef struct lab_optimizer_config {
    double beta1, beta2, epsilon, weight_decay;
    lab_decay_kind decay;
    double clip; /* largest global gradient norm; 0: no clipping */
} lab_optimizer_config;
lab_optimizer_config lab_optimizer_default(void); /* 0.9, 0.999, 1e-8, 0.01, 0 */

typedef struct lab_optimizer {
    lab_optimizer_config config;
    size_t elements;
    uint64_t step;         /* steps taken */
    float *first, *second; /* moments, [elements]; owned */
} lab_optimizer;
locus_status lab_optimizer_create(lab_optimizer *optimizer, const lab_optimizer_config *config, size_t elements,
                                  locus_error *error);
void lab_optimizer_destroy(lab_optimizer *optimizer);

/* One step; returns the gradient norm before clipping in *norm. NUMERIC, nothing changed, if the norm is not finite. */
locus_status lab_optimizer_step(lab_optimizer *optimizer, double rate, float *values, const float *gradients,
                                double *norm, locus_error *error);

/* The same of gradients that are still to be multiplied by `scale`, with the norm that they have then: `values` and
 * `gradients` are the optimiser's elements, which may be a slice of a model's. NUMERIC if the norm is not finite. */
locus_status lab_optimizer_update(lab_optimizer *optimizer, double rate, double scale, double norm, float *values,
                                  const float *gradients, locus_error *error);
/* Sums of squares of pieces first … end − 1, each of `piece` elements, the last of all may be shorter; into sums[first
 * … end − 1]. */
typedef struct lab_pieces {
    size_t elements, piece, first, end;
} lab_pieces;
void lab_square_sums(const lab_pieces *pieces, const float *gradients, double *sums);

/* Linear from `initial` to `peak` over `warmup` steps, then a cosine to `final` at `total`; or, with `every` above 0,
 * peak · factor^⌊(step − warmup) / every⌋. step counts from 0. */
typedef struct lab_schedule {
    double initial, peak, final;
    uint64_t warmup, total;
    uint64_t every;
    double factor;
} lab_schedule;
double lab_schedule_rate(const lab_schedule *schedule, uint64_t step);

#endif
