/* SPDX-License-Identifier: MIT */
/* What acts on scores against transformers (ALiBi's slopes, T5's buckets) and PyTorch (attention with T5, KERPLE, FIRE,
 * CoPE and settings of scores, forward and backward); see tools/golden_scores.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"
#include "plan/plan_sites.h"
#include "scores/distance_table.h"

enum { QUERY, KEY, VALUE, OUTPUT, OUTPUT_GRADIENT, QUERY_GRADIENT, KEY_GRADIENT, VALUE_GRADIENT, TENSORS };
static const char *const names[TENSORS] = {"q", "k", "v", "o", "go", "dq", "dk", "dv"};

/* ---- rows of one term ---- */

typedef struct term_rig {
    locus_encoding *encoding;
    locus_binding *binding;
    locus_positions *queries, *keys;
    locus_plan *plan;
} term_rig;

static locus_positions *line(const int64_t *values, size_t count) {
    const size_t offsets[] = {0, count};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    locus_positions *positions = NULL;
    golden_ok(locus_positions_create(&positions, NULL, &packing, values, error));
    return positions;
}

/* One query at 0. */
static void open_term(term_rig *r, const char *spec, const locus_shape *shape, const locus_tensor *parameters,
                      size_t count, locus_positions *keys) {
    const int64_t zero = 0;
    golden_ok(locus_encoding_parse(spec, &r->encoding, error));
    golden_ok(locus_binding_create(&r->binding, r->encoding, shape, parameters, count, error));
    r->queries = line(&zero, 1);
    r->keys = keys;
    golden_ok(locus_plan_create(&r->plan, r->binding, r->queries, r->keys, error));
}

static void close_term(term_rig *r) {
    locus_plan_destroy(&r->plan);
    locus_positions_destroy(&r->queries);
    locus_positions_destroy(&r->keys);
    locus_binding_destroy(&r->binding);
    locus_encoding_destroy(&r->encoding);
}

static const void *row_of(const term_rig *r, locus_dtype dtype, size_t head, size_t first, size_t count, void *room) {
    const locus_score_term *term = locus_plan_score_term(r->plan, 0);
    const locus_score_call call = {dtype, head, 0, first, count, NULL};
    return locus_score_term_row(term, &call, room);
}

static void check_slopes(const golden_file *golden, size_t index) {
    const float *want = golden_array(golden, index, "slopes")->data;
    const int64_t one = 1;
    size_t checked = 0;
    for (size_t heads = 1; heads <= 128; heads++) {
        term_rig r;
        const locus_shape shape = {.heads = heads, .head_dim = 8};
        open_term(&r, "alibi", &shape, NULL, 0, line(&one, 1));
        for (size_t h = 0; h < heads; h++, checked++) {
            double room;
            const double slope = -*(const double *)row_of(&r, LOCUS_FLOAT64, h, 0, 1, &room);
            if (fabs(slope - (double)want[checked]) > 4e-6 * slope) /* transformers has a float32 power */
                fail_msg("%zu heads: slope %zu is %.9g, transformers has %.9g", heads, h, slope, (double)want[checked]);
        }
        close_term(&r);
    }
    assert_int_equal(checked, lab_array_count(golden_array(golden, index, "slopes")));
}

/* Keys at all distances of a run, `bias` the bucket's number: consecutive (a table), and one by one from afar. */
static void check_run(const char *spec, const locus_tensor *bias, int64_t first, int64_t end, int64_t bucket) {
    enum { MOST = 4096 };
    const locus_shape shape = {.heads = 1, .head_dim = 8};
    float *room = calloc(MOST, sizeof *room);
    int64_t *values = calloc(MOST, sizeof *values);
    assert_true(room && values);
    for (int64_t start = first; start < end; start += MOST) {
        const size_t count = end - start < MOST ? (size_t)(end - start) : MOST;
        term_rig r;
        for (size_t i = 0; i < count; i++)
            values[i] = start + (int64_t)i;
        open_term(&r, spec, &shape, bias, 1, line(values, count));
        const float *row = row_of(&r, LOCUS_FLOAT32, 0, 0, count, room);
        for (size_t i = 0; i < count; i++)
            if (row[i] != (float)bucket)
                fail_msg("%s: distance %lld is in bucket %g, transformers has %lld", spec,
                         (long long)start + (long long)i, (double)row[i], (long long)bucket);
        close_term(&r);
    }
    free(room);
    free(values);
}

static void check_buckets(const golden_file *golden, size_t index) {
    enum { FAR = 100000 };
    const char *spec = golden_text(golden, index, "spec");
    const int64_t *starts = golden_array(golden, index, "starts")->data;
    const int64_t *values = golden_array(golden, index, "values")->data;
    const size_t runs = lab_array_count(golden_array(golden, index, "starts"));
    double numbers[4096];
    const locus_shape shape = {.heads = 1, .head_dim = 8};
    locus_encoding *encoding = NULL;
    locus_parameter info = {.size = sizeof info};
    for (size_t i = 0; i < 4096; i++)
        numbers[i] = (double)i;
    golden_ok(locus_encoding_parse(spec, &encoding, error));
    golden_ok(locus_encoding_parameter(encoding, &shape, 0, &info, error));
    locus_encoding_destroy(&encoding);
    const locus_tensor bias = locus_tensor_view(numbers, LOCUS_FLOAT64, 2, info.shape);
    assert_true(starts[0] == -FAR && info.shape[0] <= 4096);
    for (size_t i = 0; i < runs; i++)
        check_run(spec, &bias, starts[i], i + 1 < runs ? starts[i + 1] : FAR + 1, values[i]);
}

/* ---- attention ---- */

