/* SPDX-License-Identifier: MIT */
/* Attention gives the same bits on 1, 2 and 3 threads and from run to run, allocates nothing while it executes, and
 * serves callers on several threads at once. */
#include "sanitized.h"
#include "threads_only.h"
#include "unit/attention_case.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const size_t lengths[] = {30, 1, SANITIZED(300, 700), 129, 64};

static attention_case case_of(const char *spec, size_t window) {
    attention_case test = {.spec = spec, .heads = 3, .head_dim = 8, .sequences = 5, .query_lengths = lengths};
    test.mask = LOCUS_MASK_CAUSAL;
    test.dropout = 0.1;
    test.window = window;
    return test;
}

static void run_with(size_t threads, const attention_case *test, attention_arrays *arrays, locus_dtype dtype) {
    attention_world world;
    assert_int_equal(locus_threads_set(threads), LOCUS_OK);
    attention_world_make(&world, test);
    *arrays = attention_arrays_make(&world);
    attention_run(&world, arrays, dtype, ATTENTION_PLAIN, false);
    attention_world_free(&world);
}

static void same_bits(const attention_case *test, locus_dtype dtype) {
    attention_world world;
    attention_world_make(&world, test);
    attention_arrays first, again;
    size_t row = test->heads * test->head_dim;
    run_with(threads_alone() ? 3 : 1, test, &first, dtype);
    for (size_t threads = SANITIZED(3, 1); threads <= 3 && !threads_alone(); threads++) {
        run_with(threads, test, &again, dtype);
        assert_memory_equal(first.o, again.o, world.T * row * sizeof(double));
        assert_memory_equal(first.log_sum_exp, again.log_sum_exp, world.T * test->heads * sizeof(double));
        assert_memory_equal(first.dq, again.dq, world.T * row * sizeof(double));
        assert_memory_equal(first.dk, again.dk, world.N * world.kv_heads * test->head_dim * sizeof(double));
        assert_memory_equal(first.dv, again.dv, world.N * world.kv_heads * test->head_dim * sizeof(double));
        for (size_t i = 0; i < world.parameter_count; i++)
            assert_memory_equal(first.gradients[i], again.gradients[i],
                                attention_parameter_size(&world, i) * sizeof(double));
        attention_arrays_free(&again);
    }
    attention_arrays_free(&first);
    attention_world_free(&world);
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
}

static void test_same_bits_on_any_number_of_threads(void **state) {
    const size_t long_one[] = {SANITIZED(2100, 2500)}, steps[] = {1, 8, 3, 1, 40}, caches[] = {1500, 300, 40, 7, 900};
    (void)state;
    attention_case test = case_of("algebraic(group=seq, values=on) + decay(rate=0.99, learned=on)", 0);
    same_bits(&test, LOCUS_FLOAT32);
    test = case_of("liere(values=on)", 0);
    same_bits(&test, LOCUS_FLOAT32);
    test = case_of("algebraic(group=cycle:7*tree:2, values=on, decay=0.98)", 0);
    same_bits(&test, LOCUS_FLOAT32);
    test = case_of("relative(window=30, values=on) + rope(learned=on)", 30);
    same_bits(&test, LOCUS_FLOAT64);
    test.sequences = 1; /* split over its keys */
    test.query_lengths = long_one;
    same_bits(&test, LOCUS_FLOAT32);
    test = case_of("algebraic(group=seq, values=on) + decay(rate=0.99, learned=on) + scores(sinks=on)", 0);
    test.kv_heads = 1;
    test.cap = 4;
    test.sliding = 300;
    test.keep = 5;
    same_bits(&test, LOCUS_FLOAT32);
    test.query_lengths = steps; /* some of them steps of decoding */
    test.key_lengths = caches;
    same_bits(&test, LOCUS_FLOAT32);
    test.documents = true;
    test.sliding = test.keep = 0;
    same_bits(&test, LOCUS_FLOAT64);
    test = case_of("kerple(group=tree:3)", 0); /* more pairs than tables have room for: heads share distances */
    test.heads = 10;
    test.sequences = 1;
    test.query_lengths = (const size_t[]){660};
    same_bits(&test, LOCUS_FLOAT32);
}

/* ---- no allocation ---- */

static _Atomic bool refusing;
static _Atomic size_t refused;

