/* SPDX-License-Identifier: MIT */
/* Linear attention against its dense definition, masks × layouts × operators × sizes around a chunk and a piece; the
 * same bits on any number of threads; derivatives of sequences of many pieces along random directions. */
#include "kind_of.h"
#include "property/encoding_rig.h"
#include "sanitized.h"
#include "unit/kinds_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const size_t lengths[] = {130, 0, 1, 65, 600}, keys[] = {70, 3, 0, 129, 530};
static const size_t prefix[] = {60, 0, 0, 100, 300}, self_prefix[] = {60, 0, 1, 33, 515};
static const char *const specs[] = {"none", "rope", "rope(values=on, pairs=half)", "algebraic(group=seq, values=on)",
                                    "algebraic(group=tree:2, values=on)"};

static kinds_case base(const char *spec, locus_mask mask) {
    kinds_case test = {.spec = spec, .heads = 2, .head_dim = 6, .sequences = 5, .gap = 2};
    test.value_dim = strstr(spec, "values=on") ? 6 : 9;
    test.query_lengths = lengths;
    test.options = locus_attention_default();
    test.options.kind = kind_of("linear");
    test.options.mask = mask;
    test.options.prefix = self_prefix;
    return test;
}

static const locus_mask masks[] = {LOCUS_MASK_FULL, LOCUS_MASK_CAUSAL, LOCUS_MASK_PREFIX};

static void test_definition(void **state) {
    size_t number = 0;
    (void)state;
    for (size_t e = 0; e < 5; e++)
        for (size_t m = 0; m < 3; m++) {
            kinds_case test = base(specs[e], masks[m]);
            if (!left_out(number++, 2))
                kinds_check(&test, LOCUS_FLOAT64, 1e-12);
            if (!left_out(number++, 2))
                kinds_check(&test, LOCUS_FLOAT32, 2e-5);
            test.key_lengths = keys;
            test.options.prefix = prefix;
            test.options.scale = 0.4;
            if (!left_out(number++, 2))
                kinds_check(&test, LOCUS_FLOAT64, 1e-12);
        }
}

static void test_groups_of_heads(void **state) {
    (void)state;
    for (size_t m = 0; m < 3; m++) {
        kinds_case test = base("rope(values=on)", masks[m]);
        test.heads = 6;
        test.kv_heads = 2;
        kinds_check(&test, LOCUS_FLOAT64, 1e-12);
        kinds_check_directions(&test, 1e-5, 1e-7);
    }
}

static void test_directions(void **state) {
    static const char *const learned[] = {"none", "rope(learned=on, values=on)", "algebraic(group=seq, values=on)"};
    (void)state;
    for (size_t e = 0; e < 3; e++)
        for (size_t m = 0; m < 3; m++) {
            kinds_case test = base(learned[e], masks[m]);
            if (SANITIZED((e + m) % 2 == 0, true))
                kinds_check_directions(&test, 1e-6, 2e-6);
            test.key_lengths = keys;
            test.options.prefix = prefix;
            if (SANITIZED((e + m) % 2 == 1, true))
                kinds_check_directions(&test, 1e-6, 2e-6);
        }
}

static void test_long_sequences(void **state) {
    const size_t many[] = {1700, 1025}, other[] = {1600, 2050}, start[] = {900, 1024};
    (void)state;
    for (size_t m = 0; m < 3; m++) {
        kinds_case test = base("rope", masks[m]);
        test.sequences = 2;
        test.heads = 1;
        test.query_lengths = many;
        test.key_lengths = other;
        test.options.prefix = start;
        kinds_check(&test, LOCUS_FLOAT64, 1e-12);
        if (!IS_SANITIZED)
            kinds_check_directions(&test, 1e-6, 1e-6);
        kinds_check_types(&test, 2e-5);
    }
}

static void test_threads(void **state) {
    (void)state;
    for (size_t m = 0; m < 3; m++) {
        kinds_case test = base("algebraic(group=seq, values=on)", masks[m]);
        kinds_check_threads(&test, LOCUS_FLOAT32);
        kinds_check_threads(&test, LOCUS_FLOAT64);
    }
}

static void test_zeros(void **state) {
    (void)state;
    for (size_t m = 0; m < 3; m++) {
        const kinds_case test = base("algebraic(group=seq, values=on)", masks[m]);
        kinds_check_zeros(&test);
    }
}

static void test_only_relative_positions_matter(void **state) {
    (void)state;
    for (size_t e = 1; e < 4; e++)
        for (size_t m = SANITIZED(e - 1, 0); m < SANITIZED(e, 3); m++)
            kinds_check_relativity(base(specs[e], masks[m]), 1e-9);
}

/* Operators that stretch: queries by ζ^p, keys by the inverse. Only causal attention may have them. */
static void test_xpos(void **state) {
    (void)state;
    kinds_case test = base("rope(xpos=64)", LOCUS_MASK_CAUSAL);
    kinds_check(&test, LOCUS_FLOAT64, 1e-10);
    kinds_check_directions(&test, 1e-6, 2e-6);
}

