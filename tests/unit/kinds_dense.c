/* SPDX-License-Identifier: MIT */
/* Linear, softmax-free and clustered attention as one would write them down: for each sequence and head whole matrices,
 * in double. */
#include "kind_of.h"
#include "unit/kinds_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static double *zeros(size_t count) {
    double *values = calloc(count + 1, sizeof *values);
    assert_non_null(values);
    return values;
}

/* ---- operators ---- */

static double *act(const kinds_world *world, locus_role role, const double *x) {
    const bool keys = role == LOCUS_ROLE_KEY || role == LOCUS_ROLE_VALUE;
    const bool values = role == LOCUS_ROLE_VALUE || role == LOCUS_ROLE_OUTPUT;
    const int64_t shape[] = {(int64_t)(keys ? world->N : world->T),
                             (int64_t)(keys ? world->shape.kv_heads : world->shape.heads),
                             (int64_t)(values ? world->shape.value_dim : world->shape.head_dim)};
    locus_tensor y = locus_tensor_view(NULL, LOCUS_FLOAT64, 3, shape);
    locus_workspace workspace = {NULL, locus_apply_workspace(world->plan, role, LOCUS_FLOAT64, NULL) + 1};
    locus_error error;
    workspace.data = locus_allocate(workspace.bytes);
    assert_non_null(workspace.data);
    y.data = zeros(locus_tensor_count(&y));
    memcpy(y.data, x, locus_tensor_count(&y) * sizeof(double));
    const locus_execution execution = locus_execution_in(workspace);
    if (!world->test->options.turned &&
        locus_apply(world->plan, role, LOCUS_FORWARD, &y, &y, &execution, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    locus_release(workspace.data, workspace.bytes);
    return y.data;
}

/* ---- one sequence and head ---- */

typedef struct dense {
    const kinds_world *world;
    size_t heads, kv_heads, d, dv, sequence, head, m, n; /* m queries, n keys */
    const double *q, *k, *v;                             /* after operators: all tokens */
    const double *fq, *fk;                               /* φ, of linear attention */
    double *o, *log_sum_exp;
    double scale;
} dense;

static const double *query(const dense *a, const double *all, size_t i) {
    return all + ((a->world->query_offsets[a->sequence] + i) * a->heads + a->head) * a->d;
}

static size_t key_row(const dense *a, size_t j) {
    return (a->world->key_offsets[a->sequence] + j) * a->kv_heads + a->head / (a->heads / a->kv_heads);
}

static const double *key(const dense *a, const double *all, size_t j) {
    return all + key_row(a, j) * a->d;
}

static double *output(const dense *a, size_t i) {
    return a->o + ((a->world->query_offsets[a->sequence] + i) * a->heads + a->head) * a->dv;
}

static double *log_sum(const dense *a, size_t i) {
    return a->log_sum_exp + (a->world->query_offsets[a->sequence] + i) * a->heads + a->head;
}

static double dot(const double *x, const double *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static void add(double weight, const double *x, double *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] += weight * x[i];
}

static size_t seen_keys(const dense *a, size_t i) {
    const locus_attention_options *options = &a->world->test->options;
    int64_t seen = (int64_t)i + 1 + (int64_t)a->n - (int64_t)a->m;
    if (options->mask == LOCUS_MASK_FULL)
        return a->n;
    if (options->mask == LOCUS_MASK_PREFIX && (int64_t)options->prefix[a->sequence] > seen)
        seen = (int64_t)options->prefix[a->sequence];
    return seen < 0 ? 0 : seen > (int64_t)a->n ? a->n : (size_t)seen;
}

static void linear(const dense *a) {
    for (size_t i = 0; i < a->m; i++) {
        const size_t seen = seen_keys(a, i);
        double z = 0;
        for (size_t j = 0; j < seen; j++) {
            z += dot(query(a, a->fq, i), key(a, a->fk, j), a->d);
            add(dot(query(a, a->q, i), key(a, a->k, j), a->d), a->v + key_row(a, j) * a->dv, output(a, i), a->dv);
        }
        for (size_t c = 0; c < a->dv && seen > 0; c++)
            output(a, i)[c] /= z;
        *log_sum(a, i) = log(z);
    }
}

/* ---- softmax-free ---- */

static double kernel(const dense *a, const double *x, const double *y) {
    double square = 0;
    for (size_t c = 0; c < a->d; c++)
        square += (x[c] - y[c]) * (x[c] - y[c]);
    return exp(-a->scale * square / 2);
}

static double *pool(const dense *a, bool keys, size_t marks) {
    const size_t tokens = keys ? a->n : a->m;
    double *means = zeros(marks * a->d);
    for (size_t i = 0; i < marks; i++) {
        const size_t first = i * tokens / marks, end = (i + 1) * tokens / marks;
        for (size_t t = first; t < end; t++)
            add(1 / (double)(end - first), keys ? key(a, a->k, t) : query(a, a->q, t), means + i * a->d, a->d);
    }
    return means;
}

/* C = A·B, of [m, k] and [k, n]. */
static double *product(size_t m, size_t n, size_t k, const double *A, const double *B) {
    double *C = zeros(m * n);
    for (size_t i = 0; i < m; i++)
        for (size_t l = 0; l < k; l++)
            add(A[i * k + l], B + l * n, C + i * n, n);
    return C;
}

static double *newton(size_t m, size_t steps, const double *A) {
    double *X = zeros(m * m), one = 0, infinite = 0;
    for (size_t i = 0; i < m; i++) {
        double row = 0, column = 0;
        for (size_t j = 0; j < m; j++) {
            row += A[i * m + j];
            column += A[j * m + i];
        }
        infinite = fmax(infinite, row);
        one = fmax(one, column);
    }
    for (size_t i = 0; i < m * m; i++)
        X[i] = A[i % m * m + i / m] / (one * infinite);
    for (size_t s = 0; s < steps; s++) {
        double *AX = product(m, m, m, A, X), *XAX = product(m, m, m, X, AX);
        for (size_t i = 0; i < m * m; i++)
            X[i] = 2 * X[i] - XAX[i];
        free(AX);
        free(XAX);
    }
    return X;
}

static void soft(const dense *a) {
    const locus_attention_options *options = &a->world->test->options;
    size_t marks = kind_number(options->kind, "landmarks");
    marks = marks < a->m ? marks : a->m;
    marks = marks < a->n ? marks : a->n;
    double *queries = pool(a, false, marks), *keys = pool(a, true, marks);
    double *F = zeros(a->m * marks), *A = zeros(marks * marks), *B = zeros(marks * a->n), *V = zeros(a->n * a->dv);
    for (size_t l = 0; l < marks; l++) {
        for (size_t i = 0; i < a->m; i++)
            F[i * marks + l] = kernel(a, query(a, a->q, i), keys + l * a->d);
        for (size_t i = 0; i < marks; i++)
            A[i * marks + l] = kernel(a, queries + i * a->d, keys + l * a->d);
        for (size_t j = 0; j < a->n; j++)
            B[l * a->n + j] = kernel(a, queries + l * a->d, key(a, a->k, j));
    }
    for (size_t j = 0; j < a->n; j++)
        memcpy(V + j * a->dv, a->v + key_row(a, j) * a->dv, a->dv * sizeof(double));
    double *X = newton(marks, kind_number(options->kind, "iterations"), A);
    double *BV = product(marks, a->dv, a->n, B, V), *XBV = product(marks, a->dv, marks, X, BV);
    for (size_t i = 0; i < a->m; i++) {
        for (size_t l = 0; l < marks; l++)
            add(F[i * marks + l], XBV + l * a->dv, output(a, i), a->dv);
        *log_sum(a, i) = a->n > 0 ? 0 : -INFINITY;
    }
    double *all[] = {queries, keys, F, A, B, V, X, BV, XBV};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

/* ---- clustered ---- */

static size_t nearest(const dense *a, const double *x, const double *centroids, size_t count) {
    size_t best = 0;
    double least = INFINITY;
    for (size_t c = 0; c < count; c++) {
        double square = 0;
        for (size_t e = 0; e < a->d; e++)
            square += (x[e] - centroids[c * a->d + e]) * (x[e] - centroids[c * a->d + e]);
        if (square < least) {
            least = square;
            best = c;
        }
    }
    return best;
}

/* Lloyd's rounds; returns the centroids. */
static double *cluster(const dense *a, size_t count, size_t *of) {
    const locus_attention_options *options = &a->world->test->options;
    const size_t rounds = kind_number(options->kind, "iterations");
    double *centroids = zeros(count * a->d);
    for (size_t c = 0; c < count; c++)
        memcpy(centroids + c * a->d, query(a, a->q, (2 * c + 1) * a->m / (2 * count)), a->d * sizeof(double));
    for (size_t r = 0; r < rounds; r++) {
        double *sums = zeros(count * a->d), *members = zeros(count);
        for (size_t i = 0; i < a->m; i++) {
            of[i] = nearest(a, query(a, a->q, i), centroids, count);
            members[of[i]] += 1;
            add(1, query(a, a->q, i), sums + of[i] * a->d, a->d);
        }
        for (size_t c = 0; c < count; c++)
            for (size_t e = 0; e < a->d && members[c] > 0; e++)
                centroids[c * a->d + e] = sums[c * a->d + e] / members[c];
        free(sums);
        free(members);
    }
    return centroids;
}

static double keep(const dense *a, size_t c, size_t j) {
    const locus_attention_options *options = &a->world->test->options;
    const uint64_t row = (uint64_t)(a->world->query_offsets[a->sequence] + c) * a->heads + a->head;
    uint32_t words[4];
    if (options->dropout == 0)
        return 1;
    locus_random_block(&options->dropout_key, row * ((uint64_t)1 << 28) + j / 8, words);
    const uint32_t word = words[j % 8 / 2] >> (j % 2 ? 16 : 0) & 0xffff;
    return word < floor(options->dropout * 65536 + 0.5) ? 0 : 1 / (1 - options->dropout);
}

static void clustered(const dense *a) {
    const locus_attention_options *options = &a->world->test->options;
    size_t count = kind_number(options->kind, "clusters"), *of = calloc(a->m + 1, sizeof *of);
    assert_non_null(of);
    count = count < a->m ? count : a->m;
    double *centroids = cluster(a, count, of);
    for (size_t i = 0; i < a->m; i++) {
        const double *centroid = centroids + of[i] * a->d;
        double most = -INFINITY, total = 0;
        for (size_t j = 0; j < a->n; j++)
            most = fmax(most, a->scale * dot(centroid, key(a, a->k, j), a->d));
        for (size_t j = 0; j < a->n; j++)
            total += exp(a->scale * dot(centroid, key(a, a->k, j), a->d) - most);
        for (size_t j = 0; j < a->n; j++)
            add(exp(a->scale * dot(centroid, key(a, a->k, j), a->d) - most) / total * keep(a, of[i], j),
                a->v + key_row(a, j) * a->dv, output(a, i), a->dv);
        *log_sum(a, i) = most + log(total);
    }
    free(centroids);
    free(of);
}

/* ---- the whole ---- */

static double *feature(const double *x, size_t count, double scale) {
    double *y = zeros(count);
    for (size_t i = 0; i < count; i++)
        y[i] = scale * x[i] > 0 ? scale * x[i] + 1 : exp(scale * x[i]);
    return y;
}

kinds_dense kinds_define(const kinds_world *world) {
    const kinds_case *test = world->test;
    const bool is_linear = kind_is(test->options.kind, "linear");
    const double scale = test->options.scale != 0 ? test->options.scale : test->said;
    double *fq = feature(world->q, kinds_queries(world), scale != 0 ? scale : 1);
    double *fk = feature(world->k, kinds_keys(world), 1);
    double *q = act(world, LOCUS_ROLE_QUERY, is_linear ? fq : world->q);
    double *k = act(world, LOCUS_ROLE_KEY, is_linear ? fk : world->k);
    double *v = act(world, LOCUS_ROLE_VALUE, world->v), *o = zeros(kinds_outputs(world));
    kinds_dense result = {NULL, zeros(world->T * test->heads)};
    dense a = {.world = world,
               .heads = test->heads,
               .kv_heads = world->shape.kv_heads,
               .d = world->shape.head_dim,
               .dv = world->shape.value_dim,
               .q = q,
               .k = k,
               .v = v,
               .fq = fq,
               .fk = fk,
               .o = o,
               .log_sum_exp = result.log_sum_exp};
    a.scale = scale != 0 ? scale : 1 / sqrt((double)a.d);
    for (a.sequence = 0; a.sequence < test->sequences; a.sequence++)
        for (a.head = 0; a.head < a.heads; a.head++) {
            a.m = test->query_lengths[a.sequence];
            a.n = test->key_lengths ? test->key_lengths[a.sequence] : a.m;
            if (is_linear)
                linear(&a);
            else if (kind_is(test->options.kind, "soft"))
                soft(&a);
            else
                clustered(&a);
        }
    result.o = act(world, LOCUS_ROLE_OUTPUT, o);
    double *all[] = {fq, fk, q, k, v, o};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    return result;
}
