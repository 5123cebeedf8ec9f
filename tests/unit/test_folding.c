/* SPDX-License-Identifier: MIT */
/* Encodings rewritten: scores of the source on vectors x are those of the target on Tᵀx, T is orthogonal, and
 * projections turn as vectors do. */
#include "fold/projection.h"

#include "io/safetensors.h"
#include "unit/scratch_folder.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TOKENS = 7, HEADS = 2, DIM = 8 };

static void open_bound(lab_bound *bound, const char *spec) {
    locus_error error = {.offset = -1};
    const locus_shape shape = {.heads = HEADS, .head_dim = DIM};
    if (lab_bound_parse(bound, spec, &error) != LOCUS_OK || lab_bound_open(bound, &shape, NULL, 4, &error) != LOCUS_OK)
        fail_msg("%s: %s", spec, error.message);
}

static void draw(lab_array *x) {
    static const int64_t shape[3] = {TOKENS, HEADS, DIM};
    const locus_random random = {.seed = 9, .purpose = LOCUS_RANDOM_USER};
    locus_error error;
    assert_int_equal(lab_array_create(x, LAB_F64, 3, shape, &error), LOCUS_OK);
    for (size_t i = 0; i < lab_array_count(x); i++)
        lab_array_set(x, i, locus_random_normal(&random, i));
}

/* ⌈p⌉ x at positions 0, 1, …, in place. */
static void apply(const lab_bound *bound, const lab_array *x) {
    static const size_t offsets[2] = {0, TOKENS};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    int64_t values[2 * TOKENS];
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    locus_error error = {.offset = -1};
    const locus_group *group = locus_encoding_group(bound->encoding);
    for (size_t i = 0; i < 2 * TOKENS; i++)
        values[i] = (int64_t)i;
    const locus_tensor tensor = lab_array_tensor(x);
    assert_int_equal(locus_positions_create(&positions, group, &packing, values, &error), LOCUS_OK);
    assert_int_equal(lab_bound_plan(bound, positions, NULL, NULL, &plan, &error), LOCUS_OK);
    assert_int_equal(lab_apply(plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &tensor, NULL, &error), LOCUS_OK);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
}

static double product(const lab_array *x, size_t m, size_t n, size_t head) {
    double sum = 0;
    for (size_t i = 0; i < DIM; i++)
        sum += lab_array_at(x, (m * HEADS + head) * DIM + i) * lab_array_at(x, (n * HEADS + head) * DIM + i);
    return sum;
}

static void expect_orthogonal(const double *T) {
    for (size_t i = 0; i < HEADS * DIM * DIM; i++) {
        const double *a = T + i / DIM * DIM, *b = T + (i / DIM / DIM * DIM + i % DIM) * DIM;
        double sum = 0;
        for (size_t k = 0; k < DIM; k++)
            sum += a[k] * b[k];
        assert_true(fabs(sum - (i / DIM % DIM == i % DIM)) < 1e-12);
    }
}

static void check(const char *spec, lab_folding_wish wish, const char *becomes) {
    lab_bound source;
    lab_folding folding;
    lab_array before, after;
    lab_projection_layout layout;
    locus_error error = {.offset = -1};
    open_bound(&source, spec);
    if (lab_folding_open(&folding, &source, &wish, &error) != LOCUS_OK)
        fail_msg("%s: %s", spec, error.message);
    char *text = lab_spec_string(&folding.spec);
    assert_string_equal(text, becomes);
    free(text);
    expect_orthogonal(folding.turn);
    draw(&before);
    draw(&after);
    assert_null(lab_projection_read(&layout, &after, HEADS, DIM, false));
    assert_int_equal(lab_projection_turn(&folding, &after, layout, &error), LOCUS_OK);
    apply(&source, &before);
    apply(&folding.target, &after);
    for (size_t i = 0; i < TOKENS * TOKENS; i++)
        for (size_t h = 0; h < HEADS; h++)
            assert_true(fabs(product(&before, i / TOKENS, i % TOKENS, h) - product(&after, i / TOKENS, i % TOKENS, h)) <
                        1e-9);
    lab_array_free(&before);
    lab_array_free(&after);
    lab_folding_close(&folding);
    lab_bound_close(&source);
}

