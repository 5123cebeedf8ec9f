/* SPDX-License-Identifier: MIT */
/* Packed attention with every encoding and mask, forward and backward, against PyTorch (tools/golden_attention.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"

enum { QUERY, KEY, VALUE, OUTPUT, OUTPUT_GRADIENT, QUERY_GRADIENT, KEY_GRADIENT, VALUE_GRADIENT, TENSORS };
static const char *const names[TENSORS] = {"q", "k", "v", "o", "go", "dq", "dk", "dv"};

static locus_mask mask_named(const char *name) {
    return strcmp(name, "full") == 0     ? LOCUS_MASK_FULL
           : strcmp(name, "causal") == 0 ? LOCUS_MASK_CAUSAL
                                         : LOCUS_MASK_PREFIX;
}

static locus_tensor log_sum_exp_tensor(const locus_tensor *query) {
    locus_tensor tensor = *query;
    void *data = calloc((size_t)(query->shape[0] * query->shape[1]) + 1, locus_dtype_size(query->dtype));
    assert_non_null(data);
    return locus_tensor_view(data, query->dtype, 2, tensor.shape);
}

static void execute(const golden_file *golden, size_t index, const locus_plan *plan, golden_parameters *parameters,
                    locus_dtype dtype, double tolerance) {
    locus_tensor t[TENSORS];
    for (int i = 0; i < TENSORS; i++) {
        const lab_array *array = golden_array(golden, index, names[i]);
        bool given = i <= VALUE || i == OUTPUT_GRADIENT;
        t[i] = given ? golden_tensor(array, dtype) : golden_zeros(array, dtype);
    }
    locus_tensor log_sum_exp = log_sum_exp_tensor(&t[QUERY]);
    const lab_array *prefix = golden_array(golden, index, "prefix");
    size_t prefixes[8];
    for (size_t s = 0; s < lab_array_count(prefix); s++)
        prefixes[s] = (size_t)((const int64_t *)prefix->data)[s];
    locus_attention_options options = locus_attention_default();
    options.mask = mask_named(golden_text(golden, index, "mask"));
    options.prefix = prefixes;
    size_t forward = locus_attention_workspace(plan, &options, dtype, LOCUS_PASS_FORWARD, NULL);
    size_t backward = locus_attention_workspace(plan, &options, dtype, LOCUS_PASS_BACKWARD, NULL);
    locus_workspace workspace = {NULL, forward > backward ? forward : backward};
    workspace.data = locus_allocate(workspace.bytes + 1);
    locus_attention_tensors tensors = {sizeof tensors, &t[QUERY], &t[KEY], &t[VALUE], &t[OUTPUT], &log_sum_exp};
    locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
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
    free(log_sum_exp.data);
    for (int i = 0; i < TENSORS; i++)
        free(t[i].data);
}

static void check_case(const golden_file *golden, size_t index, locus_dtype dtype, double tolerance) {
    const lab_array *query = golden_array(golden, index, "q"), *value = golden_array(golden, index, "v");
    locus_shape shape = locus_shape_default();
    shape.heads = (size_t)query->shape[1];
    shape.head_dim = (size_t)query->shape[2];
    shape.value_dim = (size_t)value->shape[2];
    locus_encoding *encoding = NULL;
    locus_binding *binding = NULL;
    locus_plan *plan = NULL;
    golden_parameters parameters;
    golden_ok(locus_encoding_parse(golden_text(golden, index, "spec"), &encoding, error));
    golden_parameters_read(&parameters, golden, index, encoding, &shape, dtype);
    golden_ok(locus_binding_create(&binding, encoding, &shape, parameters.values, parameters.count, error));
    locus_positions *queries =
        golden_positions(golden_array(golden, index, "query_positions"), golden_array(golden, index, "query_offsets"));
    locus_positions *keys =
        golden_positions(golden_array(golden, index, "key_positions"), golden_array(golden, index, "key_offsets"));
    golden_ok(locus_plan_create(&plan, binding, queries, keys, error));
    execute(golden, index, plan, &parameters, dtype, tolerance);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&queries);
    locus_positions_destroy(&keys);
    locus_binding_destroy(&binding);
    locus_encoding_destroy(&encoding);
    golden_parameters_free(&parameters);
}

static void check_all(locus_dtype dtype, double tolerance) {
    golden_file golden;
    golden_open(&golden, "attention");
    for (size_t i = 0; i < golden.count; i++)
        check_case(&golden, i, dtype, tolerance);
    golden_close(&golden);
}

static void test_float64(void **state) {
    (void)state;
    check_all(LOCUS_FLOAT64, 1e-12);
}

static void test_float32(void **state) {
    (void)state;
    check_all(LOCUS_FLOAT32, 4e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_float64), cmocka_unit_test(test_float32)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
