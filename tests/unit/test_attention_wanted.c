/* SPDX-License-Identifier: MIT */
/* Gradients on demand: any of dq, dk, dv and the parameters' may be NULL, with every kind of attention, operators on
 * rows and on whole tensors, split sequences, heads in groups, dropout and half types; what is wanted then has the same
 * bits as in the full backward, and nothing else is written. */
#include "../property/encoding_rig.h"
#include "kind_of.h"
#include "sanitized.h"

enum { DQ, DK, DV, WANTED, SUBSETS = 16 };
enum { Q, K, V, O, GO, ARRAYS };

typedef struct wanted_case {
    const char *spec;
    const char *kind;
    locus_mask mask;
    size_t heads, kv_heads;
    size_t queries, keys; /* of the longer one of two sequences */
    double dropout;
    bool infinite; /* a query, a key and a gradient of an output have a number that is none */
} wanted_case;

static const wanted_case cases[] = {
    {"none", "softmax", LOCUS_MASK_CAUSAL, 4, 2, 150, 150, 0, false},
    {"none", "softmax", LOCUS_MASK_CAUSAL, 4, 2, 150, 150, 0, true},
    {"rope(learned=on, values=on) + decay(rate=0.9, learned=on)", "softmax", LOCUS_MASK_FULL, 4, 1, 70, 140, 0.2,
     false},
    {"rope(learned=on)", "softmax", LOCUS_MASK_CAUSAL, 2, 2, 2100, 2200, 0, false}, /* split over its keys */
    {"relative(window=3, values=on) + scores(sinks=on)", "softmax", LOCUS_MASK_CAUSAL, 4, 2, 90, 130, 0, false},
    {"kerple + scores(cap=2)", "softmax", LOCUS_MASK_FULL, 2, 1, 60, 90, 0.1, false},
    {"liere(group=seq, values=on)", "softmax", LOCUS_MASK_FULL, 2, 1, 40, 50, 0, false},
    {"algebraic(group=seq, values=on)", "softmax", LOCUS_MASK_CAUSAL, 4, 2, 80, 80, 0, false},
    {"cope(max=9) + scores(sinks=on)", "softmax", LOCUS_MASK_CAUSAL, 4, 2, 60, 90, 0, false},
    {"cope(max=9) + algebraic(group=seq)", "softmax", LOCUS_MASK_CAUSAL, 2, 2, 60, 60, 0.2, false},
    {"none", "linear", LOCUS_MASK_CAUSAL, 4, 2, 300, 300, 0, false},
    {"algebraic(group=seq, values=on)", "linear", LOCUS_MASK_FULL, 4, 2, 100, 150, 0, false},
    {"rope", "soft(landmarks=7)", LOCUS_MASK_FULL, 4, 2, 100, 150, 0, false},
    {"algebraic(group=seq, values=on)", "soft(landmarks=7)", LOCUS_MASK_FULL, 2, 1, 100, 60, 0, false},
    {"rope", "clustered(clusters=7)", LOCUS_MASK_FULL, 4, 2, 100, 150, 0.2, false},
    {"liere(group=seq, values=on)", "clustered(clusters=7)", LOCUS_MASK_FULL, 2, 2, 60, 90, 0, false},
};

typedef struct wanted_world {
    rig r;
    const wanted_case *test;
    locus_attention_options options;
    locus_dtype dtype;
    size_t tokens[2], counts[ARRAYS];
    void *given[ARRAYS], *sums;
    locus_tensor views[ARRAYS], log_sum_exp;
} wanted_world;

static bool of_keys(int array) {
    return array == K || array == V;
}

static locus_tensor view_of(const wanted_world *w, int array, void *data) {
    const locus_shape *shape = &w->r.shape;
    const bool keys = of_keys(array), values = array == V || array == O || array == GO;
    const int64_t extents[] = {(int64_t)w->tokens[keys], (int64_t)(keys ? shape->kv_heads : shape->heads),
                               (int64_t)(values ? shape->value_dim : shape->head_dim)};
    return locus_tensor_view(data, w->dtype, 3, extents);
}

