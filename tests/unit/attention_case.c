/* SPDX-License-Identifier: MIT */
/* See attention_case.h: a case's plan and data, and the library's run of it. The oracle is in attention_oracle.c. */
#include "attention_case.h"
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

/* Never NULL, never of size 0. */
static void *room(size_t count, size_t size) {
    void *block = calloc(count + 1, size);
    assert_non_null(block);
    return block;
}

/* ---- worlds ---- */

static size_t *make_offsets(const attention_case *test, const size_t *lengths) {
    size_t *offsets = room(test->sequences + 1, sizeof *offsets);
    for (size_t s = 0; s < test->sequences; s++)
        offsets[s + 1] = offsets[s] + lengths[s] + test->gap;
    return offsets;
}

static size_t *copy_lengths(const attention_case *test, const size_t *lengths) {
    size_t *copy = room(test->sequences, sizeof *copy);
    memcpy(copy, lengths, test->sequences * sizeof *copy);
    return copy;
}

static int64_t *make_values(const attention_case *test, const size_t *offsets, const size_t *lengths, int64_t start) {
    int64_t *values = room(offsets[test->sequences], sizeof *values), step = test->step ? test->step : 1;
    for (size_t s = 0; s < test->sequences; s++)
        for (size_t i = 0; i < lengths[s]; i++)
            values[offsets[s] + i] = start + step * (int64_t)i;
    return values;
}

/* ---- positions of any group ---- */

static bool on_sequence(const attention_world *world) {
    const locus_group *group = locus_binding_group(world->binding);
    return !group || locus_group_equal(group, NULL);
}

/* Some number below `below`: small integers, words of up to 5 letters. */
static size_t made_up(size_t token, size_t salt, int64_t start, size_t below) {
    locus_random random = {(uint64_t)start, LOCUS_RANDOM_USER + 3, (uint32_t)salt};
    uint32_t words[4];
    locus_random_block(&random, token, words);
    return words[0] % below;
}

static void make_words(locus_position_column *column, size_t tokens, size_t branches, int64_t start) {
    size_t *starts = room(tokens + 1, sizeof *starts);
    int64_t *letters = room(5 * tokens, sizeof *letters);
    for (size_t t = 0; t < tokens; t++) {
        starts[t + 1] = starts[t] + made_up(t, 100, start, 6);
        for (size_t i = starts[t]; i < starts[t + 1]; i++) {
            const int64_t branch = 1 + (int64_t)made_up(t, i - starts[t], start, branches);
            letters[i] = made_up(t, 200 + i - starts[t], start, 4) == 0 ? -branch : branch;
        }
    }
    column->branches = letters;
    column->starts = starts;
}

static locus_positions *make_up_positions(const attention_world *world, const locus_packing *packing, int64_t start) {
    enum { COLUMNS = 8 };
    const locus_group *group = locus_binding_group(world->binding);
    const size_t count = locus_group_coordinates(group), tokens = packing->offsets[packing->sequences];
    locus_position_column columns[COLUMNS] = {{0}};
    locus_positions *positions = NULL;
    locus_error error;
    assert_in_range(count, 1, COLUMNS);
    for (size_t c = 0; c < count; c++) {
        const locus_coordinate coordinate = locus_group_coordinate(group, c);
        columns[c].size = sizeof *columns;
        if (coordinate.kind == LOCUS_COORDINATE_TREE) {
            make_words(&columns[c], tokens, (size_t)coordinate.size, start);
            continue;
        }
        int64_t *values = room(tokens, sizeof *values);
        for (size_t t = 0; t < tokens; t++)
            values[t] = (int64_t)made_up(t, 10 + c, start, 9) - 4;
        columns[c].values = values;
    }
    ok(locus_positions_create_columns(&positions, group, packing, columns, &error), &error);
    for (size_t c = 0; c < count; c++) {
        free((void *)(uintptr_t)columns[c].values);
        free((void *)(uintptr_t)columns[c].branches);
        free((void *)(uintptr_t)columns[c].starts);
    }
    return positions;
}

