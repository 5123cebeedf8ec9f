/* SPDX-License-Identifier: MIT */
/* See group_subject.h. */
#include "group_subject.h"

#include "nn/gemm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PEAK_SIZE = 1024, MOST_RUNS = 4096 };

double bench_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void bench_check(locus_status status, const locus_error *error) {
    if (status == LOCUS_OK)
        return;
    fprintf(stderr, "bench: %s\n", error->message);
    exit(1);
}

void *bench_memory(size_t bytes) {
    void *block = locus_allocate(bytes ? bytes : 1);
    if (!block) {
        fprintf(stderr, "bench: %zu bytes of memory were refused\n", bytes);
        exit(1);
    }
    return block;
}

float *bench_numbers(size_t count, unsigned stream) {
    float *values = bench_memory(count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        uint32_t z = (uint32_t)i * 2654435761u + stream * 0x9E3779B9u;
        z = (z ^ (z >> 15)) * 0x85EBCA6Bu;
        values[i] = (float)((double)(z ^ (z >> 13)) * 0x1p-31 - 1);
    }
    return values;
}

/* ---- subjects ---- */

void group_subject_open(group_subject *s, const char *spec, size_t heads, size_t dim) {
    locus_error error = {0};
    const locus_shape shape = {.heads = heads, .head_dim = dim, .value_dim = 0, .model_dim = 0};
    memset(s, 0, sizeof *s);
    s->heads = heads;
    s->dim = dim;
    bench_check(locus_encoding_parse(spec, &s->encoding, &error), &error);
    bench_check(locus_encoding_parameter_count(s->encoding, &shape, &s->count, &error), &error);
    if (s->count > BENCH_PARAMETERS) {
        fprintf(stderr, "bench: '%s' has more than %d parameters\n", spec, BENCH_PARAMETERS);
        exit(1);
    }
    for (size_t i = 0; i < s->count; i++) {
        locus_parameter info = {.size = sizeof info};
        bench_check(locus_encoding_parameter(s->encoding, &shape, i, &info, &error), &error);
        s->values[i] = locus_tensor_view(NULL, LOCUS_FLOAT64, info.rank, info.shape);
        s->gradients[i] = locus_tensor_view(NULL, LOCUS_FLOAT32, info.rank, info.shape);
        const size_t elements = locus_tensor_count(&s->values[i]);
        s->values[i].data = bench_memory(elements * sizeof(double));
        s->gradients[i].data = bench_memory(elements * sizeof(float));
        memset(s->gradients[i].data, 0, elements * sizeof(float));
    }
    bench_check(locus_encoding_initialise(s->encoding, &shape, 1, s->values, s->count, &error), &error);
    bench_check(locus_binding_create(&s->binding, s->encoding, &shape, s->values, s->count, &error), &error);
}

void group_subject_place(group_subject *s, const locus_positions *positions) {
    locus_error error = {0};
    locus_plan_destroy(&s->plan);
    locus_release(s->workspace.data, s->workspace.bytes);
    s->workspace.data = NULL;
    bench_check(locus_plan_create(&s->plan, s->binding, positions, NULL, &error), &error);
    s->workspace_bytes = s->workspace.bytes = 1;
    for (locus_role role = LOCUS_ROLE_QUERY; role <= LOCUS_ROLE_KEY; role++) {
        const size_t narrow = locus_apply_workspace(s->plan, role, LOCUS_FLOAT32, NULL);
        const size_t wide = locus_apply_workspace(s->plan, role, LOCUS_FLOAT64, NULL);
        s->workspace_bytes = narrow > s->workspace_bytes ? narrow : s->workspace_bytes;
        s->workspace.bytes = narrow > s->workspace.bytes ? narrow : s->workspace.bytes;
        s->workspace.bytes = wide > s->workspace.bytes ? wide : s->workspace.bytes;
    }
    s->workspace.data = bench_memory(s->workspace.bytes);
}

void group_subject_close(group_subject *s) {
    locus_release(s->workspace.data, s->workspace.bytes);
    locus_plan_destroy(&s->plan);
    locus_binding_destroy(&s->binding);
    locus_encoding_destroy(&s->encoding);
    for (size_t i = 0; i < s->count; i++) {
        const size_t elements = locus_tensor_count(&s->values[i]);
        locus_release(s->values[i].data, elements * sizeof(double));
        locus_release(s->gradients[i].data, elements * sizeof(float));
    }
}

locus_tensor group_subject_view(const group_subject *s, void *data, locus_dtype dtype, size_t tokens) {
    const int64_t shape[] = {(int64_t)tokens, (int64_t)s->heads, (int64_t)s->dim};
    return locus_tensor_view(data, dtype, 3, shape);
}

void group_subject_forward(const group_subject *s, locus_role role, const locus_tensor *x) {
    locus_error error = {0};
    const locus_execution execution = locus_execution_in(s->workspace);
    bench_check(locus_apply(s->plan, role, LOCUS_FORWARD, x, x, &execution, &error), &error);
}

void group_subject_backward(const group_subject *s, locus_role role, const locus_tensor *x, const locus_tensor *g) {
    locus_error error = {0};
    const locus_apply_gradients gradients = {
        .x = x, .gy = g, .gx = g, .parameters = s->count ? s->gradients : NULL, .parameter_count = s->count};
    const locus_execution execution = locus_execution_in(s->workspace);
    bench_check(locus_apply_backward(s->plan, role, LOCUS_FORWARD, &gradients, &execution, &error), &error);
}

/* ---- measuring ---- */

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bench_time bench_measure(void (*work)(void *), void *context, size_t least, double budget) {
    static double times[MOST_RUNS];
    bench_time result = {0, 0, 0};
    const double end = bench_seconds() + budget;
    work(context);
    while (result.runs < MOST_RUNS && (result.runs < least || bench_seconds() < end)) {
        const double begin = bench_seconds();
        work(context);
        times[result.runs++] = bench_seconds() - begin;
    }
    qsort(times, result.runs, sizeof *times, compare_doubles);
    result.best = times[0];
    result.median = times[result.runs / 2];
    return result;
}

static void run_product(void *context) {
    lab_products_parallel(context, 1);
}

double bench_product_peak(double budget) {
    const size_t square = (size_t)PEAK_SIZE * PEAK_SIZE;
    float *a = bench_numbers(3 * square, 9);
    lab_product product = {.rows = PEAK_SIZE,
                           .columns = PEAK_SIZE,
                           .depth = PEAK_SIZE,
                           .left = a,
                           .right = a + square,
                           .result = a + 2 * square,
                           .left_stride = PEAK_SIZE,
                           .right_stride = PEAK_SIZE,
                           .result_stride = PEAK_SIZE};
    const bench_time took = bench_measure(run_product, &product, 3, budget);
    locus_release(a, 3 * square * sizeof *a);
    return 2.0 * PEAK_SIZE * PEAK_SIZE * PEAK_SIZE / took.best;
}
