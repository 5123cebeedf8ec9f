/* SPDX-License-Identifier: MIT */
/* Attention with operators on whole tensors: the same results as with the local operators that they stand for, and as
 * the dense oracle, which applies them by hand; on one site or both, in one call where they are one. The workspace has
 * exactly the size that attention asks for. */
#include "attention_case.h"
#include "whole_face.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const size_t lengths[] = {5, 0, 130, 70}, key_lengths[] = {40, 3, 96, 1};

static attention_case base(const char *spec) {
    return (attention_case){
        .spec = spec, .heads = 3, .head_dim = 8, .sequences = 4, .query_lengths = lengths, .gap = 3};
}

typedef enum faces { FACE_QUERY_KEY = 1, FACE_VALUE = 2, FACE_ONE = 4 } faces;

typedef struct dressed {
    whole_face query_key, value;
} dressed;

/* Gives the plan's operators whole faces: FACE_ONE the same to both sites. */
static void dress(attention_world *world, dressed *d, unsigned which) {
    locus_plan *plan = world->plan;
    if (plan->query_key)
        d->query_key = whole_face_make(plan->query_key, &plan->places, world->shape.heads, world->shape.head_dim);
    if (plan->value)
        d->value = whole_face_make(plan->value, &plan->places, world->shape.heads, world->shape.value_dim);
    if (which & FACE_ONE)
        assert_ptr_equal(plan->query_key, plan->value);
    whole_face *value = which & FACE_ONE ? &d->query_key : which & FACE_VALUE && plan->value ? &d->value : NULL;
    whole_face_put(plan, which & (FACE_QUERY_KEY | FACE_ONE) ? &d->query_key : NULL, value);
}

static void check(const attention_case *test, unsigned which, locus_dtype dtype, attention_memory memory) {
    const double tolerance = dtype == LOCUS_FLOAT64 ? 1e-11 : 2e-5;
    attention_world plain, whole;
    dressed d;
    attention_world_make(&plain, test);
    attention_world_make(&whole, test);
    dress(&whole, &d, which);
    attention_arrays want = attention_arrays_make(&plain), got = attention_arrays_make(&whole);
    attention_arrays dense = attention_arrays_make(&whole);
    attention_run(&plain, &want, dtype, memory, false);
    attention_run(&whole, &got, dtype, memory, false);
    attention_compare(&whole, &got, &want, tolerance);
    attention_oracle(&whole, &dense);
    attention_compare(&whole, &got, &dense, tolerance);
    attention_arrays_free(&want);
    attention_arrays_free(&got);
    attention_arrays_free(&dense);
    attention_world_free(&plain);
    attention_world_free(&whole);
}

static void check_layouts(const attention_case *test, unsigned which) {
    check(test, which, LOCUS_FLOAT64, ATTENTION_PLAIN);
    check(test, which, LOCUS_FLOAT64, ATTENTION_SCATTERED);
    check(test, which, LOCUS_FLOAT32, ATTENTION_FUSED);
}

static void test_queries_and_keys(void **state) {
    static const char *const specs[] = {"rope", "algebraic(group=seq)",
                                        "algebraic(group=seq, heads=shared, side=query)",
                                        "rope + decay(rate=0.97, learned=on)"};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        attention_case test = base(specs[i]);
        check_layouts(&test, FACE_QUERY_KEY);
        test.mask = LOCUS_MASK_CAUSAL;
        test.dropout = 0.2;
        check_layouts(&test, FACE_QUERY_KEY);
    }
}

static void test_values(void **state) {
    static const char *const specs[] = {"roper", "algebraic(group=seq, values=on)",
                                        "algebraic(group=seq, values=on, side=key) + alibi"};
    static const unsigned which[] = {FACE_VALUE, FACE_QUERY_KEY, FACE_QUERY_KEY | FACE_VALUE, FACE_ONE};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
        for (size_t w = 0; w < sizeof which / sizeof which[0]; w++) {
            attention_case test = base(specs[i]);
            test.mask = LOCUS_MASK_CAUSAL;
            test.alibi = i == 2;
            attention_world world;
            attention_world_make(&world, &test);
            const bool one = world.plan->query_key == world.plan->value;
            attention_world_free(&world);
            if (one || which[w] != FACE_ONE)
                check_layouts(&test, which[w]);
        }
}

