/* SPDX-License-Identifier: MIT */
/* How a call runs, said by call: at most so many threads, an executor of its own, calls of several threads at once, and
 * an early end. A call that is cancelled wherever it asks says so, leaks nothing, and leaves its plan as good as it
 * was: the next call has the bits of the one that nobody disturbed. So are plans, bindings and initial values made.
 * Caches: test_cache_cancel.c. */
#include "kind_of.h"
#include "sanitized.h"
#include "threads_only.h"
#include "unit/kinds_hands.h"
#include "unit/plan_fingerprint.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum {
    ROUNDS = SANITIZED(1, 4),
    LONG = SANITIZED(4000, 20000),
    PLANNED = SANITIZED(600, 9000),
    TYPES = SANITIZED(1, 2)
};

/* ---- an executor that takes notes ---- */

typedef struct notes {
    size_t concurrency;
    size_t loops, widest; /* pieces of a loop, at most */
} notes;

/* From the last piece to the first, with every number that there is. */
static void run_noted(void *state, size_t count, locus_task *task, void *context) {
    notes *taken = state;
    taken->loops++;
    taken->widest = count > taken->widest ? count : taken->widest;
    for (size_t i = count; i-- > 0;)
        task(context, i, taken->concurrency - 1 - i % taken->concurrency);
}

static void an_executor_by_call(void **state) {
    notes own = {.concurrency = 7}, process = {.concurrency = 3};
    const locus_executor executor = {sizeof executor, run_noted, 7, &own},
                         other = {sizeof other, run_noted, 3, &process};
    (void)state;
    for (size_t i = 0; i < HANDS_SUBJECTS; i++) {
        kinds_case test;
        hands reference, h, two;
        locus_execution execution = locus_execution_default();
        hands_subject(i, &test);
        assert_int_equal(locus_threads_set(1), LOCUS_OK);
        hands_take(&reference, &test, LOCUS_FLOAT32, NULL);
        assert_int_equal(hands_work(&reference, NULL), 0);
        assert_int_equal(locus_executor_set(&other, NULL), LOCUS_OK);
        execution.executor = &executor;
        hands_take(&h, &test, LOCUS_FLOAT32, &execution); /* plans are made on the process's */
        own = (notes){.concurrency = 7};
        process = (notes){.concurrency = 3};
        assert_int_equal(hands_work(&h, &execution), 0);
        hands_same(&reference, &h);
        assert_true(own.widest > 2);
        assert_int_equal(process.loops, 0);
        execution.threads = 2; /* of the seven: two pieces, each of which takes one of the loop's after the other */
        hands_take(&two, &test, LOCUS_FLOAT32, &execution);
        own = (notes){.concurrency = 7};
        assert_int_equal(hands_work(&two, &execution), 0);
        hands_same(&reference, &two);
        assert_int_equal(own.widest, 2);
        execution.executor = NULL;
        process = (notes){.concurrency = 3};
        assert_int_equal(hands_work(&two, &execution), 0);
        hands_same(&reference, &two);
        assert_int_equal(process.widest, 2);
        assert_int_equal(locus_executor_set(NULL, NULL), LOCUS_OK);
        hands_drop(&two);
        hands_drop(&h);
        hands_drop(&reference);
    }
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
}

/* The numbers that tasks see, which index scratch memory, stay below the limit, whoever runs them. */
static void scratch_is_that_of_the_limit(void **state) {
    notes own = {.concurrency = 7};
    const locus_executor executor = {sizeof executor, run_noted, 7, &own};
    (void)state;
    for (size_t i = 0; i < HANDS_SUBJECTS; i++) {
        kinds_case test;
        hands one, many;
        locus_execution execution = locus_execution_default();
        hands_subject(i, &test);
        execution.threads = 1;
        hands_take(&one, &test, LOCUS_FLOAT32, &execution);
        execution.executor = &executor;
        execution.threads = 0;
        hands_take(&many, &test, LOCUS_FLOAT32, &execution);
        assert_true(one.workspaces[HANDS_FORWARD].bytes < many.workspaces[HANDS_FORWARD].bytes);
        assert_int_equal(hands_work(&many, &execution), 0);
        assert_int_equal(hands_work(&one, &execution), 0); /* fits the one that the workspace has room for */
        execution.threads = 1;
        assert_int_equal(hands_work(&one, &execution), 0); /* hands_drop looks behind the workspace */
        hands_same(&one, &many);
        hands_drop(&many);
        hands_drop(&one);
    }
}