static locus_positions *make_positions(const attention_world *world, const size_t *offsets, const size_t *lengths,
                                       const int64_t *values, int64_t start) {
    const attention_case *test = world->test;
    locus_packing packing = {sizeof packing, test->sequences, offsets, test->gap ? lengths : NULL};
    locus_positions *positions = NULL;
    locus_error error;
    bool plain = test->step == 0 && start == 0;
    if (!on_sequence(world))
        return make_up_positions(world, &packing, start);
    ok(locus_positions_create(&positions, NULL, &packing, plain ? NULL : values, &error), &error);
    return positions;
}

static double path_distance(const locus_path *query, const locus_positions *keys, size_t key) {
    locus_path *path = NULL;
    int64_t distance = 0;
    locus_error error;
    ok(locus_positions_path(keys, key, &path, &error), &error);
    ok(locus_path_distance(query, path, &distance, &error), &error);
    locus_path_destroy(&path);
    return (double)distance;
}

static void measure_distances(attention_world *world) {
    locus_error error;
    world->distances = room(world->T * world->N, sizeof *world->distances);
    for (size_t s = 0; s < world->test->sequences; s++)
        for (size_t i = 0; i < world->query_lengths[s]; i++) {
            const size_t query = world->query_offsets[s] + i;
            locus_path *path = NULL;
            ok(locus_positions_path(world->queries, query, &path, &error), &error);
            for (size_t j = 0; j < world->key_lengths[s]; j++) {
                const size_t key = world->key_offsets[s] + j;
                world->distances[query * world->N + key] = path_distance(path, world->keys, key);
            }
            locus_path_destroy(&path);
        }
}

/* ---- the rest of a world ---- */

static void make_parameters(attention_world *world) {
    locus_error error;
    ok(locus_encoding_parameter_count(world->encoding, &world->shape, &world->parameter_count, &error), &error);
    assert_in_range(world->parameter_count, 0, ATTENTION_PARAMETERS);
    for (size_t i = 0; i < world->parameter_count; i++) {
        locus_parameter *parameter = &world->parameters[i];
        parameter->size = sizeof *parameter;
        ok(locus_encoding_parameter(world->encoding, &world->shape, i, parameter, &error), &error);
        world->values[i] = locus_tensor_view(NULL, LOCUS_FLOAT64, parameter->rank, parameter->shape);
        world->values[i].data = room(locus_tensor_count(&world->values[i]), sizeof(double));
    }
    ok(locus_encoding_initialise(world->encoding, &world->shape, 7, world->values, world->parameter_count, &error),
       &error);
    for (size_t i = 0; i < world->parameter_count; i++) { /* which begin at 0 */
        double *values = world->values[i].data;
        const char *name = strstr(world->parameters[i].name, "sinks");
        for (size_t j = 0; name && j < attention_parameter_size(world, i); j++)
            values[j] = 0.75 - 0.5 * (double)j;
    }
}

/* The document of key j of a sequence's n; −1 before its first. */
static int32_t document_of(size_t sequence, int64_t j) {
    return j < 0 ? -1 : (int32_t)(1000 * (sequence % 3)) + 500 - (int32_t)(j / (3 + 20 * (int64_t)sequence));
}

static void make_documents(attention_world *world) {
    const attention_case *test = world->test;
    world->query_documents = room(world->T, sizeof *world->query_documents);
    world->key_documents = room(world->N, sizeof *world->key_documents);
    for (size_t s = 0; s < test->sequences; s++) {
        const int64_t apart = (int64_t)world->key_lengths[s] - (int64_t)world->query_lengths[s];
        for (size_t i = 0; i < world->query_lengths[s]; i++)
            world->query_documents[world->query_offsets[s] + i] = document_of(s, (int64_t)i + apart);
        for (size_t j = 0; j < world->key_lengths[s]; j++)
            world->key_documents[world->key_offsets[s] + j] = document_of(s, (int64_t)j);
    }
    world->options.query_documents = world->query_documents;
    world->options.key_documents = world->key_documents;
}

static void make_options(attention_world *world) {
    const attention_case *test = world->test;
    world->options = locus_attention_default();
    world->options.mask = test->mask;
    world->options.prefix = test->prefix;
    world->options.dropout = test->dropout;
    world->options.dropout_on = test->dropout_on;
    world->options.dropout_key = (locus_random){20240607, LOCUS_RANDOM_USER + 1, 3};
    world->options.turned = test->turned;
    if (!test->said) {
        world->options.scale = test->scale;
        world->options.cap = test->cap;
        world->options.window = test->sliding;
        world->options.keep = test->keep;
    }
    if (test->documents)
        make_documents(world);
}

