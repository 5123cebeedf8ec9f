/* SPDX-License-Identifier: MIT */
/* A call's concurrency is fixed once. A workspace that was asked for stays good whatever becomes of the number of
 * threads and of the executor: the call succeeds, with the same bits, and touches nothing behind the workspace. While
 * one thread turns the number of threads up and down, others bind, plan, apply and attend. */
#include "sanitized.h"
#include "threads_only.h"
#include "unit/kinds_hands.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include <cmocka.h>

enum { ROUNDS = SANITIZED(3, 12) };

/* ---- an executor that says how many workers it has, and uses every one of them ---- */

static void run_round(void *state, size_t count, locus_task *task, void *context) {
    const size_t concurrency = *(const size_t *)state;
    for (size_t i = count; i-- > 0;)
        task(context, i, concurrency - 1 - i % concurrency);
}

/* ---- tests ---- */

static void a_workspace_stays_good(void **state) {
    static const size_t threads[] = {64, 5, 1, 2};
    static size_t many = 24, two = 2;
    const locus_executor wide = {sizeof wide, run_round, many, &many}, narrow = {sizeof narrow, run_round, two, &two};
    const locus_dtype types[] = {LOCUS_FLOAT32, LOCUS_BFLOAT16};
    (void)state;
    for (size_t i = 0; i < 2 * HANDS_SUBJECTS; i += SANITIZED(2, 1)) {
        kinds_case test;
        hands reference, h, other;
        hands_subject(i / 2, &test);
        assert_int_equal(locus_threads_set(1), LOCUS_OK);
        hands_take(&reference, &test, types[(i + i / 2) % 2], NULL);
        assert_int_equal(hands_work(&reference, NULL), 0);
        assert_int_equal(locus_threads_set(2), LOCUS_OK);
        hands_take(&h, &test, types[(i + i / 2) % 2], NULL);
        for (size_t n = 0; n < 4; n++) {
            assert_int_equal(locus_threads_set(threads[n]), LOCUS_OK);
            assert_int_equal(hands_work(&h, NULL), 0);
            hands_same(&reference, &h);
        }
        assert_int_equal(locus_executor_set(&wide, NULL), LOCUS_OK);
        assert_int_equal(hands_work(&h, NULL), 0);
        hands_same(&reference, &h);
        assert_int_equal(locus_executor_set(&narrow, NULL), LOCUS_OK);
        hands_take(&other, &test, types[(i + i / 2) % 2], NULL);
        assert_int_equal(locus_executor_set(&wide, NULL), LOCUS_OK);
        assert_int_equal(hands_work(&other, NULL), 0);
        hands_same(&reference, &other);
        assert_int_equal(locus_executor_set(NULL, NULL), LOCUS_OK);
        hands_drop(&other);
        hands_drop(&h);
        hands_drop(&reference);
    }
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
}

static void a_workspace_too_small_for_one_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < HANDS_SUBJECTS; i++) {
        kinds_case test;
        hands h;
        locus_error error;
        hands_subject(i, &test);
        assert_int_equal(locus_threads_set(1), LOCUS_OK);
        hands_take(&h, &test, LOCUS_FLOAT32, NULL);
        assert_int_equal(locus_threads_set(7), LOCUS_OK);
        h.workspaces[HANDS_FORWARD].bytes--;
        assert_int_equal(hands_run(&h, HANDS_FORWARD, NULL, &error), LOCUS_ERROR_MEMORY);
        h.workspaces[HANDS_FORWARD].bytes++;
        assert_non_null(strstr(error.message, "for one thread"));
        assert_int_equal(locus_threads(), 7);
        hands_drop(&h);
    }
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
}

/* The number of threads goes up and down; bits stay, and so does what lies behind the workspaces. */
static atomic_bool over;

static void *turn(void *unused) {
    static const size_t threads[] = {1, 9, 2, 32, 3, 16};
    (void)unused;
    for (size_t i = 0; !atomic_load(&over); i++)
        if (locus_threads_set(threads[i % 6]) != LOCUS_OK)
            return &over;
    return NULL;
}

