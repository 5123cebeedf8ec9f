/* SPDX-License-Identifier: MIT */
/* What tests of encodings share: a spec made into a plan in one call, and dense oracles written as plainly as
 * possible. */
#ifndef TESTS_ENCODING_RIG_H
#define TESTS_ENCODING_RIG_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <locus/locus.h>

#include "sanitized.h"

#define RIG_TENSORS 16

typedef struct rig {
    locus_encoding *encoding;
    locus_shape shape;
    size_t count; /* parameters, in double */
    locus_parameter info[RIG_TENSORS];
    locus_tensor values[RIG_TENSORS], gradients[RIG_TENSORS];
    locus_binding *binding;
    locus_positions *queries, *keys; /* keys NULL: as queries */
    locus_plan *plan;
} rig;

#define rig_ok(call) \
    do { \
        locus_error rig_error = {0}; \
        locus_error *error = &rig_error; \
        (void)error; \
        if ((call) != LOCUS_OK) \
            fail_msg("%s: %s", #call, rig_error.message); \
    } while (0)

static inline size_t rig_elements(const locus_parameter *parameter) {
    size_t elements = 1;
    for (size_t i = 0; i < parameter->rank; i++)
        elements *= (size_t)parameter->shape[i];
    return elements;
}

static inline locus_shape rig_shape(size_t heads, size_t head_dim, size_t value_dim, size_t model_dim) {
    return (locus_shape){.heads = heads, .head_dim = head_dim, .value_dim = value_dim, .model_dim = model_dim};
}

/* One sequence; values NULL: 0, 1, 2, … */
static inline locus_positions *rig_positions(const int64_t *values, size_t count) {
    const size_t offsets[] = {0, count};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets, .lengths = NULL};
    locus_positions *positions = NULL;
    rig_ok(locus_positions_create(&positions, NULL, &packing, values, error));
    return positions;
}

/* Encoding, initial parameters and binding; no plan yet. */
static inline void rig_bind(rig *r, const char *spec, locus_shape shape, uint64_t seed) {
    memset(r, 0, sizeof *r);
    r->shape = shape;
    rig_ok(locus_encoding_parse(spec, &r->encoding, error));
    rig_ok(locus_encoding_parameter_count(r->encoding, &shape, &r->count, error));
    assert_true(r->count <= RIG_TENSORS);
    for (size_t i = 0; i < r->count; i++) {
        r->info[i].size = sizeof *r->info;
        rig_ok(locus_encoding_parameter(r->encoding, &shape, i, &r->info[i], error));
        size_t elements = rig_elements(&r->info[i]);
        double *values = calloc(elements, sizeof *values), *gradients = calloc(elements, sizeof *gradients);
        assert_true(values && gradients);
        r->values[i] = locus_tensor_view(values, LOCUS_FLOAT64, r->info[i].rank, r->info[i].shape);
        r->gradients[i] = locus_tensor_view(gradients, LOCUS_FLOAT64, r->info[i].rank, r->info[i].shape);
    }
    rig_ok(locus_encoding_initialise(r->encoding, &shape, seed, r->values, r->count, error));
    rig_ok(locus_binding_create(&r->binding, r->encoding, &shape, r->values, r->count, error));
}

static inline void rig_place(rig *r, locus_positions *queries, locus_positions *keys) {
    r->queries = queries;
    r->keys = keys;
    rig_ok(locus_plan_create(&r->plan, r->binding, queries, keys, error));
}

static inline void rig_open(rig *r, const char *spec, locus_shape shape, const int64_t *values, size_t count) {
    rig_bind(r, spec, shape, 7);
    rig_place(r, rig_positions(values, count), NULL);
}

/* After r->values have changed. */
static inline void rig_update(rig *r) {
    locus_plan_destroy(&r->plan);
    rig_ok(locus_binding_update(&r->binding, r->values, r->count, error));
    rig_ok(locus_plan_create(&r->plan, r->binding, r->queries, r->keys, error));
}

static inline void rig_close(rig *r) {
    locus_plan_destroy(&r->plan);
    locus_positions_destroy(&r->queries);
    locus_positions_destroy(&r->keys);
    locus_binding_destroy(&r->binding);
    locus_encoding_destroy(&r->encoding);
    for (size_t i = 0; i < r->count; i++)
        free(r->values[i].data), free(r->gradients[i].data);
}

static inline locus_tensor rig_view(const rig *r, locus_role role, void *data, locus_dtype dtype, size_t tokens) {
    const bool value = role == LOCUS_ROLE_VALUE || role == LOCUS_ROLE_OUTPUT;
    size_t value_dim = r->shape.value_dim ? r->shape.value_dim : r->shape.head_dim;
    if (role == LOCUS_ROLE_TOKEN) {
        const int64_t shape[] = {(int64_t)tokens, (int64_t)r->shape.model_dim};
        return locus_tensor_view(data, dtype, 2, shape);
    }
    const int64_t shape[] = {(int64_t)tokens, (int64_t)r->shape.heads,
                             (int64_t)(value ? value_dim : r->shape.head_dim)};
    return locus_tensor_view(data, dtype, 3, shape);
}

