/* SPDX-License-Identifier: MIT */
/* See kinds_case.h. The dense definitions are in kinds_dense.c. */
#include "unit/kinds_case.h"

#include "sanitized.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void ok(locus_status status, const locus_error *error) {
    if (status != LOCUS_OK)
        fail_msg("status %d: %s", (int)status, error->message);
}

static void *room(size_t count, size_t size) {
    void *block = calloc(count + 1, size);
    assert_non_null(block);
    return block;
}

size_t kinds_queries(const kinds_world *world) {
    return world->T * world->shape.heads * world->shape.head_dim;
}
size_t kinds_keys(const kinds_world *world) {
    return world->N * world->shape.kv_heads * world->shape.head_dim;
}
size_t kinds_values(const kinds_world *world) {
    return world->N * world->shape.kv_heads * world->shape.value_dim;
}
size_t kinds_outputs(const kinds_world *world) {
    return world->T * world->shape.heads * world->shape.value_dim;
}

/* ---- positions ---- */

static size_t *make_offsets(const kinds_case *test, const size_t *lengths) {
    size_t *offsets = room(test->sequences + 1, sizeof *offsets);
    for (size_t s = 0; s < test->sequences; s++)
        offsets[s + 1] = offsets[s] + lengths[s] + test->gap;
    return offsets;
}

/* Words of up to four letters of a tree. */
static locus_positions *make_words(const locus_group *group, const locus_packing *packing, size_t tokens) {
    const locus_coordinate coordinate = locus_group_coordinate(group, 0);
    locus_position_column column = {sizeof column, NULL, NULL, NULL, NULL, 0};
    locus_positions *positions = NULL;
    locus_error error;
    size_t *starts = room(tokens + 1, sizeof *starts);
    int64_t *letters = room(4 * tokens, sizeof *letters);
    assert_int_equal(coordinate.kind, LOCUS_COORDINATE_TREE);
    for (size_t t = 0; t < tokens; t++) {
        starts[t + 1] = starts[t] + t % 5;
        for (size_t i = starts[t]; i < starts[t + 1]; i++)
            letters[i] = 1 + (int64_t)((t * 7 + i * 3 + t / 5) % (size_t)coordinate.size);
    }
    column.branches = letters;
    column.starts = starts;
    ok(locus_positions_create_columns(&positions, group, packing, &column, &error), &error);
    free(starts);
    free(letters);
    return positions;
}

static locus_positions *make_positions(const kinds_world *world, const size_t *offsets, const size_t *lengths) {
    const kinds_case *test = world->test;
    const locus_group *group = locus_binding_group(world->binding);
    const size_t tokens = offsets[test->sequences];
    const locus_packing packing = {sizeof packing, test->sequences, offsets, test->gap ? lengths : NULL};
    locus_positions *positions = NULL;
    locus_error error;
    if (group && !locus_group_equal(group, NULL))
        return make_words(group, &packing, tokens);
    int64_t *values = room(tokens, sizeof *values);
    for (size_t s = 0; s < test->sequences; s++)
        for (size_t i = 0; i < lengths[s]; i++)
            values[offsets[s] + i] = test->start + (int64_t)i;
    ok(locus_positions_create(&positions, NULL, &packing, values, &error), &error);
    free(values);
    return positions;
}

/* ---- worlds ---- */

static void make_parameters(kinds_world *world) {
    locus_error error;
    ok(locus_encoding_parameter_count(world->encoding, &world->shape, &world->parameter_count, &error), &error);
    assert_in_range(world->parameter_count, 0, KINDS_PARAMETERS);
    for (size_t i = 0; i < world->parameter_count; i++) {
        locus_parameter *parameter = &world->parameters[i];
        parameter->size = sizeof *parameter;
        ok(locus_encoding_parameter(world->encoding, &world->shape, i, parameter, &error), &error);
        world->values[i] = locus_tensor_view(NULL, LOCUS_FLOAT64, parameter->rank, parameter->shape);
        world->values[i].data = room(locus_tensor_count(&world->values[i]), sizeof(double));
        world->gradients[i] = room(locus_tensor_count(&world->values[i]), sizeof(double));
    }
    ok(locus_encoding_initialise(world->encoding, &world->shape, 7, world->values, world->parameter_count, &error),
       &error);
}

