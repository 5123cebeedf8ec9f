/* SPDX-License-Identifier: MIT */
/* The one parallel loop: who runs it (the caller's executor or the default pool); one loop at a time, nested ones
 * inline; and how many workers a thread's loops may have.
 *
 * `gate` serialises loops from different threads, changes of the executor, and forks: a fork waits until no loop runs,
 * and the child starts with a pool of its own when it first needs one. A fork from inside a task cannot wait for
 * itself; its child may only go on to exec or _exit. At exit the workers are joined, unless a loop is still running
 * then. */
#include <locus/parallel.h>

#include "core/concurrency.h"
#include "core/environment.h"
#include "core/pool.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static locus_executor executor;    /* run is NULL: the default pool */
static atomic_size_t pool_threads; /* configured for the pool */
static atomic_size_t concurrency;  /* of the executor in use */
static _Thread_local bool inside;  /* this thread is running a task */
static _Thread_local size_t held;  /* what a call holds this thread's loops to; 0: the executor's concurrency */

/* ---- start, fork and exit ---- */

static void before_fork(void) {
    if (!inside)
        pthread_mutex_lock(&gate);
}

static void after_fork_parent(void) {
    if (!inside)
        pthread_mutex_unlock(&gate);
}

static void after_fork_child(void) {
    locus_pool_abandon();
    if (inside)
        pthread_mutex_init(&gate, NULL);
    else
        pthread_mutex_unlock(&gate);
}

/* LOCUS_THREADS, if it is a number from 1 to LOCUS_MAX_THREADS; else one thread for each processor. */
static size_t default_threads(void) {
    const char *text = getenv("LOCUS_THREADS");
    const size_t threads = text ? locus_environment_threads(text) : 0;
    return threads ? threads : locus_processors();
}

static void prepare(void) {
    size_t threads = default_threads();
    atomic_store(&pool_threads, threads);
    atomic_store(&concurrency, threads);
    /* Where no handler can be registered (out of memory), only a child that goes on to run loops is hurt. */
    (void)pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

#if defined(__GNUC__)
__attribute__((destructor)) static void stop_at_exit(void) {
    if (inside || pthread_mutex_trylock(&gate) != 0)
        return;
    locus_pool_stop();
    pthread_mutex_unlock(&gate);
}
#endif

/* ---- settings ---- */

locus_status locus_executor_set(const locus_executor *replacement) {
    if (inside || (replacement && (!replacement->run || replacement->concurrency < 1)))
        return LOCUS_ERROR_ARGUMENT;
    pthread_once(&prepared, prepare);
    pthread_mutex_lock(&gate);
    executor = replacement ? *replacement : (locus_executor){0};
    atomic_store(&concurrency, replacement ? replacement->concurrency : atomic_load(&pool_threads));
    pthread_mutex_unlock(&gate);
    return LOCUS_OK;
}

locus_status locus_threads_set(size_t threads) {
    if (inside || threads > LOCUS_MAX_THREADS)
        return LOCUS_ERROR_ARGUMENT;
    pthread_once(&prepared, prepare);
    size_t chosen = threads ? threads : locus_processors();
    pthread_mutex_lock(&gate);
    if (chosen != atomic_load(&pool_threads))
        locus_pool_stop();
    atomic_store(&pool_threads, chosen);
    if (!executor.run)
        atomic_store(&concurrency, chosen);
    pthread_mutex_unlock(&gate);
    return LOCUS_OK;
}

size_t locus_threads(void) {
    if (held > 0)
        return held;
    pthread_once(&prepared, prepare);
    return atomic_load(&concurrency);
}

size_t locus_concurrency_hold(size_t workers) {
    const size_t before = held;
    held = workers;
    return before;
}

static size_t bytes_with(size_t workers, locus_concurrency_bytes *needed, const void *context) {
    const size_t before = locus_concurrency_hold(workers);
    const size_t bytes = needed(context);
    locus_concurrency_hold(before);
    return bytes;
}

size_t locus_concurrency_fit(size_t bytes, locus_concurrency_bytes *needed, const void *context, size_t *before) {
    size_t most = locus_threads();
    if (bytes_with(most, needed, context) > bytes) {
        const size_t least = bytes_with(1, needed, context);
        if (least > bytes)
            return least;
        size_t fits = 1; /* and `most` does not */
        while (most - fits > 1) {
            const size_t middle = fits + (most - fits) / 2;
            *(bytes_with(middle, needed, context) <= bytes ? &fits : &most) = middle;
        }
        most = fits;
    }
    *before = locus_concurrency_hold(most);
    return 0;
}

/* ---- the loop ---- */

typedef struct marked_task {
    locus_task *task;
    void *context;
} marked_task;

/* Marks the thread for the time of a piece: a loop begun in the meantime is a nested one, whoever the executor is. */
static void run_marked(void *context, size_t index, size_t worker) {
    const marked_task *marked = context;
    bool before = inside;
    inside = true;
    marked->task(marked->context, index, worker);
    inside = before;
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

/* With the gate closed. */
static void execute(size_t count, locus_task *task, void *context) {
    if (executor.run)
        executor.run(executor.state, count, task, context);
    else
        locus_pool_run(atomic_load(&pool_threads), count, task, context);
}

void locus_parallel_for_at_most(size_t workers, size_t count, locus_task *task, void *context) {
    if (inside || count == 0) {
        for (size_t i = 0; i < count; i++)
            task(context, i, 0);
        return;
    }
    limited_loop loop = {.marked = {task, context}, .count = count};
    const size_t limit = held > 0 && held < workers ? held : workers > 0 ? workers : 1;
    pthread_once(&prepared, prepare);
    pthread_mutex_lock(&gate);
    if (limit < atomic_load(&concurrency))
        execute(limit < count ? limit : count, run_limited, &loop);
    else
        execute(count, run_marked, &loop.marked);
    pthread_mutex_unlock(&gate);
}

void locus_parallel_for(size_t count, locus_task *task, void *context) {
    locus_parallel_for_at_most(held > 0 ? held : SIZE_MAX, count, task, context);
}
