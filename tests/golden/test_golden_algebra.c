/* SPDX-License-Identifier: MIT */
/* Operators and attention of every group, forward and backward, against PyTorch (tools/golden_algebra.py, which says
 * how the file is laid out), in both element types. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"

enum { HEADS = 2, TOKENS = 12, MOST_COORDINATES = 8 };
static const size_t offsets[] = {0, 5, TOKENS};
static const locus_packing packing = {sizeof packing, 2, offsets, NULL};

typedef struct golden_case {
    const golden_file *golden;
    size_t index, dim;
    const char *spec, *checks;
    locus_dtype dtype;
    double tolerance;
    locus_shape shape;
    locus_encoding *encoding;
    locus_binding *binding;
    locus_positions *queries, *keys;
    locus_plan *plan;
    golden_parameters parameters;
} golden_case;

/* ---- reading ---- */

static const lab_array *find(const golden_file *golden, const char *name) {
    const lab_array *array = lab_safetensors_find(&golden->file, name);
    if (array == NULL)
        fail_msg("the golden file has no array %s", name);
    return array;
}

static const lab_array *find_column(const golden_case *c, const char *what, size_t coordinate, const char *part) {
    char name[256];
    (void)snprintf(name, sizeof name, "%s.%s.%zu%s", what, golden_text(c->golden, c->index, "group"), coordinate, part);
    const lab_array *array = find(c->golden, name);
    assert_int_equal(array->dtype, LAB_I64);
    return array;
}

/* Inputs are shared by the cases of a head dimension. */
static const lab_array *find_input(const golden_case *c, const char *name) {
    char key[64];
    (void)snprintf(key, sizeof key, "input.%zu.%s", c->dim, name);
    return find(c->golden, key);
}

/* Groups without trees by rows of values, others column by column. */
static locus_positions *read_positions(const golden_case *c, const char *what) {
    locus_group *group = NULL;
    locus_positions *positions = NULL;
    locus_position_column columns[MOST_COORDINATES] = {{0}};
    size_t starts[MOST_COORDINATES][TOKENS + 1];
    int64_t rows[TOKENS * MOST_COORDINATES];
    golden_ok(locus_group_parse(golden_text(c->golden, c->index, "group"), &group, error));
    const size_t count = locus_group_coordinates(group);
    assert_in_range(count, 1, MOST_COORDINATES);
    bool trees = false;
    for (size_t i = 0; i < count; i++) {
        columns[i].size = sizeof *columns;
        if (locus_group_coordinate(group, i).kind == LOCUS_COORDINATE_TREE) {
            const lab_array *begin = find_column(c, what, i, ".starts");
            assert_int_equal(lab_array_count(begin), TOKENS + 1);
            for (size_t t = 0; t <= TOKENS; t++)
                starts[i][t] = (size_t)((const int64_t *)begin->data)[t];
            columns[i].branches = find_column(c, what, i, ".branches")->data;
            columns[i].starts = starts[i];
            trees = true;
            continue;
        }
        const lab_array *values = find_column(c, what, i, "");
        assert_int_equal(lab_array_count(values), TOKENS);
        columns[i].values = values->data;
        for (size_t t = 0; t < TOKENS; t++)
            rows[t * count + i] = columns[i].values[t];
    }
    if (trees)
        golden_ok(locus_positions_create_columns(&positions, group, &packing, columns, error));
    else
        golden_ok(locus_positions_create(&positions, group, &packing, rows, error));
    locus_group_destroy(&group);
    return positions;
}

/* ---- comparing: within tolerance of the largest number of the tensor ---- */

static void compare(const golden_case *c, const lab_array *want, const locus_tensor *got) {
    const double *wanted = want->data;
    double largest = 1;
    assert_int_equal(want->dtype, LAB_F64);
    assert_int_equal(lab_array_count(want), locus_tensor_count(got));
    for (size_t i = 0; i < lab_array_count(want); i++)
        largest = fmax(largest, fabs(wanted[i]));
    for (size_t i = 0; i < lab_array_count(want); i++) {
        double have =
            got->dtype == LOCUS_FLOAT64 ? ((const double *)got->data)[i] : (double)((const float *)got->data)[i];
        if (!(fabs(have - wanted[i]) <= c->tolerance * largest))
            fail_msg("case %zu (%s), %s[%zu]: got %.17g, PyTorch has %.17g", c->index, c->spec, want->name, i, have,
                     wanted[i]);
    }
}

