/* SPDX-License-Identifier: MIT */
/* locus_attention_weights: rows sum to one (to less by a sink's share, to nothing where nothing is seen), times values
 * they are the output, chosen rows are rows of all, bits do not depend on threads, numbers that are not finite stay
 * with the rows that see them, and what cannot be answered is one clear line. Values are compared with the reference by
 * property.differential. */
#include "kind_of.h"
#include "threads_only.h"
#include "unit/attention_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HEADS = 4, KV_HEADS = 2, DIM = 8, SEQUENCES = 3 };
static const size_t lengths[] = {70, 9, 200}, caches[] = {90, 40, 260};
static const char *const specs[] = {"none",
                                    "rope + alibi",
                                    "relative(window=20)",
                                    "algebraic(group=seq, decay=0.98)",
                                    "algebraic(group=tree:2)",
                                    "cope(max=9)",
                                    "rope + scores(sinks=on, cap=4)"};
enum { SPECS = sizeof specs / sizeof *specs };

typedef struct scene {
    attention_world world;
    attention_case test;
    attention_arrays arrays;
    locus_tensor query, key, weights;
    locus_attention_weights_call call;
} scene;

static locus_tensor doubles(double *data, size_t tokens, size_t heads) {
    const int64_t shape[] = {(int64_t)tokens, (int64_t)heads, DIM};
    return locus_tensor_view(data, LOCUS_FLOAT64, 3, shape);
}

/* Room for `heads` and `queries` of the sequence. */
static void make_room(scene *s, size_t sequence, size_t heads, size_t queries) {
    const int64_t shape[] = {(int64_t)heads, (int64_t)queries, (int64_t)s->world.key_lengths[sequence]};
    free(s->weights.data);
    s->weights = locus_tensor_view(NULL, LOCUS_FLOAT64, 3, shape);
    s->weights.data = calloc(locus_tensor_count(&s->weights) + 1, sizeof(double));
    assert_non_null(s->weights.data);
    s->call = (locus_attention_weights_call){
        .size = sizeof s->call, .query = &s->query, .key = &s->key, .weights = &s->weights, .sequence = sequence};
}

static void begin(scene *s, const char *spec, size_t sequence) {
    *s = (scene){.test = {.spec = spec,
                          .heads = HEADS,
                          .kv_heads = KV_HEADS,
                          .head_dim = DIM,
                          .sequences = SEQUENCES,
                          .query_lengths = lengths,
                          .key_lengths = caches,
                          .mask = LOCUS_MASK_CAUSAL,
                          .dropout = 0.3}};
    attention_world_make(&s->world, &s->test);
    s->arrays = attention_arrays_make(&s->world);
    s->query = doubles(s->arrays.q, s->world.T, HEADS);
    s->key = doubles(s->arrays.k, s->world.N, KV_HEADS);
    make_room(s, sequence, HEADS, lengths[sequence]);
}

static void end(scene *s) {
    free(s->weights.data);
    attention_arrays_free(&s->arrays);
    attention_world_free(&s->world);
}

static locus_status run(scene *s, locus_error *error) {
    locus_workspace lent = {
        NULL, locus_attention_weights_workspace(s->world.plan, &s->world.options, s->query.dtype, NULL) + 64};
    lent.data = locus_allocate(lent.bytes);
    assert_non_null(lent.data);
    const locus_execution execution = locus_execution_in(lent);
    const locus_status status = locus_attention_weights(s->world.plan, &s->world.options, &s->call, &execution, error);
    locus_release(lent.data, lent.bytes);
    return status;
}

static void run_well(scene *s) {
    locus_error error = {.status = LOCUS_OK};
    if (run(s, &error) != LOCUS_OK)
        fail_msg("%s: %s", s->test.spec, error.message);
}

static const double *row_of(const scene *s, size_t head, size_t query) {
    return (const double *)s->weights.data + (int64_t)head * s->weights.stride[0] +
           (int64_t)query * s->weights.stride[1];
}

/* ---- laws ---- */

