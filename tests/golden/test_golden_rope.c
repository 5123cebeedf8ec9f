/* SPDX-License-Identifier: MIT */
/* Rope against transformers and onnx (tools/golden_rope.py). Frequencies and attention factors are read from what the
 * operator makes of unit vectors at position 1, in float64:
 *
 *   (1, 0) ↦ m·(cos ω, sin ω)
 *
 * against the published formulas in float64, and against transformers, which computes in float32: a power, a few
 * products and quotients, so some 1e-7 relative, and up to 1e-6 where base^x is taken of a large base. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"

#define EXACT 1e-13
#define THEIRS 2e-6  /* float32 frequencies */
#define APPLIED 1e-5 /* float32 angles up to 60 */

typedef struct rope_case {
    locus_encoding *encoding;
    locus_binding *binding;
    locus_positions *positions;
    locus_plan *plan;
} rope_case;

/* One head at position 1, in a text of `length`. */
static void open_case(rope_case *c, const char *spec, locus_shape shape, size_t length) {
    locus_plan_options options = locus_plan_options_default();
    const size_t offsets[] = {0, 1};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    const int64_t one = 1;
    options.length = length;
    golden_ok(locus_encoding_parse(spec, &c->encoding, error));
    golden_ok(locus_binding_create(&c->binding, c->encoding, &shape, NULL, 0, error));
    golden_ok(locus_positions_create(&c->positions, NULL, &packing, &one, error));
    golden_ok(locus_plan_create_with(&c->plan, c->binding, c->positions, NULL, &options, error));
}

static void close_case(rope_case *c) {
    locus_plan_destroy(&c->plan);
    locus_positions_destroy(&c->positions);
    locus_binding_destroy(&c->binding);
    locus_encoding_destroy(&c->encoding);
}

static void apply(const rope_case *c, locus_dtype dtype, const locus_tensor *x, const locus_tensor *y) {
    locus_workspace workspace = {NULL, locus_apply_workspace(c->plan, LOCUS_ROLE_QUERY, dtype, NULL)};
    workspace.data = locus_allocate(workspace.bytes + 1);
    const locus_execution execution = locus_execution_in(workspace);
    golden_ok(locus_apply(c->plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, x, y, &execution, error));
    locus_release(workspace.data, workspace.bytes + 1);
}

static void check_near(const golden_file *golden, size_t index, size_t pair, double got, double want, double allowed) {
    if (!(fabs(got - want) <= allowed * fabs(want)))
        fail_msg("case %zu, %s, length %s, pair %zu: %.17g, wanted %.17g", index, golden_text(golden, index, "spec"),
                 golden_text(golden, index, "length"), pair, got, want);
}

static void check_frequencies(const golden_file *golden, size_t index) {
    const size_t dim = strtoul(golden_text(golden, index, "dim"), NULL, 10);
    const size_t length = strtoul(golden_text(golden, index, "length"), NULL, 10);
    const lab_array *theta = golden_array(golden, index, "theta");
    const double *exact = theta->data, *attention = golden_array(golden, index, "attention")->data;
    const float *theirs = golden_array(golden, index, "theirs")->data;
    const size_t pairs = lab_array_count(theta);
    assert_int_equal(pairs, lab_array_count(golden_array(golden, index, "theirs")));
    rope_case c;
    open_case(&c, golden_text(golden, index, "spec"), (locus_shape){.heads = 1, .head_dim = dim}, length);
    double *row = calloc(dim, sizeof *row);
    assert_non_null(row);
    for (size_t i = 0; i < pairs; i++)
        row[i] = 1;
    for (size_t i = 2 * pairs; i < dim; i++)
        row[i] = 3;
    const locus_tensor x = locus_tensor_view(row, LOCUS_FLOAT64, 3, (const int64_t[]){1, 1, (int64_t)dim});
    apply(&c, LOCUS_FLOAT64, &x, &x);
    for (size_t i = 0; i < pairs; i++) {
        check_near(golden, index, i, atan2(row[pairs + i], row[i]), exact[i], EXACT);
        check_near(golden, index, i, atan2(row[pairs + i], row[i]), (double)theirs[i], THEIRS);
        check_near(golden, index, i, hypot(row[pairs + i], row[i]), *attention, EXACT);
    }
    for (size_t i = 2 * pairs; i < dim; i++)
        assert_true(row[i] == 3);
    free(row);
    close_case(&c);
}

static locus_positions *positions_of(const lab_array *array) {
    const size_t tokens = (size_t)array->shape[0], offsets[] = {0, tokens};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    locus_positions *positions = NULL;
    locus_group *group = NULL;
    if (array->rank == 2)
        golden_ok(locus_group_parse(array->shape[1] == 2 ? "grid:2" : "grid:3", &group, error));
    golden_ok(locus_positions_create(&positions, group, &packing, array->data, error));
    locus_group_destroy(&group);
    return positions;
}

static void check_applied(const golden_file *golden, size_t index) {
    const lab_array *x_array = golden_array(golden, index, "x");
    const bool wide = x_array->dtype == LAB_F64;
    const locus_shape shape = {.heads = (size_t)x_array->shape[1], .head_dim = (size_t)x_array->shape[2]};
    rope_case c;
    golden_ok(locus_encoding_parse(golden_text(golden, index, "spec"), &c.encoding, error));
    golden_ok(locus_binding_create(&c.binding, c.encoding, &shape, NULL, 0, error));
    c.positions = positions_of(golden_array(golden, index, "positions"));
    golden_ok(locus_plan_create(&c.plan, c.binding, c.positions, NULL, error));
    for (int dtype = LOCUS_FLOAT32; dtype <= LOCUS_FLOAT64; dtype++) {
        locus_tensor x = golden_tensor(x_array, (locus_dtype)dtype), y = golden_zeros(x_array, (locus_dtype)dtype);
        apply(&c, (locus_dtype)dtype, &x, &y);
        golden_compare(golden, index, "y", &y, wide && dtype == LOCUS_FLOAT64 ? 1e-9 : wide ? 1e-6 : APPLIED);
        free(x.data);
        free(y.data);
    }
    close_case(&c);
}

static void rope_agrees(void **state) {
    (void)state;
    golden_file golden;
    size_t frequencies = 0, applied = 0;
    golden_open(&golden, "rope");
    for (size_t i = 0; i < golden.count; i++)
        if (strcmp(golden_text(&golden, i, "kind"), "frequency") == 0) {
            check_frequencies(&golden, i);
            frequencies++;
        } else {
            check_applied(&golden, i);
            applied++;
        }
    assert_int_equal(frequencies, 59);
    assert_int_equal(applied, 17);
    golden_close(&golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rope_agrees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
