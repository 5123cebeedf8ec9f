/* SPDX-License-Identifier: MIT */
/* Laws that random vectors show: operators keep norms, and a cycle's turns change nothing. */
#include "check/law_job.h"

#include "bound/position_list.h"
#include "io/fail.h"

#include <math.h>
#include <stdlib.h>

#define NORMS 96   /* vectors whose norms are compared */
#define PERIODS 64 /* positions on cycles */

#define PURPOSE_VECTORS (LOCUS_RANDOM_USER + 0x61u)

void law_raise(double *most, double value) {
    value = fabs(value);
    if (!(value <= *most))
        *most = value;
}

void law_draw_vectors(lab_array *x, uint64_t seed, uint32_t step) {
    const locus_random random = {.seed = seed, .purpose = PURPOSE_VECTORS, .step = step};
    for (size_t i = 0; i < lab_array_count(x); i++)
        lab_array_set(x, i, locus_random_normal(&random, i));
}

/* ---- norms ---- */

static void compare_norms(const lab_array *before, const lab_array *after, size_t dim, double *most) {
    for (size_t row = 0; row < lab_array_count(before) / dim; row++) {
        double x = 0, y = 0;
        for (size_t i = 0; i < dim; i++) {
            x += lab_array_at(before, row * dim + i) * lab_array_at(before, row * dim + i);
            y += lab_array_at(after, row * dim + i) * lab_array_at(after, row * dim + i);
        }
        law_raise(most, sqrt(y / x) - 1);
    }
}

static locus_status norm_plan(law_job *job, locus_plan **plan, locus_error *error) {
    locus_positions *positions = NULL;
    lab_position_list list;
    locus_status status = lab_path_list_open(&list, job->group, NORMS, error);
    for (size_t i = 0; i < NORMS && status == LOCUS_OK; i++)
        status = lab_element_draw(&job->elements, LAB_ELEMENT_ANY, &list.paths[i], error);
    if (status == LOCUS_OK)
        status = lab_positions_one_sequence(&positions, &list, error);
    if (status == LOCUS_OK)
        status = lab_bound_plan(job->bound, positions, NULL, NULL, plan, error);
    locus_positions_destroy(&positions);
    lab_position_list_free(&list);
    return status;
}

locus_status law_norm(law_job *job, double *most, locus_error *error) {
    const int64_t shape[3] = {NORMS, (int64_t)job->heads, (int64_t)job->dim};
    locus_plan *plan = NULL;
    lab_array x = {0}, y = {0};
    locus_status status = lab_array_create(&x, LAB_F64, 3, shape, error);
    if (status == LOCUS_OK)
        status = lab_array_create(&y, LAB_F64, 3, shape, error);
    if (status == LOCUS_OK)
        status = norm_plan(job, &plan, error);
    if (status == LOCUS_OK) {
        const locus_tensor tensor = lab_array_tensor(&y);
        law_draw_vectors(&x, job->elements.random.seed, 0);
        law_draw_vectors(&y, job->elements.random.seed, 0);
        status = lab_apply(plan, job->role, LOCUS_FORWARD, &tensor, NULL, error);
        compare_norms(&x, &y, job->dim, most);
    }
    locus_plan_destroy(&plan);
    lab_array_free(&x);
    lab_array_free(&y);
    return status;
}

/* ---- periods ---- */

/* Raw values of one coordinate: on cycles r in the first half of the tokens, r + m·n in the second. */
static void fill_column(law_job *job, locus_coordinate coordinate, int64_t *values) {
    const int64_t n = coordinate.size, turns = n < INT64_MAX / (4 * LAW_REACH) ? LAW_REACH : n < INT64_MAX / 4;
    for (size_t i = 0; i < PERIODS; i++) {
        uint64_t *next = &job->elements.next;
        const locus_random *random = &job->elements.random;
        int64_t value = (int64_t)locus_random_below(random, (*next)++, n > 0 ? (uint64_t)n : LAW_REACH);
        int64_t turn =
            i == 0 ? turns > 0 : (int64_t)locus_random_below(random, (*next)++, 2 * (uint64_t)turns + 1) - turns;
        values[i] = value;
        values[PERIODS + i] = coordinate.kind == LOCUS_COORDINATE_CYCLE ? value + turn * n : value;
    }
}

/* Both halves of the positions, trees at their roots. */
static locus_status period_positions(law_job *job, locus_positions **positions, locus_error *error) {
    static const size_t offsets[2] = {0, 2 * PERIODS};
    static const size_t starts[2 * PERIODS + 1] = {0};
    static const int64_t no_branches[1] = {0};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    const size_t count = locus_group_coordinates(job->group);
    locus_position_column *columns = calloc(count, sizeof *columns);
    int64_t *values = calloc(count * 2 * PERIODS, sizeof *values);
    locus_status status = columns && values ? LOCUS_OK : lab_fail_memory(error, "positions");
    for (size_t i = 0; status == LOCUS_OK && i < count; i++) {
        locus_coordinate coordinate = locus_group_coordinate(job->group, i);
        const bool tree = coordinate.kind == LOCUS_COORDINATE_TREE;
        fill_column(job, coordinate, values + i * 2 * PERIODS);
        columns[i] = (locus_position_column){.size = sizeof(locus_position_column),
                                             .branches = tree ? no_branches : NULL,
                                             .starts = tree ? starts : NULL,
                                             .values = tree ? NULL : values + i * 2 * PERIODS};
    }
    if (status == LOCUS_OK)
        status = locus_positions_create_columns(positions, job->group, &packing, columns, error);
    free(columns);
    free(values);
    return status;
}

static locus_status compare_halves(law_job *job, const locus_plan *plan, lab_dtype dtype, double *most,
                                   locus_error *error) {
    const int64_t shape[3] = {2 * PERIODS, (int64_t)job->heads, (int64_t)job->dim};
    const size_t half = PERIODS * job->heads * job->dim;
    lab_array x = {0};
    locus_status status = lab_array_create(&x, dtype, 3, shape, error);
    if (status == LOCUS_OK) {
        const locus_tensor tensor = lab_array_tensor(&x);
        law_draw_vectors(&x, job->elements.random.seed, 1);
        for (size_t i = 0; i < half; i++)
            lab_array_set(&x, half + i, lab_array_at(&x, i));
        status = lab_apply(plan, job->role, LOCUS_FORWARD, &tensor, NULL, error);
        for (size_t i = 0; i < half; i++)
            law_raise(most, lab_array_at(&x, half + i) - lab_array_at(&x, i));
    }
    lab_array_free(&x);
    return status;
}

locus_status law_period(law_job *job, double *most, locus_error *error) {
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    locus_status status = period_positions(job, &positions, error);
    if (status == LOCUS_OK)
        status = lab_bound_plan(job->bound, positions, NULL, NULL, &plan, error);
    if (status == LOCUS_OK)
        status = compare_halves(job, plan, LAB_F64, most, error);
    if (status == LOCUS_OK)
        status = compare_halves(job, plan, LAB_F32, most, error);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
    return status;
}
