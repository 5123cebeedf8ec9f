/* SPDX-License-Identifier: MIT */
/* The parallel loop: every piece once, workers never shared, nesting, concurrent callers, other executors, forks. Made
 * to be run under the thread sanitizer as well. */
#include "core/pool.h"

#include <locus/parallel.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { MAX_WORKERS = 1024 };

/* Plain (not atomic) counts of pieces and of workers' scratch: a race on either is the sanitizer's to find. */
typedef struct record {
    unsigned *times;
    atomic_int busy[MAX_WORKERS];
    unsigned long scratch[MAX_WORKERS][8];
    atomic_bool shared;
} record;

static void note(void *context, size_t index, size_t worker) {
    record *r = context;
    if (worker >= locus_threads() || atomic_fetch_add(&r->busy[worker], 1) != 0)
        atomic_store(&r->shared, true);
    r->times[index]++;
    r->scratch[worker][0] += index;
    atomic_fetch_sub(&r->busy[worker], 1);
}

static void check_loop(size_t count) {
    record r = {.times = calloc(count + 1, sizeof(unsigned))};
    assert_non_null(r.times);
    locus_parallel_for(count, note, &r);
    unsigned long sum = 0;
    for (size_t i = 0; i < count; i++)
        assert_int_equal(r.times[i], 1);
    for (size_t w = 0; w < MAX_WORKERS; w++)
        sum += r.scratch[w][0];
    assert_int_equal(sum, count ? count * (count - 1) / 2 : 0);
    assert_false(atomic_load(&r.shared));
    free(r.times);
}

static void every_piece_runs_once(void **state) {
    (void)state;
    const size_t threads[] = {1, 2, 3, 8, 0}, counts[] = {0, 1, 2, 3, 7, 64, 1000, 100000};
    for (size_t t = 0; t < 5; t++) {
        assert_int_equal(locus_threads_set(threads[t]), LOCUS_OK);
        assert_true(threads[t] ? locus_threads() == threads[t] : locus_threads() >= 1);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            check_loop(counts[c]);
    }
}

static void many_short_loops_in_a_row(void **state) {
    (void)state;
    const size_t threads[] = {2, 4};
    for (size_t t = 0; t < 2; t++) {
        assert_int_equal(locus_threads_set(threads[t]), LOCUS_OK);
        for (size_t i = 0; i < 3000; i++)
            check_loop(2 + i % 9);
    }
}

/* After a pause the workers sleep: loops must wake them, and must end if the last piece ends long after the
 * caller's. */
static void slow_piece(void *context, size_t index, size_t worker) {
    (void)worker;
    struct timespec pause = {0, index == 0 ? 3000000 : 100000};
    nanosleep(&pause, NULL);
    atomic_fetch_add((atomic_int *)context, 1);
}