static void *maybe_allocate(void *state, size_t bytes, size_t alignment) {
    (void)state;
    if (refusing) {
        refused++;
        return NULL;
    }
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release(void *state, void *block, size_t bytes) {
    (void)state;
    (void)bytes;
    free(block);
}

enum { Q, K, V, O, GO, DQ, DK, DV, LSE, TENSORS };

typedef struct hands { /* all that a call needs, held ready */
    attention_world world;
    locus_tensor tensors[TENSORS], gradients[ATTENTION_PARAMETERS];
    locus_workspace workspace;
    locus_status forward, backward;
} hands;

static void take_hands(hands *h, const attention_case *test) {
    attention_world_make(&h->world, test);
    const int64_t shape[] = {(int64_t)h->world.T, (int64_t)test->heads, (int64_t)test->head_dim};
    for (int i = 0; i < TENSORS; i++) {
        h->tensors[i] = locus_tensor_view(NULL, LOCUS_FLOAT32, i == LSE ? 2 : 3, shape);
        h->tensors[i].data = calloc(locus_tensor_count(&h->tensors[i]), sizeof(float));
        assert_non_null(h->tensors[i].data);
        for (size_t j = 0; i <= GO && j < locus_tensor_count(&h->tensors[i]); j++)
            ((float *)h->tensors[i].data)[j] = (float)((j * 7 + (size_t)i) % 13) / 13;
    }
    for (size_t i = 0; i < h->world.parameter_count; i++) {
        h->gradients[i] = h->world.values[i];
        h->gradients[i].data = calloc(attention_parameter_size(&h->world, i), sizeof(double));
        assert_non_null(h->gradients[i].data);
    }
    size_t forward =
        locus_attention_workspace(h->world.plan, &h->world.options, LOCUS_FLOAT32, LOCUS_PASS_FORWARD, NULL);
    size_t backward =
        locus_attention_workspace(h->world.plan, &h->world.options, LOCUS_FLOAT32, LOCUS_PASS_BACKWARD, NULL);
    h->workspace.bytes = forward > backward ? forward : backward;
    h->workspace.data = locus_allocate(h->workspace.bytes);
    assert_non_null(h->workspace.data);
}

static void *work(void *argument) {
    hands *h = argument;
    locus_tensor *t = h->tensors;
    locus_attention_tensors tensors = {sizeof tensors, &t[Q], &t[K], &t[V], &t[O], &t[LSE]};
    locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                           .output = &t[GO],
                                           .query = &t[DQ],
                                           .key = &t[DK],
                                           .value = &t[DV],
                                           .parameters = h->gradients,
                                           .parameter_count = h->world.parameter_count};
    const locus_execution execution = locus_execution_in(h->workspace);
    h->forward = locus_attention_forward(h->world.plan, &h->world.options, &tensors, &execution, NULL);
    h->backward = locus_attention_backward(h->world.plan, &h->world.options, &tensors, &gradients, &execution, NULL);
    return NULL;
}

static void drop_hands(hands *h) {
    locus_release(h->workspace.data, h->workspace.bytes);
    for (int i = 0; i < TENSORS; i++)
        free(h->tensors[i].data);
    for (size_t i = 0; i < h->world.parameter_count; i++)
        free(h->gradients[i].data);
    attention_world_free(&h->world);
}

static void test_execution_allocates_nothing(void **state) {
    static const char *const specs[] = {"none",
                                        "roper",
                                        "rope(learned=on)",
                                        "algebraic(group=seq, values=on, decay=0.98)",
                                        "relative(window=20, values=on)",
                                        "liere(values=on)",
                                        "algebraic(group=cycle:7*tree:2, values=on, decay=0.98)",
                                        "alibi + decay(learned=on)"};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        attention_case test = case_of(specs[i], 20);
        hands h;
        take_hands(&h, &test);
        refused = 0;
        refusing = true;
        work(&h);
        refusing = false;
        assert_int_equal(h.forward, LOCUS_OK);
        assert_int_equal(h.backward, LOCUS_OK);
        assert_int_equal(refused, 0);
        drop_hands(&h);
    }
}

static void concurrent_callers(const char *spec) {
    attention_case test = case_of(spec, 0);
    hands callers[3];
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        take_hands(&callers[i], &test);
    work(&callers[0]);
    for (int i = 1; i < 3; i++) {
        locus_plan_destroy(&callers[i].world.plan); /* one plan for all */
        callers[i].world.plan = callers[0].world.plan;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &callers[i]), 0);
    }
    for (int i = 1; i < 3; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(callers[i].forward, LOCUS_OK);
        assert_int_equal(callers[i].backward, LOCUS_OK);
        for (int t = O; t < TENSORS; t++)
            assert_memory_equal(callers[i].tensors[t].data, callers[0].tensors[t].data,
                                locus_tensor_count(&callers[i].tensors[t]) * sizeof(float));
        callers[i].world.plan = NULL;
    }
    for (int i = 2; i >= 0; i--)
        drop_hands(&callers[i]);
}

static void test_concurrent_callers(void **state) {
    (void)state;
    concurrent_callers("algebraic(group=seq, values=on)");
    concurrent_callers("liere(values=on)");
    concurrent_callers("algebraic(group=seq*tree:2, values=on)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits_on_any_number_of_threads),
        cmocka_unit_test(test_execution_allocates_nothing),
        cmocka_unit_test(test_concurrent_callers),
    };
    locus_allocator allocator = {sizeof allocator, maybe_allocate, release, NULL};
    assert_int_equal(locus_allocator_set(&allocator, NULL), LOCUS_OK);
    threads_only("test_*s"); /* all but test_execution_allocates_nothing */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
