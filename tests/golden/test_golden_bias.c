/* SPDX-License-Identifier: MIT */
/* Attention with an additive bias, of every broadcast shape, and all gradients, against PyTorch's
 * scaled_dot_product_attention (tools/golden_bias.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "golden.h"

enum {
    QUERY,
    KEY,
    VALUE,
    OUTPUT_GRADIENT,
    BIAS,
    OUTPUT,
    QUERY_GRADIENT,
    KEY_GRADIENT,
    VALUE_GRADIENT,
    BIAS_GRADIENT,
    TENSORS
};
static const char *const names[TENSORS] = {"q", "k", "v", "go", "bias", "o", "dq", "dk", "dv", "dbias"};

static locus_plan *plan_of(size_t sequences, const locus_tensor *t) {
    locus_shape shape = locus_shape_default();
    shape.heads = (size_t)t[QUERY].shape[1];
    shape.head_dim = (size_t)t[QUERY].shape[2];
    shape.value_dim = (size_t)t[VALUE].shape[2];
    shape.kv_heads = (size_t)t[KEY].shape[1];
    size_t offsets[2][8];
    for (size_t s = 0; s <= sequences; s++)
        for (size_t i = 0; i < 2; i++)
            offsets[i][s] = s * (size_t)t[i].shape[0] / sequences;
    locus_encoding *encoding = NULL;
    locus_binding *binding = NULL;
    locus_positions *positions[2] = {NULL, NULL};
    locus_plan *plan = NULL;
    golden_ok(locus_encoding_parse("none", &encoding, error));
    golden_ok(locus_binding_create(&binding, encoding, &shape, NULL, 0, error));
    for (size_t i = 0; i < 2; i++)
        golden_ok(locus_positions_create(
            &positions[i], NULL, &(locus_packing){sizeof(locus_packing), sequences, offsets[i], NULL}, NULL, error));
    golden_ok(locus_plan_create(&plan, binding, positions[0], positions[1], error));
    locus_positions_destroy(&positions[0]);
    locus_positions_destroy(&positions[1]);
    locus_binding_destroy(&binding);
    locus_encoding_destroy(&encoding);
    return plan;
}

static void check_case(const golden_file *golden, size_t index, locus_dtype dtype, double tolerance) {
    locus_tensor t[TENSORS];
    for (int i = 0; i < TENSORS; i++) {
        const lab_array *array = golden_array(golden, index, names[i]);
        t[i] = i <= BIAS ? golden_tensor(array, dtype) : golden_zeros(array, dtype);
    }
    locus_tensor sums = t[OUTPUT];
    sums = locus_tensor_view(calloc((size_t)(sums.shape[0] * sums.shape[1]), sizeof(double)), dtype, 2, sums.shape);
    locus_plan *plan = plan_of(2, t);
    locus_attention_options options = locus_attention_default();
    options.bias = &t[BIAS];
    const size_t forward = locus_attention_workspace(plan, &options, dtype, LOCUS_PASS_FORWARD, NULL);
    const size_t backward = locus_attention_workspace(plan, &options, dtype, LOCUS_PASS_BACKWARD, NULL);
    locus_workspace workspace = {NULL, forward > backward ? forward : backward};
    workspace.data = locus_allocate(workspace.bytes);
    const locus_attention_tensors tensors = {sizeof tensors, &t[QUERY], &t[KEY], &t[VALUE], &t[OUTPUT], &sums};
    const locus_attention_gradients gradients = {.size = sizeof gradients,
                                                 .output = &t[OUTPUT_GRADIENT],
                                                 .query = &t[QUERY_GRADIENT],
                                                 .key = &t[KEY_GRADIENT],
                                                 .value = &t[VALUE_GRADIENT],
                                                 .bias = &t[BIAS_GRADIENT]};
    const locus_execution execution = locus_execution_in(workspace);
    golden_ok(locus_attention_forward(plan, &options, &tensors, &execution, error));
    golden_ok(locus_attention_backward(plan, &options, &tensors, &gradients, &execution, error));
    for (int i = OUTPUT; i < TENSORS; i++)
        golden_compare(golden, index, names[i], &t[i], i == OUTPUT ? tolerance : 10 * tolerance);
    locus_release(workspace.data, workspace.bytes);
    locus_plan_destroy(&plan);
    free(sums.data);
    for (int i = 0; i < TENSORS; i++)
        free(t[i].data);
}

static void check_all(locus_dtype dtype, double tolerance) {
    golden_file golden;
    golden_open(&golden, "bias");
    for (size_t i = 0; i < golden.count; i++)
        check_case(&golden, i, dtype, tolerance);
    golden_close(&golden);
}

static void test_float64(void **state) {
    (void)state;
    check_all(LOCUS_FLOAT64, 1e-14);
}

static void test_float32(void **state) {
    (void)state;
    check_all(LOCUS_FLOAT32, 2e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_float64), cmocka_unit_test(test_float32)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
