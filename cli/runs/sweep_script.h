/* SPDX-License-Identifier: MIT */
/* Scripts that train the cells of a comparison one by one, each with a run store of its own, then merge the stores and
 * print the table. */
#ifndef CLI_SWEEP_SCRIPT_H
#define CLI_SWEEP_SCRIPT_H

#include "options.h"

/* A job array of `count` tasks, on standard output. `parts`: the folder where the tasks' stores come together. Both
 * return the exit status. */
int cli_sweep_sbatch(const cli_arguments *arguments, size_t count, const char *parts);
/* One line. */
int cli_sweep_parallel(const cli_arguments *arguments, size_t count, const char *parts);

#endif
