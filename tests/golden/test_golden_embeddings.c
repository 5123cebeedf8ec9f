/* SPDX-License-Identifier: MIT */
/* What is added to tokens, against independent definitions (tools/golden_embeddings.py): sinusoids in both layouts, at
 * real positions too, Chebyshev polynomials up to 65,536 dimensions against decimals, Shiv and Quirk's tree positions
 * with the gradient of their decays; and the table that a blog prints. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"

typedef struct subject {
    locus_encoding *encoding;
    locus_binding *binding;
    locus_plan *plan;
    locus_role role;
    size_t tokens, dim;
} subject;

static void subject_close(subject *s) {
    locus_plan_destroy(&s->plan);
    locus_binding_destroy(&s->binding);
    locus_encoding_destroy(&s->encoding);
}

static void subject_open(subject *s, const char *spec, size_t dim, const locus_tensor *values, size_t count) {
    locus_shape shape = locus_shape_default();
    shape.model_dim = dim;
    *s = (subject){.dim = dim};
    golden_ok(locus_encoding_parse(spec, &s->encoding, error));
    s->role = locus_encoding_sites(s->encoding) == LOCUS_SITE_ENCODED ? LOCUS_ROLE_ENCODED : LOCUS_ROLE_TOKEN;
    golden_ok(locus_binding_create(&s->binding, s->encoding, &shape, values, count, error));
}

static void subject_place(subject *s, locus_positions *positions) {
    s->tokens = locus_positions_tokens(positions);
    golden_ok(locus_plan_create(&s->plan, s->binding, positions, NULL, error));
    locus_positions_destroy(&positions);
}

/* One sequence on seq; whole numbers as integers. */
static void subject_place_numbers(subject *s, const double *values, size_t count) {
    const size_t offsets[] = {0, count};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets, .lengths = NULL};
    locus_positions *positions = NULL;
    int64_t *integers = calloc(count + 1, sizeof *integers);
    bool whole = true;
    assert_non_null(integers);
    for (size_t i = 0; i < count; i++) {
        integers[i] = (int64_t)floor(values[i]);
        whole = whole && floor(values[i]) == values[i];
    }
    if (whole)
        golden_ok(locus_positions_create(&positions, NULL, &packing, integers, error));
    else
        golden_ok(locus_positions_create_real(&positions, NULL, &packing, values, error));
    free(integers);
    subject_place(s, positions);
}

/* The table: what is made of zeros, out of place. */
static locus_tensor table_of(const subject *s, locus_dtype dtype) {
    const int64_t shape[] = {(int64_t)s->tokens, (int64_t)s->dim};
    const size_t count = s->tokens * s->dim;
    void *zeros = calloc(count + 1, sizeof(double)), *rows = calloc(count + 1, sizeof(double));
    assert_true(zeros && rows);
    locus_tensor x = locus_tensor_view(zeros, dtype, 2, shape), y = locus_tensor_view(rows, dtype, 2, shape);
    locus_workspace workspace = {NULL, locus_apply_workspace(s->plan, s->role, dtype, NULL)};
    workspace.data = locus_allocate(workspace.bytes + 1);
    const locus_execution execution = locus_execution_in(workspace);
    golden_ok(locus_apply(s->plan, s->role, LOCUS_FORWARD, &x, &y, &execution, error));
    locus_release(workspace.data, workspace.bytes + 1);
    free(zeros);
    return y;
}

static double value_of(const locus_tensor *tensor, size_t i) {
    return tensor->dtype == LOCUS_FLOAT64 ? ((const double *)tensor->data)[i]
                                          : (double)((const float *)tensor->data)[i];
}

/* ---- numbers on an axis ---- */

/* A sinusoid's frequency is rounded, which a position of a million shows; an angle of T_i has i times that of T_1. */
static double tolerance_of(locus_dtype dtype, bool sinusoid, int64_t column) {
    if (dtype == LOCUS_FLOAT32)
        return 1.2e-7;
    return sinusoid ? 3e-10 : 4e-16 * (1 + (double)column);
}

static void check_numbers(const golden_file *golden, size_t index, locus_dtype dtype) {
    const char *spec = golden_text(golden, index, "spec");
    const bool sampled = strncmp(spec, "chebyshev", 9) == 0;
    const lab_array *positions = golden_array(golden, index, "positions"), *e = golden_array(golden, index, "e");
    const int64_t *columns = sampled ? golden_array(golden, index, "columns")->data : NULL;
    const size_t width = (size_t)e->shape[1];
    subject s;
    subject_open(&s, spec, sampled ? (size_t) * (const int64_t *)golden_array(golden, index, "dim")->data : width, NULL,
                 0);
    subject_place_numbers(&s, positions->data, lab_array_count(positions));
    locus_tensor table = table_of(&s, dtype);
    for (size_t t = 0; t < s.tokens; t++)
        for (size_t j = 0; j < width; j++) {
            const double got = value_of(&table, t * s.dim + (columns ? (size_t)columns[j] : j));
            const double want = ((const double *)e->data)[t * width + j];
            if (!(fabs(got - want) <= tolerance_of(dtype, !sampled, sampled ? columns[j] : 0)))
                fail_msg("case %zu (%s), token %zu, column %zu: got %.17g, want %.17g", index, spec, t, j, got, want);
        }
    free(table.data);
    subject_close(&s);
}

