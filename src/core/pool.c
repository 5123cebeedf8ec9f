/* SPDX-License-Identifier: MIT */
/* A pool of POSIX threads for loops of a few microseconds and more, several of them at once.
 *
 * A caller takes one of a few places for loops, publishes its loop there and works on it; idle workers look through the
 * places and help where there are pieces left and a number free. Callers never wait for each other or for a worker that
 * took nothing; one that finds no place runs its loop alone.
 *
 * A loop is published in `state`: 32 bits of generation, 32 bits of the next piece to take. Threads take pieces by
 * compare-and-swap on the whole word, so a thread that comes late, with an older generation in hand, fails and takes
 * nothing: the caller need not wait for sleepers, only for the pieces that were taken (`done`).
 *
 *   caller   take a place · close state (next = CLOSED) · write the loop's fields · open state (next = 0) · count
 *            `published` up · wake · work · wait for done = count · give the place back
 *   worker   read `published` · look through the places: take a number, take pieces until none is left · where no loop
 *            wanted help: wait until `published` is another
 *
 * A worker may read fields of the next loop while it still holds the old generation. That is harmless: it read them
 * after `state` was closed (fields are released and acquired), so its compare-and-swap fails. So is a number that it
 * takes from the next loop: that loop has one helper fewer.
 *
 * Who waits spins for a short while, for loops that follow each other closely, then sleeps. Before sleeping it
 * announces itself and looks again, and who wakes publishes first and looks for sleepers then (both in sequential
 * consistency), so no wake-up is lost. With more threads than processors nobody spins. */
#define _GNU_SOURCE      /* sched_getaffinity */
#define _DARWIN_C_SOURCE /* _SC_NPROCESSORS_ONLN */
#include "core/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#if !defined(_WIN32)
#include <unistd.h>
#endif

enum { PLACES = 16, SPIN_NANOSECONDS = 60000, SPIN_BURST = 32 };

#define CLOSED UINT32_MAX
#define MAX_PIECES (UINT32_MAX - 1)

typedef struct place {
    _Alignas(64) _Atomic uint64_t state; /* generation << 32 | next piece */
    _Atomic(locus_task *) task;
    _Atomic(void *) context;
    _Atomic size_t base;            /* index of piece 0 */
    _Atomic uint32_t count, share;  /* pieces, and how many parts are made of what is left */
    _Atomic uint32_t workers;       /* that it may have, the caller included; 0: all, each under its own number */
    _Alignas(64) _Atomic bool held; /* by a caller */
    _Atomic uint32_t numbers;       /* that were given to workers */
    _Alignas(64) _Atomic uint32_t done;
    _Atomic bool caller_sleeps;
} place;

static place places[PLACES];
static _Alignas(64) _Atomic uint32_t published; /* loops, ever; and stops */
static _Alignas(64) _Atomic uint32_t sleepers;
static atomic_bool stopping;
static _Thread_local uint32_t favourite; /* this caller's place of last time */

static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER, start_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t loop_published = PTHREAD_COND_INITIALIZER, loop_finished = PTHREAD_COND_INITIALIZER;

static pthread_t workers[LOCUS_MAX_THREADS];
static atomic_size_t started; /* workers that exist */
static atomic_size_t wanted;  /* workers that were asked for: a failed start is not tried again for every loop */
static atomic_bool spins;     /* at most one thread for each processor */