static void both_ways(void **state) {
    (void)state;
    check("algebraic(group=seq)", (lab_folding_wish){.to = LAB_FOLD_ROTARY}, "algebraic(generator=angles)");
    check("algebraic(group=seq, heads=shared, decay=0.9)", (lab_folding_wish){.to = LAB_FOLD_ROTARY, .half = true},
          "rope(learned=on, pairs=half) + decay(rate=0.9)");
    check("algebraic(group=seq, heads=shared, decay=learned:0.9)",
          (lab_folding_wish){.to = LAB_FOLD_ROTARY, .half = true},
          "rope(learned=on, pairs=half) + decay(rate=0.9, learned=on)");
    check("algebraic(group=seq, heads=shared)", (lab_folding_wish){.to = LAB_FOLD_ROTARY, .half = true},
          "rope(learned=on, pairs=half)");
    check("algebraic(group=grid:2, init=random)", (lab_folding_wish){.to = LAB_FOLD_ROTARY},
          "algebraic(group=grid:2, generator=angles)");
    check("string(group=grid:2)", (lab_folding_wish){.to = LAB_FOLD_ROTARY}, "mixed");
    check("rope", (lab_folding_wish){.to = LAB_FOLD_ROTARY, .half = true}, "rope(pairs=half)");
    check("rope", (lab_folding_wish){.to = LAB_FOLD_ALGEBRAIC}, "algebraic");
    check("rope", (lab_folding_wish){.to = LAB_FOLD_ALGEBRAIC, .random_basis = true, .seed = 2}, "algebraic");
    check("algebraic(group=cycle:6)", (lab_folding_wish){.to = LAB_FOLD_ALGEBRAIC, .random_basis = true},
          "algebraic(group=cycle:6)");
    for (int half = 0; half < 2; half++)
        check("rope(rotate=proportional:0.5)", (lab_folding_wish){.to = LAB_FOLD_ROTARY, .half = half},
              half ? "rope(rotate=proportional:0.5)" : "rope(learned=on)");
    check("rope(pairs=half)", (lab_folding_wish){.to = LAB_FOLD_ROTARY}, "rope");
    check("roper", (lab_folding_wish){.to = LAB_FOLD_ROTARY, .half = true}, "roper(pairs=half)");
    check("roper", (lab_folding_wish){.to = LAB_FOLD_ALGEBRAIC}, "algebraic(values=on)");
    check("mixed", (lab_folding_wish){.to = LAB_FOLD_ROTARY}, "mixed");
    check("algebraic(group=seq*cycle:6)", (lab_folding_wish){.to = LAB_FOLD_ROTARY},
          "algebraic(group=seq*cycle:6, generator=angles)");
    check("algebraic(group=cycle:6*seq, init=random)", (lab_folding_wish){.to = LAB_FOLD_ROTARY},
          "algebraic(group=cycle:6*seq, generator=angles)");
    check("algebraic(group=grid:2, split=2:6, init=random)", (lab_folding_wish){.to = LAB_FOLD_ROTARY},
          "algebraic(group=grid:2, split=2:6, generator=angles)");
    check("rope(axes=2, order=chunked)", (lab_folding_wish){.to = LAB_FOLD_ALGEBRAIC}, "algebraic(group=grid:2)");
    check("rope(axes=2, sections=1:3)", (lab_folding_wish){.to = LAB_FOLD_ALGEBRAIC},
          "algebraic(group=grid:2, split=2:6)");
    for (int drawn = 0; drawn < 2; drawn++) /* of either block a direction is left over */
        check("algebraic(group=grid:2, split=3:5, init=random)",
              (lab_folding_wish){.to = LAB_FOLD_ALGEBRAIC, .random_basis = drawn, .seed = 2},
              "algebraic(group=grid:2, split=3:5)");
}

