/* SPDX-License-Identifier: MIT */
/* Ranks that are threads of one process: for tests, and to see what a job on many ranks does without MPI. */
#ifndef LAB_RANKS_THREADS_H
#define LAB_RANKS_THREADS_H

#include "ranks/ranks.h"

/* Runs `body` on `count` threads, each with a rank of its own, and is back when all are; a body closes its rank. If a
 * rank is closed broken, exchanges of all others fail. MEMORY: nothing ran. */
locus_status lab_ranks_threads(size_t count, void (*body)(lab_ranks **ranks, void *context), void *context,
                               locus_error *error);

#endif