static void draw(wanted_world *w, int array) {
    static uint64_t random = 5;
    locus_tensor view = view_of(w, array, NULL);
    w->counts[array] = locus_tensor_count(&view);
    double *numbers = calloc(w->counts[array], sizeof *numbers);
    w->given[array] = calloc(w->counts[array], locus_dtype_size(w->dtype));
    assert_true(numbers && w->given[array]);
    for (size_t i = 0; i < w->counts[array]; i++)
        numbers[i] = rig_random(&random);
    if (w->test->infinite && (array == Q || array == K || array == GO))
        numbers[w->counts[array] / 2 + (size_t)array] = (double)INFINITY;
    w->views[array] = view_of(w, array, w->given[array]);
    const locus_tensor from = locus_tensor_view(numbers, LOCUS_FLOAT64, 3, view.shape);
    rig_ok(locus_tensor_convert(&from, &w->views[array], error));
    free(numbers);
}

static locus_workspace lend(const wanted_world *w, locus_pass pass) {
    locus_workspace lent = {NULL, locus_attention_workspace(w->r.plan, &w->options, w->dtype, pass, NULL)};
    lent.data = locus_allocate(lent.bytes + 1);
    assert_non_null(lent.data);
    memset(lent.data, 0xFF, lent.bytes);
    return lent;
}

static locus_attention_tensors tensors_of(const wanted_world *w) {
    const locus_tensor *t = w->views;
    return (locus_attention_tensors){sizeof(locus_attention_tensors), &t[Q], &t[K], &t[V], &t[O], &w->log_sum_exp};
}

static void begin(wanted_world *w, const wanted_case *test, locus_dtype dtype) {
    const size_t query_offsets[] = {1, test->queries + 3, test->queries + 9}, query_lengths[] = {test->queries, 5};
    const size_t key_offsets[] = {0, test->keys + 2, test->keys + 8}, key_lengths[] = {test->keys, 6};
    const locus_shape shape = {
        .heads = test->heads, .kv_heads = test->kv_heads, .head_dim = 6, .value_dim = 6, .model_dim = 6 * test->heads};
    locus_positions *queries = NULL, *keys = NULL;
    memset(w, 0, sizeof *w);
    w->test = test;
    w->dtype = dtype;
    w->options = locus_attention_default();
    w->options.kind = kind_of(test->kind);
    w->options.mask = test->mask;
    w->options.dropout = test->dropout;
    w->options.dropout_key = (locus_random){3, LOCUS_RANDOM_USER, 1};
    rig_bind(&w->r, test->spec, shape, 7);
    rig_ok(locus_positions_create(
        &queries, NULL, &(locus_packing){sizeof(locus_packing), 2, query_offsets, query_lengths}, NULL, error));
    rig_ok(locus_positions_create(&keys, NULL, &(locus_packing){sizeof(locus_packing), 2, key_offsets, key_lengths},
                                  NULL, error));
    rig_place(&w->r, queries, keys);
    w->tokens[0] = query_offsets[2];
    w->tokens[1] = key_offsets[2];
    for (int i = 0; i < ARRAYS; i++)
        draw(w, i);
    const int64_t rows[] = {(int64_t)w->tokens[0], (int64_t)shape.heads};
    const locus_dtype wide = dtype == LOCUS_FLOAT64 ? LOCUS_FLOAT64 : LOCUS_FLOAT32;
    w->sums = calloc(w->tokens[0] * shape.heads, sizeof(double));
    assert_non_null(w->sums);
    w->log_sum_exp = locus_tensor_view(w->sums, wide, 2, rows);
    const locus_workspace lent = lend(w, LOCUS_PASS_FORWARD);
    const locus_execution execution = locus_execution_in(lent);
    const locus_attention_tensors tensors = tensors_of(w);
    rig_ok(locus_attention_forward(w->r.plan, &w->options, &tensors, &execution, error));
    locus_release(lent.data, lent.bytes + 1);
}

static void end(wanted_world *w) {
    for (int i = 0; i < ARRAYS; i++)
        free(w->given[i]);
    free(w->sums);
    rig_close(&w->r);
}

typedef struct wanted_results {
    void *gradients[WANTED];
    double *parameters[RIG_TENSORS];
} wanted_results;