static void rows_sum_to_one(void **state) {
    (void)state;
    for (size_t i = 0; i < SPECS; i++)
        for (size_t sequence = 0; sequence < SEQUENCES; sequence++) {
            scene s;
            const bool sink = strstr(specs[i], "sinks") != NULL;
            begin(&s, specs[i], sequence);
            run_well(&s);
            const size_t keys = caches[sequence], ahead = keys - lengths[sequence];
            for (size_t h = 0; h < HEADS; h++)
                for (size_t q = 0; q < lengths[sequence]; q++) {
                    double sum = 0;
                    for (size_t j = 0; j < keys; j++) {
                        assert_true(row_of(&s, h, q)[j] >= 0);
                        assert_true(j <= q + ahead || row_of(&s, h, q)[j] == 0);
                        sum += row_of(&s, h, q)[j];
                    }
                    assert_true(sink ? sum > 0.1 && sum < 0.999999 : fabs(sum - 1) < 1e-14);
                }
            end(&s);
        }
}

/* Sequence s does not see its key s. */
static void a_bias_is_of_its_sequence(void **state) {
    static const int64_t shape[] = {SEQUENCES, 1, 1, 260};
    static const size_t chosen[] = {0, 1, 5};
    static float hidden[SEQUENCES][260];
    (void)state;
    for (size_t i = 0; i < SEQUENCES; i++)
        hidden[i][i] = -INFINITY;
    const locus_tensor bias = locus_tensor_view(hidden, LOCUS_FLOAT32, 4, shape);
    for (size_t i = 0; i < 3 * SEQUENCES; i++) {
        const size_t sequence = i % SEQUENCES;
        scene s;
        begin(&s, specs[chosen[i / SEQUENCES]], sequence);
        s.world.options.bias = &bias;
        run_well(&s);
        for (size_t h = 0; h < HEADS; h++)
            for (size_t q = 0; q < lengths[sequence]; q++)
                for (size_t j = 0; j < SEQUENCES; j++)
                    assert_int_equal(row_of(&s, h, q)[j] > 0, j != sequence);
        end(&s);
    }
}

/* Tiles of which rows see a piece in the middle, and a few keys at the beginning: what is not seen is 0. */
static void windows_cut_rows(void **state) {
    static const size_t windows[][2] = {{5, 0}, {50, 0}, {130, 0}, {5, 3}, {40, 140}};
    (void)state;
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
        for (int causal = 0; causal < 2; causal++) {
            scene s;
            const size_t window = windows[i][0], keep = windows[i][1], ahead = caches[2] - lengths[2];
            begin(&s, "rope + alibi", 2);
            s.world.options.mask = causal ? LOCUS_MASK_CAUSAL : LOCUS_MASK_FULL;
            s.world.options.window = window;
            s.world.options.keep = keep;
            run_well(&s);
            for (size_t h = 0; h < HEADS; h++)
                for (size_t q = 0; q < lengths[2]; q++) {
                    double sum = 0;
                    for (size_t j = 0; j < caches[2]; j++) {
                        const size_t t = q + ahead, apart = t > j ? t - j : j - t;
                        const bool sees = (apart < window || j < keep) && (!causal || j <= t);
                        assert_true(sees ? row_of(&s, h, q)[j] > 0 : row_of(&s, h, q)[j] == 0);
                        sum += row_of(&s, h, q)[j];
                    }
                    assert_true(fabs(sum - 1) < 1e-14);
                }
            end(&s);
        }
}

static void weights_times_values_are_the_output(void **state) {
    (void)state;
    for (size_t i = 0; i < SPECS; i++) {
        scene s;
        begin(&s, specs[i], 2);
        s.world.options.dropout = 0;
        run_well(&s);
        attention_run(&s.world, &s.arrays, LOCUS_FLOAT64, ATTENTION_PLAIN, true);
        for (size_t h = 0; h < HEADS; h++)
            for (size_t q = 0; q < lengths[2]; q++)
                for (size_t d = 0; d < DIM; d++) {
                    double sum = 0;
                    for (size_t j = 0; j < caches[2]; j++)
                        sum += row_of(&s, h, q)[j] *
                               s.arrays.v[((s.world.key_offsets[2] + j) * KV_HEADS + h / 2) * DIM + d];
                    const double want = s.arrays.o[((s.world.query_offsets[2] + q) * HEADS + h) * DIM + d];
                    assert_true(fabs(sum - want) < 1e-13 * (1 + fabs(want)));
                }
        end(&s);
    }
}

