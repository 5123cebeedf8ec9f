/* SPDX-License-Identifier: MIT */
/* Cells that train (jobs/training_cells.h), as commands run them and as the user sees them. */
#ifndef CLI_CELLS_H
#define CLI_CELLS_H

#include "jobs/training_cells.h"
#include "options.h"

/* Trains all that is not done. Progress: one bar for each running cell on a terminal, else a line when one ends and now
 * and then between. `ended` is called after each cell that ended; NULL: nobody is told. 0: all done; 1: some failed,
 * told in a line each, or stopped (cli_stop_asked()). */
int cli_cells_run(lab_cells *cells, void (*ended)(void *context), void *context);

/* What the command line says of them: --jobs, each with --threads or its share of the machine's, --store, and the line
 * itself. `folder`: of checkpoints. */
void cli_cells_prepare(lab_cells *cells, const cli_arguments *arguments, const char *folder);

/* Data that are not there (images, texts, files of expressions) would fail every cell of a task: told once, before the
 * first. 0, or 1 after one line. */
int cli_cells_data(const lab_train_config *config);

#endif
