/* SPDX-License-Identifier: MIT */
/* A pool of POSIX threads for loops of a few microseconds and more.
 *
 * A loop is published in `state`: 32 bits of generation, 32 bits of the next piece to take. Threads take pieces by
 * compare-and-swap on the whole word, so a thread that comes late, with an older generation in hand, fails and takes
 * nothing: the caller need not wait for sleepers, only for the pieces that were taken (`done`).
 *
 *   caller   close state (next = CLOSED) · write the loop's fields · open state (next = 0) · wake · work
 *            · wait for done = count
 *   worker   see a new generation · read the fields · take pieces until none is left · look for the next generation
 *
 * A worker may read fields of the next loop while it still holds the old generation. That is harmless: it read them
 * after `state` was closed (fields are released and acquired), so its compare-and-swap fails.
 *
 * Who waits spins for a short while, for loops that follow each other closely, then sleeps. Before sleeping it
 * announces itself and looks again, and who wakes publishes first and looks for sleepers then (both in sequential
 * consistency), so no wake-up is lost. With more threads than processors nobody spins. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "core/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SPIN_NANOSECONDS = 60000, SPIN_BURST = 32 };

#define CLOSED UINT32_MAX
#define MAX_PIECES (UINT32_MAX - 1)

typedef struct loop_state {
    _Alignas(64) _Atomic uint64_t state; /* generation << 32 | next piece */
    _Atomic(locus_task *) task;
    _Atomic(void *) context;
    _Atomic size_t base; /* index of piece 0 */
    _Atomic uint32_t count, share;
    _Atomic bool stopping;
    _Alignas(64) _Atomic uint32_t done;
    _Alignas(64) _Atomic uint32_t sleepers;
    _Atomic bool caller_sleeps;
} loop_state;

static loop_state loop = {.state = CLOSED};
static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t loop_published = PTHREAD_COND_INITIALIZER, loop_finished = PTHREAD_COND_INITIALIZER;

static pthread_t workers[LOCUS_MAX_THREADS];
static size_t started;    /* workers that exist */
static size_t wanted;     /* workers that were asked for: a failed start is not tried again for every loop */
static atomic_bool spins; /* at most one thread for each processor */

size_t locus_processors(void) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    size_t count = online < 1 ? 1 : (size_t)online;
#if defined(__linux__)
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable) == 0)
        count = (size_t)CPU_COUNT(&usable);
#endif
    return count < 1 ? 1 : count > LOCUS_MAX_THREADS ? LOCUS_MAX_THREADS : count;
}

static void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

static int64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool spin_until(bool (*ready)(uint32_t), uint32_t argument) {
    if (ready(argument))
        return true;
    if (!atomic_load_explicit(&spins, memory_order_relaxed))
        return false;
    for (int64_t end = nanoseconds() + SPIN_NANOSECONDS; nanoseconds() < end;)
        for (int i = 0; i < SPIN_BURST; i++) {
            if (ready(argument))
                return true;
            pause_briefly();
        }
    return false;
}

/* ---- taking pieces ---- */

/* Guided: a sixteenth of a thread's share of what is left, so that large loops of tiny pieces cost few exchanges and
 * the last pieces still go one by one. */
static bool take(uint32_t generation, uint32_t *first, uint32_t *taken, uint32_t *count) {
    uint64_t seen = atomic_load(&loop.state);
    for (;;) {
        uint32_t next = (uint32_t)seen;
        if ((uint32_t)(seen >> 32) != generation || next == CLOSED)
            return false;
        *count = atomic_load_explicit(&loop.count, memory_order_acquire);
        if (next >= *count)
            return false;
        uint32_t part = (*count - next) / atomic_load_explicit(&loop.share, memory_order_acquire);
        *first = next;
        *taken = part ? part : 1;
        if (atomic_compare_exchange_weak(&loop.state, &seen, seen + *taken))
            return true;
    }
}

static void work(uint32_t generation, size_t worker) {
    uint32_t first, taken, count;
    while (take(generation, &first, &taken, &count)) {
        locus_task *task = atomic_load_explicit(&loop.task, memory_order_relaxed);
        void *context = atomic_load_explicit(&loop.context, memory_order_relaxed);
        size_t base = atomic_load_explicit(&loop.base, memory_order_relaxed);
        for (uint32_t i = 0; i < taken; i++)
            task(context, base + first + i, worker);
        if (atomic_fetch_add(&loop.done, taken) + taken == count && atomic_load(&loop.caller_sleeps)) {
            pthread_mutex_lock(&sleep_lock);
            pthread_cond_signal(&loop_finished);
            pthread_mutex_unlock(&sleep_lock);
        }
    }
}

/* ---- workers ---- */

