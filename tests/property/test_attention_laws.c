/* SPDX-License-Identifier: MIT */
/* Laws of attention that need no oracle: weights sum to 1, order does not matter without positions, only relative
 * positions matter with them, masked keys neither give nor get, dropout has its rate, packing changes nothing, NaN
 * stays where it belongs. */
#include "unit/attention_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const size_t lengths[] = {3, 70, 200};

static attention_case base(const char *spec) {
    attention_case test = {.spec = spec, .heads = 2, .head_dim = 8, .sequences = 3, .query_lengths = lengths};
    return test;
}

static void assert_near(double got, double want, double tolerance) {
    if (fabs(got - want) > tolerance * (1 + fabs(want)))
        fail_msg("%.17g is not %.17g", got, want);
}

/* Constant values come out as they went in; the output then does not depend on the weights, so queries get nothing. */
static void test_rows_sum_to_one(void **state) {
    static const char *const specs[] = {"none", "rope", "algebraic(group=seq)", "alibi", "decay", "relative(window=5)"};
    (void)state;
    for (size_t e = 0; e < sizeof specs / sizeof specs[0]; e++)
        for (int m = 0; m < 2; m++) {
            attention_case test = base(specs[e]);
            test.mask = m ? LOCUS_MASK_CAUSAL : LOCUS_MASK_FULL;
            attention_world world;
            attention_world_make(&world, &test);
            attention_arrays arrays = attention_arrays_make(&world);
            size_t row = test.heads * test.head_dim;
            for (size_t i = 0; i < world.N * row; i++)
                arrays.v[i] = (double)(i % row);
            attention_run(&world, &arrays, LOCUS_FLOAT64, ATTENTION_PLAIN, false);
            for (size_t i = 0; i < world.T * row; i++) {
                assert_near(arrays.o[i], (double)(i % row), 1e-13);
                assert_near(arrays.dq[i], 0, 1e-12); /* the output does not depend on the weights */
            }
            attention_arrays_free(&arrays);
            attention_world_free(&world);
        }
}

/* Reverses the tokens of every sequence. */
static void reverse(const attention_world *world, double *values, size_t row) {
    for (size_t s = 0; s < world->test->sequences; s++) {
        size_t first = world->query_offsets[s], count = world->query_lengths[s];
        for (size_t i = 0; i < count / 2; i++)
            for (size_t d = 0; d < row; d++) {
                double *a = values + (first + i) * row + d, *b = values + (first + count - 1 - i) * row + d, kept = *a;
                *a = *b;
                *b = kept;
            }
    }
}

static void test_permutation_equivariance(void **state) {
    (void)state;
    attention_case test = base("none");
    attention_world world;
    attention_world_make(&world, &test);
    attention_arrays plain = attention_arrays_make(&world), turned = attention_arrays_make(&world);
    size_t row = test.heads * test.head_dim;
    double *given[] = {turned.q, turned.k, turned.v, turned.go};
    double *results[] = {turned.o, turned.log_sum_exp, turned.dq, turned.dk, turned.dv};
    for (size_t i = 0; i < 4; i++)
        reverse(&world, given[i], row);
    attention_run(&world, &plain, LOCUS_FLOAT64, ATTENTION_PLAIN, false);
    attention_run(&world, &turned, LOCUS_FLOAT64, ATTENTION_PLAIN, false);
    for (size_t i = 0; i < 5; i++)
        reverse(&world, results[i], i == 1 ? test.heads : row);
    attention_compare(&world, &turned, &plain, 1e-12);
    attention_arrays_free(&plain);
    attention_arrays_free(&turned);
    attention_world_free(&world);
}

static void test_only_relative_positions_matter(void **state) {
    static const char *const specs[] = {
        "rope",  "roper",           "algebraic(group=seq, values=on)", "liere(group=seq, values=on)",
        "alibi", "decay(rate=0.9)", "relative(window=5, values=on)",   "rope + decay(rate=0.97)"};
    (void)state;
    for (size_t e = 0; e < sizeof specs / sizeof specs[0]; e++)
        for (int m = 0; m < 2; m++) {
            attention_case near = base(specs[e]), far;
            near.mask = m ? LOCUS_MASK_CAUSAL : LOCUS_MASK_FULL;
            far = near;
            far.query_start = far.key_start = 4000;
            attention_world here, there;
            attention_world_make(&here, &near);
            attention_world_make(&there, &far);
            attention_arrays a = attention_arrays_make(&here), b = attention_arrays_make(&there);
            attention_run(&here, &a, LOCUS_FLOAT64, ATTENTION_PLAIN, true);
            attention_run(&there, &b, LOCUS_FLOAT64, ATTENTION_PLAIN, true);
            for (size_t i = 0; i < here.T * near.heads * near.head_dim; i++)
                assert_near(b.o[i], a.o[i], 1e-10);
            attention_arrays_free(&a);
            attention_arrays_free(&b);
            attention_world_free(&here);
            attention_world_free(&there);
        }
}