static void sleepers_wake(void **state) {
    (void)state;
    assert_int_equal(locus_threads_set(3), LOCUS_OK);
    for (int i = 0; i < 20; i++) {
        atomic_int done = 0;
        locus_parallel_for(5, slow_piece, &done);
        assert_int_equal(atomic_load(&done), 5);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

/* Two pieces that wait for each other end only if they really run at the same time. */
typedef struct meeting {
    atomic_int arrived;
    atomic_bool missed;
} meeting;

static void meet(void *context, size_t index, size_t worker) {
    meeting *m = context;
    (void)index;
    (void)worker;
    atomic_fetch_add(&m->arrived, 1);
    for (int i = 0; i < 20000 && atomic_load(&m->arrived) < 2; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    if (atomic_load(&m->arrived) < 2)
        atomic_store(&m->missed, true);
}

static void pieces_run_at_the_same_time(void **state) {
    (void)state;
    assert_int_equal(locus_threads_set(2), LOCUS_OK);
    for (int i = 0; i < 10; i++) {
        meeting m = {0};
        locus_parallel_for(2, meet, &m);
        assert_false(atomic_load(&m.missed));
    }
}

/* A loop of fewer workers than there are has helpers all the same. A number may be lost to a worker that comes late to
 * the loop before. */
static void limited_loops_are_helped(void **state) {
    (void)state;
    bool met = false;
    assert_int_equal(locus_threads_set(4), LOCUS_OK);
    for (int i = 0; i < 3 && !met; i++) {
        meeting m = {0};
        locus_parallel_for_at_most(2, 2, meet, &m);
        met = !atomic_load(&m.missed);
    }
    assert_true(met);
}

static int64_t nanoseconds_of(clockid_t clock) {
    struct timespec now;
    assert_int_equal(clock_gettime(clock, &now), 0);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Between loops workers sleep: they take no processor's time, however busy or idle the machine is. */
static void idle_workers_sleep(void **state) {
    (void)state;
    assert_int_equal(locus_threads_set(8), LOCUS_OK);
    check_loop(100);
    const int64_t before = nanoseconds_of(CLOCK_PROCESS_CPUTIME_ID);
    nanosleep(&(struct timespec){0, 100000000}, NULL);
    assert_true(nanoseconds_of(CLOCK_PROCESS_CPUTIME_ID) - before < 25000000);
}

/* ---- nesting ---- */

typedef struct nest {
    atomic_size_t inner, elsewhere, other_worker;
    pthread_t outer[16];
} nest;

typedef struct nest_inner {
    nest *all;
    pthread_t outer;
} nest_inner;

static void inner_piece(void *context, size_t index, size_t worker) {
    nest_inner *in = context;
    (void)index;
    atomic_fetch_add(&in->all->inner, 1);
    atomic_fetch_add(&in->all->elsewhere, !pthread_equal(in->outer, pthread_self()));
    atomic_fetch_add(&in->all->other_worker, worker != 0);
}

static void outer_piece(void *context, size_t index, size_t worker) {
    nest_inner in = {context, pthread_self()};
    (void)index;
    (void)worker;
    locus_parallel_for(10, inner_piece, &in);
}

static void nested_loops_run_inline(void **state) {
    (void)state;
    const size_t threads[] = {1, 2, 4};
    for (size_t t = 0; t < 3; t++) {
        assert_int_equal(locus_threads_set(threads[t]), LOCUS_OK);
        nest all = {0};
        locus_parallel_for(16, outer_piece, &all);
        assert_int_equal(atomic_load(&all.inner), 160);
        assert_int_equal(atomic_load(&all.elsewhere), 0);
        assert_int_equal(atomic_load(&all.other_worker), 0);
    }
}

static void change_from_inside(void *context, size_t index, size_t worker) {
    (void)index;
    (void)worker;
    if (locus_threads_set(2) != LOCUS_ERROR_ARGUMENT || locus_executor_set(NULL, NULL) != LOCUS_ERROR_ARGUMENT)
        atomic_store((atomic_bool *)context, true);
}

static void settings_are_refused_inside_a_loop(void **state) {
    (void)state;
    atomic_bool wrong = false;
    locus_parallel_for(4, change_from_inside, &wrong);
    assert_false(atomic_load(&wrong));
}

/* ---- concurrent callers ---- */

enum { CALLERS = 20 }; /* more than the pool has places for */

typedef struct caller {
    size_t workers; /* of its loops */
    bool wrong;
    unsigned long sum[MAX_WORKERS];
    atomic_int busy[MAX_WORKERS];
} caller;

static void own_piece(void *context, size_t index, size_t worker) {
    caller *c = context;
    if (worker >= c->workers || atomic_fetch_add(&c->busy[worker], 1) != 0)
        c->wrong = true;
    c->sum[worker] += index;
    atomic_fetch_sub(&c->busy[worker], 1);
}

static void *call_often(void *context) {
    caller *c = context;
    for (int i = 0; i < 300; i++) {
        const size_t count = 20 + (size_t)i;
        memset(c->sum, 0, sizeof c->sum);
        locus_parallel_for_at_most(c->workers, count, own_piece, c);
        unsigned long sum = 0;
        for (size_t w = 0; w < MAX_WORKERS; w++)
            sum += c->sum[w];
        c->wrong = c->wrong || sum != count * (count - 1) / 2;
    }
    return NULL;
}

/* Each has its own workers, of numbers below its own limit. */
static void callers_run_at_once(void **state) {
    (void)state;
    assert_int_equal(locus_threads_set(5), LOCUS_OK);
    pthread_t threads[CALLERS];
    caller *callers = calloc(CALLERS, sizeof *callers);
    assert_non_null(callers);
    for (size_t i = 0; i < CALLERS; i++) {
        callers[i].workers = 1 + i % 7;
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (size_t i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_false(callers[i].wrong);
    }
    free(callers);
}

/* Loops of two threads whose pieces wait for each other. */
static void *meet_in_a_loop(void *context) {
    locus_parallel_for(1 + locus_threads() % 2, meet, context);
    return NULL;
}

static void no_caller_waits_for_another(void **state) {
    (void)state;
    const size_t threads[] = {1, 2};
    for (int i = 0; i < 20; i++) {
        assert_int_equal(locus_threads_set(threads[i % 2]), LOCUS_OK);
        meeting m = {0};
        pthread_t other;
        assert_int_equal(pthread_create(&other, NULL, meet_in_a_loop, &m), 0);
        meet_in_a_loop(&m);
        assert_int_equal(pthread_join(other, NULL), 0);
        assert_false(atomic_load(&m.missed));
    }
}

/* Workers come to the aid of a loop that was there before they were free, and stay while there are pieces. */
typedef struct relay {
    atomic_int helped;
} relay;

static void long_piece(void *context, size_t index, size_t worker) {
    relay *r = context;
    (void)index;
    nanosleep(&(struct timespec){0, 1000000}, NULL);
    atomic_fetch_add(&r->helped, worker != 0);
}

static void *run_relay(void *context) {
    locus_parallel_for(60, long_piece, context);
    return NULL;
}

static void workers_go_from_loop_to_loop(void **state) {
    (void)state;
    assert_int_equal(locus_threads_set(2), LOCUS_OK);
    relay relays[2] = {0};
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, run_relay, &relays[0]), 0);
    run_relay(&relays[1]);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_true(atomic_load(&relays[0].helped) + atomic_load(&relays[1].helped) > 0);
}

/* ---- other executors ---- */

static void run_backwards(void *state, size_t count, locus_task *task, void *context) {
    (*(int *)state)++;
    for (size_t i = count; i-- > 0;)
        task(context, i, i % 5);
}

static void executor_can_be_replaced(void **state) {
    (void)state;
    int calls = 0;
    locus_executor mine = {sizeof mine, run_backwards, 5, &calls};
    assert_int_equal(locus_threads_set(2), LOCUS_OK);
    assert_int_equal(locus_executor_set(&mine, NULL), LOCUS_OK);
    assert_int_equal(locus_threads(), 5);
    check_loop(100);
    assert_int_equal(calls, 1);
    nest all = {0};
    locus_parallel_for(3, outer_piece, &all); /* the nested loops do not come to the executor */
    assert_int_equal(calls, 2);
    assert_int_equal(atomic_load(&all.inner), 30);
    assert_int_equal(locus_threads_set(4), LOCUS_OK); /* the pool's, for later */
    assert_int_equal(locus_threads(), 5);
    assert_int_equal(locus_executor_set(NULL, NULL), LOCUS_OK);
    assert_int_equal(locus_threads(), 4);
    check_loop(100);
    assert_int_equal(calls, 2);
}

static void bad_settings_are_refused(void **state) {
    (void)state;
    assert_int_equal(locus_executor_set(&(locus_executor){sizeof(locus_executor), NULL, 1, NULL}, NULL),
                     LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_executor_set(&(locus_executor){sizeof(locus_executor), run_backwards, 0, NULL}, NULL),
                     LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_threads_set(1025), LOCUS_ERROR_ARGUMENT);
    check_loop(10);
}

/* ---- processes ---- */

/* The exit status of a child that runs `body`; it ends by exit, so that the pool's end is tested too. */
static int in_child(int (*body)(void)) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        exit(body());
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int loops_in_child(void) {
    for (int i = 0; i < 50; i++) {
        atomic_int done = 0;
        locus_parallel_for(9, slow_piece, &done);
        if (atomic_load(&done) != 9)
            return 1;
    }
    return locus_threads() == 3 ? 0 : 2;
}

#if defined(__SANITIZE_THREAD__)
#define UNDER_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_THREAD_SANITIZER 1
#endif
#endif
#ifndef UNDER_THREAD_SANITIZER
#define UNDER_THREAD_SANITIZER 0
#endif

/* The thread sanitizer does not follow threads that a forked child starts. */
static void a_forked_child_has_a_pool_of_its_own(void **state) {
    (void)state;
    assert_int_equal(locus_threads_set(3), LOCUS_OK);
    check_loop(100);
    if (!UNDER_THREAD_SANITIZER)
        assert_int_equal(in_child(loops_in_child), 0);
    check_loop(100);
}

/* Settings and forks wait for the loops of others, which come back to life behind them, in parent and child. */
static atomic_bool over;

static void *call_until_over(void *context) {
    caller *c = context;
    while (!atomic_load(&over))
        call_often(c);
    return NULL;
}

static void settings_and_forks_come_between_loops(void **state) {
    (void)state;
    pthread_t threads[3];
    caller *callers = calloc(3, sizeof *callers);
    assert_non_null(callers);
    assert_int_equal(locus_threads_set(3), LOCUS_OK);
    atomic_store(&over, false);
    for (size_t i = 0; i < 3; i++) {
        callers[i].workers = i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, call_until_over, &callers[i]), 0);
    }
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(locus_threads_set(2 + i % 3), LOCUS_OK);
        assert_int_equal(locus_threads_set(3), LOCUS_OK);
        if (!UNDER_THREAD_SANITIZER)
            assert_int_equal(in_child(loops_in_child), 0);
    }
    atomic_store(&over, true);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_false(callers[i].wrong);
    }
    free(callers);
}