static bool has_news(uint32_t generation) {
    uint64_t state = atomic_load(&loop.state);
    return ((uint32_t)(state >> 32) != generation && (uint32_t)state != CLOSED) || atomic_load(&loop.stopping);
}

static void wait_for_news(uint32_t generation) {
    if (spin_until(has_news, generation))
        return;
    pthread_mutex_lock(&sleep_lock);
    atomic_fetch_add(&loop.sleepers, 1);
    while (!has_news(generation))
        pthread_cond_wait(&loop_published, &sleep_lock);
    atomic_fetch_sub(&loop.sleepers, 1);
    pthread_mutex_unlock(&sleep_lock);
}

/* No loop is open when a worker is born or when `stopping` is set, so generations that it never saw are over. */
static void *worker_main(void *number) {
    uint32_t generation = (uint32_t)(atomic_load(&loop.state) >> 32) - 1;
    for (;;) {
        wait_for_news(generation);
        if (atomic_load(&loop.stopping))
            return NULL;
        uint64_t state = atomic_load(&loop.state);
        if ((uint32_t)state == CLOSED) /* the next loop is being written: look again, or it would be missed */
            continue;
        generation = (uint32_t)(state >> 32);
        work(generation, (size_t)(uintptr_t)number);
    }
}

/* Signals go to the caller's threads: a worker is nobody's place to run a handler. */
static void start_workers(size_t count) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < count &&
           pthread_create(&workers[started], NULL, worker_main, (void *)(uintptr_t)(started + 1)) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    wanted = count;
    atomic_store(&spins, count < locus_processors());
}

void locus_pool_stop(void) {
    atomic_store(&loop.stopping, true);
    pthread_mutex_lock(&sleep_lock);
    pthread_cond_broadcast(&loop_published);
    pthread_mutex_unlock(&sleep_lock);
    for (size_t i = 0; i < started; i++)
        pthread_join(workers[i], NULL);
    started = wanted = 0;
    atomic_store(&loop.stopping, false);
}

/* The old lock and conditions may name threads that do not exist here: they are made anew rather than destroyed. */
void locus_pool_abandon(void) {
    started = wanted = 0;
    atomic_store(&loop.sleepers, 0);
    atomic_store(&loop.caller_sleeps, false);
    pthread_mutex_init(&sleep_lock, NULL);
    pthread_cond_init(&loop_published, NULL);
    pthread_cond_init(&loop_finished, NULL);
}

/* ---- the caller ---- */

static uint32_t publish(size_t base, uint32_t count, locus_task *task, void *context) {
    uint32_t generation = (uint32_t)(atomic_load(&loop.state) >> 32) + 1;
    atomic_store(&loop.state, (uint64_t)generation << 32 | CLOSED);
    atomic_store_explicit(&loop.task, task, memory_order_release);
    atomic_store_explicit(&loop.context, context, memory_order_release);
    atomic_store_explicit(&loop.base, base, memory_order_release);
    atomic_store_explicit(&loop.share, (uint32_t)(16 * (started + 1)), memory_order_release);
    atomic_store_explicit(&loop.count, count, memory_order_release);
    atomic_store_explicit(&loop.done, 0, memory_order_release);
    atomic_store(&loop.state, (uint64_t)generation << 32);
    return generation;
}

static void wake_sleepers(uint32_t helpers) {
    uint32_t sleepers = atomic_load(&loop.sleepers);
    if (sleepers == 0)
        return;
    pthread_mutex_lock(&sleep_lock);
    if (helpers >= sleepers)
        pthread_cond_broadcast(&loop_published);
    else
        for (uint32_t i = 0; i < helpers; i++)
            pthread_cond_signal(&loop_published);
    pthread_mutex_unlock(&sleep_lock);
}

static bool is_done(uint32_t count) {
    return atomic_load(&loop.done) == count;
}

static void wait_until_done(uint32_t count) {
    if (spin_until(is_done, count))
        return;
    pthread_mutex_lock(&sleep_lock);
    atomic_store(&loop.caller_sleeps, true);
    while (!is_done(count))
        pthread_cond_wait(&loop_finished, &sleep_lock);
    atomic_store(&loop.caller_sleeps, false);
    pthread_mutex_unlock(&sleep_lock);
}

void locus_pool_run(size_t threads, size_t count, locus_task *task, void *context) {
    if (threads > 1 && count > 1 && wanted != threads - 1)
        start_workers(threads - 1);
    if (started == 0 || count < 2) {
        for (size_t i = 0; i < count; i++)
            task(context, i, 0);
        return;
    }
    for (size_t base = 0; base < count;) {
        uint32_t part = count - base < MAX_PIECES ? (uint32_t)(count - base) : MAX_PIECES;
        uint32_t generation = publish(base, part, task, context);
        wake_sleepers(part - 1);
        work(generation, 0);
        wait_until_done(part);
        base += part;
    }
}