/* Values turn with their positions and are turned back at the query's: with one key, o = ⌈p_n − p_m⌉ v, which is v at
 * p_m = p_n. */
static void test_values_come_back(void **state) {
    static const char *const specs[] = {"roper", "algebraic(group=seq, values=on)", "liere(group=seq, values=on)"};
    const size_t one[] = {1};
    (void)state;
    for (size_t e = 0; e < sizeof specs / sizeof specs[0]; e++) {
        attention_case test = {.spec = specs[e], .heads = 2, .head_dim = 8, .sequences = 1, .query_lengths = one};
        test.query_start = test.key_start = 37;
        attention_world world;
        attention_world_make(&world, &test);
        attention_arrays arrays = attention_arrays_make(&world);
        attention_run(&world, &arrays, LOCUS_FLOAT64, ATTENTION_PLAIN, false);
        for (size_t i = 0; i < 16; i++) {
            assert_near(arrays.o[i], arrays.v[i], 1e-13);
            assert_near(arrays.dv[i], arrays.go[i], 1e-13);
        }
        attention_arrays_free(&arrays);
        attention_world_free(&world);
    }
}

/* The loss looks at the last sequence's first 50 outputs only: keys that these do not see get exactly zero. */
static void test_masked_keys_get_nothing(void **state) {
    (void)state;
    attention_case test = base("rope");
    test.mask = LOCUS_MASK_CAUSAL;
    attention_world world;
    attention_world_make(&world, &test);
    attention_arrays arrays = attention_arrays_make(&world), changed = attention_arrays_make(&world);
    size_t row = test.heads * test.head_dim, first = world.query_offsets[2], cut = first + 50;
    memset(arrays.go + cut * row, 0, (world.T - cut) * row * sizeof(double));
    for (size_t i = cut * row; i < world.N * row; i++)
        changed.k[i] = changed.v[i] = 1e3;
    attention_run(&world, &arrays, LOCUS_FLOAT64, ATTENTION_PLAIN, false);
    attention_run(&world, &changed, LOCUS_FLOAT64, ATTENTION_PLAIN, true);
    for (size_t i = cut * row; i < world.N * row; i++) {
        assert_true(arrays.dk[i] == 0);
        assert_true(arrays.dv[i] == 0);
    }
    assert_memory_equal(arrays.o, changed.o, cut * row * sizeof(double)); /* the future cannot be seen */
    attention_arrays_free(&arrays);
    attention_arrays_free(&changed);
    attention_world_free(&world);
}

/* With values 1 and uniform weights, an output is the mean of the factors: 1 on average, each 0 or 1/(1 − p). */
static void test_dropout_rate(void **state) {
    const size_t long_lengths[] = {600, 400};
    const double p = 0.1;
    (void)state;
    attention_case test = {.spec = "none", .heads = 2, .head_dim = 1, .sequences = 2, .query_lengths = long_lengths};
    test.dropout = p;
    attention_world world;
    attention_world_make(&world, &test);
    attention_arrays arrays = attention_arrays_make(&world);
    memset(arrays.q, 0, world.T * test.heads * sizeof(double));
    for (size_t i = 0; i < world.N * test.heads; i++)
        arrays.v[i] = 1;
    attention_run(&world, &arrays, LOCUS_FLOAT64, ATTENTION_PLAIN, true);
    for (size_t s = 0; s < 2; s++) {
        double sum = 0, n = (double)long_lengths[s], rows = n * (double)test.heads, squares = 0;
        double deviation = sqrt(p / (1 - p) / n); /* of one row's mean */
        for (size_t i = world.query_offsets[s] * test.heads;
             i < (world.query_offsets[s] + long_lengths[s]) * test.heads; i++) {
            assert_near(arrays.o[i], 1, 6 * deviation);
            double kept = arrays.o[i] * n * (1 - p);
            assert_near(kept, round(kept), 1e-9);
            sum += arrays.o[i];
            squares += (arrays.o[i] - 1) * (arrays.o[i] - 1);
        }
        assert_near(sum / rows, 1, 3 * deviation / sqrt(rows));
        assert_near(sqrt(squares / rows) / deviation, 1, 0.06); /* independent between keys and rows */
    }
    attention_arrays_free(&arrays);
    attention_world_free(&world);
}

