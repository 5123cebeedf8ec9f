/* SPDX-License-Identifier: MIT */
/* Who runs the process's loops: an executor of the caller's, or the default pool. Settings, the gate, fork and exit.
 *
 * The gate is open while loops run. Who changes the executor or the threads, and a fork, closes it: that lets loops
 * that run come to their end and holds back those that begin. So the child of a fork, which starts with a pool of its
 * own when it first needs one, finds no loop half done. A fork from inside a task cannot wait for itself; its child may
 * only go on to exec or _exit. At exit the workers are joined, unless a loop is still running then. */
#include "core/executor.h"

#include "core/environment.h"
#include "core/error.h"
#include "core/pool.h"
#include "core/sized.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

_Thread_local locus_thread locus_this_thread;

static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static void prepare(void);
static locus_executor executor;    /* run is NULL: the default pool */
static atomic_size_t pool_threads; /* configured for the pool */
static atomic_size_t concurrency;  /* of the executor in use */

size_t locus_executor_concurrency(void) {
    pthread_once(&prepared, prepare);
    return atomic_load(&concurrency);
}

size_t locus_executor_pool_threads(void) {
    return atomic_load(&pool_threads);
}

/* ---- the gate ---- */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* held by who closed it */
static pthread_mutex_t drain_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t drained = PTHREAD_COND_INITIALIZER;
static _Alignas(64) atomic_size_t running; /* loops, and for a moment some that find the gate closed */
static atomic_bool closed;

void locus_executor_leave(void) {
    if (atomic_fetch_sub(&running, 1) != 1 || !atomic_load(&closed))
        return;
    pthread_mutex_lock(&drain_lock);
    pthread_cond_signal(&drained);
    pthread_mutex_unlock(&drain_lock);
}

const locus_executor *locus_executor_enter(void) {
    pthread_once(&prepared, prepare);
    while (atomic_fetch_add(&running, 1), atomic_load(&closed)) {
        locus_executor_leave();
        pthread_mutex_lock(&gate); /* until it is opened */
        pthread_mutex_unlock(&gate);
    }
    return &executor;
}

static void close_gate(void) {
    pthread_mutex_lock(&gate);
    atomic_store(&closed, true);
    pthread_mutex_lock(&drain_lock);
    while (atomic_load(&running) > 0)
        pthread_cond_wait(&drained, &drain_lock);
    pthread_mutex_unlock(&drain_lock);
}

static void open_gate(void) {
    atomic_store(&closed, false);
    pthread_mutex_unlock(&gate);
}

/* ---- start, fork and exit ---- */

#if !defined(_WIN32) /* where nothing forks */
static void before_fork(void) {
    if (!locus_this_thread.inside)
        close_gate();
}

static void after_fork_parent(void) {
    if (!locus_this_thread.inside)
        open_gate();
}

/* Threads that were counted or that waited stayed with the parent. */
static void after_fork_child(void) {
    locus_pool_abandon();
    atomic_store(&running, 0);
    pthread_mutex_init(&drain_lock, NULL);
    pthread_cond_init(&drained, NULL);
    if (locus_this_thread.inside) {
        pthread_mutex_init(&gate, NULL);
        atomic_store(&closed, false);
    } else {
        open_gate();
    }
}
#endif

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
#if !defined(_WIN32)
    /* Where no handler can be registered (out of memory), only a child that goes on to run loops is hurt. */
    (void)pthread_atfork(before_fork, after_fork_parent, after_fork_child);
#endif
}

#if defined(__GNUC__)
__attribute__((destructor)) static void stop_at_exit(void) {
    if (locus_this_thread.inside || pthread_mutex_trylock(&gate) != 0)
        return;
    atomic_store(&closed, true);
    if (atomic_load(&running) == 0)
        locus_pool_stop();
    open_gate();
}
#endif

/* ---- settings ---- */

locus_status locus_executor_read(const locus_executor *given, const char *name, locus_executor *own,
                                 locus_error *error) {
    const locus_sized kind = {sizeof *own, sizeof *own, name};
    *own = (locus_executor){.size = sizeof *own};
    const locus_status status = locus_sized_read(own, &kind, given, error);
    if (status != LOCUS_OK || !given || (own->run && own->concurrency > 0))
        return status;
    return locus_fail(error, LOCUS_ERROR_ARGUMENT, name, "%s has no function to run loops, or a concurrency of 0",
                      name);
}

locus_status locus_executor_set(const locus_executor *replacement, locus_error *error) {
    locus_executor own;
    const locus_status status = locus_executor_read(replacement, "executor", &own, error);
    if (status != LOCUS_OK)
        return status;
    if (locus_this_thread.inside)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "executor",
                          "the executor cannot be replaced from inside a task of its loops");
    pthread_once(&prepared, prepare);
    close_gate();
    executor = own;
    atomic_store(&concurrency, replacement ? own.concurrency : atomic_load(&pool_threads));
    open_gate();
    return LOCUS_OK;
}

locus_status locus_threads_set(size_t threads) {
    if (locus_this_thread.inside || threads > LOCUS_MAX_THREADS)
        return LOCUS_ERROR_ARGUMENT;
    pthread_once(&prepared, prepare);
    size_t chosen = threads ? threads : locus_processors();
    close_gate();
    if (chosen != atomic_load(&pool_threads))
        locus_pool_stop();
    atomic_store(&pool_threads, chosen);
    if (!executor.run)
        atomic_store(&concurrency, chosen);
    open_gate();
    return LOCUS_OK;
}