static locus_mask mask_named(const char *name) {
    return strcmp(name, "full") == 0     ? LOCUS_MASK_FULL
           : strcmp(name, "causal") == 0 ? LOCUS_MASK_CAUSAL
                                         : LOCUS_MASK_PREFIX;
}

static void execute(const golden_file *golden, size_t index, const locus_plan *plan, golden_parameters *parameters,
                    locus_dtype dtype, double tolerance) {
    locus_tensor t[TENSORS];
    size_t prefixes[8];
    for (int i = 0; i < TENSORS; i++) {
        const lab_array *array = golden_array(golden, index, names[i]);
        const bool given = i <= VALUE || i == OUTPUT_GRADIENT;
        t[i] = given ? golden_tensor(array, dtype) : golden_zeros(array, dtype);
    }
    void *sums = calloc((size_t)(t[QUERY].shape[0] * t[QUERY].shape[1]) + 1, locus_dtype_size(dtype));
    assert_non_null(sums);
    locus_tensor log_sum_exp = locus_tensor_view(sums, dtype, 2, t[QUERY].shape);
    const lab_array *prefix = golden_array(golden, index, "prefix");
    for (size_t s = 0; s < lab_array_count(prefix); s++)
        prefixes[s] = (size_t)((const int64_t *)prefix->data)[s];
    locus_attention_options options = locus_attention_default();
    options.mask = mask_named(golden_text(golden, index, "mask"));
    options.prefix = prefixes;
    const size_t forward = locus_attention_workspace(plan, &options, dtype, LOCUS_PASS_FORWARD, NULL);
    const size_t backward = locus_attention_workspace(plan, &options, dtype, LOCUS_PASS_BACKWARD, NULL);
    locus_workspace workspace = {NULL, forward > backward ? forward : backward};
    workspace.data = locus_allocate(workspace.bytes + 1);
    const locus_attention_tensors tensors = {sizeof tensors, &t[QUERY], &t[KEY], &t[VALUE], &t[OUTPUT], &log_sum_exp};
    const locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                                 .output = &t[OUTPUT_GRADIENT],
                                                 .query = &t[QUERY_GRADIENT],
                                                 .key = &t[KEY_GRADIENT],
                                                 .value = &t[VALUE_GRADIENT],
                                                 .parameters = parameters->gradients,
                                                 .parameter_count = parameters->count};
    const locus_execution execution = locus_execution_in(workspace);
    golden_ok(locus_attention_forward(plan, &options, &tensors, &execution, error));
    golden_compare(golden, index, names[OUTPUT], &t[OUTPUT], tolerance);
    golden_ok(locus_attention_backward(plan, &options, &tensors, &gradients, &execution, error));
    for (int i = QUERY_GRADIENT; i < TENSORS; i++)
        golden_compare(golden, index, names[i], &t[i], 10 * tolerance);
    golden_parameters_compare(parameters, golden, index, 100 * tolerance);
    locus_release(workspace.data, workspace.bytes + 1);
    free(sums);
    for (int i = 0; i < TENSORS; i++)
        free(t[i].data);
}

static void check_attention(const golden_file *golden, size_t index, locus_dtype dtype, double tolerance) {
    const lab_array *query = golden_array(golden, index, "q"), *value = golden_array(golden, index, "v");
    const locus_shape shape = {.heads = (size_t)query->shape[1],
                               .kv_heads = (size_t)value->shape[1],
                               .head_dim = (size_t)query->shape[2],
                               .value_dim = (size_t)value->shape[2]};
    golden_parameters parameters;
    term_rig r = {NULL, NULL, NULL, NULL, NULL};
    golden_ok(locus_encoding_parse(golden_text(golden, index, "spec"), &r.encoding, error));
    golden_parameters_read(&parameters, golden, index, r.encoding, &shape, dtype);
    golden_ok(locus_binding_create(&r.binding, r.encoding, &shape, parameters.values, parameters.count, error));
    r.queries =
        golden_positions(golden_array(golden, index, "query_positions"), golden_array(golden, index, "query_offsets"));
    r.keys = golden_positions(golden_array(golden, index, "key_positions"), golden_array(golden, index, "key_offsets"));
    golden_ok(locus_plan_create(&r.plan, r.binding, r.queries, r.keys, error));
    execute(golden, index, r.plan, &parameters, dtype, tolerance);
    close_term(&r);
    golden_parameters_free(&parameters);
}

/* ---- all cases of a kind ---- */

static size_t check_all(const char *kind, void (*check)(const golden_file *golden, size_t index)) {
    golden_file golden;
    size_t found = 0;
    golden_open(&golden, "scores");
    for (size_t i = 0; i < golden.count; i++)
        if (strcmp(golden_text(&golden, i, "kind"), kind) == 0) {
            check(&golden, i);
            found++;
        }
    golden_close(&golden);
    return found;
}

static void check_float64(const golden_file *golden, size_t index) {
    check_attention(golden, index, LOCUS_FLOAT64, 1e-12);
}

static void check_float32(const golden_file *golden, size_t index) {
    check_attention(golden, index, LOCUS_FLOAT32, 4e-6);
}

static void test_slopes(void **state) {
    (void)state;
    assert_int_equal(check_all("slopes", check_slopes), 1);
}

static void test_buckets(void **state) {
    (void)state;
    assert_true(check_all("buckets", check_buckets) >= 10);
}

static void test_float64(void **state) {
    (void)state;
    assert_true(check_all("attention", check_float64) >= 20);
}

static void test_float32(void **state) {
    (void)state;
    assert_true(check_all("attention", check_float32) >= 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_slopes), cmocka_unit_test(test_buckets),
                                       cmocka_unit_test(test_float64), cmocka_unit_test(test_float32)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
