/* SPDX-License-Identifier: MIT */
/* What a training is asked for, and what is seen of it while it runs. */
#ifndef LAB_REQUEST_H
#define LAB_REQUEST_H

#include "train/configuration/train_config.h"

/* What the caller sees while it runs. Called a few times a second at most; return false to stop cleanly (state
 * STOPPED). */
typedef struct lab_progress {
    const char *phase; /* "train", "dev", "test", "greedy" */
    uint64_t step, steps;
    uint64_t epoch_steps; /* images: steps of an epoch; else 0 */
    double loss, dev_loss, dev_accuracy, rate, tokens_per_second, seconds_left;
} lab_progress;
typedef bool lab_progress_function(void *context, const lab_progress *progress);

typedef struct lab_train_request {
    lab_train_config config;
    const char *folder, *name, *command;
    bool restart;    /* throw what there is of that name away */
    bool every_step; /* progress is called after every step, not a few times a second */
    lab_progress_function *progress;
    void *context;
} lab_train_request;

#endif