/* Queries and keys of different lengths at different positions. */
static void test_cross_attention(void **state) {
    static const char *const specs[] = {"roper", "algebraic(group=seq, values=on)"};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        attention_case test = base(specs[i]);
        test.key_lengths = key_lengths;
        test.query_start = -20;
        test.key_start = 300;
        check(&test, FACE_QUERY_KEY | FACE_VALUE, LOCUS_FLOAT64, ATTENTION_SCATTERED);
        check(&test, FACE_QUERY_KEY | FACE_VALUE, LOCUS_FLOAT32, ATTENTION_PLAIN);
    }
}

/* A long sequence alone is split over its keys; the operators must not notice. */
static void test_split_sequence(void **state) {
    static const size_t one[] = {2100};
    attention_case test = {.spec = "algebraic(group=seq, values=on)", .heads = 1, .head_dim = 4, .sequences = 1};
    (void)state;
    test.query_lengths = one;
    test.mask = LOCUS_MASK_CAUSAL;
    check(&test, FACE_QUERY_KEY | FACE_VALUE, LOCUS_FLOAT64, ATTENTION_PLAIN);
}

/* What shares work is called once: queries, keys and values; then the output. Backward: the same with the output and
 * its gradient, then all four. */
static void test_calls(void **state) {
    attention_case test = base("algebraic(group=seq, values=on)");
    attention_world world;
    dressed d;
    (void)state;
    attention_world_make(&world, &test);
    dress(&world, &d, FACE_ONE);
    attention_arrays arrays = attention_arrays_make(&world);
    attention_run(&world, &arrays, LOCUS_FLOAT64, ATTENTION_PLAIN, true);
    assert_int_equal(d.query_key.calls, 2);
    assert_int_equal(d.query_key.streams, 4);
    attention_run(&world, &arrays, LOCUS_FLOAT64, ATTENTION_PLAIN, false);
    assert_int_equal(d.query_key.calls, 2 + 4);
    assert_int_equal(d.query_key.streams, 4 + 4 + 5 + 4);
    attention_arrays_free(&arrays);
    attention_world_free(&world);
}