/* ---- the environment ---- */

static int run_as(char *word, const char *text) {
    char *command[] = {"/proc/self/exe", word, NULL};
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (text)
            setenv("LOCUS_THREADS", text, 1);
        else
            unsetenv("LOCUS_THREADS");
        execv(command[0], command);
        _exit(255);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void environment_sets_the_threads(void **state) {
    (void)state;
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
    int all = (int)locus_threads() & 0xFF;
    assert_int_equal(run_as("threads", "5"), 5);
    assert_int_equal(run_as("threads", "1"), 1);
    const char *const senseless[] = {NULL, "", "0", "-3", "two", "4x", "1025", "99999999999999999999"};
    for (size_t i = 0; i < sizeof senseless / sizeof *senseless; i++)
        assert_int_equal(run_as("threads", senseless[i]), all);
}

static bool is_late;

static void add_piece(void *sum, size_t piece, size_t worker) {
    (void)worker;
    atomic_fetch_add((atomic_size_t *)sum, piece);
}

static size_t sum_of_loop(void) {
    atomic_size_t sum = 0;
    locus_parallel_for(4, add_piece, &sum);
    return atomic_load(&sum);
}

/* The library ends its threads before this, which has them made again. */
__attribute__((destructor(101))) static void loop_at_the_end(void) {
    if (is_late) {
        alarm(20);
        const size_t sum = sum_of_loop();
        _exit(locus_threads_set(1) == LOCUS_OK && sum == 6 ? 42 : 41);
    }
}

static void loops_run_after_the_end(void **state) {
    (void)state;
    if (UNDER_THREAD_SANITIZER)
        skip(); /* it is over before */
    assert_int_equal(run_as("late", "3"), 42);
}

/* As many threads as there may be, and one more; none is made before there is work. */
static void test_most_threads(void **state) {
    (void)state;
    const size_t before = locus_threads();
    assert_int_equal(locus_threads_set(LOCUS_MAX_THREADS), LOCUS_OK);
    assert_int_equal(locus_threads(), LOCUS_MAX_THREADS);
    assert_int_equal(locus_threads_set(LOCUS_MAX_THREADS + 1), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_threads(), LOCUS_MAX_THREADS);
    assert_int_equal(locus_threads_set(before), LOCUS_OK);
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "threads") == 0) /* what run_as starts */
        return (int)locus_threads();
    if (count > 1 && strcmp(arguments[1], "late") == 0) {
        is_late = true;
        return sum_of_loop() == 6 ? 0 : 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_most_threads),
        cmocka_unit_test(loops_run_after_the_end),
        cmocka_unit_test(every_piece_runs_once),
        cmocka_unit_test(many_short_loops_in_a_row),
        cmocka_unit_test(sleepers_wake),
        cmocka_unit_test(pieces_run_at_the_same_time),
        cmocka_unit_test(limited_loops_are_helped),
        cmocka_unit_test(idle_workers_sleep),
        cmocka_unit_test(nested_loops_run_inline),
        cmocka_unit_test(settings_are_refused_inside_a_loop),
        cmocka_unit_test(callers_run_at_once),
        cmocka_unit_test(no_caller_waits_for_another),
        cmocka_unit_test(workers_go_from_loop_to_loop),
        cmocka_unit_test(executor_can_be_replaced),
        cmocka_unit_test(bad_settings_are_refused),
        cmocka_unit_test(a_forked_child_has_a_pool_of_its_own),
        cmocka_unit_test(settings_and_forks_come_between_loops),
        cmocka_unit_test(environment_sets_the_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
