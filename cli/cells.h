/* SPDX-License-Identifier: MIT */
/* The cells of a comparison, each trained in a process of its own: its peak memory is its own, a crash costs one cell,
 * and several can run side by side. A child is a copy of this process, made before any thread is started; it tells how
 * it stands through a pipe and stops cleanly when the pipe's other end is gone. */
#ifndef CLI_CELLS_H
#define CLI_CELLS_H

#include "options.h"
#include "train/train.h"

#include <stdbool.h>
#include <sys/types.h>

#define CLI_SPEC_SIZE LAB_SPEC_SIZE

typedef struct cli_cell {
    lab_train_config config; /* its encoding points to `encoding` */
    char encoding[CLI_SPEC_SIZE], name[256], label[512];
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
    double began;
} cli_cell;

typedef struct cli_cells {
    cli_cell *cells;
    size_t count;
    const char *store_path, *folder, *command;
    size_t jobs;    /* cells side by side */
    size_t threads; /* of each */
    bool restart;
    void (*ended)(void *context); /* called after each cell that ended; NULL: nobody is told. Starts no threads */
    void *context;
} cli_cells;

/* Trains all that is not done. Progress: one bar for each running cell on a terminal, else a line when one ends and now
 * and then between. 0: all done; 1: some failed, told in a line each, or stopped (cli_stop_asked()). */
int cli_cells_run(cli_cells *cells);

/* Threads of each of `jobs` cells side by side: --threads, or its share of the machine's. */
size_t cli_cells_threads(const cli_arguments *arguments, size_t jobs);

/* Data that are not there (images, texts, files of expressions) would fail every cell of a task: told once, before the
 * first. 0, or 1 after one line. */
int cli_cells_data(const lab_train_config *config);

#endif
