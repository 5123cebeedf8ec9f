/* SPDX-License-Identifier: MIT */
/* How a call runs: the memory that it is lent, how many threads work on it and whose, and whether it should end early.
 *
 *   locus_execution execution = locus_execution_default();
 *   execution.threads = 1;
 *   execution.workspace = …;                                    of locus_apply_workspace(…, &execution) bytes
 *   status = locus_apply(plan, role, direction, x, y, &execution, &error);
 *
 * A call accepts NULL for all of its defaults. Calls of different threads run at once. */
#ifndef LOCUS_EXECUTION_H
#define LOCUS_EXECUTION_H

#include <locus/parallel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that a caller lends to a call; asked for by the …_workspace functions. Aligned to LOCUS_ALIGNMENT. Calls that
 * run at once need workspaces of their own. */
typedef struct locus_workspace {
    void *data;
    size_t bytes;
} locus_workspace;

/* Nonzero: the call should end. Asked every few hundred microseconds and oftener, by every thread that works on the
 * call, several at once; so it should answer within a microsecond. It may not call the library. */
typedef int32_t locus_cancelled(void *context);

/* Start from locus_execution_default(), or from bytes that are 0 and `size`. What is 0 or NULL is that of the call
 * that this one is made from inside of (in a task of its loops), else the process's.
 *
 * A call that is cancelled returns LOCUS_ERROR_INTERRUPTED some milliseconds later at most. What it wrote to outputs
 * and gradients is then undefined; plans can be used again, and caches keep the tokens that they had. A call that had
 * done its work by then returns LOCUS_OK. */
typedef struct locus_execution {
    size_t size;                    /* sizeof(locus_execution): the struct may grow at its end in later versions */
    locus_workspace workspace;      /* {NULL, 0} where none is needed */
    size_t threads;                 /* at most so many workers, the caller included; 0: as many as the executor has */
    const locus_executor *executor; /* NULL: the process's (locus_executor_set, locus_threads_set) */
    locus_cancelled *cancelled;     /* NULL: never */
    void *context;                  /* for `cancelled` */
} locus_execution;

static inline locus_execution locus_execution_default(void) {
    const locus_execution execution = {sizeof(locus_execution), {NULL, 0}, 0, NULL, NULL, NULL};
    return execution;
}

/* All defaults, in a workspace. */
static inline locus_execution locus_execution_in(locus_workspace workspace) {
    const locus_execution execution = {sizeof(locus_execution), workspace, 0, NULL, NULL, NULL};
    return execution;
}

/* A ready answer: `flag`, an int32_t, is not 0. To cancel a call, set it from any thread or from a signal handler:
 *
 *   static int32_t stop;
 *   execution.cancelled = locus_flag_raised, execution.context = &stop;     … meanwhile: locus_flag_raise(&stop);
 *
 * One flag may serve many calls. Setting it to 0 makes it ready again, when no call looks at it any more. */
LOCUS_API int32_t locus_flag_raised(void *flag);
LOCUS_API void locus_flag_raise(int32_t *flag);

#ifdef __cplusplus
}
#endif
#endif
