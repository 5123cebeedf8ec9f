/* SPDX-License-Identifier: MIT */
/* The cells of a comparison, each trained in a process of its own: its peak memory is its own, a crash costs one cell,
 * and several can run side by side. A child is a copy of this process, made before any thread is started; it tells how
 * it stands through a pipe and stops cleanly when the pipe's other end is gone. */
#ifndef LAB_TRAINING_CELLS_H
#define LAB_TRAINING_CELLS_H

#include "train/train.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct lab_cell {
    lab_train_config config; /* its encoding points to `encoding` */
    char encoding[LAB_SPEC_SIZE], name[256], label[512];
    size_t number;                                   /* among all of the comparison, from 1; 0: it has none */
    locus_status status;                             /* how it ended */
    char message[sizeof((locus_error *)0)->message]; /* why it failed, or what a finished run says */
    int64_t run;                                     /* its row, 0: none */
    bool finished;                                   /* trained, scored, recorded */

    pid_t process; /* while it runs */
    int pipe;
    bool trained_now; /* it took steps, so it was not done before */
    bool reported;    /* said how it ended */
    char phase[16];
    lab_progress progress;
    double began; /* on lab_seconds */
} lab_cell;

typedef struct lab_cells {
    lab_cell *cells; /* [count]; the first line of fields is the caller's to fill */
    size_t count;
    const char *store_path, *folder, *command;
    size_t jobs;    /* cells side by side */
    size_t threads; /* of each */
    bool restart;
    bool (*stopped)(void); /* whether all shall stop; asked by this process and by the children */
    /* Told while cells run, some times a second, with NULL, and of each cell that ended. Starts no threads. NULL:
     * nobody is told. */
    void (*watch)(void *watcher, const lab_cell *ended);
    void *watcher;
} lab_cells;

/* Trains all that is not done, and is back when no child runs any more. What became of each cell stands in it: a cell
 * that failed is no failure of the call. IO or MEMORY: no pipe, no process, no memory; cells that ran were stopped. */
locus_status lab_cells_run(lab_cells *cells, locus_error *error);

/* How many have ended. */
size_t lab_cells_ended(const lab_cells *cells);

#endif
