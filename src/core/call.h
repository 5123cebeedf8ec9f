/* SPDX-License-Identifier: MIT */
/* The call that a thread works on: how many workers it may have, whose, and whether it should end early. A public entry
 * begins it on its own stack and ends it; in between all loops and sizes below ask it through this header, so that
 * inner code needs no further arguments. Tasks of a call's loops work on the call, whichever thread runs them.
 *
 *   locus_call call;
 *   status = locus_call_begin(&call, execution, error);          reads the caller's struct
 *   if (status != LOCUS_OK) return status;                       nothing was begun
 *   status = locus_call_fit(&call, …);                           no more workers than the workspace has room for
 *   …                                                            loops; locus_threads() is the call's number of workers
 *   return locus_call_end(&call, status, error);                 INTERRUPTED if it was cancelled
 *
 * The number of threads may be changed by another thread at any time, so a call settles its concurrency once, when it
 * begins. A call with a lent workspace takes as many workers as the workspace has room for, so that one that was asked
 * for stays good, however many threads there are by then.
 *
 * A cancelled call's loops skip the pieces that are left, and those that follow all of theirs; so serial code between
 * loops must bear what a skipped loop did not write. Pieces that take long ask locus_call_cancelled() on their way.
 *
 * Where code without a status calls somebody who may fail (the gradient of an encoding from outside), the failure is
 * kept in the call, whose end reports it. */
#ifndef LOCUS_CALL_H
#define LOCUS_CALL_H

#include "core/executor.h"

#include <locus/execution.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct locus_call {
    struct locus_call *outer; /* the call from inside of which this one was made, or NULL */
    size_t workers;           /* at least 1 */
    const locus_executor *executor;
    locus_workspace workspace;
    locus_cancelled *cancelled;
    void *context;
    bool asks;           /* this call, or one around it, may be cancelled */
    atomic_bool over;    /* it was */
    atomic_int failed;   /* whether something failed inside that has no status of its own: 1, and 2 once it is said */
    locus_error failure; /* what; not set before */
} locus_call;

/* `execution` as a caller gave it, NULL included. ARGUMENT, UNSUPPORTED: see core/sized.h; ARGUMENT for an executor
 * that cannot run; INTERRUPTED if it is cancelled already. */
LOCUS_MUST_USE locus_status locus_call_begin(locus_call *call, const locus_execution *execution, locus_error *error);

/* Keeps a failure for the end of this thread's call; of several the first. Work goes on. */
void locus_call_fail(const locus_error *error);

/* `status` of what was done, or of what was kept by locus_call_fail, or INTERRUPTED where pieces were left out:
 * whatever else failed may come of that. */
LOCUS_MUST_USE locus_status locus_call_end(locus_call *call, locus_status status, locus_error *error);

/* Bytes that a call needs with locus_threads() workers; not fewer with more of them. */
typedef size_t locus_call_bytes(const void *context);

/* Holds the call to the most workers that its workspace has room for. MEMORY where it has none for one worker, naming
 * `ask`, the function that says how much is needed; ARGUMENT if it is needed and not aligned. */
LOCUS_MUST_USE locus_status locus_call_fit(locus_call *call, locus_call_bytes *needed, const void *context,
                                           const char *ask, locus_error *error);

/* `needed` for a call that runs like this; 0 for an execution that a call would refuse. */
size_t locus_call_needs(const locus_execution *execution, locus_call_bytes *needed, const void *context);

/* Whether the work on `call`, which may be NULL, should stop: asks, unless the answer is known. */
bool locus_call_over(locus_call *call);

/* The same of this thread's call. */
static inline bool locus_call_cancelled(void) {
    locus_call *call = locus_this_thread.call;
    return call && call->asks && locus_call_over(call);
}

/* INTERRUPTED if it should stop: before what loops left behind is kept, or decides where anything is read. */
LOCUS_MUST_USE locus_status locus_call_check(locus_error *error);

/* From here on this thread's call cannot be cancelled: it is about to change what it could not change back. */
static inline void locus_call_commit(void) {
    locus_this_thread.call->asks = false;
}

#endif