/* ---- who works is who asks ---- */

typedef struct witness {
    pthread_mutex_t lock;
    pthread_t threads[8];
    size_t count, asked, at; /* `at`: the question that is answered with yes, from 1 on; 0: none */
} witness;

static int32_t bear_witness(void *context) {
    witness *w = context;
    const pthread_t self = pthread_self();
    size_t i = 0;
    pthread_mutex_lock(&w->lock);
    while (i < w->count && !pthread_equal(w->threads[i], self))
        i++;
    if (i == w->count && i < 8)
        w->threads[w->count++] = self;
    const bool yes = ++w->asked == w->at;
    pthread_mutex_unlock(&w->lock);
    return yes;
}

static void one_thread_is_the_callers(void **state) {
    witness w = {.lock = PTHREAD_MUTEX_INITIALIZER};
    (void)state;
    assert_int_equal(locus_threads_set(6), LOCUS_OK);
    for (size_t i = 0; i < HANDS_SUBJECTS; i++) {
        kinds_case test;
        hands h;
        locus_execution execution = locus_execution_default();
        hands_subject(i, &test);
        execution.threads = 1;
        execution.cancelled = bear_witness;
        execution.context = &w;
        hands_take(&h, &test, LOCUS_FLOAT32, NULL);
        assert_int_equal(hands_work(&h, &execution), 0);
        hands_drop(&h);
    }
    assert_int_equal(w.count, 1);
    assert_true(pthread_equal(w.threads[0], pthread_self()));
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
}

/* ---- several at once ---- */

typedef struct caller {
    hands own;
    locus_execution execution;
    int failed;
} caller;

static void *work_on(void *argument) {
    caller *c = argument;
    for (int i = 0; i < ROUNDS; i++)
        c->failed += hands_work(&c->own, &c->execution);
    return NULL;
}

static void calls_of_several_threads(void **state) {
    enum { CALLERS = 5 };
    (void)state;
    assert_int_equal(locus_threads_set(4), LOCUS_OK);
    for (size_t i = 0; i < HANDS_SUBJECTS; i++) {
        kinds_case test;
        hands reference;
        caller callers[CALLERS];
        pthread_t threads[CALLERS];
        hands_subject(i, &test);
        hands_take(&reference, &test, LOCUS_FLOAT32, NULL);
        assert_int_equal(hands_work(&reference, NULL), 0);
        for (size_t c = 0; c < CALLERS; c++) {
            callers[c] = (caller){.execution = locus_execution_default()};
            callers[c].execution.threads = c; /* 0: all */
            hands_take(&callers[c].own, &test, LOCUS_FLOAT32, &callers[c].execution);
        }
        for (size_t c = 0; c < CALLERS; c++)
            assert_int_equal(pthread_create(&threads[c], NULL, work_on, &callers[c]), 0);
        for (size_t c = 0; c < CALLERS; c++) {
            assert_int_equal(pthread_join(threads[c], NULL), 0);
            assert_int_equal(callers[c].failed, 0);
            hands_same(&reference, &callers[c].own);
            hands_drop(&callers[c].own);
        }
        hands_drop(&reference);
    }
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
}

/* ---- cancelled ---- */

/* Questions to answer with yes: the first, the last, and some between. */
static size_t next_question(size_t at, size_t count) {
    enum { FIRST = SANITIZED(4, 12), BETWEEN = SANITIZED(5, 16) };
    const size_t next = at + 1 + count / BETWEEN;
    return at < FIRST || at + 2 >= count ? at + 1 : next < count ? next : count - 1;
}