static void chosen_rows_are_rows_of_all(void **state) {
    const size_t heads[] = {3, 0, 3}, queries[] = {7, 8, 9, 150, 12, 11, 199, 0, 150};
    (void)state;
    for (size_t i = 0; i < SPECS; i++) {
        scene all, some;
        begin(&all, specs[i], 2);
        begin(&some, specs[i], 2);
        make_room(&some, 2, 3, 9);
        some.call.heads = heads;
        some.call.head_count = 3;
        some.call.queries = queries;
        some.call.query_count = 9;
        run_well(&all);
        run_well(&some);
        for (size_t h = 0; h < 3; h++)
            for (size_t q = 0; q < 9; q++)
                for (size_t j = 0; j < caches[2]; j++)
                    assert_true(fabs(row_of(&some, h, q)[j] - row_of(&all, heads[h], queries[q])[j]) < 1e-15);
        end(&all);
        end(&some);
    }
}

static void same_bits_on_any_number_of_threads(void **state) {
    (void)state;
    for (size_t i = 0; i < SPECS; i++) {
        scene one, more;
        assert_int_equal(locus_threads_set(1), LOCUS_OK);
        begin(&one, specs[i], 2);
        run_well(&one);
        assert_int_equal(locus_threads_set(3), LOCUS_OK);
        begin(&more, specs[i], 2);
        run_well(&more);
        assert_memory_equal(one.weights.data, more.weights.data, locus_tensor_count(&one.weights) * sizeof(double));
        end(&one);
        end(&more);
    }
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
}

/* A key of NaN in every third place of a bias's infinities, and one that is seen from query 100 on. */
static void infinities_hide(void **state) {
    (void)state;
    for (size_t i = 0; i < SPECS; i++) {
        scene s;
        float hidden[260] = {0};
        const int64_t shape[] = {1, 260};
        const locus_tensor bias = locus_tensor_view(hidden, LOCUS_FLOAT32, 2, shape);
        if (strstr(specs[i], "tree")) /* turned on whole tensors: a NaN spreads before there are scores */
            continue;
        begin(&s, specs[i], 2);
        for (size_t j = 0; j < 260; j++) {
            hidden[j] = j % 3 == 0 ? -INFINITY : 0;
            for (size_t d = 0; (j % 3 == 0 || j == 161) && d < KV_HEADS * DIM; d++)
                s.arrays.k[(s.world.key_offsets[2] + j) * KV_HEADS * DIM + d] = NAN;
        }
        s.world.options.bias = &bias;
        run_well(&s);
        for (size_t h = 0; h < HEADS; h++)
            for (size_t q = 0; q < lengths[2]; q++)
                for (size_t j = 0; j < caches[2]; j++) {
                    const double weight = row_of(&s, h, q)[j];
                    const bool seen = j % 3 != 0 && j <= q + 60;
                    if (!seen)
                        assert_true(weight == 0);
                    else
                        assert_true(q + 60 < 161 ? weight > 0 : isnan(weight));
                }
        end(&s);
    }
}

/* Products of which none is above −∞ leave a row without weights. */
static void rows_of_infinities_have_no_weights(void **state) {
    (void)state;
    scene s;
    begin(&s, "none", 0);
    for (size_t i = 0; i < s.world.T * HEADS * DIM; i++)
        s.arrays.q[i] = 1e200;
    for (size_t i = 0; i < s.world.N * KV_HEADS * DIM; i++)
        s.arrays.k[i] = -1e200;
    run_well(&s);
    for (size_t h = 0; h < HEADS; h++)
        for (size_t q = 0; q < lengths[0]; q++)
            for (size_t j = 0; j < caches[0]; j++)
                assert_true(row_of(&s, h, q)[j] == 0);
    end(&s);
}

/* ---- refusals ---- */

static int32_t always(void *context) {
    (void)context;
    return 1;
}

