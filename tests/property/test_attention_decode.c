/* SPDX-License-Identifier: MIT */
/* Laws of steps of decoding, which have a path of their own, and of the options around it: a step gives what the last
 * rows of the whole sequence give; a sequence alone gives the same bits as among others; what is not seen is not read
 * into; inputs turned by hand give what attention's own operators give; a cap beyond all scores and a sink below them
 * change nothing. */
#include "sanitized.h"
#include "unit/attention_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HEADS = 4, DIM = 8, ROW = HEADS * DIM };

static void assert_near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance * (1 + fabs(want))))
        fail_msg("%.17g is not %.17g", got, want);
}

static void ok(locus_status status, const locus_error *error) {
    if (status != LOCUS_OK)
        fail_msg("%s", error->message);
}

static attention_case whole_case(const char *spec, const size_t *length) {
    attention_case test = {.spec = spec, .heads = HEADS, .head_dim = DIM, .sequences = 1, .query_lengths = length};
    test.mask = LOCUS_MASK_CAUSAL;
    test.dropout_on = LOCUS_DROPOUT_LOGITS;
    return test;
}

/* The last `steps` queries of a sequence against all of its keys, by the decoding path, and as part of the whole. */
static void check_step(attention_case whole, size_t steps, locus_dtype dtype) {
    const size_t length = whole.query_lengths[0], first = length - steps;
    const double tolerance = dtype == LOCUS_FLOAT64 ? 1e-12 : 1e-5;
    attention_case step = whole;
    step.query_lengths = &steps;
    step.key_lengths = &length;
    step.query_start = (int64_t)first;
    attention_world all, last;
    attention_world_make(&all, &whole);
    attention_world_make(&last, &step);
    attention_arrays want = attention_arrays_make(&all), got = attention_arrays_make(&last);
    memcpy(got.q, want.q + first * ROW, steps * ROW * sizeof(double));
    attention_run(&all, &want, dtype, ATTENTION_PLAIN, true);
    attention_run(&last, &got, dtype, ATTENTION_SCATTERED, true);
    for (size_t i = 0; i < steps * ROW; i++)
        assert_near(got.o[i], want.o[first * ROW + i], tolerance);
    for (size_t i = 0; i < steps * HEADS; i++)
        assert_near(got.log_sum_exp[i], want.log_sum_exp[first * HEADS + i], tolerance);
    attention_arrays_free(&want);
    attention_arrays_free(&got);
    attention_world_free(&all);
    attention_world_free(&last);
}

static void test_a_step_is_the_end_of_the_whole(void **state) {
    static const char *const specs[] = {"none",
                                        "rope",
                                        "algebraic(group=seq, values=on)",
                                        "alibi",
                                        "rope + decay(rate=0.99) + scores(sinks=on)",
                                        "liere(group=seq, values=on)"};
    static const size_t lengths[] = {33, 256, 257, 700}, steps[] = {1, 2, 3, 8};
    size_t number = 0;
    (void)state;
    for (size_t e = 0; e < sizeof specs / sizeof specs[0]; e++)
        for (size_t n = 0; n < 4; n++)
            for (size_t variant = 0; variant < 3; variant++) {
                attention_case whole = whole_case(specs[e], &lengths[n]);
                whole.kv_heads = variant == 0 ? 0 : variant == 1 ? 2 : 1;
                whole.sliding = variant == 1 ? 300 : 0;
                whole.keep = variant == 1 ? 20 : 0;
                whole.cap = variant == 2 ? 2 : 0;
                if (!left_out(number++, 3))
                    check_step(whole, steps[(n + e + variant) % 4], LOCUS_FLOAT64);
                if (!left_out(number++, 3))
                    check_step(whole, steps[(n + e + variant + 1) % 4], LOCUS_FLOAT32);
            }
}

