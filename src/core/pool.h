/* SPDX-License-Identifier: MIT */
/* The default executor: a pool of POSIX threads. parallel.c decides who runs a loop; this runs it. */
#ifndef LOCUS_POOL_H
#define LOCUS_POOL_H

#include <locus/parallel.h>

#define LOCUS_MAX_THREADS 1024

/* Processors that this process may use; at least 1, at most LOCUS_MAX_THREADS. */
size_t locus_processors(void);

/* All of these are called by one thread at a time (parallel.c holds a lock). */
void locus_pool_run(size_t threads, size_t count, locus_task *task, void *context); /* starts missing workers */
void locus_pool_stop(void);                                                         /* joins the workers */
void locus_pool_abandon(void); /* in the child of a fork: the workers stayed with the parent */

#endif
