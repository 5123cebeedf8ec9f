/* SPDX-License-Identifier: MIT */
/* Clustered attention against its dense definition, against softmax attention (as many clusters as queries), and
 * against the laws. */
#include "kind_of.h"
#include "sanitized.h"
#include "unit/kinds_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The last are longer than a piece, 1024, by more than a block of rows: they are most of the work, and under a
 * sanitizer one encoding has them, and the threads. */
static const size_t lengths[] = {130, 0, 1, 65, 1090}, keys[] = {70, 3, 0, 129, 1030};
static const char *const specs[] = {"none", "rope", "rope(values=on, pairs=half)", "algebraic(group=seq, values=on)",
                                    "algebraic(group=tree:2, values=on)"};

static kinds_case base(const char *spec) {
    kinds_case test = {.spec = spec, .heads = 2, .head_dim = 6, .gap = 2, .query_lengths = lengths};
    test.sequences = SANITIZED(4, 5);
    test.value_dim = strstr(spec, "values=on") ? 6 : 9;
    test.options = locus_attention_default();
    test.options.kind = kind_of("clustered(clusters=75, iterations=4)");
    test.options.dropout_key = (locus_random){5, LOCUS_RANDOM_USER + 1, 3};
    return test;
}

static void test_definition(void **state) {
    (void)state;
    for (size_t e = 0; e < 5; e++) {
        kinds_case test = base(specs[e]);
        test.sequences = SANITIZED(e == 3 ? 5 : 4, 5);
        kinds_check(&test, LOCUS_FLOAT64, 1e-12);
        test.key_lengths = keys;
        test.options.scale = 0.7;
        test.options.dropout = 0.3;
        kinds_check(&test, LOCUS_FLOAT64, 1e-12);
        test.options.kind = kind_of("clustered(clusters=5, iterations=4)");
        kinds_check(&test, LOCUS_FLOAT64, 1e-12);
    }
}

static void test_groups_of_heads(void **state) {
    (void)state;
    kinds_case test = base("rope(values=on)");
    test.heads = 6;
    test.kv_heads = 2;
    kinds_check(&test, LOCUS_FLOAT64, 1e-12);
    kinds_check_directions(&test, 1e-7, 2e-6);
}

/* Queries that gather around centres: both types find the same clusters. */
static void test_types(void **state) {
    (void)state;
    kinds_case test = base("none");
    test.spread = 7;
    test.options.kind = kind_of("clustered(clusters=5, iterations=4)");
    kinds_check(&test, LOCUS_FLOAT32, 1e-5);
    kinds_check_types(&test, 3e-5);
}

static void test_a_cluster_for_each_query(void **state) {
    static const locus_dtype types[] = {LOCUS_FLOAT64, LOCUS_FLOAT32};
    (void)state;
    for (size_t e = 0; e < 5; e++)
        for (size_t t = SANITIZED(e % 2, 0); t < SANITIZED(e % 2 + 1, 2); t++) {
            kinds_case test = base(specs[e]), exact;
            kinds_world clustered, softmax;
            test.key_lengths = keys;
            test.options.kind = kind_of("clustered(clusters=2000, iterations=4)");
            exact = test;
            exact.options.kind = NULL;
            kinds_make(&clustered, &test);
            kinds_make(&softmax, &exact);
            kinds_run(&clustered, types[t], false, false);
            kinds_run(&softmax, types[t], false, false);
            const double *got[] = {clustered.o, clustered.dq, clustered.dk, clustered.dv};
            const double *want[] = {softmax.o, softmax.dq, softmax.dk, softmax.dv};
            const size_t counts[] = {kinds_outputs(&softmax), kinds_queries(&softmax), kinds_keys(&softmax),
                                     kinds_values(&softmax)};
            for (size_t i = 0; i < 4; i++)
                for (size_t j = 0; j < counts[i]; j++)
                    if (!(fabs(got[i][j] - want[i][j]) <= (t ? 1e-5 : 1e-12)) && !isnan(want[i][j]))
                        fail_msg("'%s', array %zu: %.17g, not %.17g", specs[e], i, got[i][j], want[i][j]);
            kinds_free(&clustered);
            kinds_free(&softmax);
        }
}

/* One sequence of a kind. */
enum { LENGTH = 40 };
static kinds_case one_sequence(const char *kind) {
    static const size_t length[] = {LENGTH};
    kinds_case test = base("none");
    test.sequences = 1;
    test.query_lengths = length;
    test.gap = 0;
    test.options.kind = kind_of(kind);
    return test;
}

/* All queries alike: the first cluster has them all, and the others, which have none, must not get in the way however
 * high their scores are. */
