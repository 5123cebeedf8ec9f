/* SPDX-License-Identifier: MIT */
/* A call's concurrency is fixed once. A workspace that was asked for stays good whatever becomes of the number of
 * threads and of the executor: the call succeeds, with the same bits, and touches nothing behind the workspace. While
 * one thread turns the number of threads up and down, others bind, plan, apply and attend. */
#include "unit/kinds_case.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GUARD = 1 << 16, HEADS = 4, DIM = 8, ROUNDS = 12 };

static const size_t lengths[] = {150, 9, 64}, steps[] = {1, 3, 1}, caches[] = {700, 90, 40};

/* ---- calls with everything held ready ---- */

enum { Q, K, V, O, GO, DQ, DK, DV, LSE, TENSORS };

typedef struct hands {
    kinds_world world;
    locus_dtype dtype;
    locus_tensor tensors[TENSORS], gradients[KINDS_PARAMETERS];
    locus_workspace forward, backward, apply; /* with GUARD bytes behind each */
} hands;

static kinds_case case_of(const char *spec, locus_attention_kind kind, locus_mask mask) {
    kinds_case test = {.spec = spec, .heads = HEADS, .kv_heads = 2, .head_dim = DIM, .sequences = 3};
    test.query_lengths = lengths;
    test.options = locus_attention_default();
    test.options.kind = kind;
    test.options.mask = mask;
    test.options.landmarks = 8;
    test.options.clusters = 5;
    return test;
}

static locus_workspace guarded(size_t bytes) {
    locus_workspace workspace = {locus_allocate(bytes + GUARD), bytes};
    assert_non_null(workspace.data);
    memset((char *)workspace.data + bytes, 0x5a, GUARD);
    return workspace;
}

static void check_guard(locus_workspace workspace) {
    for (size_t i = 0; i < GUARD; i++)
        assert_int_equal(((const unsigned char *)workspace.data)[workspace.bytes + i], 0x5a);
}

static locus_tensor tensor_of(const hands *h, int i) {
    const kinds_world *w = &h->world;
    const bool keys = i == K || i == V || i == DK || i == DV;
    const int64_t shape[] = {(int64_t)(keys ? w->N : w->T), keys ? 2 : HEADS, DIM};
    const bool half = h->dtype == LOCUS_BFLOAT16;
    locus_tensor tensor = locus_tensor_view(NULL, i == LSE && half ? LOCUS_FLOAT32 : h->dtype, i == LSE ? 2 : 3, shape);
    const size_t count = locus_tensor_count(&tensor);
    tensor.data = calloc(count + 1, sizeof(double));
    assert_non_null(tensor.data);
    for (size_t j = 0; i <= GO && j < count; j++) {
        const float value = (float)((j * 7 + (size_t)i) % 13) / 16;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        if (h->dtype == LOCUS_BFLOAT16)
            ((uint16_t *)tensor.data)[j] = (uint16_t)(bits >> 16);
        else
            ((float *)tensor.data)[j] = value;
    }
    return tensor;
}

/* The workspaces are asked for with the threads that there are now. */
static void take_hands(hands *h, const kinds_case *test, locus_dtype dtype) {
    kinds_make(&h->world, test);
    h->dtype = dtype;
    for (int i = 0; i < TENSORS; i++)
        h->tensors[i] = tensor_of(h, i);
    for (size_t i = 0; i < h->world.parameter_count; i++) {
        h->gradients[i] = h->world.values[i];
        h->gradients[i].data = calloc(locus_tensor_count(&h->gradients[i]) + 1, sizeof(double));
        assert_non_null(h->gradients[i].data);
    }
    const locus_plan *plan = h->world.plan;
    h->forward = guarded(locus_attention_workspace(plan, &test->options, dtype, LOCUS_PASS_FORWARD));
    h->backward = guarded(locus_attention_workspace(plan, &test->options, dtype, LOCUS_PASS_BACKWARD));
    h->apply = guarded(locus_apply_workspace(plan, LOCUS_ROLE_QUERY, dtype));
}