/* ---- trees ---- */

static locus_positions *words_of(const golden_file *golden, size_t index, const locus_group *group) {
    const lab_array *starts = golden_array(golden, index, "starts"),
                    *branches = golden_array(golden, index, "branches");
    const size_t tokens = lab_array_count(starts) - 1, offsets[] = {0, tokens};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets, .lengths = NULL};
    size_t *bounds = calloc(tokens + 1, sizeof *bounds);
    assert_non_null(bounds);
    for (size_t i = 0; i <= tokens; i++)
        bounds[i] = (size_t)((const int64_t *)starts->data)[i];
    const locus_position_column column = {.size = sizeof column, .branches = branches->data, .starts = bounds};
    locus_positions *positions = NULL;
    golden_ok(locus_positions_create_columns(&positions, group, &packing, &column, error));
    free(bounds);
    return positions;
}

static void check_tree(const golden_file *golden, size_t index, locus_dtype dtype, double tolerance) {
    const lab_array *e = golden_array(golden, index, "e");
    const locus_tensor decays = golden_tensor(golden_array(golden, index, "parameter.decays"), LOCUS_FLOAT64);
    subject s;
    subject_open(&s, golden_text(golden, index, "spec"), (size_t)e->shape[1], &decays, 1);
    subject_place(&s, words_of(golden, index, locus_encoding_group(s.encoding)));
    locus_tensor table = table_of(&s, dtype);
    golden_compare(golden, index, "e", &table, tolerance);

    locus_tensor gy = golden_tensor(golden_array(golden, index, "gy"), dtype);
    locus_tensor gx = golden_zeros(golden_array(golden, index, "gy"), dtype);
    locus_tensor learned = golden_zeros(golden_array(golden, index, "gradient.decays"), dtype);
    locus_workspace workspace = {NULL, locus_apply_workspace(s.plan, s.role, dtype, NULL)};
    workspace.data = locus_allocate(workspace.bytes + 1);
    locus_apply_gradients gradients = {.x = &table, .gy = &gy, .gx = &gx, .parameters = &learned, .parameter_count = 1};
    const locus_execution execution = locus_execution_in(workspace);
    golden_ok(locus_apply_backward(s.plan, s.role, LOCUS_FORWARD, &gradients, &execution, error));
    golden_compare(golden, index, "gradient.decays", &learned, 100 * tolerance);
    golden_compare(golden, index, "gy", &gx, tolerance); /* x passes through */
    locus_release(workspace.data, workspace.bytes + 1);
    free(table.data), free(gy.data), free(gx.data), free(learned.data), free(decays.data);
    subject_close(&s);
}

static void check_all(locus_dtype dtype, double tolerance) {
    golden_file golden;
    golden_open(&golden, "embeddings");
    for (size_t i = 0; i < golden.count; i++)
        if (strncmp(golden_text(&golden, i, "spec"), "shiv", 4) == 0)
            check_tree(&golden, i, dtype, tolerance);
        else
            check_numbers(&golden, i, dtype);
    golden_close(&golden);
}

static void test_float64(void **state) {
    (void)state;
    check_all(LOCUS_FLOAT64, 1e-14);
}

static void test_float32(void **state) {
    (void)state;
    check_all(LOCUS_FLOAT32, 5e-7);
}

/* A blog's example, as printed: context 4, dimension 8, five digits, every row's norm 2 = sqrt(D/2). */
static void test_blog(void **state) {
    static const double printed[4][8] = {
        {0.0000e+00, 1.0000e+00, 0.0000e+00, 1.0000e+00, 0.0000e+00, 1.0000e+00, 0.0000e+00, 1.0000e+00},
        {8.4147e-01, 5.4030e-01, 9.9833e-02, 9.9500e-01, 9.9998e-03, 9.9995e-01, 1.0000e-03, 1.0000e+00},
        {9.0930e-01, -4.1615e-01, 1.9867e-01, 9.8007e-01, 1.9999e-02, 9.9980e-01, 2.0000e-03, 1.0000e+00},
        {1.4112e-01, -9.8999e-01, 2.9552e-01, 9.5534e-01, 2.9995e-02, 9.9955e-01, 3.0000e-03, 1.0000e+00}};
    const double positions[] = {0, 1, 2, 3};
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        subject s;
        subject_open(&s, "sinusoidal", 8, NULL, 0);
        subject_place_numbers(&s, positions, 4);
        locus_tensor table = table_of(&s, wide ? LOCUS_FLOAT64 : LOCUS_FLOAT32);
        for (size_t t = 0; t < 4; t++) {
            double squares = 0;
            for (size_t i = 0; i < 8; i++) {
                const double value = value_of(&table, t * 8 + i);
                /* five digits are printed, of floats */
                assert_true(fabs(value - printed[t][i]) <= 5.05e-5 * pow(10, floor(log10(fabs(value) + 1e-30))));
                squares += value * value;
            }
            assert_true(fabs(sqrt(squares) - 2) < (wide ? 1e-15 : 3e-7));
        }
        free(table.data);
        subject_close(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_float64), cmocka_unit_test(test_float32),
                                       cmocka_unit_test(test_blog)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