static void make_plan(attention_world *world) {
    locus_error error;
    bool self = !world->test->key_lengths && world->test->key_start == world->test->query_start;
    ok(locus_plan_create(&world->plan, world->binding, world->queries, self ? NULL : world->keys, &error), &error);
}

void attention_world_make(attention_world *world, const attention_case *test) {
    locus_error error;
    memset(world, 0, sizeof *world);
    world->test = test;
    world->shape = locus_shape_default();
    world->shape.heads = test->heads;
    world->shape.head_dim = test->head_dim;
    world->shape.value_dim = test->value_dim;
    world->shape.kv_heads = test->kv_heads;
    world->kv_heads = test->kv_heads ? test->kv_heads : test->heads;
    ok(locus_encoding_parse(test->spec, &world->encoding, &error), &error);
    make_parameters(world);
    ok(locus_binding_create(&world->binding, world->encoding, &world->shape, world->values, world->parameter_count,
                            &error),
       &error);
    const size_t *key_lengths = test->key_lengths ? test->key_lengths : test->query_lengths;
    world->query_lengths = copy_lengths(test, test->query_lengths);
    world->key_lengths = copy_lengths(test, key_lengths);
    world->query_offsets = make_offsets(test, test->query_lengths);
    world->key_offsets = make_offsets(test, key_lengths);
    world->query_values = make_values(test, world->query_offsets, world->query_lengths, test->query_start);
    world->key_values = make_values(test, world->key_offsets, world->key_lengths, test->key_start);
    world->queries =
        make_positions(world, world->query_offsets, world->query_lengths, world->query_values, test->query_start);
    world->keys = make_positions(world, world->key_offsets, world->key_lengths, world->key_values, test->key_start);
    world->T = world->query_offsets[test->sequences];
    world->N = world->key_offsets[test->sequences];
    world->shape.value_dim = test->value_dim ? test->value_dim : test->head_dim;
    make_options(world);
    make_plan(world);
    if (!on_sequence(world))
        measure_distances(world);
}

void attention_world_update(attention_world *world) {
    locus_error error;
    locus_plan_destroy(&world->plan);
    ok(locus_binding_update(&world->binding, world->values, world->parameter_count, &error), &error);
    make_plan(world);
}

void attention_world_free(attention_world *world) {
    locus_release(world->workspace.data, world->workspace.bytes);
    locus_plan_destroy(&world->plan);
    locus_positions_destroy(&world->queries);
    locus_positions_destroy(&world->keys);
    locus_binding_destroy(&world->binding);
    locus_encoding_destroy(&world->encoding);
    for (size_t i = 0; i < world->parameter_count; i++)
        free(world->values[i].data);
    free(world->query_offsets);
    free(world->key_offsets);
    free(world->query_lengths);
    free(world->key_lengths);
    free(world->query_values);
    free(world->key_values);
    free(world->distances);
    free(world->query_documents);
    free(world->key_documents);
}

size_t attention_parameter_size(const attention_world *world, size_t index) {
    return locus_tensor_count(&world->values[index]);
}

/* ---- arrays ---- */

/* The first `count` numbers of one of four streams. What was drawn is kept: cases and their oracles begin with the
 * same. */
static double *draw(uint64_t stream, size_t count) {
    static double *drawn[5];
    static size_t counts[5];
    const locus_random random = {stream, LOCUS_RANDOM_USER + 2, 0};
    double *values = room(count, sizeof *values);
    if (count > counts[stream]) {
        drawn[stream] = realloc(drawn[stream], count * sizeof *values);
        assert_non_null(drawn[stream]);
        for (size_t i = counts[stream]; i < count; i++)
            drawn[stream][i] = (double)(float)locus_random_normal(&random, i);
        counts[stream] = count;
    }
    if (count > 0)
        memcpy(values, drawn[stream], count * sizeof *values);
    return values;
}