/* Numbers that were drawn are kept: each world has the same. */
static double *draw(uint32_t stream, size_t count) {
    enum { STREAMS = 31 };
    static struct {
        double *values;
        size_t count;
    } kept[STREAMS];
    const locus_random random = {11, LOCUS_RANDOM_USER + 9, stream};
    double *values = room(count, sizeof *values);
    assert_true(stream < STREAMS);
    if (kept[stream].count < count) {
        kept[stream].values = realloc(kept[stream].values, count * sizeof *values);
        assert_non_null(kept[stream].values);
        for (; kept[stream].count < count; kept[stream].count++)
            kept[stream].values[kept[stream].count] = (double)(float)locus_random_normal(&random, kept[stream].count);
    }
    if (count > 0)
        memcpy(values, kept[stream].values, count * sizeof *values);
    return values;
}

/* Query t of head h lies near centre (t + h) % spread. */
static void gather(kinds_world *world) {
    const size_t centres = (size_t)world->test->spread, dim = world->shape.head_dim, heads = world->shape.heads;
    double *centre = draw(20, centres * dim);
    for (size_t row = 0; centres > 0 && row < world->T * heads; row++)
        for (size_t d = 0; d < dim; d++) {
            const size_t at = (row / heads + row % heads) % centres * dim + d;
            world->q[row * dim + d] = (double)(float)(3 * centre[at] + 0.1 * world->q[row * dim + d]);
        }
    free(centre);
}

void kinds_make(kinds_world *world, const kinds_case *test) {
    locus_error error;
    memset(world, 0, sizeof *world);
    world->test = test;
    world->shape = locus_shape_default();
    world->shape.heads = test->heads;
    world->shape.kv_heads = test->kv_heads ? test->kv_heads : test->heads;
    world->shape.head_dim = test->head_dim;
    world->shape.value_dim = test->value_dim ? test->value_dim : test->head_dim;
    ok(locus_encoding_parse(test->spec, &world->encoding, &error), &error);
    make_parameters(world);
    ok(locus_binding_create(&world->binding, world->encoding, &world->shape, world->values, world->parameter_count,
                            &error),
       &error);
    const size_t *key_lengths = test->key_lengths ? test->key_lengths : test->query_lengths;
    world->query_offsets = make_offsets(test, test->query_lengths);
    world->key_offsets = make_offsets(test, key_lengths);
    world->T = world->query_offsets[test->sequences];
    world->N = world->key_offsets[test->sequences];
    world->queries = make_positions(world, world->query_offsets, test->query_lengths);
    world->keys = make_positions(world, world->key_offsets, key_lengths);
    ok(locus_plan_create(&world->plan, world->binding, world->queries, world->keys, &error), &error);
    world->q = draw(1, kinds_queries(world));
    world->k = draw(2, kinds_keys(world));
    world->v = draw(3, kinds_values(world));
    world->go = draw(4, kinds_outputs(world));
    world->o = room(kinds_outputs(world), sizeof(double));
    world->log_sum_exp = room(world->T * test->heads, sizeof(double));
    world->dq = room(kinds_queries(world), sizeof(double));
    world->dk = room(kinds_keys(world), sizeof(double));
    world->dv = room(kinds_values(world), sizeof(double));
    gather(world);
    if (test->same)
        memcpy(world->k, world->q, kinds_keys(world) * sizeof(double));
}

void kinds_update(kinds_world *world) {
    locus_error error;
    locus_plan_destroy(&world->plan);
    ok(locus_binding_update(&world->binding, world->values, world->parameter_count, &error), &error);
    ok(locus_plan_create(&world->plan, world->binding, world->queries, world->keys, &error), &error);
}

void kinds_free(kinds_world *world) {
    double *arrays[] = {world->q,  world->k,           world->v,  world->go, world->o,
                        world->dq, world->log_sum_exp, world->dk, world->dv};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        free(arrays[i]);
    for (size_t i = 0; i < world->parameter_count; i++) {
        free(world->values[i].data);
        free(world->gradients[i]);
    }
    free(world->query_offsets);
    free(world->key_offsets);
    locus_plan_destroy(&world->plan);
    locus_positions_destroy(&world->queries);
    locus_positions_destroy(&world->keys);
    locus_binding_destroy(&world->binding);
    locus_encoding_destroy(&world->encoding);
}