static void cancel_everywhere(hands *h, hands_call call) {
    witness w = {.lock = PTHREAD_MUTEX_INITIALIZER};
    locus_execution execution = locus_execution_default();
    locus_error error;
    execution.threads = 1;
    execution.cancelled = bear_witness;
    execution.context = &w;
    assert_int_equal(hands_run(h, call, &execution, NULL), LOCUS_OK);
    const size_t count = w.asked;
    assert_true(count >= 2);
    for (size_t at = 1; at <= count && !threads_alone(); at = next_question(at, count)) {
        w.asked = 0;
        w.at = at;
        assert_int_equal(hands_run(h, call, &execution, &error), LOCUS_ERROR_INTERRUPTED);
        assert_int_equal(w.asked, at); /* one yes is enough */
        assert_string_equal(error.message, "the call was cancelled before it was done");
    }
    assert_true(locus_threads() > 0); /* of the process again */
    execution.threads = 3;
    for (size_t at = 1; at < count; at = 2 * at + 1) { /* others may have asked in between */
        w.asked = 0;
        w.at = at;
        const locus_status status = hands_run(h, call, &execution, &error);
        assert_true(status == LOCUS_ERROR_INTERRUPTED || (status == LOCUS_OK && w.asked < at));
    }
}

static void a_call_of_any_threads_can_be_cancelled_wherever_it_asks(void **state) {
    const locus_dtype types[] = {LOCUS_FLOAT32, LOCUS_BFLOAT16};
    (void)state;
    assert_int_equal(locus_threads_set(3), LOCUS_OK);
    for (size_t i = 0; i < TYPES * HANDS_SUBJECTS; i++) {
        kinds_case test;
        hands reference, h;
        hands_subject(i / TYPES, &test);
        hands_take(&reference, &test, types[(i % TYPES + i / TYPES) % 2], NULL);
        assert_int_equal(hands_work(&reference, NULL), 0);
        hands_take(&h, &test, types[(i % TYPES + i / TYPES) % 2], NULL);
        for (int call = 0; call < HANDS_CALLS; call++) {
            assert_int_equal(hands_work(&h, NULL), 0);
            cancel_everywhere(&h, (hands_call)call);
        }
        assert_int_equal(hands_work(&h, NULL), 0);
        hands_same(&reference, &h);
        hands_drop(&h);
        hands_drop(&reference);
    }
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
}

static void a_raised_flag_touches_nothing(void **state) {
    int32_t flag = 0;
    kinds_case test;
    hands h;
    locus_execution execution = locus_execution_default();
    (void)state;
    hands_subject(0, &test);
    hands_take(&h, &test, LOCUS_FLOAT32, NULL);
    execution.cancelled = locus_flag_raised;
    execution.context = &flag;
    assert_int_equal(hands_work(&h, &execution), 0);
    locus_flag_raise(&flag);
    locus_tensor *output = &h.tensors[HANDS_O];
    memset(output->data, 0x77, locus_tensor_count(output) * sizeof(float));
    assert_int_equal(hands_run(&h, HANDS_FORWARD, &execution, NULL), LOCUS_ERROR_INTERRUPTED);
    for (size_t i = 0; i < locus_tensor_count(output) * sizeof(float); i++)
        assert_int_equal(((const unsigned char *)output->data)[i], 0x77);
    flag = 0;
    assert_int_equal(hands_work(&h, &execution), 0);
    hands_drop(&h);
}

/* From another thread, in the middle of long work. */
static void *raise_soon(void *flag) {
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    locus_flag_raise(flag);
    return NULL;
}

