/* SPDX-License-Identifier: MIT */
/* The cells of a comparison as a list, some of them alone, and the scripts that deal them to many machines: --list,
 * --only, --sbatch and --parallel of `reproduce` and `compare`. */
#ifndef CLI_SWEEP_H
#define CLI_SWEEP_H

#include "jobs/training_cells.h"
#include "options.h"

/* clang-format off */
#define CLI_SWEEP_OPTIONS \
    CLI_ROW_FLAG("list", "print the trainings and how they stand; train nothing"), \
    {"only", 0, CLI_TEXTS, "N|NAME,…", NULL, \
     "train these of --list, by number or name, and print no table; may be given again", 0, 0}, \
    CLI_ROW_FLAG("sbatch", \
                 "print a Slurm script: a task for each training, then a job that prints the table; train nothing"), \
    CLI_ROW_FLAG("parallel", "print a line for GNU parallel that does the same; train nothing")
/* clang-format on */

/* After the cells are made: numbers them from 1 in their order, and leaves those that --only names, if it is given. 0,
 * or 2 after one line. */
int cli_sweep_choose(const cli_arguments *arguments, lab_cells *cells);

/* Whether something is to be printed instead of trained. */
bool cli_sweep_asked(const cli_arguments *arguments);

/* Prints it. Scripts keep what they make in the folder `parts`, which is called as the comparison. The exit status. */
int cli_sweep_print(const cli_arguments *arguments, const lab_cells *cells, const char *parts);

#endif