/* ---- the library's run ---- */

enum { Q, K, V, GO, O, LSE, DQ, DK, DV, TENSORS };

typedef struct run {
    locus_tensor tensors[TENSORS], gradients[KINDS_PARAMETERS];
    double *arrays[TENSORS];
    locus_workspace workspace;
} run;

/* Bytes that mean NaN: what is read without having been written shows. */
static void *poisoned(size_t bytes) {
    return memset(room(bytes, 1), 0xFF, bytes + 1);
}

static void copy(const locus_tensor *tensor, double *array, bool into) {
    const size_t dim = tensor->rank == 3 ? (size_t)tensor->shape[2] : 1;
    for (int64_t t = 0; t < tensor->shape[0]; t++)
        for (int64_t h = 0; h < tensor->shape[1]; h++)
            for (size_t d = 0; d < dim; d++, array++) {
                const size_t at = (size_t)(t * tensor->stride[0] + h * tensor->stride[1]) + d;
                if (into && tensor->dtype == LOCUS_FLOAT32)
                    ((float *)tensor->data)[at] = (float)*array;
                else if (into)
                    ((double *)tensor->data)[at] = *array;
                else
                    *array = tensor->dtype == LOCUS_FLOAT32 ? (double)((const float *)tensor->data)[at]
                                                            : ((const double *)tensor->data)[at];
            }
}

static void make_run(run *r, kinds_world *world, locus_dtype dtype, bool scattered) {
    const locus_shape *shape = &world->shape;
    const size_t d = shape->head_dim, dv = shape->value_dim;
    const size_t dims[TENSORS] = {d, d, dv, dv, dv, 0, d, d, dv};
    double *const arrays[TENSORS] = {world->q,           world->k,  world->v,  world->go, world->o,
                                     world->log_sum_exp, world->dq, world->dk, world->dv};
    memcpy(r->arrays, arrays, sizeof arrays);
    for (int i = 0; i < TENSORS; i++) {
        const bool keys = i == K || i == V || i == DK || i == DV;
        const int64_t sizes[] = {(int64_t)(keys ? world->N : world->T),
                                 (int64_t)(keys ? shape->kv_heads : shape->heads), (int64_t)dims[i]};
        locus_tensor *tensor = &r->tensors[i];
        *tensor = locus_tensor_view(NULL, dtype, dims[i] ? 3 : 2, sizes);
        if (scattered && dims[i]) {
            tensor->stride[1] = sizes[2] + 3;
            tensor->stride[0] = tensor->stride[1] * sizes[1] + 5;
        }
        tensor->data = poisoned((size_t)(sizes[0] * tensor->stride[0]) * locus_dtype_size(dtype));
        if (i <= GO)
            copy(tensor, r->arrays[i], true);
    }
    for (size_t i = 0; i < world->parameter_count; i++) {
        r->gradients[i] = locus_tensor_view(NULL, dtype, world->parameters[i].rank, world->parameters[i].shape);
        r->gradients[i].data = room(locus_tensor_count(&r->gradients[i]), locus_dtype_size(dtype));
    }
}

static void make_workspace(run *r, const kinds_world *world, locus_dtype dtype, locus_pass pass) {
    r->workspace.bytes = locus_attention_workspace(world->plan, &world->test->options, dtype, pass, NULL);
    r->workspace.data = locus_allocate(r->workspace.bytes + 1);
    assert_non_null(r->workspace.data);
    memset(r->workspace.data, 0xFF, r->workspace.bytes);
}

static void free_workspace(run *r) {
    locus_release(r->workspace.data, r->workspace.bytes + 1);
}

