/* SPDX-License-Identifier: MIT */
/* Scores of a model on a data set. */
#ifndef LAB_SCORE_H
#define LAB_SCORE_H

#include "model/model.h"
#include "ranks/ranks.h"
#include "task/task.h"

/* How a set is scored. */
typedef struct lab_scoring {
    const lab_task *task; /* with its options: how output trees grow; other kinds: may be NULL */
    const lab_task_options *options;
    size_t batch;
    const lab_dataset *problems; /* what is decoded greedily, where it isn't the set itself: a decoder's problems */
    size_t greedy_samples;       /* the first ones, which are decoded greedily */
    uint32_t *sample_correct;    /* NULL, or [samples] to be filled with the right tokens of each */
    uint8_t *sample_greedy;      /* NULL, or [samples]: 1 for each that is decoded right */
    /* NULL, or asked between batches with the samples done so far; false: stop with INTERRUPTED. */
    bool (*look)(void *context, const char *phase, size_t done, size_t total);
    void *context;
    const char *phase; /* of what is teacher-forced: "dev", "test" */
    lab_ranks *ranks;  /* that score batches in turn: all get the same, as one alone would; NULL: alone */
} lab_scoring;

/* Scores a model on a set in batches, without dropout. `greedy` may be NULL (teacher forcing only): the share of the
 * samples, or problems, that greedy decoding gets whole, of words the end token included. */
locus_status lab_train_score(lab_model *model, const lab_dataset *set, const lab_scoring *how, lab_score *score,
                             double *greedy, locus_error *error);

#endif