static void refused(void **state) {
    const struct {
        const char *spec, *reason;
        lab_folding_wish wish;
    } cases[] = {
        {"algebraic(group=tree:2)", "fold: ", {.to = LAB_FOLD_ROTARY}},
        {"algebraic(group=grid:2)", "half pairs are rope's", {.to = LAB_FOLD_ROTARY, .half = true}},
        {"algebraic(group=seq, init=random)", "each head has its own", {.to = LAB_FOLD_ROTARY, .half = true}},
        {"algebraic(group=cycle:6)", "half pairs are rope's", {.to = LAB_FOLD_ROTARY, .half = true}},
        {"algebraic(group=grid:2, split=3:5)", "a block of odd size has", {.to = LAB_FOLD_ROTARY}},
        {"string", "half pairs are rope's; 'string' turns pairs", {.to = LAB_FOLD_ROTARY, .half = true}},
        {"rope(axes=2, sections=2:2, order=interleaved)", "pairs follow the axes in turn", {.to = LAB_FOLD_ALGEBRAIC}},
        {"rope(axes=2, order=chunked, rotate=4)", "4 of 8 head dimensions stand", {.to = LAB_FOLD_ALGEBRAIC}},
        {"algebraic(group=seq, init=random) + cope", "'cope' reads the queries", {.to = LAB_FOLD_ROTARY}},
        {"mixed", "follows several axes", {.to = LAB_FOLD_ALGEBRAIC}},
        {"algebraic(group=seq, init=random) + relative", "reads the queries", {.to = LAB_FOLD_ROTARY}}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lab_bound source;
        lab_folding folding;
        locus_error error = {.offset = -1};
        open_bound(&source, cases[i].spec);
        if (lab_folding_open(&folding, &source, &cases[i].wish, &error) != LOCUS_ERROR_UNSUPPORTED ||
            !strstr(error.message, cases[i].reason))
            fail_msg("%s: %s", cases[i].spec, error.message);
        lab_folding_close(&folding);
        lab_bound_close(&source);
    }
}

/* How matrices lie, and what is said of those that do not. */
static void layouts(void **state) {
    lab_projection_layout layout;
    lab_array array = {.dtype = LAB_F32, .rank = 2, .shape = {16, 24}};
    (void)state;
    assert_null(lab_projection_read(&layout, &array, 2, 8, false));
    assert_true(layout.outer == 1 && layout.inner == 24);
    assert_string_equal(lab_projection_read(&layout, &array, 2, 8, true), "must be [model_dim, heads*head_dim]");
    array.shape[0] = 24;
    array.shape[1] = 16;
    assert_null(lab_projection_read(&layout, &array, 2, 8, true));
    assert_true(layout.outer == 24 && layout.inner == 1);
}

static void expect_array(const lab_safetensors *file, const char *name, const char *shape, const double *values) {
    const lab_array *array = lab_safetensors_find(file, name);
    char text[LAB_SHAPE_TEXT];
    assert_non_null(array);
    lab_shape_text(array->rank, array->shape, text);
    assert_string_equal(text, shape);
    assert_int_equal(array->dtype, LAB_F64);
    for (size_t i = 0; i < lab_array_count(array); i++)
        assert_true(lab_array_at(array, i) == values[i]);
}

/* What is no part of the folded term's normal form stays as it is: a rate, other terms. */
static void other_parameters_stay(void **state) {
    (void)state;
    lab_bound source;
    lab_folding folding;
    locus_error error = {.offset = -1};
    const lab_folding_wish wish = {.to = LAB_FOLD_ROTARY};
    size_t same = 0;
    open_bound(&source, "t5(buckets=4) + algebraic(group=seq, decay=learned:0.9) + scores(sinks=on)");
    for (size_t i = 0; i < source.count; i++) /* none of them is the same as another */
        for (size_t j = 0; j < locus_tensor_count(&source.values[i]); j++)
            ((double *)source.values[i].data)[j] += 0.001 * (double)(i + 10 * j);
    assert_int_equal(lab_folding_open(&folding, &source, &wish, &error), LOCUS_OK);
    assert_int_equal(folding.target.count, source.count);
    for (size_t i = 0; i < source.count; i++) {
        if (strstr(source.infos[i].name, "generators") != NULL)
            continue;
        assert_string_equal(folding.target.infos[i].name, source.infos[i].name);
        assert_memory_equal(folding.target.values[i].data, source.values[i].data,
                            locus_tensor_count(&source.values[i]) * sizeof(double));
        same++;
    }
    assert_int_equal(same, 3);
    lab_folding_close(&folding);
    lab_bound_close(&source);
}