void kinds_run(kinds_world *world, locus_dtype dtype, bool scattered, bool forward_only) {
    const locus_attention_options *options = &world->test->options;
    locus_error error;
    run r;
    make_run(&r, world, dtype, scattered);
    locus_tensor *t = r.tensors;
    const locus_attention_tensors tensors = {sizeof tensors, &t[Q], &t[K], &t[V], &t[O], &t[LSE]};
    const locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                                 .output = &t[GO],
                                                 .query = &t[DQ],
                                                 .key = &t[DK],
                                                 .value = &t[DV],
                                                 .parameters = r.gradients,
                                                 .parameter_count = world->parameter_count};
    make_workspace(&r, world, dtype, LOCUS_PASS_FORWARD);
    locus_execution execution = locus_execution_in(r.workspace);
    ok(locus_attention_forward(world->plan, options, &tensors, &execution, &error), &error);
    free_workspace(&r);
    if (!forward_only) {
        make_workspace(&r, world, dtype, LOCUS_PASS_BACKWARD);
        execution.workspace = r.workspace;
        ok(locus_attention_backward(world->plan, options, &tensors, &gradients, &execution, &error), &error);
        free_workspace(&r);
    }
    for (int i = 0; i < TENSORS; i++) {
        if (i > GO && (i <= LSE || !forward_only))
            copy(&t[i], r.arrays[i], false);
        free(t[i].data);
    }
    for (size_t i = 0; i < world->parameter_count; i++) {
        for (size_t j = 0; !forward_only && j < locus_tensor_count(&r.gradients[i]); j++)
            world->gradients[i][j] =
                dtype == LOCUS_FLOAT32 ? (double)((float *)r.gradients[i].data)[j] : ((double *)r.gradients[i].data)[j];
        free(r.gradients[i].data);
    }
}

/* ---- checks ---- */

static void compare(const kinds_world *world, const char *name, size_t at, double got, double want, double tolerance) {
    if (got == want || fabs(got - want) <= tolerance * (1 + fabs(want)))
        return;
    fail_msg("%s, '%s', mask %d: %s[%zu] is %.17g, not %.17g (apart %.3g)",
             locus_attention_kind_entry(world->test->options.kind)->name, world->test->spec,
             (int)world->test->options.mask, name, at, got, want, fabs(got - want));
}

/* Tokens of sequences; `row` elements for each. */
static void compare_rows(const kinds_world *world, const char *name, bool keys, size_t row, const double *got,
                         const double *want, double tolerance) {
    const kinds_case *test = world->test;
    const size_t *lengths = keys && test->key_lengths ? test->key_lengths : test->query_lengths;
    for (size_t s = 0; s < test->sequences; s++) {
        const size_t first = (keys ? world->key_offsets : world->query_offsets)[s];
        for (size_t i = first * row; i < (first + lengths[s]) * row; i++)
            compare(world, name, i, got[i], want[i], tolerance);
    }
}

/* Tensors lie close together, then scattered; under a sanitizer one or the other, in turn. */
void kinds_check(const kinds_case *test, locus_dtype dtype, double tolerance) {
    static int turn;
    const int first = SANITIZED(turn++ % 2, 0), end = SANITIZED(first + 1, 2);
    kinds_world world;
    kinds_make(&world, test);
    const kinds_dense want = kinds_define(&world);
    for (int scattered = first; scattered < end; scattered++) {
        kinds_run(&world, dtype, scattered != 0, true);
        compare_rows(&world, "output", false, test->heads * world.shape.value_dim, world.o, want.o, tolerance);
        compare_rows(&world, "log_sum_exp", false, test->heads, world.log_sum_exp, want.log_sum_exp, tolerance);
    }
    free(want.o);
    free(want.log_sum_exp);
    kinds_free(&world);
}

