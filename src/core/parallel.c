/* SPDX-License-Identifier: MIT */
/* The one parallel loop: run by the call's executor or the process's (executor.h), with as many workers as the call
 * that the thread is in may have (call.h). Loops of several threads run at once, nested ones inline. */
#include <locus/parallel.h>

#include "core/call.h"
#include "core/executor.h"
#include "core/pool.h"

size_t locus_threads(void) {
    const locus_call *call = locus_this_thread.call;
    return call ? call->workers : locus_executor_concurrency();
}

typedef struct marked_task {
    locus_task *task;
    void *context;
    locus_call *call; /* whose loop it is, or NULL */
} marked_task;

/* A piece is part of its loop's call on every thread, and left out once that is cancelled. The thread is marked for the
 * time of it: a loop begun in the meantime is a nested one, whoever the executor is. */
static void run_marked(void *context, size_t index, size_t worker) {
    const marked_task *marked = context;
    if (marked->call && marked->call->asks && locus_call_over(marked->call))
        return;
    locus_thread *self = &locus_this_thread;
    const locus_thread before = *self;
    *self = (locus_thread){marked->call, true};
    marked->task(marked->context, index, worker);
    *self = before;
}

/* A loop for fewer workers than the executor has: each of these is one piece of its loop, and takes the next piece of
 * the caller's until none is left. */
typedef struct limited_loop {
    marked_task marked;
    size_t count;
    atomic_size_t next;
} limited_loop;

static void run_limited(void *context, size_t worker, size_t thread) {
    limited_loop *loop = context;
    (void)thread;
    for (size_t i; (i = atomic_fetch_add(&loop->next, 1)) < loop->count;)
        run_marked(&loop->marked, i, worker);
}

static void run_on(const locus_executor *own, size_t limit, size_t count, const marked_task *marked) {
    limited_loop loop = {.marked = *marked, .count = count};
    if (limit < own->concurrency)
        own->run(own->state, limit < count ? limit : count, run_limited, &loop);
    else
        own->run(own->state, count, run_marked, &loop.marked);
}

static void run_on_default(const locus_executor *executor, size_t limit, size_t count, marked_task *marked) {
    const locus_pool_loop pooled = {locus_executor_pool_threads(), limit, count, run_marked, marked};
    if (executor->run)
        run_on(executor, limit, count, marked);
    else
        locus_pool_run(&pooled);
}

static void run_nested(size_t count, locus_task *task, void *context) {
    for (size_t i = 0; i < count && !locus_call_cancelled(); i++)
        task(context, i, 0);
}

void locus_parallel_for_at_most(size_t workers, size_t count, locus_task *task, void *context) {
    locus_call *call = locus_this_thread.call;
    const size_t most = call ? call->workers : SIZE_MAX, limit = workers < most ? workers : most;
    marked_task marked = {task, context, call};
    if (locus_this_thread.inside || count == 0) {
        run_nested(count, task, context);
        return;
    }
    const locus_executor *executor = locus_executor_enter();
    if (call && call->executor)
        run_on(call->executor, limit > 0 ? limit : 1, count, &marked);
    else
        run_on_default(executor, limit > 0 ? limit : 1, count, &marked);
    locus_executor_leave();
}

void locus_parallel_for(size_t count, locus_task *task, void *context) {
    locus_parallel_for_at_most(SIZE_MAX, count, task, context);
}
