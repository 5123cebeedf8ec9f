/* SPDX-License-Identifier: MIT */
/* Softmax-free attention against its dense definition, against the full Gaussian kernel (every token a landmark, keys
 * the queries: K·K⁻¹·K = K), and against the laws. */
#include "kind_of.h"
#include "unit/kinds_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const size_t lengths[] = {130, 0, 1, 65, 600}, keys[] = {70, 3, 0, 129, 530};
static const char *const specs[] = {"none", "rope", "rope(values=on, pairs=half)", "algebraic(group=seq, values=on)",
                                    "algebraic(group=tree:2, values=on)"};

static kinds_case base(const char *spec) {
    kinds_case test = {.spec = spec, .heads = 2, .head_dim = 6, .sequences = 5, .gap = 2, .query_lengths = lengths};
    test.value_dim = strstr(spec, "values=on") ? 6 : 9;
    test.options = locus_attention_default();
    test.options.kind = kind_of("soft(landmarks=12, iterations=8)");
    return test;
}

static void test_definition(void **state) {
    (void)state;
    for (size_t e = 0; e < 5; e++) {
        kinds_case test = base(specs[e]);
        kinds_check(&test, LOCUS_FLOAT64, 1e-10);
        kinds_check(&test, LOCUS_FLOAT32, 2e-4);
        test.key_lengths = keys;
        test.options.scale = 0.7;
        kinds_check(&test, LOCUS_FLOAT64, 1e-10);
    }
}

/* Landmarks by default, and their default number of steps: errors in the null space have doubled twenty times. */
static void test_defaults(void **state) {
    (void)state;
    kinds_case test = base("rope");
    test.options.kind = kind_of("soft");
    kinds_check(&test, LOCUS_FLOAT64, 1e-7);
    test.kv_heads = 1;
    kinds_check(&test, LOCUS_FLOAT64, 1e-7);
}

/* exp(−|q_i − k_j|²·scale/2) v_j summed over j, nothing divided. */
static double full_kernel(const kinds_world *world, size_t i, size_t h, size_t e) {
    const size_t heads = world->shape.heads, d = world->shape.head_dim, dv = world->shape.value_dim;
    double sum = 0;
    for (size_t j = 0; j < world->N; j++) {
        double square = 0;
        for (size_t c = 0; c < d; c++) {
            const double apart = world->q[(i * heads + h) * d + c] - world->k[(j * heads + h) * d + c];
            square += apart * apart;
        }
        sum += exp(-square * world->test->options.scale / 2) * world->v[(j * heads + h) * dv + e];
    }
    return sum;
}

static void test_every_token_a_landmark(void **state) {
    const size_t some[] = {40};
    (void)state;
    for (size_t type = 0; type < 2; type++) {
        kinds_case test = base("none");
        kinds_world world;
        test.sequences = 1;
        test.query_lengths = some;
        test.gap = 0;
        test.same = true;
        test.options.kind = kind_of("soft(landmarks=100, iterations=30)");
        test.options.scale = 1;
        kinds_make(&world, &test);
        kinds_run(&world, type ? LOCUS_FLOAT64 : LOCUS_FLOAT32, false, true);
        for (size_t i = 0; i < world.T; i++)
            for (size_t h = 0; h < 2; h++)
                for (size_t e = 0; e < test.value_dim; e++) {
                    const double got = world.o[(i * 2 + h) * test.value_dim + e], want = full_kernel(&world, i, h, e);
                    if (fabs(got - want) > (type ? 1e-9 : 1e-4))
                        fail_msg("output %zu of head %zu is %.12g, not %.12g", i, h, got, want);
                }
        kinds_free(&world);
    }
}

static void test_directions(void **state) {
    static const char *const learned[] = {"none", "rope(learned=on, values=on)", "algebraic(group=seq, values=on)"};
    (void)state;
    for (size_t e = 0; e < 3; e++) {
        kinds_case test = base(learned[e]);
        kinds_check_directions(&test, 1e-6, 3e-6);
        test.key_lengths = keys;
        test.heads = 4;
        test.kv_heads = 2;
        kinds_check_directions(&test, 1e-6, 3e-6);
    }
}

static void test_types(void **state) {
    (void)state;
    kinds_case test = base("rope(values=on)");
    kinds_check_types(&test, 2e-3); /* eight steps: the inverse is up to a hundred times the kernel's rounding */
}

static void test_threads(void **state) {
    (void)state;
    kinds_case test = base("algebraic(group=seq, values=on)");
    kinds_check_threads(&test, LOCUS_FLOAT32);
    kinds_check_threads(&test, LOCUS_FLOAT64);
}

static void test_zeros(void **state) {
    (void)state;
    const kinds_case test = base("algebraic(group=seq, values=on)");
    kinds_check_zeros(&test);
}

static void test_only_relative_positions_matter(void **state) {
    (void)state;
    for (size_t e = 1; e < 4; e++)
        kinds_check_relativity(base(specs[e]), 1e-8);
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
    kinds_check_refused(&test, "dropout");
    test = plain;
    test.options.scale = -1;
    kinds_check_refused(&test, "scale");
    test = plain;
    test.spec = "alibi";
    kinds_check_refused(&test, "alibi");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_every_token_a_landmark),
        cmocka_unit_test(test_directions),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_only_relative_positions_matter),
        cmocka_unit_test(test_said_scale),
        cmocka_unit_test(test_turned),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