/* Element by element, of results of two worlds of one shape; gradients relative to the largest of their tensor. */
static void compare_worlds(const kinds_world *got, const kinds_world *want, double tolerance) {
    const struct {
        const char *name;
        bool keys;
        size_t row;
        const double *got, *want;
    } list[] = {
        {"output", false, got->shape.heads * got->shape.value_dim, got->o, want->o},
        {"dq", false, got->shape.heads * got->shape.head_dim, got->dq, want->dq},
        {"dk", true, got->shape.kv_heads * got->shape.head_dim, got->dk, want->dk},
        {"dv", true, got->shape.kv_heads * got->shape.value_dim, got->dv, want->dv},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        compare_rows(got, list[i].name, list[i].keys, list[i].row, list[i].got, list[i].want, tolerance);
    for (size_t p = 0; p < got->parameter_count; p++) {
        double largest = 0;
        for (size_t i = 0; i < locus_tensor_count(&got->values[p]); i++)
            largest = fmax(largest, fabs(want->gradients[p][i]));
        for (size_t i = 0; i < locus_tensor_count(&got->values[p]); i++)
            compare(got, got->parameters[p].name, i, got->gradients[p][i], want->gradients[p][i],
                    tolerance * (10 + largest));
    }
}

void kinds_check_types(const kinds_case *test, double tolerance) {
    kinds_world narrow, wide;
    kinds_make(&narrow, test);
    kinds_make(&wide, test);
    kinds_run(&narrow, LOCUS_FLOAT32, true, false);
    kinds_run(&wide, LOCUS_FLOAT64, false, false);
    compare_worlds(&narrow, &wide, tolerance);
    kinds_free(&narrow);
    kinds_free(&wide);
}

static void compare_zeros(const kinds_world *world, const char *name, bool keys, size_t row, const double *got) {
    double *zeros = room((keys ? world->N : world->T) * row, sizeof *zeros);
    compare_rows(world, name, keys, row, got, zeros, 0);
    free(zeros);
}

void kinds_check_zeros(const kinds_case *test) {
    static const locus_dtype dtypes[] = {LOCUS_FLOAT32, LOCUS_FLOAT64};
    for (size_t i = 0; i < 2; i++) {
        kinds_world world;
        kinds_make(&world, test);
        const locus_shape *shape = &world.shape;
        memset(world.go, 0, kinds_outputs(&world) * sizeof *world.go);
        kinds_run(&world, dtypes[i], false, false);
        compare_zeros(&world, "dq", false, shape->heads * shape->head_dim, world.dq);
        compare_zeros(&world, "dk", true, shape->kv_heads * shape->head_dim, world.dk);
        compare_zeros(&world, "dv", true, shape->kv_heads * shape->value_dim, world.dv);
        for (size_t p = 0; p < world.parameter_count; p++)
            for (size_t j = 0; j < locus_tensor_count(&world.values[p]); j++)
                compare(&world, world.parameters[p].name, j, world.gradients[p][j], 0, 0);
        memset(world.v, 0, kinds_values(&world) * sizeof *world.v);
        kinds_run(&world, dtypes[i], false, true);
        compare_zeros(&world, "output", false, shape->heads * shape->value_dim, world.o);
        kinds_free(&world);
    }
}

void kinds_check_threads(const kinds_case *test, locus_dtype dtype) {
    kinds_world first, again;
    assert_int_equal(locus_threads_set(1), LOCUS_OK);
    kinds_make(&first, test);
    kinds_run(&first, dtype, false, false);
    for (size_t threads = SANITIZED(3, 2); threads <= 3; threads++) {
        assert_int_equal(locus_threads_set(threads), LOCUS_OK);
        kinds_make(&again, test);
        kinds_run(&again, dtype, false, false);
        assert_memory_equal(first.o, again.o, kinds_outputs(&first) * sizeof(double));
        assert_memory_equal(first.log_sum_exp, again.log_sum_exp, first.T * test->heads * sizeof(double));
        assert_memory_equal(first.dq, again.dq, kinds_queries(&first) * sizeof(double));
        assert_memory_equal(first.dk, again.dk, kinds_keys(&first) * sizeof(double));
        assert_memory_equal(first.dv, again.dv, kinds_values(&first) * sizeof(double));
        for (size_t i = 0; i < first.parameter_count; i++)
            assert_memory_equal(first.gradients[i], again.gradients[i],
                                locus_tensor_count(&first.values[i]) * sizeof(double));
        kinds_free(&again);
    }
    kinds_free(&first);
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
}

void kinds_check_relativity(kinds_case test, double tolerance) {
    kinds_case far = test;
    kinds_world here, there;
    far.start = test.start + 4000;
    kinds_make(&here, &test);
    kinds_make(&there, &far);
    kinds_run(&here, LOCUS_FLOAT64, false, false);
    kinds_run(&there, LOCUS_FLOAT64, false, false);
    compare_worlds(&there, &here, tolerance);
    kinds_free(&here);
    kinds_free(&there);
}

void kinds_check_refused(const kinds_case *test, const char *word) {
    kinds_world world;
    locus_error error;
    run r;
    kinds_make(&world, test);
    make_run(&r, &world, LOCUS_FLOAT64, false);
    make_workspace(&r, &world, LOCUS_FLOAT64, LOCUS_PASS_FORWARD);
    locus_tensor *t = r.tensors;
    const locus_attention_tensors tensors = {sizeof tensors, &t[Q], &t[K], &t[V], &t[O], &t[LSE]};
    const locus_execution execution = locus_execution_in(r.workspace);
    const locus_status status = locus_attention_forward(world.plan, &test->options, &tensors, &execution, &error);
    assert_true(status == LOCUS_ERROR_UNSUPPORTED || status == LOCUS_ERROR_ARGUMENT);
    if (!strstr(error.message, word) || strchr(error.message, '\n'))
        fail_msg("'%s' does not name '%s'", error.message, word);
    free_workspace(&r);
    for (int i = 0; i < TENSORS; i++)
        free(t[i].data);
    for (size_t i = 0; i < world.parameter_count; i++)
        free(r.gradients[i].data);
    kinds_free(&world);
}

/* ---- derivatives along a direction ---- */

static double loss(kinds_world *world) {
    const size_t row = world->shape.heads * world->shape.value_dim;
    double sum = 0;
    kinds_run(world, LOCUS_FLOAT64, false, true);
    for (size_t s = 0; s < world->test->sequences; s++)
        for (size_t i = world->query_offsets[s] * row;
             i < (world->query_offsets[s] + world->test->query_lengths[s]) * row; i++)
            sum += world->go[i] * world->o[i];
    return sum;
}

/* Gradients of tokens in gaps are not written: they count as 0. */
static double slope_of(const double *gradient, const double *direction, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += isnan(gradient[i]) ? 0 : gradient[i] * direction[i];
    return sum;
}

static void move(double *values, double by, const double *direction, size_t count) {
    for (size_t i = 0; i < count; i++)
        values[i] += by * direction[i];
}

static void check_direction(kinds_world *world, const char *name, double *values, const double *gradient, size_t count,
                            const double limits[2]) {
    double *direction = draw(30, count), *kept = room(count, sizeof *kept), ends[2];
    const double analytic = slope_of(gradient, direction, count), step = limits[0];
    memcpy(kept, values, count * sizeof *kept);
    for (int side = 0; side < 2; side++) {
        move(values, side ? -step : step, direction, count);
        kinds_update(world);
        ends[side] = loss(world);
        memcpy(values, kept, count * sizeof *kept);
    }
    kinds_update(world);
    const double numeric = (ends[0] - ends[1]) / (2 * step);
    if (fabs(analytic - numeric) > limits[1] * (1 + fabs(numeric)))
        fail_msg("%s, '%s', mask %d: along %s backward says %.12g, differences %.12g",
                 locus_attention_kind_entry(world->test->options.kind)->name, world->test->spec,
                 (int)world->test->options.mask, name, analytic, numeric);
    free(direction);
    free(kept);
}

/* Under a sanitizer, to which forward is the same along whatever it moves, along q and the parameters alone. */
void kinds_check_directions(const kinds_case *test, double step, double tolerance) {
    const double limits[] = {step, tolerance};
    kinds_world world;
    kinds_make(&world, test);
    kinds_run(&world, LOCUS_FLOAT64, false, false);
    check_direction(&world, "q", world.q, world.dq, kinds_queries(&world), limits);
    if (!IS_SANITIZED) {
        check_direction(&world, "k", world.k, world.dk, kinds_keys(&world), limits);
        check_direction(&world, "v", world.v, world.dv, kinds_values(&world), limits);
    }
    for (size_t i = 0; i < world.parameter_count; i++)
        check_direction(&world, world.parameters[i].name, world.values[i].data, world.gradients[i],
                        locus_tensor_count(&world.values[i]), limits);
    kinds_free(&world);
}