/* Also: whatever else is decoded or not in the same call. */
static void test_alone_and_among_others(void **state) {
    static const size_t queries[] = {40, 3, 1, 8}, keys[] = {40, 900, 31, 300};
    (void)state;
    for (size_t s = 0; s < 4; s++) {
        attention_case packed = {.spec = "algebraic(group=seq, values=on) + alibi",
                                 .heads = HEADS,
                                 .head_dim = DIM,
                                 .kv_heads = 2,
                                 .sequences = 4,
                                 .query_lengths = queries,
                                 .key_lengths = keys,
                                 .mask = LOCUS_MASK_CAUSAL,
                                 .sliding = 500},
                       alone = packed;
        alone.sequences = 1;
        alone.query_lengths = queries + s;
        alone.key_lengths = keys + s;
        attention_world all, one;
        attention_world_make(&all, &packed);
        attention_world_make(&one, &alone);
        attention_arrays a = attention_arrays_make(&all), b = attention_arrays_make(&one);
        const size_t row = 2 * DIM, at = all.query_offsets[s] * ROW;
        memcpy(b.q, a.q + at, queries[s] * ROW * sizeof(double));
        memcpy(b.k, a.k + all.key_offsets[s] * row, keys[s] * row * sizeof(double));
        memcpy(b.v, a.v + all.key_offsets[s] * row, keys[s] * row * sizeof(double));
        attention_run(&all, &a, LOCUS_FLOAT32, ATTENTION_PLAIN, true);
        attention_run(&one, &b, LOCUS_FLOAT32, ATTENTION_PLAIN, true);
        assert_memory_equal(a.o + at, b.o, queries[s] * ROW * sizeof(double));
        attention_arrays_free(&a);
        attention_arrays_free(&b);
        attention_world_free(&all);
        attention_world_free(&one);
    }
}

/* Keys and values that no query's window reaches may be anything: whole runs of them are passed over. */
static void test_unseen_runs_are_not_read(void **state) {
    static const size_t lengths[2][2] = {{3, 3000}, {600, 3000}}; /* decoding; tiles */
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        attention_case test = {.spec = "rope",
                               .heads = HEADS,
                               .head_dim = DIM,
                               .sequences = 1,
                               .query_lengths = &lengths[i][0],
                               .key_lengths = &lengths[i][1],
                               .mask = LOCUS_MASK_CAUSAL,
                               .sliding = 200,
                               .keep = 4};
        attention_world world;
        attention_world_make(&world, &test);
        attention_arrays arrays = attention_arrays_make(&world);
        for (size_t j = 1024 * ROW; j < 2048 * ROW; j++) /* the window's end is beyond, what is kept before */
            arrays.k[j] = arrays.v[j] = NAN;
        attention_run(&world, &arrays, LOCUS_FLOAT32, ATTENTION_PLAIN, i == 0);
        for (size_t j = 0; j < world.T * ROW; j++)
            assert_true(isfinite(arrays.o[j]) && (i == 0 || isfinite(arrays.dq[j])));
        attention_arrays_free(&arrays);
        attention_world_free(&world);
    }
}

/* ---- turned by hand ---- */

static void turn(const attention_world *world, locus_role role, size_t tokens, size_t heads, double *x) {
    const int64_t shape[] = {(int64_t)tokens, (int64_t)heads, DIM};
    const locus_tensor tensor = locus_tensor_view(x, LOCUS_FLOAT64, 3, shape);
    locus_workspace workspace = {NULL, locus_apply_workspace(world->plan, role, LOCUS_FLOAT64, NULL) + 64};
    workspace.data = locus_allocate(workspace.bytes);
    assert_non_null(workspace.data);
    locus_error error;
    const locus_execution execution = locus_execution_in(workspace);
    ok(locus_apply(world->plan, role, LOCUS_FORWARD, &tensor, &tensor, &execution, &error), &error);
    locus_release(workspace.data, workspace.bytes);
}