static void test_clusters_without_queries(void **state) {
    (void)state;
    const kinds_case test = one_sequence("clustered(clusters=4, iterations=4)");
    kinds_world world;
    kinds_make(&world, &test);
    for (size_t i = 0; i < kinds_queries(&world); i++)
        world.q[i] = 3;
    for (size_t i = 0; i < kinds_keys(&world); i++)
        world.k[i] = fabs(world.k[i]) * 200;
    const kinds_dense want = kinds_define(&world);
    kinds_run(&world, LOCUS_FLOAT32, false, false);
    for (size_t i = 0; i < kinds_outputs(&world); i++)
        assert_true(fabs(world.o[i] - want.o[i]) < 1e-3);
    for (size_t i = 0; i < kinds_keys(&world); i++)
        assert_true(isfinite(world.dk[i]) && isfinite(world.dq[i]));
    free(want.o);
    free(want.log_sum_exp);
    kinds_free(&world);
}

/* A query that is no number is of the first cluster, here the only one: its rows are no numbers either. */
static void test_no_number_is_of_the_first_cluster(void **state) {
    (void)state;
    const kinds_case test = one_sequence("clustered(clusters=1, iterations=2)");
    kinds_world world;
    kinds_make(&world, &test);
    const size_t queries = kinds_queries(&world), outputs = kinds_outputs(&world), row = queries / LENGTH;
    for (size_t i = 0; i < queries; i++)
        world.q[i] = i / row == 5 ? NAN : 3;
    kinds_run(&world, LOCUS_FLOAT32, false, false);
    for (size_t i = 0; i < outputs; i++)
        assert_true(isnan(world.o[i]));
    kinds_free(&world);
}

static void test_directions(void **state) {
    static const char *const learned[] = {"none", "rope(learned=on, values=on)", "algebraic(group=seq, values=on)"};
    (void)state;
    for (size_t e = 0; e < 3; e++) {
        kinds_case test = base(learned[e]);
        test.sequences = 4;
        test.options.kind = kind_of("clustered(clusters=20, iterations=4)");
        kinds_check_directions(&test, 1e-7, 3e-6);
        test.key_lengths = keys;
        test.options.dropout = 0.25;
        kinds_check_directions(&test, 1e-7, 3e-6);
    }
}

static void test_threads(void **state) {
    (void)state;
    kinds_case test = base("algebraic(group=seq, values=on)");
    kinds_check_threads(&test, LOCUS_FLOAT64);
    test.sequences = 5;
    kinds_check_threads(&test, LOCUS_FLOAT32);
}

static void test_zeros(void **state) {
    (void)state;
    const kinds_case test = base("algebraic(group=seq, values=on)");
    kinds_check_zeros(&test);
}

static void test_only_relative_positions_matter(void **state) {
    (void)state;
    for (size_t e = 1; e < 4; e++)
        kinds_check_relativity(base(specs[e]), 1e-9);
}

/* A scale that the encoding says; one that the caller gives goes before it. */
static void test_said_scale(void **state) {
    (void)state;
    kinds_case test = base("rope + scores(scale=0.4)");
    test.said = 0.4;
    kinds_check(&test, LOCUS_FLOAT64, 1e-10);
    test.options.scale = 0.9;
    kinds_check(&test, LOCUS_FLOAT64, 1e-10);
}

/* Given turned: operators do not act again, and the parameters get nothing. */
static void test_turned(void **state) {
    (void)state;
    kinds_case test = base("rope(values=on, learned=on)");
    test.options.turned = true;
    kinds_check(&test, LOCUS_FLOAT64, 1e-10);
    kinds_check_directions(&test, 1e-7, 3e-6);
    kinds_check_threads(&test, LOCUS_FLOAT32);
}

static void test_refusals(void **state) {
    const size_t length[] = {4};
    (void)state;
    kinds_case plain = base("none");
    plain.sequences = 1;
    plain.query_lengths = length;
    kinds_case test = plain;
    test.options.mask = LOCUS_MASK_CAUSAL;
    kinds_check_refused(&test, "mask must be full");
    test = plain;
    test.options.dropout = 0.1;
    test.options.dropout_on = LOCUS_DROPOUT_LOGITS;
    kinds_check_refused(&test, "logits");
    test = plain;
    test.spec = "scores(cap=30)";
    kinds_check_refused(&test, "scores(cap");
    test.spec = "scores(window=3)";
    kinds_check_refused(&test, "scores(window");
    test.spec = "scores(chunk=3)";
    kinds_check_refused(&test, "scores(chunk");
    test.spec = "temperature";
    kinds_check_refused(&test, "multiplies scores");
    test.spec = "decay";
    kinds_check_refused(&test, "decay");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_groups_of_heads),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_a_cluster_for_each_query),
        cmocka_unit_test(test_clusters_without_queries),
        cmocka_unit_test(test_no_number_is_of_the_first_cluster),
        cmocka_unit_test(test_directions),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_only_relative_positions_matter),
        cmocka_unit_test(test_said_scale),
        cmocka_unit_test(test_turned),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
