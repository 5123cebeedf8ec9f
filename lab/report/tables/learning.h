/* SPDX-License-Identifier: MIT */
/* Whether a field of a table has learned what it can: a scheme that is still learning is behind nobody. Decided from
 * what its trainings recorded, in this order:
 *
 *   1. a share within the margin of 1: converged, there is nothing left to learn;
 *   2. LAB_LEARNING_SEEDS or more finished trainings of the same configuration with twice the steps or more: still
 *      learning if their mean is ahead by the margin or more, else converged;
 *   3. a share at chance: not begun, as far as anybody can tell;
 *   4. a training without a curve of what is scored: unknown;
 *   5. what the development score gained in the last third of the steps, mean over seeds: still learning if it is more
 *      than the margin, else converged.
 *
 * The gain is the mean of the development scores in the last sixth of the steps less that of the sixth that begins at
 * their half: their middles lie a third of the steps apart, and no single score decides. A rate that falls to 0 hides
 * what more steps would bring, and so does a plateau before something is learned: only longer trainings show that.
 * Of a perplexity its loss is asked. */
#ifndef LAB_LEARNING_H
#define LAB_LEARNING_H

#include "report/tables/published.h"
#include "report/tables/statistic.h"
#include "task/measure.h"
#include "train/train.h"

#define LAB_LEARNING_SEEDS 3
#define LAB_LEARNING_MOST 32 /* longer trainings that take part: the first ones */

typedef struct lab_learning {
    size_t curves, runs;   /* finished trainings that have a curve; all */
    double gain;           /* mean over the curves: what the score gained, better is positive */
    lab_statistic longer;  /* scores of the longest trainings that are long enough and have seeds enough; or of none */
    uint64_t longer_steps; /* theirs */
    int64_t longer_runs[LAB_LEARNING_MOST];
} lab_learning;

typedef enum lab_convergence {
    LAB_CONVERGENCE_UNKNOWN = 0,
    LAB_CONVERGED = 1,
    LAB_STILL_LEARNING = 2,
    LAB_NOT_BEGUN = 3
} lab_convergence;

/* A share is at chance below a tenth of the way from guessing to everything right. */
double lab_chance_bound(double chance);
/* Whether it is; false where chance is unknown (0). Of problems it is to solve none. */
bool lab_is_at_chance(const lab_statistic *score, lab_measure measure, double chance);

/* Without a chance (0) step 3 is left out: for who asks whether a scheme stays there. */
lab_convergence lab_learning_judge(const lab_learning *learning, const lab_statistic *score, lab_measure measure,
                                   double chance);
/* What the longer trainings are ahead, better is positive. */
double lab_learning_longer_gain(const lab_learning *learning, const lab_statistic *score, lab_measure measure);

/* Of `count` development scores: what they gained up to `end`; false where a sixth has none. */
bool lab_learning_gain(const lab_metric *metrics, size_t count, double end, lab_measure measure, double *gain);

/* What is said of a measure: of perplexities their losses'. */
lab_measure lab_learning_measure(lab_measure measure);

/* Adds the curve of a finished training; of images after half of the epochs the first half of it. */
locus_status lab_learning_add(lab_learning *learning, lab_store *store, int64_t run, lab_measure measure, lab_span span,
                              locus_error *error);
/* Looks in the store for longer trainings of `config`, whatever their seeds. */
locus_status lab_learning_look(lab_learning *learning, lab_store *store, const lab_train_config *config,
                               lab_measure measure, lab_span span, locus_error *error);

/* The name of the final score that a column is about. */
const char *lab_final_name(lab_measure measure, lab_span span);

#endif