static void another_thread_cancels(void **state) {
    static const size_t long_ones[] = {LONG};
    kinds_case test;
    hands h;
    locus_execution execution = locus_execution_default();
    (void)state;
    hands_subject(0, &test);
    test.sequences = 1;
    test.query_lengths = long_ones;
    hands_take(&h, &test, LOCUS_FLOAT32, NULL);
    execution.threads = 1; /* so that it takes longer than the other thread waits, whatever the machine */
    execution.cancelled = locus_flag_raised;
    for (int call = HANDS_FORWARD; call <= HANDS_BACKWARD; call++) {
        int32_t flag = 0;
        pthread_t other;
        execution.context = &flag;
        assert_int_equal(pthread_create(&other, NULL, raise_soon, &flag), 0);
        assert_int_equal(hands_run(&h, (hands_call)call, &execution, NULL), LOCUS_ERROR_INTERRUPTED);
        assert_int_equal(pthread_join(other, NULL), 0);
    }
    hands_drop(&h);
}

/* Rounds without an end, whose loops have nothing to do once the call is over. */
static void rounds_can_be_cancelled(void **state) {
    kinds_case test;
    hands h;
    pthread_t other;
    int32_t flag = 0;
    locus_execution execution = locus_execution_default();
    (void)state;
    hands_subject(0, &test);
    test.spec = "rope";
    test.options.mask = LOCUS_MASK_FULL;
    test.options.kind = kind_of("clustered(clusters=2, iterations=1000000000000)");
    hands_take(&h, &test, LOCUS_FLOAT32, NULL);
    execution.cancelled = locus_flag_raised;
    execution.context = &flag;
    assert_int_equal(pthread_create(&other, NULL, raise_soon, &flag), 0);
    assert_int_equal(hands_run(&h, HANDS_FORWARD, &execution, NULL), LOCUS_ERROR_INTERRUPTED);
    assert_int_equal(pthread_join(other, NULL), 0);
    hands_drop(&h);
}

/* ---- plans ---- */

/* A plan, or with `plan` and another binding its refresh. */
static locus_status make_plan(const kinds_world *world, const locus_binding *other, const locus_execution *execution,
                              locus_plan **plan) {
    locus_plan_options options = locus_plan_options_default();
    options.execution = execution;
    return other ? locus_plan_refresh(plan, other, execution, NULL)
                 : locus_plan_create_with(plan, world->binding, world->queries, world->keys, &options, NULL);
}

static void cancel_plans(const kinds_world *world, const locus_binding *other) {
    witness w = {.lock = PTHREAD_MUTEX_INITIALIZER};
    locus_execution execution = locus_execution_default();
    locus_plan *plan = other ? locus_plan_retain(world->plan) : NULL;
    execution.threads = 1;
    execution.cancelled = bear_witness;
    execution.context = &w;
    assert_int_equal(make_plan(world, other, &execution, &plan), LOCUS_OK);
    locus_plan_destroy(&plan);
    const size_t count = w.asked;
    assert_true(count >= 2);
    for (w.at = 1; w.at <= count; w.at = next_question(w.at, count)) {
        w.asked = 0;
        plan = other ? locus_plan_retain(world->plan) : NULL;
        const locus_status status = make_plan(world, other, &execution, &plan);
        assert_int_equal(status, w.asked < w.at ? LOCUS_OK : LOCUS_ERROR_INTERRUPTED);
        if (status != LOCUS_OK)
            assert_ptr_equal(plan, other ? world->plan : NULL);
        locus_plan_destroy(&plan);
    }
}

static void plans_can_be_cancelled(void **state) {
    static const size_t lengths[] = {PLANNED, 30};
    const char *const specs[] = {"rope(pairs=half) + alibi", "algebraic(group=tree:2, decay=0.98)", "liere(group=seq)",
                                 "algebraic(group=seq)", "t5 + rope"};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        kinds_case test;
        kinds_world world;
        locus_binding *other = NULL;
        hands_subject(0, &test);
        test.spec = specs[i];
        test.sequences = 2;
        test.query_lengths = lengths;
        kinds_make(&world, &test);
        locus_plan_destroy(&world.plan);
        cancel_plans(&world, NULL); /* alone: what positions alone decide is made each time */
        assert_int_equal(make_plan(&world, NULL, NULL, &world.plan), LOCUS_OK);
        const size_t bytes = locus_plan_bytes(world.plan);
        cancel_plans(&world, NULL); /* beside a plan that shares it */
        assert_int_equal(
            locus_binding_create(&other, world.encoding, &world.shape, world.values, world.parameter_count, NULL),
            LOCUS_OK);
        cancel_plans(&world, other);
        assert_int_equal(locus_plan_bytes(world.plan), bytes);
        locus_binding_destroy(&other);
        kinds_free(&world);
    }
}

