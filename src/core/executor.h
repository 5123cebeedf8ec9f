/* SPDX-License-Identifier: MIT */
/* The process's executor, for parallel.c: it stays as it is between enter and leave. */
#ifndef LOCUS_EXECUTOR_H
#define LOCUS_EXECUTOR_H

#include <locus/parallel.h>
#include <stdbool.h>

/* Reached without a look at the dynamic linker's tables of names. */
#if defined(__ELF__)
#define LOCUS_HIDDEN __attribute__((visibility("hidden")))
#else
#define LOCUS_HIDDEN
#endif

/* What this thread is doing. */
typedef struct locus_thread {
    struct locus_call *call; /* the call that it works on (call.h), or NULL */
    bool inside;             /* a task: what would have to wait for loops to end is refused */
} locus_thread;
extern LOCUS_HIDDEN _Thread_local locus_thread locus_this_thread;

/* Around a loop. Where `run` is NULL, the default pool is to run it, with so many threads. */
const locus_executor *locus_executor_enter(void);
size_t locus_executor_pool_threads(void);
void locus_executor_leave(void);

/* What a caller gave as `name`, at its size: ARGUMENT without a function or concurrency. `given` NULL: `own` has
 * neither. */
LOCUS_MUST_USE locus_status locus_executor_read(const locus_executor *given, const char *name, locus_executor *own,
                                                locus_error *error);

/* How many workers a loop may have, by the process's settings. */
size_t locus_executor_concurrency(void);

#endif
