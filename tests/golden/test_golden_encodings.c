/* SPDX-License-Identifier: MIT */
/* Every encoding's apply, forward and backward, against PyTorch (tools/golden_attention.py), in both element types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"

static locus_shape shape_of(const lab_array *x, locus_role role) {
    locus_shape shape = locus_shape_default();
    if (role == LOCUS_ROLE_TOKEN) {
        shape.model_dim = (size_t)x->shape[1];
    } else {
        shape.heads = (size_t)x->shape[1];
        shape.head_dim = (size_t)x->shape[2];
    }
    return shape;
}

static void check_case(const golden_file *golden, size_t index, locus_dtype dtype, double tolerance) {
    locus_role role = strcmp(golden_text(golden, index, "role"), "token") == 0 ? LOCUS_ROLE_TOKEN : LOCUS_ROLE_QUERY;
    const lab_array *x_array = golden_array(golden, index, "x");
    locus_shape shape = shape_of(x_array, role);
    locus_encoding *encoding = NULL;
    locus_binding *binding = NULL;
    locus_plan *plan = NULL;
    golden_parameters parameters;
    golden_ok(locus_encoding_parse(golden_text(golden, index, "spec"), &encoding, error));
    golden_parameters_read(&parameters, golden, index, encoding, &shape, dtype);
    golden_ok(locus_binding_create(&binding, encoding, &shape, parameters.values, parameters.count, error));
    locus_positions *positions = golden_positions(golden_array(golden, index, "positions"), NULL);
    golden_ok(locus_plan_create(&plan, binding, positions, NULL, error));

    locus_tensor x = golden_tensor(x_array, dtype), y = golden_zeros(x_array, dtype);
    locus_tensor gy = golden_tensor(golden_array(golden, index, "gy"), dtype), gx = golden_zeros(x_array, dtype);
    locus_workspace workspace = {NULL, locus_apply_workspace(plan, role, dtype, NULL)};
    workspace.data = locus_allocate(workspace.bytes + 1);
    const locus_execution execution = locus_execution_in(workspace);
    golden_ok(locus_apply(plan, role, LOCUS_FORWARD, &x, &y, &execution, error));
    golden_compare(golden, index, "y", &y, tolerance);
    locus_apply_gradients gradients = {
        .x = &x, .gy = &gy, .gx = &gx, .parameters = parameters.gradients, .parameter_count = parameters.count};
    golden_ok(locus_apply_backward(plan, role, LOCUS_FORWARD, &gradients, &execution, error));
    golden_compare(golden, index, "gx", &gx, tolerance);
    golden_parameters_compare(&parameters, golden, index, 1000 * tolerance);
    golden_ok(locus_apply(plan, role, LOCUS_INVERSE, &y, &y, &execution, error));
    golden_compare(golden, index, "x", &y, 10 * tolerance);

    locus_release(workspace.data, workspace.bytes + 1);
    free(x.data), free(y.data), free(gy.data), free(gx.data);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
    locus_binding_destroy(&binding);
    locus_encoding_destroy(&encoding);
    golden_parameters_free(&parameters);
}

static void check_all(locus_dtype dtype, double tolerance) {
    golden_file golden;
    golden_open(&golden, "encodings");
    for (size_t i = 0; i < golden.count; i++)
        check_case(&golden, i, dtype, tolerance);
    golden_close(&golden);
}

static void test_float64(void **state) {
    (void)state;
    check_all(LOCUS_FLOAT64, 1e-11);
}

static void test_float32(void **state) {
    (void)state;
    check_all(LOCUS_FLOAT32, 2e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_float64), cmocka_unit_test(test_float32)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