attention_arrays attention_arrays_make(const attention_world *world) {
    size_t heads = world->shape.heads, q = world->T * heads * world->shape.head_dim;
    size_t k = world->N * world->kv_heads * world->shape.head_dim,
           v = world->N * world->kv_heads * world->shape.value_dim;
    size_t o = world->T * heads * world->shape.value_dim;
    attention_arrays arrays = {
        .q = draw(1, q),
        .k = draw(2, k),
        .v = draw(3, v),
        .go = draw(4, o),
        .o = room(o, sizeof(double)),
        .log_sum_exp = room(world->T * heads, sizeof(double)),
        .dq = room(q, sizeof(double)),
        .dk = room(k, sizeof(double)),
        .dv = room(v, sizeof(double)),
    };
    for (size_t i = 0; i < world->parameter_count; i++)
        arrays.gradients[i] = room(attention_parameter_size(world, i), sizeof(double));
    return arrays;
}

void attention_arrays_free(attention_arrays *arrays) {
    double *all[] = {arrays->q,           arrays->k,  arrays->v,  arrays->go, arrays->o,
                     arrays->log_sum_exp, arrays->dq, arrays->dk, arrays->dv};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    for (size_t i = 0; i < ATTENTION_PARAMETERS; i++)
        free(arrays->gradients[i]);
}

/* ---- the library's run ---- */

enum { Q, K, V, GO, O, LSE, DQ, DK, DV, TENSORS };

typedef struct run_memory {
    locus_tensor tensors[TENSORS];
    void *buffers[TENSORS];
    locus_tensor gradients[ATTENTION_PARAMETERS];
} run_memory;

static double element(const locus_tensor *tensor, size_t at) {
    return tensor->dtype == LOCUS_FLOAT32 ? (double)((const float *)tensor->data)[at]
                                          : ((const double *)tensor->data)[at];
}

static void set_element(const locus_tensor *tensor, size_t at, double value) {
    if (tensor->dtype == LOCUS_FLOAT32)
        ((float *)tensor->data)[at] = (float)value;
    else
        ((double *)tensor->data)[at] = value;
}

/* Calls with (index in the contiguous array, index in the tensor's memory) for every element. */
static void copy_elements(const locus_tensor *tensor, double *array, bool into_tensor) {
    size_t dim = tensor->rank == 3 ? (size_t)tensor->shape[2] : 1, i = 0;
    for (int64_t t = 0; t < tensor->shape[0]; t++)
        for (int64_t h = 0; h < tensor->shape[1]; h++)
            for (size_t d = 0; d < dim; d++, i++) {
                size_t at = (size_t)(t * tensor->stride[0] + h * tensor->stride[1]) + d;
                if (into_tensor)
                    set_element(tensor, at, array[i]);
                else
                    array[i] = element(tensor, at);
            }
}

/* Bytes that mean NaN, so that what is read without having been written shows. */
static void *poisoned(size_t count, locus_dtype dtype) {
    void *block = room(count, locus_dtype_size(dtype));
    memset(block, 0xFF, (count + 1) * locus_dtype_size(dtype));
    return block;
}

static void make_tensor(run_memory *memory, int index, locus_dtype dtype, size_t tokens, size_t heads, size_t dim,
                        attention_memory layout) {
    int64_t shape[3] = {(int64_t)tokens, (int64_t)heads, (int64_t)dim};
    locus_tensor *tensor = &memory->tensors[index];
    *tensor = locus_tensor_view(NULL, dtype, dim ? 3 : 2, shape);
    if (layout == ATTENTION_SCATTERED) {
        tensor->stride[1] = dim ? (int64_t)dim + 3 : 2;
        tensor->stride[0] = tensor->stride[1] * (int64_t)heads + 5;
        if (!dim) {
            tensor->stride[1] = 1;
            tensor->stride[0] = (int64_t)heads + 1;
        }
    }
    memory->buffers[index] = poisoned(tokens * (size_t)tensor->stride[0], dtype);
    tensor->data = memory->buffers[index];
}