/* Bit i of `subset`: gradient i is wanted; bit 3: those of the parameters. */
static wanted_results differentiate(wanted_world *w, unsigned subset) {
    wanted_results results = {{NULL}, {NULL}};
    locus_tensor views[WANTED];
    for (int i = 0; i < WANTED; i++) {
        results.gradients[i] = calloc(w->counts[i], locus_dtype_size(w->dtype));
        assert_non_null(results.gradients[i]);
        views[i] = view_of(w, i, results.gradients[i]);
    }
    for (size_t i = 0; i < w->r.count; i++)
        memset(w->r.gradients[i].data, 0, rig_elements(&w->r.info[i]) * sizeof(double));
    const locus_attention_gradients gradients = {.size = sizeof gradients,
                                                 .output = &w->views[GO],
                                                 .query = subset & 1u ? &views[DQ] : NULL,
                                                 .key = subset & 2u ? &views[DK] : NULL,
                                                 .value = subset & 4u ? &views[DV] : NULL,
                                                 .parameters = subset & 8u ? w->r.gradients : NULL,
                                                 .parameter_count = subset & 8u ? w->r.count : 0};
    const locus_workspace lent = lend(w, LOCUS_PASS_BACKWARD);
    const locus_execution execution = locus_execution_in(lent);
    const locus_attention_tensors tensors = tensors_of(w);
    rig_ok(locus_attention_backward(w->r.plan, &w->options, &tensors, &gradients, &execution, error));
    locus_release(lent.data, lent.bytes + 1);
    for (size_t i = 0; i < w->r.count; i++) {
        results.parameters[i] = calloc(rig_elements(&w->r.info[i]), sizeof(double));
        assert_non_null(results.parameters[i]);
        memcpy(results.parameters[i], w->r.gradients[i].data, rig_elements(&w->r.info[i]) * sizeof(double));
    }
    return results;
}

static void results_free(const wanted_world *w, wanted_results *results) {
    for (int i = 0; i < WANTED; i++)
        free(results->gradients[i]);
    for (size_t i = 0; i < w->r.count; i++)
        free(results->parameters[i]);
}

static void check_subset(wanted_world *w, unsigned subset, const wanted_results *all) {
    wanted_results some = differentiate(w, subset);
    for (unsigned i = 0; i < WANTED; i++)
        if (subset >> i & 1u && memcmp(some.gradients[i], all->gradients[i], w->counts[i] * locus_dtype_size(w->dtype)))
            fail_msg("'%s', %s, type %d: gradient %u differs where of all only %x are wanted", w->test->spec,
                     w->test->kind, (int)w->dtype, i, subset);
    for (size_t i = 0; i < w->r.count && subset & 8u; i++)
        if (memcmp(some.parameters[i], all->parameters[i], rig_elements(&w->r.info[i]) * sizeof(double)) != 0)
            fail_msg("'%s', %s, type %d: parameter %zu differs where of all only %x are wanted", w->test->spec,
                     w->test->kind, (int)w->dtype, i, subset);
    results_free(w, &some);
}

static void check(locus_dtype dtype) {
    size_t number = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        wanted_world w;
        begin(&w, &cases[i], dtype);
        wanted_results all = differentiate(&w, SUBSETS - 1);
        double sum = 0;
        for (size_t p = 0; p < w.r.count; p++)
            for (size_t e = 0; e < rig_elements(&w.r.info[p]); e++)
                sum += fabs(all.parameters[p][e]);
        assert_true(w.r.count == 0 || sum > 0);
        for (unsigned subset = 0; subset + 1 < SUBSETS; subset++)
            if (!left_out(number++, cases[i].queries > 1000 ? 7 : 3))
                check_subset(&w, subset, &all);
        results_free(&w, &all);
        end(&w);
    }
}

static void test_float32(void **state) {
    (void)state;
    check(LOCUS_FLOAT32);
}

static void test_float64(void **state) {
    (void)state;
    check(LOCUS_FLOAT64);
}

static void test_half(void **state) {
    (void)state;
    check(LOCUS_BFLOAT16);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_float32), cmocka_unit_test(test_float64),
                                       cmocka_unit_test(test_half)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