/* A sequence alone gives the same bits as within a batch. */
static void test_packing_changes_nothing(void **state) {
    (void)state;
    attention_case packed = base("algebraic(group=seq, values=on)"), alone = packed;
    packed.mask = alone.mask = LOCUS_MASK_CAUSAL;
    alone.sequences = 1;
    alone.query_lengths = lengths + 2;
    attention_world all, one;
    attention_world_make(&all, &packed);
    attention_world_make(&one, &alone);
    attention_arrays a = attention_arrays_make(&all), b = attention_arrays_make(&one);
    size_t row = packed.heads * packed.head_dim, first = all.query_offsets[2] * row, count = lengths[2] * row;
    memcpy(b.q, a.q + first, count * sizeof(double));
    memcpy(b.k, a.k + first, count * sizeof(double));
    memcpy(b.v, a.v + first, count * sizeof(double));
    memcpy(b.go, a.go + first, count * sizeof(double));
    attention_run(&all, &a, LOCUS_FLOAT64, ATTENTION_PLAIN, false);
    attention_run(&one, &b, LOCUS_FLOAT64, ATTENTION_PLAIN, false);
    assert_memory_equal(a.o + first, b.o, count * sizeof(double));
    assert_memory_equal(a.dq + first, b.dq, count * sizeof(double));
    assert_memory_equal(a.dk + first, b.dk, count * sizeof(double));
    assert_memory_equal(a.dv + first, b.dv, count * sizeof(double));
    attention_arrays_free(&a);
    attention_arrays_free(&b);
    attention_world_free(&all);
    attention_world_free(&one);
}

static void test_nan_stays_in_its_rows(void **state) {
    (void)state;
    attention_case test = base("none");
    test.mask = LOCUS_MASK_CAUSAL;
    attention_world world;
    attention_world_make(&world, &test);
    attention_arrays arrays = attention_arrays_make(&world);
    size_t row = test.heads * test.head_dim, token = world.query_offsets[2] + 150;
    arrays.k[token * row] = NAN; /* head 0 of one key: rows before it do not see it, head 1 neither */
    attention_run(&world, &arrays, LOCUS_FLOAT64, ATTENTION_PLAIN, false);
    for (size_t i = 0; i < world.T; i++)
        for (size_t d = 0; d < row; d++)
            assert_int_equal(isnan(arrays.o[i * row + d]) != 0, i >= token && d < test.head_dim);
    attention_arrays_free(&arrays);
    attention_world_free(&world);
}

/* Scores of 1e4 and more neither overflow nor lose the winner. */
static void test_huge_scores(void **state) {
    (void)state;
    attention_case test = base("none");
    test.scale = 3e4;
    attention_world world;
    attention_world_make(&world, &test);
    attention_arrays arrays = attention_arrays_make(&world);
    attention_run(&world, &arrays, LOCUS_FLOAT32, ATTENTION_PLAIN, false);
    for (size_t i = 0; i < world.T * test.heads * test.head_dim; i++)
        assert_true(isfinite(arrays.o[i]) && isfinite(arrays.dq[i]) && isfinite(arrays.dk[i]) &&
                    isfinite(arrays.dv[i]));
    attention_arrays_free(&arrays);
    attention_world_free(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_sum_to_one),
        cmocka_unit_test(test_permutation_equivariance),
        cmocka_unit_test(test_only_relative_positions_matter),
        cmocka_unit_test(test_values_come_back),
        cmocka_unit_test(test_masked_keys_get_nothing),
        cmocka_unit_test(test_dropout_rate),
        cmocka_unit_test(test_packing_changes_nothing),
        cmocka_unit_test(test_nan_stays_in_its_rows),
        cmocka_unit_test(test_huge_scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