/* Three tensors as views of one [tokens, 3, heads, dim] buffer. */
static void fuse(run_memory *memory, const int *indices, locus_dtype dtype) {
    const locus_tensor *first = &memory->tensors[indices[0]];
    size_t row = (size_t)(first->shape[1] * first->shape[2]), tokens = (size_t)first->shape[0];
    char *buffer = poisoned(3 * row * tokens, dtype);
    for (size_t i = 0; i < 3; i++) {
        locus_tensor *tensor = &memory->tensors[indices[i]];
        assert_int_equal(tensor->shape[0], first->shape[0]);
        assert_int_equal(tensor->shape[2], first->shape[2]);
        free(memory->buffers[indices[i]]);
        memory->buffers[indices[i]] = i == 0 ? buffer : NULL;
        tensor->data = buffer + i * row * locus_dtype_size(dtype);
        tensor->stride[0] = (int64_t)(3 * row);
    }
}

static void make_memory(run_memory *memory, attention_world *world, locus_dtype dtype, attention_memory layout) {
    const locus_shape *shape = &world->shape;
    const size_t tokens[TENSORS] = {world->T, world->N, world->N, world->T, world->T,
                                    world->T, world->T, world->N, world->N};
    const size_t dims[TENSORS] = {shape->head_dim,  shape->head_dim,  shape->value_dim,
                                  shape->value_dim, shape->value_dim, 0,
                                  shape->head_dim,  shape->head_dim,  shape->value_dim};
    memset(memory, 0, sizeof *memory);
    for (int i = 0; i < TENSORS; i++)
        make_tensor(memory, i, dtype, tokens[i],
                    i == K || i == V || i == DK || i == DV ? world->kv_heads : shape->heads, dims[i], layout);
    if (layout == ATTENTION_FUSED) {
        fuse(memory, (const int[]){Q, K, V}, dtype);
        fuse(memory, (const int[]){DQ, DK, DV}, dtype);
    }
    for (size_t i = 0; i < world->parameter_count; i++) {
        const locus_parameter *parameter = &world->parameters[i];
        memory->gradients[i] = locus_tensor_view(NULL, dtype, parameter->rank, parameter->shape);
        memory->gradients[i].data = room(attention_parameter_size(world, i), locus_dtype_size(dtype));
    }
}

static void make_workspace(attention_world *world, locus_dtype dtype) {
    size_t forward = locus_attention_workspace(world->plan, &world->options, dtype, LOCUS_PASS_FORWARD, NULL);
    size_t backward = locus_attention_workspace(world->plan, &world->options, dtype, LOCUS_PASS_BACKWARD, NULL);
    size_t needed = forward > backward ? forward : backward;
    if (needed <= world->workspace.bytes)
        return;
    locus_release(world->workspace.data, world->workspace.bytes);
    world->workspace = (locus_workspace){locus_allocate(needed), needed};
    assert_non_null(world->workspace.data);
    memset(world->workspace.data, 0xFF, needed);
}

static void free_memory(run_memory *memory, const attention_world *world) {
    for (int i = 0; i < TENSORS; i++)
        free(memory->buffers[i]);
    for (size_t i = 0; i < world->parameter_count; i++)
        free(memory->gradients[i].data);
}

void attention_run(attention_world *world, attention_arrays *arrays, locus_dtype dtype, attention_memory layout,
                   bool forward_only) {
    run_memory memory;
    locus_error error;
    double *given[] = {arrays->q, arrays->k, arrays->v, arrays->go};
    double *results[] = {arrays->o, arrays->log_sum_exp, arrays->dq, arrays->dk, arrays->dv};
    make_memory(&memory, world, dtype, layout);
    make_workspace(world, dtype);
    locus_tensor *t = memory.tensors;
    for (int i = Q; i <= GO; i++)
        copy_elements(&t[i], given[i], true);
    locus_attention_tensors tensors = {sizeof tensors, &t[Q], &t[K], &t[V], &t[O], &t[LSE]};
    locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                           .output = &t[GO],
                                           .query = &t[DQ],
                                           .key = &t[DK],
                                           .value = &t[DV],
                                           .parameters = memory.gradients,
                                           .parameter_count = world->parameter_count};
    const locus_execution execution = locus_execution_in(world->workspace);
    ok(locus_attention_forward(world->plan, &world->options, &tensors, &execution, &error), &error);
    if (!forward_only) {
        memset(world->workspace.data, 0xFF, world->workspace.bytes);
        ok(locus_attention_backward(world->plan, &world->options, &tensors, &gradients, &execution, &error), &error);
    }
    for (int i = O; i < TENSORS; i++)
        copy_elements(&t[i], results[i - O], false);
    for (size_t i = 0; i < world->parameter_count; i++)
        for (size_t j = 0; j < attention_parameter_size(world, i); j++)
            arrays->gradients[i][j] = element(&memory.gradients[i], j);
    free_memory(&memory, world);
}