/* ---- initial values and bindings ---- */

static const char *const bound_specs[] = {"rope",
                                          "t5 + rope",
                                          "liere(group=seq)",
                                          "algebraic(group=seq, init=random)",
                                          "algebraic(group=tree:5, decay=learned:0.98)",
                                          "algebraic(group=seq, generator=householder)",
                                          "string(group=seq)"};
enum { BOUND_SPECS = sizeof bound_specs / sizeof *bound_specs };

/* A world whose values nobody has drawn yet, with the binding of other values. */
static void bound_world(kinds_world *world, kinds_case *test, size_t spec) {
    static const size_t lengths[] = {9};
    hands_subject(0, test);
    test->spec = bound_specs[spec];
    test->sequences = 1;
    test->query_lengths = lengths;
    kinds_make(world, test);
    for (size_t i = 0; i < world->parameter_count; i++)
        memset(world->values[i].data, 0, locus_tensor_count(&world->values[i]) * sizeof(double));
}

static locus_status draw_values(const kinds_world *world, const locus_execution *execution, locus_error *error) {
    return locus_encoding_initialise_with(world->encoding, &world->shape, 11, world->values, world->parameter_count,
                                          execution, error);
}

/* A binding, or with `before` its update. */
static locus_status bind_values(const kinds_world *world, const locus_binding *before, const locus_execution *execution,
                                locus_binding **binding, locus_error *error) {
    *binding = locus_binding_retain(before);
    return before ? locus_binding_update_with(binding, world->values, world->parameter_count, execution, error)
                  : locus_binding_create_with(binding, world->encoding, &world->shape, world->values,
                                              world->parameter_count, execution, error);
}

static uint64_t does(const kinds_world *world, const locus_binding *binding) {
    const plan_subject subject = {world->encoding, world->shape, world->T, world->N};
    locus_plan *plan = NULL;
    assert_int_equal(locus_plan_create(&plan, binding, world->queries, world->keys, NULL), LOCUS_OK);
    const uint64_t print = plan_fingerprint(plan, &subject);
    locus_plan_destroy(&plan);
    return print;
}

typedef struct meanwhile {
    const kinds_world *world;
    const locus_binding *binding;
    size_t asked, at; /* at which question another plan is made and used */
    uint64_t print;
} meanwhile;

static int32_t plan_meanwhile(void *context) {
    meanwhile *m = context;
    if (++m->asked == m->at)
        m->print = does(m->world, m->binding);
    return 0;
}

/* A binding's first plan, and another one in the midst of it: what the binding keeps for all of its plans is half
 * made then. */
static void a_first_plan_while_another_is_made(void **state) {
    static const size_t lengths[] = {130};
    kinds_case test;
    kinds_world world;
    size_t within = 0;
    (void)state;
    hands_subject(0, &test);
    test.spec = "rope(pairs=half) + alibi";
    test.sequences = 1;
    test.query_lengths = lengths;
    kinds_make(&world, &test);
    const uint64_t print = does(&world, world.binding);
    for (bool asked = true; asked;) {
        const plan_subject subject = {world.encoding, world.shape, world.T, world.N};
        meanwhile m = {.world = &world, .at = within + 1};
        locus_execution execution = locus_execution_default();
        locus_binding *binding = NULL;
        locus_plan *plan = NULL;
        locus_plan_options options = locus_plan_options_default();
        options.execution = &execution;
        execution.cancelled = plan_meanwhile;
        execution.context = &m;
        assert_int_equal(
            locus_binding_create(&binding, world.encoding, &world.shape, world.values, world.parameter_count, NULL),
            LOCUS_OK);
        m.binding = binding;
        assert_int_equal(locus_plan_create_with(&plan, binding, world.queries, world.keys, &options, NULL), LOCUS_OK);
        assert_int_equal(plan_fingerprint(plan, &subject), print);
        asked = m.asked >= m.at;
        within += asked;
        assert_true(!asked || m.print == print);
        locus_plan_destroy(&plan);
        locus_binding_destroy(&binding);
    }
    assert_true(within > 1);
    kinds_free(&world);
}

