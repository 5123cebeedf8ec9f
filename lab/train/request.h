/* SPDX-License-Identifier: MIT */
/* What a training is asked for, and what is seen of it while it runs. */
#ifndef LAB_REQUEST_H
#define LAB_REQUEST_H

#include "ranks/ranks.h"
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

/* The run that a training goes on from. */
typedef struct lab_train_parent {
    const char *name;  /* as the store is told */
    const char *state; /* the file of its state: "state.safetensors" */
    const lab_train_config *config;
    int64_t run; /* in the store: its curves are the beginning of the new run's */
} lab_train_parent;

typedef struct lab_train_request {
    lab_train_config config;
    const char *folder, *name, *command;
    const lab_train_parent *parent; /* NULL: it begins itself */
    bool keep_state;                /* when it is done, so that another run can go on from it */
    bool restart;                   /* throw what there is of that name away */
    bool every_step;                /* progress is called after every step, not a few times a second */
    lab_progress_function *progress;
    void *context;
    /* Asked when progress stopped the training: whether a scheduler did, so that it is to be queued again. The failure
     * is INTERRUPTED then with the argument LAB_QUEUE_AGAIN, on all ranks if one says so. NULL: no. */
    bool (*queue_again)(void);
    /* The ranks that share the training, each with a request of its own; NULL: it is trained alone. Rank 0 alone has
     * a store, writes files and tells what became of the run. */
    lab_ranks *ranks;
} lab_train_request;
#define LAB_QUEUE_AGAIN "queue-again"

#endif