static void bad_calls_are_refused(void **state) {
    static const size_t far_head[] = {HEADS}, far_query[] = {200};
    static const struct {
        locus_status status;
        const char *argument;
    } expected[] = {
        {LOCUS_ERROR_ARGUMENT, "sequence"}, {LOCUS_ERROR_ARGUMENT, "heads"}, {LOCUS_ERROR_ARGUMENT, "queries"},
        {LOCUS_ERROR_SHAPE, "weights"},     {LOCUS_ERROR_SHAPE, "weights"},  {LOCUS_ERROR_DTYPE, "weights"},
        {LOCUS_ERROR_ARGUMENT, "weights"},  {LOCUS_ERROR_ARGUMENT, "query"}, {LOCUS_ERROR_DTYPE, "key"},
        {LOCUS_ERROR_ARGUMENT, "weights"},  {LOCUS_ERROR_SHAPE, "weights"},  {LOCUS_ERROR_UNSUPPORTED, "kind"},
        {LOCUS_ERROR_ARGUMENT, "weights"},  {LOCUS_ERROR_ARGUMENT, "size"}};
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        scene s;
        begin(&s, "rope", 2);
        void *data = s.weights.data;
        locus_error error = {.status = LOCUS_OK};
        s.call.sequence = i == 0 ? SEQUENCES : 2;
        s.call.heads = i == 1 ? far_head : NULL;
        s.call.queries = i == 2 ? far_query : NULL;
        s.call.head_count = s.call.query_count = 1;
        s.weights.shape[2] -= i == 3;
        s.weights.rank -= i == 4;
        s.weights.dtype = i == 5 ? (locus_dtype)9 : LOCUS_FLOAT64;
        s.weights.data = i == 6 ? NULL : i == 9 ? s.key.data : data;
        s.call.query = i == 7 ? NULL : &s.query;
        s.key.dtype = i == 8 ? LOCUS_FLOAT32 : LOCUS_FLOAT64;
        if (i == 10)
            s.weights.stride[1] = 0;
        s.test.dropout = 0;
        s.world.options.dropout = 0;
        s.world.options.kind = i == 11 ? kind_of("linear") : NULL;
        s.call.weights = i == 12 ? NULL : &s.weights;
        s.call.size = i == 13 ? 1 : sizeof s.call;
        assert_int_equal(run(&s, &error), expected[i].status);
        if (i != 13)
            assert_string_equal(error.argument, expected[i].argument);
        assert_true(strlen(error.message) > 15);
        assert_null(strchr(error.message, '\n'));
        s.weights.data = data;
        end(&s);
    }
}

static void a_cancelled_call_says_so(void **state) {
    (void)state;
    scene s;
    begin(&s, "rope", 2);
    locus_workspace lent = {NULL,
                            locus_attention_weights_workspace(s.world.plan, &s.world.options, LOCUS_FLOAT64, NULL)};
    lent.data = locus_allocate(lent.bytes);
    locus_execution execution = locus_execution_in(lent);
    execution.cancelled = always;
    assert_int_equal(locus_attention_weights(s.world.plan, &s.world.options, &s.call, &execution, NULL),
                     LOCUS_ERROR_INTERRUPTED);
    lent.bytes -= 64;
    execution = locus_execution_in((locus_workspace){lent.data, 0});
    assert_int_equal(locus_attention_weights(s.world.plan, &s.world.options, &s.call, &execution, NULL),
                     LOCUS_ERROR_MEMORY);
    locus_release(lent.data, lent.bytes + 64);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_sum_to_one),
        cmocka_unit_test(a_bias_is_of_its_sequence),
        cmocka_unit_test(windows_cut_rows),
        cmocka_unit_test(weights_times_values_are_the_output),
        cmocka_unit_test(chosen_rows_are_rows_of_all),
        cmocka_unit_test(same_bits_on_any_number_of_threads),
        cmocka_unit_test(infinities_hide),
        cmocka_unit_test(rows_of_infinities_have_no_weights),
        cmocka_unit_test(bad_calls_are_refused),
        cmocka_unit_test(a_cancelled_call_says_so),
    };
    threads_only("same_bits*");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
