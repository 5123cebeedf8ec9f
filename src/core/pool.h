/* SPDX-License-Identifier: MIT */
/* The default executor: a pool of POSIX threads. parallel.c decides who runs a loop; this runs it. */
#ifndef LOCUS_POOL_H
#define LOCUS_POOL_H

#include <locus/parallel.h>

#define LOCUS_MAX_THREADS 1024

/* Processors that this process may use; at least 1, at most LOCUS_MAX_THREADS. */
size_t locus_processors(void);

typedef struct locus_pool_loop {
    size_t threads; /* of the pool, the caller included: missing workers are started; the same in all loops at a time */
    size_t workers; /* the most that may take part in this loop; each number given to its task is below */
    size_t count;
    locus_task *task;
    void *context;
} locus_pool_loop;

/* From any number of threads at once. The caller takes part in its loop as worker 0. */
void locus_pool_run(const locus_pool_loop *loop);

/* While no loop runs (parallel.c sees to it): */
void locus_pool_stop(void);    /* joins the workers */
void locus_pool_abandon(void); /* in the child of a fork: the workers stayed with the parent */

#endif