/* 0: all went well. Run by threads, so nothing is asserted here. */
static int work(hands *h) {
    locus_tensor *t = h->tensors;
    const locus_attention_options *options = &h->world.test->options;
    const locus_attention_tensors tensors = {&t[Q], &t[K], &t[V], &t[O], &t[LSE]};
    const locus_attention_gradients gradients = {&t[GO], &t[DQ],       &t[DK],
                                                 &t[DV], h->gradients, h->world.parameter_count};
    const locus_apply_gradients around = {.x = &t[Q],
                                          .gy = &t[GO],
                                          .gx = &t[DQ],
                                          .parameters = h->gradients,
                                          .parameter_count = h->world.parameter_count};
    locus_plan *plan = h->world.plan;
    for (size_t i = 0; i < h->world.parameter_count; i++)
        memset(h->gradients[i].data, 0, locus_tensor_count(&h->gradients[i]) * sizeof(double));
    int failed = 0;
    failed += locus_apply_backward(plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &around, h->apply, NULL) != LOCUS_OK;
    failed += locus_apply(plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &t[Q], &t[DQ], h->apply, NULL) != LOCUS_OK;
    failed += locus_attention_forward(plan, options, &tensors, h->forward, NULL) != LOCUS_OK;
    failed += locus_attention_backward(plan, options, &tensors, &gradients, h->backward, NULL) != LOCUS_OK;
    return failed;
}

static void drop_hands(hands *h) {
    const locus_workspace spaces[] = {h->forward, h->backward, h->apply};
    for (size_t i = 0; i < 3; i++) {
        check_guard(spaces[i]);
        locus_release(spaces[i].data, spaces[i].bytes + GUARD);
    }
    for (int i = 0; i < TENSORS; i++)
        free(h->tensors[i].data);
    for (size_t i = 0; i < h->world.parameter_count; i++)
        free(h->gradients[i].data);
    kinds_free(&h->world);
}

static void same_results(const hands *a, const hands *b) {
    for (int i = O; i < TENSORS; i++)
        assert_memory_equal(a->tensors[i].data, b->tensors[i].data,
                            locus_tensor_count(&a->tensors[i]) * locus_dtype_size(a->tensors[i].dtype));
    for (size_t i = 0; i < a->world.parameter_count; i++)
        assert_memory_equal(a->gradients[i].data, b->gradients[i].data,
                            locus_tensor_count(&a->gradients[i]) * sizeof(double));
}

static const struct {
    const char *spec;
    locus_attention_kind kind;
    locus_mask mask;
    bool decodes;
} subjects[] = {{"rope(learned=on) + alibi", LOCUS_ATTENTION_SOFTMAX, LOCUS_MASK_CAUSAL, false},
                {"rope", LOCUS_ATTENTION_SOFTMAX, LOCUS_MASK_CAUSAL, true},
                {"liere(group=seq, values=on)", LOCUS_ATTENTION_SOFTMAX, LOCUS_MASK_FULL, false},
                {"algebraic(group=tree:2, values=on)", LOCUS_ATTENTION_SOFTMAX, LOCUS_MASK_FULL, false},
                {"cope", LOCUS_ATTENTION_SOFTMAX, LOCUS_MASK_CAUSAL, false},
                {"algebraic(group=seq, values=on)", LOCUS_ATTENTION_LINEAR, LOCUS_MASK_CAUSAL, false},
                {"algebraic(group=tree:2, values=on)", LOCUS_ATTENTION_LINEAR, LOCUS_MASK_CAUSAL, false},
                {"rope(learned=on)", LOCUS_ATTENTION_SOFT, LOCUS_MASK_FULL, false},
                {"rope(learned=on)", LOCUS_ATTENTION_CLUSTERED, LOCUS_MASK_FULL, false}};

enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static kinds_case subject_case(size_t i) {
    kinds_case test = case_of(subjects[i].spec, subjects[i].kind, subjects[i].mask);
    if (subjects[i].decodes) {
        test.query_lengths = steps;
        test.key_lengths = caches;
    }
    return test;
}

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
    const locus_executor wide = {run_round, many, &many}, narrow = {run_round, two, &two};
    const locus_dtype types[] = {LOCUS_FLOAT32, LOCUS_BFLOAT16};
    (void)state;
    for (size_t i = 0; i < 2 * SUBJECTS; i++) {
        const kinds_case test = subject_case(i / 2);
        hands reference, h, other;
        assert_int_equal(locus_threads_set(1), LOCUS_OK);
        take_hands(&reference, &test, types[i % 2]);
        assert_int_equal(work(&reference), 0);
        assert_int_equal(locus_threads_set(2), LOCUS_OK);
        take_hands(&h, &test, types[i % 2]);
        for (size_t n = 0; n < 4; n++) {
            assert_int_equal(locus_threads_set(threads[n]), LOCUS_OK);
            assert_int_equal(work(&h), 0);
            same_results(&reference, &h);
        }
        assert_int_equal(locus_executor_set(&wide), LOCUS_OK);
        assert_int_equal(work(&h), 0);
        same_results(&reference, &h);
        assert_int_equal(locus_executor_set(&narrow), LOCUS_OK);
        take_hands(&other, &test, types[i % 2]);
        assert_int_equal(locus_executor_set(&wide), LOCUS_OK);
        assert_int_equal(work(&other), 0);
        same_results(&reference, &other);
        assert_int_equal(locus_executor_set(NULL), LOCUS_OK);
        drop_hands(&other);
        drop_hands(&h);
        drop_hands(&reference);
    }
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
}

static void a_workspace_too_small_for_one_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < SUBJECTS; i++) {
        const kinds_case test = subject_case(i);
        hands h;
        locus_error error;
        assert_int_equal(locus_threads_set(1), LOCUS_OK);
        take_hands(&h, &test, LOCUS_FLOAT32);
        assert_int_equal(locus_threads_set(7), LOCUS_OK);
        locus_workspace less = h.forward;
        less.bytes--;
        locus_tensor *t = h.tensors;
        const locus_attention_tensors tensors = {&t[Q], &t[K], &t[V], &t[O], &t[LSE]};
        assert_int_equal(locus_attention_forward(h.world.plan, &test.options, &tensors, less, &error),
                         LOCUS_ERROR_MEMORY);
        assert_non_null(strstr(error.message, "for one thread"));
        assert_int_equal(locus_threads(), 7);
        drop_hands(&h);
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
        w->failed += work(&w->own);
        w->failed += locus_binding_update(w->own.world.binding, w->own.world.values, w->own.world.parameter_count,
                                          NULL) != LOCUS_OK;
        locus_plan_destroy(&w->own.world.plan);
        w->failed += locus_plan_create(&w->own.world.plan, w->own.world.binding, w->own.world.queries,
                                       w->own.world.keys, NULL) != LOCUS_OK;
    }
    return NULL;
}

static void threads_are_set_meanwhile(void **state) {
    (void)state;
    for (size_t i = 0; i < SUBJECTS; i++) {
        const kinds_case test = subject_case(i);
        hands reference;
        caller callers[2];
        pthread_t turner, threads[2];
        void *left = NULL;
        take_hands(&reference, &test, LOCUS_FLOAT32);
        assert_int_equal(work(&reference), 0);
        atomic_store(&over, false);
        assert_int_equal(pthread_create(&turner, NULL, turn, NULL), 0);
        for (size_t w = 0; w < 2; w++) { /* asked for while the number turns */
            take_hands(&callers[w].own, &test, LOCUS_FLOAT32);
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
            same_results(&reference, &callers[w].own);
            drop_hands(&callers[w].own);
        }
        drop_hands(&reference);
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
    const locus_executor wide = {run_round, many, &many};
    (void)state;
    for (int own = 0; own < 2; own++) {
        assert_int_equal(own ? locus_executor_set(&wide) : locus_threads_set(8), LOCUS_OK);
        for (r.limit = 1; r.limit <= 30; r.limit += 3)
            for (size_t count = 0; count <= 1000; count = count * 3 + 1) {
                memset(r.times, 0, sizeof r.times);
                locus_parallel_for_at_most(r.limit, count, note, &r);
                for (size_t i = 0; i < 1000; i++)
                    assert_int_equal(r.times[i], i < count);
            }
        assert_false(atomic_load(&r.wrong));
    }
    assert_int_equal(locus_executor_set(NULL), LOCUS_OK);
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_stay_below_the_limit),
        cmocka_unit_test(a_workspace_stays_good),
        cmocka_unit_test(a_workspace_too_small_for_one_is_refused),
        cmocka_unit_test(threads_are_set_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