/* Values, and what is bound to them, by the process's defaults. */
static uint64_t values_and_work(const kinds_world *world) {
    locus_binding *binding = NULL;
    assert_int_equal(
        locus_encoding_initialise(world->encoding, &world->shape, 11, world->values, world->parameter_count, NULL),
        LOCUS_OK);
    assert_int_equal(
        locus_binding_create(&binding, world->encoding, &world->shape, world->values, world->parameter_count, NULL),
        LOCUS_OK);
    const uint64_t print = does(world, binding);
    locus_binding_destroy(&binding);
    return print;
}

static void bindings_take_an_execution(void **state) {
    notes own = {.concurrency = 7}, process = {.concurrency = 3};
    const locus_executor executor = {sizeof executor, run_noted, 7, &own},
                         other = {sizeof other, run_noted, 3, &process};
    size_t widest = 0;
    (void)state;
    for (size_t i = 0; i < BOUND_SPECS; i++) {
        kinds_case test;
        kinds_world world;
        bound_world(&world, &test, i);
        const uint64_t wanted = values_and_work(&world);
        assert_int_equal(locus_executor_set(&other, NULL), LOCUS_OK);
        for (size_t threads = 0; threads <= 2; threads += 2)
            for (int update = 0; update < 2; update++) {
                locus_execution execution = locus_execution_default();
                locus_binding *binding = NULL;
                execution.executor = &executor;
                execution.threads = threads;
                for (size_t j = 0; j < world.parameter_count; j++)
                    memset(world.values[j].data, 0, locus_tensor_count(&world.values[j]) * sizeof(double));
                own.widest = own.loops = process.loops = 0;
                assert_int_equal(draw_values(&world, &execution, NULL), LOCUS_OK);
                assert_int_equal(bind_values(&world, update ? world.binding : NULL, &execution, &binding, NULL),
                                 LOCUS_OK);
                assert_int_equal(process.loops, 0);
                assert_true(threads == 0 || own.widest <= threads);
                widest = own.widest > widest ? own.widest : widest;
                assert_true(does(&world, binding) == wanted);
                locus_binding_destroy(&binding);
            }
        assert_int_equal(locus_executor_set(NULL, NULL), LOCUS_OK);
        kinds_free(&world);
    }
    assert_true(widest > 2); /* without a limit */
}

static void cancel_bindings(const kinds_world *world, const locus_binding *before, uint64_t wanted) {
    witness w = {.lock = PTHREAD_MUTEX_INITIALIZER};
    locus_execution execution = locus_execution_default();
    locus_binding *binding = NULL;
    locus_error error;
    execution.threads = 1;
    execution.cancelled = bear_witness;
    execution.context = &w;
    assert_int_equal(bind_values(world, before, &execution, &binding, &error), LOCUS_OK);
    assert_true(does(world, binding) == wanted);
    locus_binding_destroy(&binding);
    const size_t count = w.asked;
    for (w.at = 1; w.at <= count; w.at = next_question(w.at, count)) {
        w.asked = 0;
        assert_int_equal(bind_values(world, before, &execution, &binding, &error), LOCUS_ERROR_INTERRUPTED);
        assert_int_equal(w.asked, w.at);
        assert_string_equal(error.message, "the call was cancelled before it was done");
        assert_ptr_equal(binding, before);
        locus_binding_destroy(&binding);
    }
}