/* Gradients of inputs do not depend on whether those of parameters are wanted. */
static void test_without_parameters(void **state) {
    attention_case test = base("algebraic(group=seq, values=on)");
    attention_world world;
    dressed d;
    locus_error error;
    (void)state;
    test.gap = 0;
    attention_world_make(&world, &test);
    dress(&world, &d, FACE_ONE);
    attention_arrays want = attention_arrays_make(&world), got = attention_arrays_make(&world);
    attention_run(&world, &want, LOCUS_FLOAT64, ATTENTION_PLAIN, false);
    const int64_t shape[] = {(int64_t)world.T, (int64_t)test.heads, (int64_t)test.head_dim};
    double *data[] = {got.q, got.k, got.v, want.o, want.log_sum_exp, got.go, got.dq, got.dk, got.dv};
    locus_tensor t[9];
    for (size_t i = 0; i < 9; i++)
        t[i] = locus_tensor_view(data[i], LOCUS_FLOAT64, i == 4 ? 2 : 3, shape);
    const locus_attention_tensors tensors = {sizeof tensors, &t[0], &t[1], &t[2], &t[3], &t[4]};
    const locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                                 .output = &t[5],
                                                 .query = &t[6],
                                                 .key = &t[7],
                                                 .value = &t[8],
                                                 .parameters = NULL,
                                                 .parameter_count = 0};
    const locus_execution execution = locus_execution_in(world.workspace);
    if (locus_attention_backward(world.plan, &world.options, &tensors, &gradients, &execution, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    const size_t bytes = world.T * test.heads * test.head_dim * sizeof(double);
    assert_memory_equal(got.dq, want.dq, bytes);
    assert_memory_equal(got.dk, want.dk, bytes);
    assert_memory_equal(got.dv, want.dv, bytes);
    attention_arrays_free(&want);
    attention_arrays_free(&got);
    attention_world_free(&world);
}

/* Tokens between sequences are neither read nor written. */
static void test_gaps(void **state) {
    attention_case test = base("algebraic(group=seq, values=on)");
    attention_world world;
    dressed d;
    (void)state;
    attention_world_make(&world, &test);
    dress(&world, &d, FACE_ONE);
    attention_arrays want = attention_arrays_make(&world), got = attention_arrays_make(&world);
    const size_t row = test.heads * test.head_dim;
    double *given[] = {got.q, got.k, got.v, got.go}, *results[] = {got.o, got.dq, got.dk, got.dv};
    for (size_t s = 0; s < test.sequences; s++)
        for (size_t i = 0; i < 4; i++)
            for (size_t at = (world.query_offsets[s + 1] - test.gap) * row; at < world.query_offsets[s + 1] * row; at++)
                given[i][at] = NAN;
    attention_run(&world, &want, LOCUS_FLOAT64, ATTENTION_PLAIN, false);
    attention_run(&world, &got, LOCUS_FLOAT64, ATTENTION_PLAIN, false);
    attention_compare(&world, &got, &want, 0);
    for (size_t s = 0; s < test.sequences; s++) /* memory was NaN before */
        for (size_t i = 0; i < 4; i++)
            for (size_t at = (world.query_offsets[s + 1] - test.gap) * row; at < world.query_offsets[s + 1] * row; at++)
                assert_true(isnan(results[i][at]));
    attention_arrays_free(&want);
    attention_arrays_free(&got);
    attention_world_free(&world);
}

static void test_workspace_is_checked(void **state) {
    attention_case test = base("roper");
    attention_world world;
    dressed d;
    locus_error error;
    (void)state;
    attention_world_make(&world, &test);
    const size_t local =
        locus_attention_workspace(world.plan, &world.options, LOCUS_FLOAT32, LOCUS_PASS_BACKWARD, NULL);
    dress(&world, &d, FACE_QUERY_KEY | FACE_VALUE);
    const size_t needed =
        locus_attention_workspace(world.plan, &world.options, LOCUS_FLOAT32, LOCUS_PASS_BACKWARD, NULL);
    /* q', k', v', do' */
    assert_true(needed >= 4 * world.T * test.heads * test.head_dim * sizeof(float));
    assert_true(needed <= local + 4 * (world.T * test.heads * test.head_dim * sizeof(float) + LOCUS_ALIGNMENT));
    attention_arrays arrays = attention_arrays_make(&world);
    attention_run(&world, &arrays, LOCUS_FLOAT64, ATTENTION_PLAIN, true);
    const int64_t shape[] = {(int64_t)world.T, (int64_t)test.heads, (int64_t)test.head_dim};
    locus_tensor q = locus_tensor_view(arrays.q, LOCUS_FLOAT64, 3, shape), k = q, v = q, o = q;
    k.data = arrays.k;
    v.data = arrays.v;
    o.data = arrays.o;
    const locus_attention_tensors tensors = {sizeof tensors, &q, &k, &v, &o, NULL};
    locus_workspace small = {world.workspace.data, 0};
    assert_int_equal(locus_threads_set(1), LOCUS_OK); /* with more, a call would take fewer of them */
    small.bytes = locus_attention_workspace(world.plan, &world.options, LOCUS_FLOAT64, LOCUS_PASS_FORWARD, NULL) - 1;
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
    const locus_execution execution = locus_execution_in(small);
    assert_int_equal(locus_attention_forward(world.plan, &world.options, &tensors, &execution, &error),
                     LOCUS_ERROR_MEMORY);
    attention_arrays_free(&arrays);
    attention_world_free(&world);
}

static void test_content_tables_are_refused(void **state) {
    attention_case test = base("relative(window=2) + liere(group=seq)");
    attention_world world;
    locus_error error;
    const locus_attention_tensors none = {sizeof none, NULL, NULL, NULL, NULL, NULL};
    (void)state;
    attention_world_make(&world, &test);
    assert_int_equal(locus_attention_forward(world.plan, &world.options, &none, NULL, &error), LOCUS_ERROR_UNSUPPORTED);
    attention_world_free(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queries_and_keys),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_cross_attention),
        cmocka_unit_test(test_split_sequence),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_without_parameters),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_workspace_is_checked),
        cmocka_unit_test(test_content_tables_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