/* A scale that the encoding says; one that the caller gives goes before it. */
static void test_said_scale(void **state) {
    (void)state;
    kinds_case test = base("rope + scores(scale=0.4)", LOCUS_MASK_CAUSAL);
    test.said = 0.4;
    kinds_check(&test, LOCUS_FLOAT64, 1e-10);
    test.options.scale = 0.9;
    kinds_check(&test, LOCUS_FLOAT64, 1e-10);
}

/* Given turned: operators do not act again, and the parameters get nothing. */
static void test_turned(void **state) {
    (void)state;
    kinds_case test = base("none", LOCUS_MASK_CAUSAL);
    test.options.turned = true;
    kinds_check(&test, LOCUS_FLOAT64, 1e-10);
    kinds_check_directions(&test, 1e-7, 3e-6);
    kinds_check_threads(&test, LOCUS_FLOAT32);
}

/* A key of −∞ has no weight: φ(−∞) is 0. */
static void test_keys_without_weight(void **state) {
    enum { KEYS = 3, DIM = 2 };
    static const double q[DIM] = {0.5, -1}, v[KEYS * DIM] = {1, 2, 30, 40, 5, -6};
    static const double k[KEYS * DIM] = {1, -0.5, -INFINITY, -INFINITY, -2, 0};
    const size_t ends[] = {0, 1}, key_ends[] = {0, KEYS};
    const int64_t one[] = {1, 1, DIM}, all[] = {KEYS, 1, DIM};
    double o[DIM];
    rig r;
    locus_positions *queries = NULL, *places = NULL;
    (void)state;
    rig_bind(&r, "none", rig_shape(1, DIM, DIM, DIM), 1);
    rig_ok(locus_positions_create(&queries, NULL, &(locus_packing){sizeof(locus_packing), 1, ends, NULL}, NULL, error));
    rig_ok(
        locus_positions_create(&places, NULL, &(locus_packing){sizeof(locus_packing), 1, key_ends, NULL}, NULL, error));
    rig_place(&r, queries, places);
    locus_attention_options options = locus_attention_default();
    options.kind = kind_of("linear");
    options.mask = LOCUS_MASK_FULL;
    const locus_tensor query = locus_tensor_view((double *)(uintptr_t)q, LOCUS_FLOAT64, 3, one),
                       key = locus_tensor_view((double *)(uintptr_t)k, LOCUS_FLOAT64, 3, all),
                       value = locus_tensor_view((double *)(uintptr_t)v, LOCUS_FLOAT64, 3, all),
                       output = locus_tensor_view(o, LOCUS_FLOAT64, 3, one);
    const locus_attention_tensors tensors = {sizeof tensors, &query, &key, &value, &output, NULL};
    locus_workspace lent = {NULL, locus_attention_workspace(r.plan, &options, LOCUS_FLOAT64, LOCUS_PASS_FORWARD, NULL)};
    lent.data = locus_allocate(lent.bytes + 1);
    assert_non_null(lent.data);
    const locus_execution execution = locus_execution_in(lent);
    rig_ok(locus_attention_forward(r.plan, &options, &tensors, &execution, error));
    locus_release(lent.data, lent.bytes + 1);
    double weights[KEYS] = {0}, sum = 0;
    for (size_t n = 0; n < KEYS; n += 2)
        for (size_t i = 0; i < DIM; i++) {
            const double x = q[i], y = k[n * DIM + i];
            const double weight = (x < 0 ? exp(x) : x + 1) * (y < 0 ? exp(y) : y + 1);
            weights[n] += weight;
            sum += weight;
        }
    for (size_t i = 0; i < DIM; i++)
        assert_true(fabs(o[i] - (weights[0] * v[i] + weights[2] * v[4 + i]) / sum) < 1e-12);
    rig_close(&r);
}

static void test_refusals(void **state) {
    const size_t length[] = {4};
    int32_t documents[4] = {0};
    (void)state;
    kinds_case plain = base("none", LOCUS_MASK_FULL);
    plain.sequences = 1;
    plain.query_lengths = length;
    kinds_case test = plain;
    test.options.dropout = 0.1;
    kinds_check_refused(&test, "dropout");
    test = plain;
    test.options.cap = 30;
    kinds_check_refused(&test, "cap");
    test = plain;
    test.options.window = 3;
    kinds_check_refused(&test, "window");
    test = plain;
    test.gap = 0;
    test.options.query_documents = test.options.key_documents = documents;
    kinds_check_refused(&test, "query_documents");
    test = plain;
    test.spec = "rope";
    test.options.turned = true;
    kinds_check_refused(&test, "turned");
    test = plain;
    test.spec = "alibi";
    kinds_check_refused(&test, "alibi");
    test.spec = "scores(cap=30)";
    kinds_check_refused(&test, "scores(cap");
    test.spec = "scores(window=3)";
    kinds_check_refused(&test, "scores(window");
    test.spec = "decay";
    kinds_check_refused(&test, "decay");
    test.spec = "relative(window=3)";
    kinds_check_refused(&test, "relative");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_groups_of_heads),
        cmocka_unit_test(test_directions),
        cmocka_unit_test(test_long_sequences),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_only_relative_positions_matter),
        cmocka_unit_test(test_xpos),
        cmocka_unit_test(test_said_scale),
        cmocka_unit_test(test_turned),
        cmocka_unit_test(test_keys_without_weight),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