/* Column m of a matrix turns as a vector alone does. */
static void columns_turn_alike(void **state) {
    (void)state;
    lab_bound source;
    lab_folding folding;
    locus_error error = {.offset = -1};
    double column[HEADS * DIM], matrix[HEADS * DIM * 3];
    lab_array one = {.dtype = LAB_F64, .rank = 1, .shape = {HEADS * DIM}, .data = column};
    lab_array all = {.dtype = LAB_F64, .rank = 2, .shape = {HEADS * DIM, 3}, .data = matrix};
    lab_projection_layout layouts[2];
    open_bound(&source, "algebraic(group=seq, init=random)");
    assert_int_equal(lab_folding_open(&folding, &source, &(lab_folding_wish){.to = LAB_FOLD_ROTARY}, &error), LOCUS_OK);
    for (size_t i = 0; i < HEADS * DIM; i++) {
        column[i] = sin((double)i);
        for (size_t m = 0; m < 3; m++)
            matrix[i * 3 + m] = (double)(m + 1) * column[i];
    }
    assert_null(lab_projection_read(&layouts[0], &one, HEADS, DIM, false));
    assert_null(lab_projection_read(&layouts[1], &all, HEADS, DIM, false));
    assert_int_equal(lab_projection_turn(&folding, &one, layouts[0], &error), LOCUS_OK);
    assert_int_equal(lab_projection_turn(&folding, &all, layouts[1], &error), LOCUS_OK);
    for (size_t i = 0; i < HEADS * DIM * 3; i++)
        assert_true(fabs(matrix[i] - (double)(i % 3 + 1) * column[i / 3]) < 1e-12);
    assert_true(fabs(column[0] - sin(0)) > 1e-3);
    lab_folding_close(&folding);
    lab_bound_close(&source);
}

/* A file has the parameters, the basis and the angles, and what was turned; nothing else. */
static void files_have_all(void **state) {
    (void)state;
    lab_bound source;
    lab_folding folding;
    lab_safetensors file;
    locus_error error = {.offset = -1};
    double numbers[HEADS * DIM] = {1, 2, 3};
    const lab_folding_wish wish = {.to = LAB_FOLD_ROTARY};
    const lab_array projections[2] = {
        {.data = NULL}, {.name = "key", .dtype = LAB_F64, .rank = 1, .shape = {HEADS * DIM}, .data = numbers}};
    open_bound(&source, "algebraic(group=grid:2, init=random)");
    assert_int_equal(lab_folding_open(&folding, &source, &wish, &error), LOCUS_OK);
    const char *path = scratch_path("folded.safetensors");
    assert_int_equal(lab_folding_write(&folding, projections, 2, path, &error), LOCUS_OK);
    assert_int_equal(lab_safetensors_read(&file, path, &error), LOCUS_OK);
    assert_int_equal(file.count, 4);
    assert_int_equal(folding.target.count, 1);
    expect_array(&file, "angles", "[2, 2, 2]", folding.target.values[0].data);
    expect_array(&file, "fold.basis", "[2, 8, 8]", folding.turn);
    expect_array(&file, "fold.angles", "[2, 2, 4]", folding.angles);
    expect_array(&file, "key", "[16]", numbers);
    assert_int_equal(file.metadata_count, 1);
    assert_string_equal(lab_safetensors_metadata(&file, "spec"), "algebraic(group=grid:2, generator=angles)");
    lab_safetensors_close(&file);
    lab_folding_close(&folding);
    lab_bound_close(&source);
}

/* A head for which there is no memory is told, even where there are no rows. */
static void no_room_for_a_row(void **state) {
    (void)state;
    const lab_folding folding = {.shape = {.heads = 1, .head_dim = SIZE_MAX / 16}};
    lab_array none = {0};
    locus_error error = {0};
    assert_int_equal(lab_projection_turn(&folding, &none, (lab_projection_layout){.outer = 0, .inner = 1}, &error),
                     LOCUS_ERROR_MEMORY);
    assert_string_equal(error.message, "out of memory for a row");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_room_for_a_row),
        cmocka_unit_test(both_ways),
        cmocka_unit_test(refused),
        cmocka_unit_test(layouts),
        cmocka_unit_test(other_parameters_stay),
        cmocka_unit_test(columns_turn_alike),
        cmocka_unit_test(files_have_all),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