size_t locus_processors(void) {
#if defined(_WIN32)
    const long online = pthread_num_processors_np();
#else
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
#endif
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

static bool spin_until(bool (*ready)(const place *, uint32_t), const place *at, uint32_t argument) {
    if (ready(at, argument))
        return true;
    if (!atomic_load_explicit(&spins, memory_order_relaxed))
        return false;
    for (int64_t end = nanoseconds() + SPIN_NANOSECONDS; nanoseconds() < end;)
        for (int i = 0; i < SPIN_BURST; i++) {
            if (ready(at, argument))
                return true;
            pause_briefly();
        }
    return false;
}

/* ---- taking pieces ---- */

/* Guided: a sixteenth of a thread's share of what is left, so that large loops of tiny pieces cost few exchanges and
 * the last pieces still go one by one. */
static bool take(place *at, uint32_t generation, uint32_t *first, uint32_t *taken, uint32_t *count) {
    uint64_t seen = atomic_load(&at->state);
    for (;;) {
        uint32_t next = (uint32_t)seen;
        if ((uint32_t)(seen >> 32) != generation || next == CLOSED)
            return false;
        *count = atomic_load_explicit(&at->count, memory_order_acquire);
        if (next >= *count)
            return false;
        uint32_t part = (*count - next) / atomic_load_explicit(&at->share, memory_order_acquire);
        *first = next;
        *taken = part ? part : 1;
        if (atomic_compare_exchange_weak(&at->state, &seen, seen + *taken))
            return true;
    }
}

static void work(place *at, uint32_t generation, size_t worker) {
    uint32_t first, taken, count;
    while (take(at, generation, &first, &taken, &count)) {
        locus_task *task = atomic_load_explicit(&at->task, memory_order_relaxed);
        void *context = atomic_load_explicit(&at->context, memory_order_relaxed);
        size_t base = atomic_load_explicit(&at->base, memory_order_relaxed);
        for (uint32_t i = 0; i < taken; i++)
            task(context, base + first + i, worker);
        if (atomic_fetch_add(&at->done, taken) + taken == count && atomic_load(&at->caller_sleeps)) {
            pthread_mutex_lock(&sleep_lock);
            pthread_cond_broadcast(&loop_finished);
            pthread_mutex_unlock(&sleep_lock);
        }
    }
}

/* ---- workers ---- */

/* The number under which a worker may help; 0: none is free. A loop for all has room for each worker's own. */
static size_t number_in(place *at, size_t own) {
    const uint32_t most = atomic_load_explicit(&at->workers, memory_order_acquire);
    if (most == 0)
        return own;
    if (atomic_load(&at->numbers) + 1 >= most)
        return 0;
    const uint32_t number = atomic_fetch_add(&at->numbers, 1) + 1;
    return number < most ? number : 0;
}

/* Helps the first loop that wants it, from place `*from` on: callers' loops follow each other in one place. */
static bool help(size_t own, size_t *from) {
    for (size_t i = 0; i < PLACES; i++) {
        place *at = &places[(*from + i) % PLACES];
        const uint64_t state = atomic_load(&at->state);
        const uint32_t next = (uint32_t)state;
        if (next == CLOSED || next >= atomic_load_explicit(&at->count, memory_order_acquire))
            continue;
        const size_t number = number_in(at, own);
        if (number == 0)
            continue;
        work(at, (uint32_t)(state >> 32), number);
        *from = (*from + i) % PLACES;
        return true;
    }
    return false;
}

static bool has_news(const place *none, uint32_t seen) {
    (void)none;
    return atomic_load(&published) != seen;
}

static void wait_for_news(uint32_t seen) {
    if (spin_until(has_news, NULL, seen))
        return;
    pthread_mutex_lock(&sleep_lock);
    atomic_fetch_add(&sleepers, 1);
    while (!has_news(NULL, seen))
        pthread_cond_wait(&loop_published, &sleep_lock);
    atomic_fetch_sub(&sleepers, 1);
    pthread_mutex_unlock(&sleep_lock);
}

static void *worker_main(void *number) {
    for (size_t from = 0;;) {
        const uint32_t seen = atomic_load(&published);
        if (atomic_load(&stopping))
            return NULL;
        if (!help((size_t)(uintptr_t)number, &from))
            wait_for_news(seen);
    }
}

/* `have` are there; how many there are then. */
static size_t create_workers(size_t have, size_t count) {
    while (have < count && pthread_create(&workers[have], NULL, worker_main, (void *)(uintptr_t)(have + 1)) == 0)
        have++;
    return have;
}

/* Signals go to the caller's threads: a worker is nobody's place to run a handler. */
static size_t create_without_signals(size_t have, size_t count) {
#if defined(_WIN32)
    return create_workers(have, count);
#else
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    have = create_workers(have, count);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return have;
#endif
}

static void start_workers(size_t count) {
    pthread_mutex_lock(&start_lock);
    size_t have = atomic_load(&started);
    if (atomic_load(&wanted) != count)
        have = create_without_signals(have, count);
    atomic_store(&started, have);
    atomic_store(&spins, count < locus_processors());
    atomic_store(&wanted, count);
    pthread_mutex_unlock(&start_lock);
}

void locus_pool_stop(void) {
    atomic_store(&stopping, true);
    pthread_mutex_lock(&sleep_lock);
    atomic_fetch_add(&published, 1);
    pthread_cond_broadcast(&loop_published);
    pthread_mutex_unlock(&sleep_lock);
    for (size_t i = 0; i < atomic_load(&started); i++)
        pthread_join(workers[i], NULL);
    atomic_store(&started, 0);
    atomic_store(&wanted, 0);
    atomic_store(&stopping, false);
}

/* The old locks and conditions may name threads that do not exist here: they are made anew rather than destroyed. */
void locus_pool_abandon(void) {
    atomic_store(&started, 0);
    atomic_store(&wanted, 0);
    atomic_store(&sleepers, 0);
    for (size_t i = 0; i < PLACES; i++) {
        atomic_store(&places[i].held, false);
        atomic_store(&places[i].caller_sleeps, false);
    }
    pthread_mutex_init(&sleep_lock, NULL);
    pthread_mutex_init(&start_lock, NULL);
    pthread_cond_init(&loop_published, NULL);
    pthread_cond_init(&loop_finished, NULL);
}

/* ---- the caller ---- */

/* NULL: all are held. */
static place *take_place(void) {
    for (uint32_t i = 0; i < PLACES; i++) {
        place *at = &places[(favourite + i) % PLACES];
        if (!atomic_load_explicit(&at->held, memory_order_relaxed) && !atomic_exchange(&at->held, true)) {
            favourite = (favourite + i) % PLACES;
            return at;
        }
    }
    return NULL;
}

typedef struct published_loop {
    locus_task *task;
    void *context;
    size_t base;
    uint32_t count, workers;
} published_loop;

static uint32_t publish(place *at, const published_loop *loop) {
    const uint32_t generation = (uint32_t)(atomic_load(&at->state) >> 32) + 1;
    const uint32_t all = (uint32_t)atomic_load(&started) + 1, most = loop->workers < all ? loop->workers : all;
    atomic_store(&at->state, (uint64_t)generation << 32 | CLOSED);
    atomic_store_explicit(&at->task, loop->task, memory_order_release);
    atomic_store_explicit(&at->context, loop->context, memory_order_release);
    atomic_store_explicit(&at->base, loop->base, memory_order_release);
    atomic_store_explicit(&at->share, 16 * most, memory_order_release);
    atomic_store_explicit(&at->workers, most < all ? most : 0, memory_order_release);
    atomic_store_explicit(&at->count, loop->count, memory_order_release);
    atomic_store_explicit(&at->numbers, 0, memory_order_release);
    atomic_store_explicit(&at->done, 0, memory_order_release);
    atomic_store(&at->state, (uint64_t)generation << 32);
    atomic_fetch_add(&published, 1);
    return generation;
}

static void wake_sleepers(uint32_t helpers) {
    uint32_t asleep = atomic_load(&sleepers);
    if (asleep == 0)
        return;
    pthread_mutex_lock(&sleep_lock);
    if (helpers >= asleep)
        pthread_cond_broadcast(&loop_published);
    else
        for (uint32_t i = 0; i < helpers; i++)
            pthread_cond_signal(&loop_published);
    pthread_mutex_unlock(&sleep_lock);
}

static bool is_done(const place *at, uint32_t count) {
    return atomic_load(&at->done) == count;
}

static void wait_until_done(place *at, uint32_t count) {
    if (spin_until(is_done, at, count))
        return;
    pthread_mutex_lock(&sleep_lock);
    atomic_store(&at->caller_sleeps, true);
    while (!is_done(at, count))
        pthread_cond_wait(&loop_finished, &sleep_lock);
    atomic_store(&at->caller_sleeps, false);
    pthread_mutex_unlock(&sleep_lock);
}

void locus_pool_run(const locus_pool_loop *loop) {
    const bool alone = loop->threads < 2 || loop->workers < 2 || loop->count < 2;
    if (!alone && atomic_load(&wanted) != loop->threads - 1)
        start_workers(loop->threads - 1);
    place *at = alone || atomic_load(&started) == 0 ? NULL : take_place();
    if (!at) {
        locus_task *task = loop->task;
        void *context = loop->context;
        for (size_t i = 0, count = loop->count; i < count; i++)
            task(context, i, 0);
        return;
    }
    const uint32_t most = loop->workers < LOCUS_MAX_THREADS ? (uint32_t)loop->workers : LOCUS_MAX_THREADS;
    for (size_t base = 0; base < loop->count;) {
        const size_t left = loop->count - base;
        const published_loop part = {loop->task, loop->context, base, left < MAX_PIECES ? (uint32_t)left : MAX_PIECES,
                                     most};
        const uint32_t generation = publish(at, &part);
        wake_sleepers((part.count < most ? part.count : most) - 1);
        work(at, generation, 0);
        wait_until_done(at, part.count);
        base += part.count;
    }
    atomic_store(&at->held, false);
}