/* Parameter gradients against "i.WHAT.NAME"; zeroed for what follows. */
static void compare_gradients(golden_case *c, const char *what) {
    for (size_t i = 0; i < c->parameters.count; i++) {
        char key[192];
        (void)snprintf(key, sizeof key, "%s.%s", what, c->parameters.names[i]);
        compare(c, golden_array(c->golden, c->index, key), &c->parameters.gradients[i]);
        memset(c->parameters.gradients[i].data, 0,
               locus_tensor_count(&c->parameters.gradients[i]) * locus_dtype_size(c->dtype));
    }
}

/* ---- one case ---- */

static void check_shapes(const golden_case *c) {
    for (size_t i = 0; i < c->parameters.count; i++) {
        char key[192];
        (void)snprintf(key, sizeof key, "parameter.%s", c->parameters.names[i]);
        const lab_array *array = golden_array(c->golden, c->index, key);
        assert_int_equal(array->rank, c->parameters.values[i].rank);
        assert_memory_equal(array->shape, c->parameters.values[i].shape, array->rank * sizeof *array->shape);
    }
}

/* The operators forward, with parameter gradients; then, since they are orthogonal, the gradient of ½|y|² is x, and
 * no parameter can change it. */
static void check_apply(golden_case *c) {
    const locus_role role =
        strcmp(golden_text(c->golden, c->index, "role"), "key") == 0 ? LOCUS_ROLE_KEY : LOCUS_ROLE_QUERY;
    const lab_array *x_array = find_input(c, "x"), *y_array = golden_array(c->golden, c->index, "y");
    locus_tensor x = golden_tensor(x_array, c->dtype), gy = golden_tensor(find_input(c, "gy"), c->dtype);
    locus_tensor y = golden_zeros(x_array, c->dtype), gx = golden_zeros(x_array, c->dtype);
    locus_workspace workspace = {NULL, locus_apply_workspace(c->plan, role, c->dtype, NULL)};
    workspace.data = locus_allocate(workspace.bytes + 1);
    assert_non_null(workspace.data);
    const locus_execution execution = locus_execution_in(workspace);
    golden_ok(locus_apply(c->plan, role, LOCUS_FORWARD, &x, &y, &execution, error));
    compare(c, y_array, &y);
    locus_apply_gradients gradients = {
        .x = &x, .gy = &gy, .gx = &gx, .parameters = c->parameters.gradients, .parameter_count = c->parameters.count};
    golden_ok(locus_apply_backward(c->plan, role, LOCUS_FORWARD, &gradients, &execution, error));
    compare_gradients(c, "applied");
    gradients.gy = &y;
    golden_ok(locus_apply_backward(c->plan, role, LOCUS_FORWARD, &gradients, &execution, error));
    compare(c, x_array, &gx);
    for (size_t p = 0; p < c->parameters.count; p++)
        for (size_t i = 0; i < locus_tensor_count(&c->parameters.gradients[p]); i++) {
            const void *data = c->parameters.gradients[p].data;
            double got = c->dtype == LOCUS_FLOAT64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
            if (!(fabs(got) <= 100 * c->tolerance))
                fail_msg("case %zu (%s): norms seem to depend on %s: %g", c->index, c->spec, c->parameters.names[p],
                         got);
        }
    for (size_t i = 0; i < c->parameters.count; i++)
        memset(c->parameters.gradients[i].data, 0,
               locus_tensor_count(&c->parameters.gradients[i]) * locus_dtype_size(c->dtype));
    golden_ok(locus_apply(c->plan, role, LOCUS_INVERSE, &y, &y, &execution, error));
    compare(c, x_array, &y);
    locus_release(workspace.data, workspace.bytes + 1);
    free(x.data), free(y.data), free(gy.data), free(gx.data);
}