/* Bytes in front of a workspace and behind it that nobody may touch; the address sanitizer has its own. */
#define RIG_GUARD SANITIZED((size_t)0, (size_t)81920)

static inline locus_workspace rig_lend(size_t bytes) {
    unsigned char *all = locus_allocate(bytes + 2 * RIG_GUARD + 1);
    assert_non_null(all);
    memset(all, 0xC3, bytes + 2 * RIG_GUARD);
    memset(all + RIG_GUARD, 0xFF, bytes); /* NaN: what is read unwritten shows */
    return (locus_workspace){all + RIG_GUARD, bytes};
}

static inline locus_workspace rig_workspace(const rig *r, locus_role role, locus_dtype dtype) {
    return rig_lend(locus_apply_workspace(r->plan, role, dtype, NULL));
}

static inline void rig_workspace_free(locus_workspace workspace) {
    unsigned char *all = (unsigned char *)workspace.data - RIG_GUARD, *behind = all + RIG_GUARD + workspace.bytes;
    for (int side = 0; side < 2 && RIG_GUARD > 0; side++) { /* all of them as the first */
        const unsigned char *guard = side ? behind : all;
        if (guard[0] != 0xC3 || memcmp(guard, guard + 1, RIG_GUARD - 1) != 0)
            fail_msg("%s a workspace was written", side ? "behind" : "before");
    }
    locus_release(all, workspace.bytes + 2 * RIG_GUARD + 1);
}

static inline void rig_apply(const rig *r, locus_role role, locus_direction direction, locus_dtype dtype, size_t tokens,
                             void *x, void *y) {
    locus_tensor from = rig_view(r, role, x, dtype, tokens), to = rig_view(r, role, y, dtype, tokens);
    locus_workspace workspace = rig_workspace(r, role, dtype);
    const locus_execution execution = locus_execution_in(workspace);
    rig_ok(locus_apply(r->plan, role, direction, &from, &to, &execution, error));
    rig_workspace_free(workspace);
}

static inline double rig_random(uint64_t *state) {
    const locus_random stream = {.seed = 99, .purpose = LOCUS_RANDOM_USER, .step = 0};
    return locus_random_normal(&stream, (*state)++);
}

static inline double *rig_normal(size_t count, uint64_t *state) {
    double *values = malloc((count + 1) * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++)
        values[i] = rig_random(state);
    return values;
}

static inline float *rig_narrow(const double *values, size_t count) {
    float *narrow = malloc((count + 1) * sizeof *narrow);
    assert_non_null(narrow);
    for (size_t i = 0; i < count; i++)
        narrow[i] = (float)values[i];
    return narrow;
}

/* ---- dense oracles ---- */

static inline void dense_product(size_t n, const long double *a, const long double *b, long double *c) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            long double sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

/* W = exp(A − Aᵀ) by scaling, Taylor's series and squaring. */
static inline void dense_exponential(size_t n, const double *A, long double *W) {
    long double *term = calloc(3 * n * n, sizeof *term), *S = term + n * n, *next = S + n * n;
    assert_non_null(term);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            S[i * n + j] = ((long double)A[i * n + j] - (long double)A[j * n + i]) / 1024;
            term[i * n + j] = W[i * n + j] = i == j;
        }
    for (int k = 1; k < 30; k++) {
        dense_product(n, term, S, next);
        for (size_t i = 0; i < n * n; i++) {
            term[i] = next[i] / k;
            W[i] += term[i];
        }
    }
    for (int k = 0; k < 10; k++) {
        dense_product(n, W, W, next);
        memcpy(W, next, n * n * sizeof *W);
    }
    free(term);
}

/* P = W^p by repeated squaring; negative p takes the transpose, W being orthogonal. */
static inline void dense_power(size_t n, const long double *W, int64_t p, long double *P) {
    long double *square = malloc(2 * n * n * sizeof *square), *next = square + n * n;
    assert_non_null(square);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            square[i * n + j] = p < 0 ? W[j * n + i] : W[i * n + j];
            P[i * n + j] = i == j;
        }
    for (uint64_t left = (uint64_t)(p < 0 ? -p : p); left > 0; left >>= 1) {
        if (left & 1) {
            dense_product(n, P, square, next);
            memcpy(P, next, n * n * sizeof *P);
        }
        dense_product(n, square, square, next);
        memcpy(square, next, n * n * sizeof *square);
    }
    free(square);
}

#endif
