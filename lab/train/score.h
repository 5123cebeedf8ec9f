/* SPDX-License-Identifier: MIT */
/* Scores of a model on a data set, with a caller that may look on and stop. */
#ifndef LAB_SCORE_H
#define LAB_SCORE_H

#include "train/train.h"

/* Asked between batches with the samples done so far; false: stop with INTERRUPTED. */
typedef struct lab_watch {
    bool (*look)(void *context, const char *phase, size_t done, size_t total);
    void *context;
} lab_watch;

/* Teacher-forced; `watch` may be NULL. */
locus_status lab_score_forced(lab_model *model, const lab_dataset *set, size_t batch, const lab_watch *watch,
                              const char *phase, lab_score *score, locus_error *error);

/* Share of the first `samples` samples that greedy decoding reproduces whole, the end token included. */
locus_status lab_score_greedy(lab_model *model, const lab_dataset *set, size_t batch, size_t samples,
                              const lab_watch *watch, double *exact, locus_error *error);

#endif
