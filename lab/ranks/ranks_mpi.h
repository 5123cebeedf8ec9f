/* SPDX-License-Identifier: MIT */
/* Ranks that are processes, started by mpirun or srun, on one machine or many. Which MPI started us is said by the
 * environment; its plugin (mpi_plugin.h) is looked for beside the program, then below its library folder, as
 * locus-mpi-openmpi.so or locus-mpi-mpich.so. LOCUS_MPI names another, or the library where the environment does not
 * say it: openmpi, mpich, a file with a slash in its name; "none": this process is no rank. */
#ifndef LAB_RANKS_MPI_H
#define LAB_RANKS_MPI_H

#include "ranks/ranks.h"

typedef struct lab_mpi_start {
    size_t rank, count;  /* of a process that nobody started so: 0, 1 */
    const char *library; /* "openmpi", "mpich" */
} lab_mpi_start;
/* From the environment alone; no library is touched. */
lab_mpi_start lab_mpi_started(void);

/* Loads the plugin and meets the other ranks. While a rank waits for another one of the same machine it looks whether
 * that one still lives; a failure names the rank. */
locus_status lab_ranks_mpi(lab_ranks **ranks, const lab_mpi_start *start, locus_error *error);

#endif