static void check_attention(golden_case *c, bool wide) {
    const lab_array *q_array = find_input(c, "q"), *v_array = find_input(c, wide ? "wide" : "v");
    locus_tensor q = golden_tensor(q_array, c->dtype), k = golden_tensor(find_input(c, "k"), c->dtype);
    locus_tensor v = golden_tensor(v_array, c->dtype), o = golden_zeros(v_array, c->dtype);
    locus_tensor go = golden_tensor(find_input(c, wide ? "wide_go" : "go"), c->dtype);
    locus_tensor dq = golden_zeros(q_array, c->dtype), dk = golden_zeros(q_array, c->dtype);
    locus_tensor dv = golden_zeros(v_array, c->dtype);
    const int64_t rows[] = {TOKENS, HEADS};
    locus_tensor log_sum_exp = locus_tensor_view(calloc(TOKENS * HEADS, sizeof(double)), c->dtype, 2, rows);
    const locus_attention_options options = locus_attention_default();
    size_t forward = locus_attention_workspace(c->plan, &options, c->dtype, LOCUS_PASS_FORWARD, NULL);
    size_t backward = locus_attention_workspace(c->plan, &options, c->dtype, LOCUS_PASS_BACKWARD, NULL);
    locus_workspace workspace = {NULL, forward > backward ? forward : backward};
    workspace.data = locus_allocate(workspace.bytes + 1);
    assert_non_null(workspace.data);
    const locus_attention_tensors tensors = {sizeof tensors, &q, &k, &v, &o, &log_sum_exp};
    const locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                                 .output = &go,
                                                 .query = &dq,
                                                 .key = &dk,
                                                 .value = &dv,
                                                 .parameters = c->parameters.gradients,
                                                 .parameter_count = c->parameters.count};
    const locus_execution execution = locus_execution_in(workspace);
    golden_ok(locus_attention_forward(c->plan, &options, &tensors, &execution, error));
    compare(c, golden_array(c->golden, c->index, "o"), &o);
    golden_ok(locus_attention_backward(c->plan, &options, &tensors, &gradients, &execution, error));
    compare(c, golden_array(c->golden, c->index, "dq"), &dq);
    compare(c, golden_array(c->golden, c->index, "dk"), &dk);
    compare(c, golden_array(c->golden, c->index, "dv"), &dv);
    compare_gradients(c, "attended");
    locus_release(workspace.data, workspace.bytes + 1);
    free(q.data), free(k.data), free(v.data), free(o.data), free(go.data);
    free(dq.data), free(dk.data), free(dv.data), free(log_sum_exp.data);
}

static void check_case(const golden_file *golden, size_t index, locus_dtype dtype, double tolerance) {
    golden_case c = {.golden = golden, .index = index, .dtype = dtype, .tolerance = tolerance};
    c.spec = golden_text(golden, index, "spec");
    c.checks = golden_text(golden, index, "checks");
    c.dim = (size_t)strtoull(golden_text(golden, index, "dim"), NULL, 10);
    const bool apply = strstr(c.checks, "apply") != NULL, attention = strstr(c.checks, "attention") != NULL;
    const bool wide = strstr(c.spec, "values=on") != NULL;
    assert_true(apply || attention);
    c.shape = locus_shape_default();
    c.shape.heads = HEADS;
    c.shape.head_dim = c.dim;
    c.shape.value_dim = attention ? (size_t)find_input(&c, wide ? "wide" : "v")->shape[2] : 0;
    golden_ok(locus_encoding_parse(c.spec, &c.encoding, error));
    golden_parameters_read(&c.parameters, golden, index, c.encoding, &c.shape, dtype);
    check_shapes(&c);
    golden_ok(locus_binding_create(&c.binding, c.encoding, &c.shape, c.parameters.values, c.parameters.count, error));
    c.queries = read_positions(&c, "positions");
    if (strstr(c.checks, "cross") != NULL)
        c.keys = read_positions(&c, "keys");
    golden_ok(locus_plan_create(&c.plan, c.binding, c.queries, c.keys, error));
    if (apply)
        check_apply(&c);
    if (attention)
        check_attention(&c, wide);
    locus_plan_destroy(&c.plan);
    locus_positions_destroy(&c.queries);
    locus_positions_destroy(&c.keys);
    locus_binding_destroy(&c.binding);
    locus_encoding_destroy(&c.encoding);
    golden_parameters_free(&c.parameters);
}

static void check_all(locus_dtype dtype, double tolerance) {
    golden_file golden;
    golden_open(&golden, "algebra");
    for (size_t i = 0; i < golden.count; i++)
        check_case(&golden, i, dtype, tolerance);
    golden_close(&golden);
}

static void test_float64(void **state) {
    (void)state;
    check_all(LOCUS_FLOAT64, 1e-9);
}

static void test_float32(void **state) {
    (void)state;
    check_all(LOCUS_FLOAT32, 2e-5);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_float64), cmocka_unit_test(test_float32)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