static void test_turned_by_hand(void **state) {
    static const char *const specs[] = {"rope", "roper", "algebraic(group=seq, values=on) + alibi",
                                        "liere(group=seq, values=on)", "algebraic(group=tree:2, values=on)"};
    static const size_t queries[] = {70, 2, 0}, keys[] = {90, 300, 5};
    (void)state;
    for (size_t e = 0; e < sizeof specs / sizeof specs[0]; e++) {
        attention_case plain = {.spec = specs[e],
                                .heads = HEADS,
                                .head_dim = DIM,
                                .kv_heads = 2,
                                .sequences = 3,
                                .query_lengths = queries,
                                .key_lengths = keys,
                                .mask = LOCUS_MASK_CAUSAL},
                       turned = plain;
        turned.turned = true;
        attention_world own, by_hand;
        attention_world_make(&own, &plain);
        attention_world_make(&by_hand, &turned);
        attention_arrays want = attention_arrays_make(&own), got = attention_arrays_make(&by_hand);
        turn(&by_hand, LOCUS_ROLE_QUERY, by_hand.T, HEADS, got.q);
        turn(&by_hand, LOCUS_ROLE_KEY, by_hand.N, 2, got.k);
        turn(&by_hand, LOCUS_ROLE_VALUE, by_hand.N, 2, got.v);
        attention_run(&own, &want, LOCUS_FLOAT64, ATTENTION_PLAIN, true);
        attention_run(&by_hand, &got, LOCUS_FLOAT64, ATTENTION_PLAIN, true);
        turn(&by_hand, LOCUS_ROLE_OUTPUT, by_hand.T, HEADS, got.o);
        for (size_t i = 0; i < own.T * ROW; i++)
            assert_near(got.o[i], want.o[i], 1e-12);
        attention_arrays_free(&want);
        attention_arrays_free(&got);
        attention_world_free(&own);
        attention_world_free(&by_hand);
    }
}

/* ---- options that come to nothing, and sinks ---- */

static void test_a_cap_beyond_all_scores(void **state) {
    static const size_t lengths[] = {150};
    (void)state;
    attention_case plain = whole_case("rope", lengths), capped = plain;
    capped.cap = 1e9;
    attention_world a, b;
    attention_world_make(&a, &plain);
    attention_world_make(&b, &capped);
    attention_arrays want = attention_arrays_make(&a), got = attention_arrays_make(&b);
    attention_run(&a, &want, LOCUS_FLOAT64, ATTENTION_PLAIN, false);
    attention_run(&b, &got, LOCUS_FLOAT64, ATTENTION_PLAIN, false);
    attention_compare(&b, &got, &want, 1e-12);
    attention_arrays_free(&want);
    attention_arrays_free(&got);
    attention_world_free(&a);
    attention_world_free(&b);
}

/* With values 1, what comes out is the weight that the sink leaves: 1 − exp(z − L). Far below all scores it leaves all;
 * to a row without keys nothing, and L is the sink. */
static void test_what_a_sink_takes(void **state) {
    static const size_t queries[] = {90, 3, 2}, keys[] = {60, 400, 0};
    static const double sinks[] = {-1e9, -2, 0.5, 3};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        attention_case test = whole_case("scores(sinks=on)", queries);
        test.sequences = 3;
        test.key_lengths = keys;
        attention_world world;
        attention_world_make(&world, &test);
        for (size_t h = 0; h < HEADS; h++)
            ((double *)world.values[0].data)[h] = sinks[i];
        attention_world_update(&world);
        attention_arrays arrays = attention_arrays_make(&world);
        for (size_t j = 0; j < world.N * ROW; j++)
            arrays.v[j] = 1;
        attention_run(&world, &arrays, LOCUS_FLOAT64, ATTENTION_PLAIN, true);
        for (size_t t = 0; t < world.T; t++)
            for (size_t h = 0; h < HEADS; h++) {
                const double total = arrays.log_sum_exp[t * HEADS + h];
                assert_near(arrays.o[t * ROW + h * DIM], -expm1(sinks[i] - total), 1e-12);
                if (t < 30 || t >= 93) /* 90 queries against 60 keys, and none */
                    assert_true(total == sinks[i]);
            }
        attention_arrays_free(&arrays);
        attention_world_free(&world);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_is_the_end_of_the_whole), cmocka_unit_test(test_alone_and_among_others),
        cmocka_unit_test(test_unseen_runs_are_not_read),       cmocka_unit_test(test_turned_by_hand),
        cmocka_unit_test(test_a_cap_beyond_all_scores),        cmocka_unit_test(test_what_a_sink_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