static size_t cancel_values(const kinds_world *world) {
    witness w = {.lock = PTHREAD_MUTEX_INITIALIZER};
    locus_execution execution = locus_execution_default();
    locus_error error;
    execution.threads = 1;
    execution.cancelled = bear_witness;
    execution.context = &w;
    assert_int_equal(draw_values(world, &execution, &error), LOCUS_OK);
    const size_t count = w.asked;
    for (w.at = 1; w.at <= count; w.at = next_question(w.at, count)) {
        w.asked = 0;
        assert_int_equal(draw_values(world, &execution, &error), LOCUS_ERROR_INTERRUPTED);
        assert_int_equal(w.asked, w.at);
    }
    return count;
}

static void bindings_can_be_cancelled(void **state) {
    size_t asked = 0;
    (void)state;
    for (size_t i = 0; i < BOUND_SPECS; i++) {
        kinds_case test;
        kinds_world world;
        bound_world(&world, &test, i);
        asked += cancel_values(&world);
        const uint64_t wanted = values_and_work(&world);
        cancel_bindings(&world, NULL, wanted);
        cancel_bindings(&world, world.binding, wanted);
        kinds_free(&world);
    }
    assert_true(asked > 2 * BOUND_SPECS); /* not only as they begin */
}

/* ---- what is refused ---- */

static void refused(hands *h, const void *execution, locus_status wanted, const char *words) {
    locus_error error;
    locus_tensor *t = h->tensors;
    assert_int_equal(
        locus_apply(h->world.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &t[HANDS_Q], &t[HANDS_DQ], execution, &error),
        wanted);
    assert_int_equal(strncmp(error.argument, "execution", 9), 0); /* or a part of it */
    assert_non_null(strstr(error.message, words));
    assert_null(strchr(error.message, '\n'));
    assert_int_equal(locus_apply_workspace(h->world.plan, LOCUS_ROLE_QUERY, LOCUS_FLOAT32, execution), 0);
}

static void senseless_executions_are_refused(void **state) {
    struct {
        locus_execution known;
        void *later;
    } newer = {locus_execution_default(), NULL};
    const locus_executor idle = {sizeof idle, NULL, 1, NULL}, nobody = {sizeof nobody, run_noted, 0, NULL};
    locus_execution wrong = locus_execution_default();
    kinds_case test;
    hands h;
    (void)state;
    hands_subject(0, &test);
    hands_take(&h, &test, LOCUS_FLOAT32, NULL);
    wrong.size = 0;
    refused(&h, &wrong, LOCUS_ERROR_ARGUMENT, "execution.size is 0");
    wrong.size = sizeof(locus_execution) - 1;
    refused(&h, &wrong, LOCUS_ERROR_ARGUMENT, "execution.size is");
    wrong = locus_execution_default();
    wrong.executor = &idle;
    refused(&h, &wrong, LOCUS_ERROR_ARGUMENT, "execution.executor");
    wrong.executor = &nobody;
    refused(&h, &wrong, LOCUS_ERROR_ARGUMENT, "execution.executor");
    newer.known.size = sizeof newer;
    newer.known.workspace = h.workspaces[HANDS_APPLY];
    locus_tensor *t = h.tensors;
    assert_int_equal(
        locus_apply(h.world.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &t[HANDS_Q], &t[HANDS_DQ], &newer.known, NULL),
        LOCUS_OK);
    newer.later = &newer;
    refused(&h, &newer, LOCUS_ERROR_UNSUPPORTED, "newer version");
    hands_drop(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_executor_by_call),
        cmocka_unit_test(scratch_is_that_of_the_limit),
        cmocka_unit_test(one_thread_is_the_callers),
        cmocka_unit_test(calls_of_several_threads),
        cmocka_unit_test(a_call_of_any_threads_can_be_cancelled_wherever_it_asks),
        cmocka_unit_test(a_raised_flag_touches_nothing),
        cmocka_unit_test(another_thread_cancels),
        cmocka_unit_test(rounds_can_be_cancelled),
        cmocka_unit_test(plans_can_be_cancelled),
        cmocka_unit_test(a_first_plan_while_another_is_made),
        cmocka_unit_test(bindings_take_an_execution),
        cmocka_unit_test(bindings_can_be_cancelled),
        cmocka_unit_test(senseless_executions_are_refused),
    };
    threads_only("*thread*");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