/* ---- comparison ---- */

static void compare_element(const attention_world *world, const char *name, size_t at, double got, double want,
                            double tolerance) {
    if (isnan(want) ? isnan(got) : got == want || fabs(got - want) <= tolerance * (1 + fabs(want)))
        return;
    fail_msg("'%s', mask %d, heads %zu:%zu, cap %g, window %zu:%zu, documents %d, turned %d, dropout %g: %s[%zu] is "
             "%.17g, not %.17g (apart %.3g, allowed %.3g)",
             world->test->spec, (int)world->test->mask, world->shape.heads, world->kv_heads, world->test->cap,
             world->test->sliding, world->test->keep, world->test->documents, world->test->turned, world->test->dropout,
             name, at, got, want, fabs(got - want), tolerance * (1 + fabs(want)));
}

static void compare_tokens(const attention_world *world, const char *name, bool keys, size_t row, const double *got,
                           const double *want, double tolerance) {
    const size_t *offsets = keys ? world->key_offsets : world->query_offsets;
    const size_t *lengths = keys ? world->key_lengths : world->query_lengths;
    for (size_t s = 0; s < world->test->sequences; s++)
        for (size_t i = offsets[s] * row; i < (offsets[s] + lengths[s]) * row; i++)
            compare_element(world, name, i, got[i], want[i], tolerance);
}

void attention_compare(const attention_world *world, const attention_arrays *got, const attention_arrays *want,
                       double tolerance) {
    size_t heads = world->shape.heads, query_row = heads * world->shape.head_dim,
           value_row = heads * world->shape.value_dim;
    compare_tokens(world, "output", false, value_row, got->o, want->o, tolerance);
    compare_tokens(world, "log_sum_exp", false, heads, got->log_sum_exp, want->log_sum_exp, tolerance);
    compare_tokens(world, "dq", false, query_row, got->dq, want->dq, tolerance);
    compare_tokens(world, "dk", true, world->kv_heads * world->shape.head_dim, got->dk, want->dk, tolerance);
    compare_tokens(world, "dv", true, world->kv_heads * world->shape.value_dim, got->dv, want->dv, tolerance);
    for (size_t i = 0; i < world->parameter_count; i++) {
        double largest = 0; /* a parameter sums over all tokens: errors are relative to its largest element */
        for (size_t j = 0; j < attention_parameter_size(world, i); j++)
            largest = fmax(largest, fabs(want->gradients[i][j]));
        for (size_t j = 0; j < attention_parameter_size(world, i); j++)
            compare_element(world, world->parameters[i].name, j, got->gradients[i][j], want->gradients[i][j],
                            tolerance * (10 + largest));
    }
}

void attention_check(const attention_case *test, locus_dtype dtype, attention_memory memory, double tolerance) {
    attention_world world;
    attention_world_make(&world, test);
    attention_arrays got = attention_arrays_make(&world), want = attention_arrays_make(&world);
    attention_run(&world, &got, dtype, memory, false);
    attention_oracle(&world, &want);
    attention_compare(&world, &got, &want, tolerance);
    attention_arrays_free(&got);
    attention_arrays_free(&want);
    attention_world_free(&world);
}

void attention_check_types(const attention_case *test, attention_memory memory, double tolerance_float32) {
    static size_t number, taken;
    if (left_out(number++, 3))
        return;
    const size_t first = SANITIZED(taken++ % 2, 0), end = SANITIZED(first + 1, 2);
    for (size_t i = first; i < end; i++)
        attention_check(test, i == 0 ? LOCUS_FLOAT64 : LOCUS_FLOAT32, memory, i == 0 ? 1e-12 : tolerance_float32);
}
