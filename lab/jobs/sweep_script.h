/* SPDX-License-Identifier: MIT */
/* Scripts that train the cells of a comparison one by one, each with a run store of its own, then merge the stores and
 * print the table. */
#ifndef LAB_SWEEP_SCRIPT_H
#define LAB_SWEEP_SCRIPT_H

#include <locus/status.h>
#include <stdio.h>

typedef struct lab_sweep {
    const char *line;           /* the command that compares, as one would type it */
    const char *command;        /* its name */
    const char *threads, *jobs; /* as texts */
    size_t count;               /* cells */
    const char *parts;          /* the folder where the tasks' stores come together */
} lab_sweep;

/* A Slurm job array; and one line for GNU parallel. ARGUMENT: a script could not show the line or the folder. */
locus_status lab_sweep_sbatch(FILE *out, const lab_sweep *sweep, locus_error *error);
locus_status lab_sweep_parallel(FILE *out, const lab_sweep *sweep, locus_error *error);

#endif
