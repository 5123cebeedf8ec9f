/* SPDX-License-Identifier: MIT */
/* The one parallel loop of the library. The default executor is a small pool of POSIX threads, started when first
 * used; it has no part in any OpenMP runtime, so it cannot clash with one. A caller may put its own pool in place. */
#ifndef LOCUS_PARALLEL_H
#define LOCUS_PARALLEL_H

#include <locus/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One piece of a parallel loop. `worker` is below the executor's concurrency; no two pieces that run at the same
 * time have the same worker, so it may index scratch memory. Results must depend on `index` only. */
typedef void locus_task(void *context, size_t index, size_t worker);

typedef struct locus_executor {
    size_t size; /* sizeof(locus_executor): the struct may grow at its end */
    /* Runs task(context, i, worker) once for every i < count, in any order, and returns when all are done. Called by
     * several threads at once where these run loops at once: workers are told apart within one loop only. */
    void (*run)(void *state, size_t count, locus_task *task, void *context);
    size_t concurrency; /* at least 1: how many pieces may run at the same time */
    void *state;
} locus_executor;

/* Replaces the executor; NULL restores the default pool. Waits for loops that run; a call that has begun keeps to the
 * concurrency that it began with, whichever executor its later loops find. ARGUMENT for one without `run` or with a
 * concurrency of 0, and from inside a task. */
LOCUS_API LOCUS_MUST_USE locus_status locus_executor_set(const locus_executor *executor, locus_error *error);

/* Number of threads of the default pool: 0 means one for each processor that the process may use. At most 1024.
 * The environment variable LOCUS_THREADS sets it at start. At any time, from any thread, but not from inside a task:
 * waits for loops that run, and calls that have begun keep to the concurrency that they began with. */
LOCUS_API LOCUS_MUST_USE locus_status locus_threads_set(size_t threads);

/* The concurrency of the executor in use. */
LOCUS_API size_t locus_threads(void);

/* Runs a loop on the executor in use. A call from inside a task runs its pieces one after another as that worker's
 * own work (worker 0 of a nested loop). Loops of different threads run at once: idle threads of the pool help any of
 * them, and each caller works on its own, so none waits for another. */
LOCUS_API void locus_parallel_for(size_t count, locus_task *task, void *context);

/* The same with every `worker` below `workers` (at least 1), whatever the executor's concurrency is by then: for loops
 * over scratch memory that was taken for so many workers, at some earlier locus_threads(). */
LOCUS_API void locus_parallel_for_at_most(size_t workers, size_t count, locus_task *task, void *context);

#ifdef __cplusplus
}
#endif
#endif