typedef struct caller {
    hands own;
    int failed;
} caller;

static void *work_on(void *argument) {
    caller *w = argument;
    for (int i = 0; i < ROUNDS; i++) {
        w->failed += hands_work(&w->own, NULL);
        w->failed += locus_binding_update(&w->own.world.binding, w->own.world.values, w->own.world.parameter_count,
                                          NULL) != LOCUS_OK;
        locus_plan_destroy(&w->own.world.plan);
        w->failed += locus_plan_create(&w->own.world.plan, w->own.world.binding, w->own.world.queries,
                                       w->own.world.keys, NULL) != LOCUS_OK;
    }
    return NULL;
}

static void threads_are_set_meanwhile(void **state) {
    (void)state;
    for (size_t i = 0; i < HANDS_SUBJECTS; i++) {
        kinds_case test;
        hands reference;
        caller callers[2];
        pthread_t turner, threads[2];
        void *left = NULL;
        hands_subject(i, &test);
        hands_take(&reference, &test, LOCUS_FLOAT32, NULL);
        assert_int_equal(hands_work(&reference, NULL), 0);
        atomic_store(&over, false);
        assert_int_equal(pthread_create(&turner, NULL, turn, NULL), 0);
        for (size_t w = 0; w < 2; w++) { /* asked for while the number turns */
            hands_take(&callers[w].own, &test, LOCUS_FLOAT32, NULL);
            callers[w].failed = 0;
        }
        for (size_t w = 0; w < 2; w++)
            assert_int_equal(pthread_create(&threads[w], NULL, work_on, &callers[w]), 0);
        for (size_t w = 0; w < 2; w++)
            assert_int_equal(pthread_join(threads[w], NULL), 0);
        atomic_store(&over, true);
        assert_int_equal(pthread_join(turner, &left), 0);
        assert_null(left);
        for (size_t w = 0; w < 2; w++) {
            assert_int_equal(callers[w].failed, 0);
            hands_same(&reference, &callers[w].own);
            hands_drop(&callers[w].own);
        }
        hands_drop(&reference);
    }
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
}

/* ---- the loop itself ---- */

typedef struct record {
    size_t limit;
    atomic_int times[1000], busy[64];
    atomic_bool wrong;
} record;

static void note(void *context, size_t index, size_t worker) {
    record *r = context;
    if (worker >= r->limit || atomic_fetch_add(&r->busy[worker], 1) != 0)
        atomic_store(&r->wrong, true);
    atomic_fetch_add(&r->times[index], 1);
    if (worker < r->limit)
        atomic_fetch_sub(&r->busy[worker], 1);
}

static void workers_stay_below_the_limit(void **state) {
    static record r;
    static size_t many = 24;
    const locus_executor wide = {sizeof wide, run_round, many, &many};
    (void)state;
    for (int own = 0; own < 2; own++) {
        assert_int_equal(own ? locus_executor_set(&wide, NULL) : locus_threads_set(8), LOCUS_OK);
        for (r.limit = 1; r.limit <= 30; r.limit += 3)
            for (size_t count = 0; count <= 1000; count = count * 3 + 1) {
                memset(r.times, 0, sizeof r.times);
                locus_parallel_for_at_most(r.limit, count, note, &r);
                for (size_t i = 0; i < 1000; i++)
                    assert_int_equal(r.times[i], i < count);
            }
        assert_false(atomic_load(&r.wrong));
    }
    assert_int_equal(locus_executor_set(NULL, NULL), LOCUS_OK);
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_stay_below_the_limit),
        cmocka_unit_test(a_workspace_stays_good),
        cmocka_unit_test(a_workspace_too_small_for_one_is_refused),
        cmocka_unit_test(threads_are_set_meanwhile),
    };
    threads_only("*th*"); /* the loop itself, and what is set meanwhile */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
