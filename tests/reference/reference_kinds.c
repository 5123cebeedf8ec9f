/* SPDX-License-Identifier: MIT */
/* Linear, softmax-free (SOFT) and clustered attention of one sequence and head, from their definitions in
 * docs/encodings.md. q and k are turned; linear attention's denominator needs φ before the operators, too, and makes it
 * of the call's tensors. */
#include "kind_of.h"
#include "reference/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct kind_shape {
    size_t d, dv;
} kind_shape;

static kind_shape shape_of(const reference_head *head) {
    return (kind_shape){head->call->model->shape.head_dim, head->call->model->shape.value_dim};
}

static double dot(const double *x, const double *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static void note_mass(reference_head *head, double number) {
    head->mass = fmax(head->mass, fabs(number));
}

/* ---- linear ---- */

static double feature(double x) {
    return x > 0 ? x + 1 : exp(x);
}

/* φ(q)·φ(k), without operators. */
static double denominator(const reference_head *head, size_t i, size_t j) {
    const reference_model *model = head->call->model;
    const size_t d = model->shape.head_dim, query = model->queries->first[head->sequence] + i;
    const size_t key = model->keys->first[head->sequence] + j;
    const double *q = head->call->query + (query * model->shape.heads + head->head) * d;
    const double *k = head->call->key + (key * model->shape.kv_heads + head->kv_head) * d;
    double sum = 0;
    for (size_t c = 0; c < d; c++)
        sum += feature(head->scale * q[c]) * feature(k[c]);
    return sum;
}

static void linear(reference_head *head) {
    const kind_shape shape = shape_of(head);
    for (size_t i = 0; i < head->m * shape.d; i++) /* |scale·q|: how far φ falls towards 0 */
        head->score = fmax(head->score, fabs(head->scale * head->raw[i]));
    for (size_t i = 0; i < head->m; i++) {
        double z = 0, size = 0, *sum = reference_zeros(shape.dv, sizeof *sum);
        for (size_t j = 0; j < head->n; j++) {
            const double weight = dot(head->q + i * shape.d, head->k + j * shape.d, shape.d);
            if (!reference_sees(head, i, j))
                continue;
            z += denominator(head, i, j);
            for (size_t c = 0; c < shape.dv; c++) {
                head->o[i * shape.dv + c] += weight * head->v[j * shape.dv + c];
                sum[c] += fabs(weight * head->v[j * shape.dv + c]);
                size = fmax(size, fabs(head->v[j * shape.dv + c]));
            }
        }
        for (size_t c = 0; c < shape.dv && z > 0; c++) {
            head->o[i * shape.dv + c] /= z;
            note_mass(head, sum[c] / z); /* above `size` where operators stretch: z does not see them */
        }
        note_mass(head, size);
        free(sum);
        head->log_sum_exp[i] = z > 0 ? log(z) : -INFINITY;
    }
}

/* ---- softmax-free ---- */

static double kernel(const reference_head *head, const double *x, const double *y) {
    const size_t d = shape_of(head).d;
    double square = 0;
    for (size_t c = 0; c < d; c++)
        square += (x[c] - y[c]) * (x[c] - y[c]);
    return exp(-head->scale * square / 2);
}

/* Means of `marks` runs of tokens. */
static double *landmarks(const double *x, size_t tokens, size_t marks, size_t d) {
    double *means = reference_zeros(marks * d, sizeof *means);
    for (size_t i = 0; i < marks; i++) {
        const size_t first = i * tokens / marks, end = (i + 1) * tokens / marks;
        for (size_t t = first * d; t < end * d; t++)
            means[i * d + t % d] += x[t] / (double)(end - first);
    }
    return means;
}

/* [m, k] · [k, n] */
static double *product(size_t m, size_t n, size_t k, const double *A, const double *B) {
    double *C = reference_zeros(m * n, sizeof *C);
    for (size_t i = 0; i < m; i++)
        for (size_t l = 0; l < k; l++)
            for (size_t j = 0; j < n; j++)
                C[i * n + j] += A[i * k + l] * B[l * n + j];
    return C;
}

/* Newton's steps towards the pseudo-inverse. */
static double *inverse(reference_head *head, size_t m, size_t steps, const double *A) {
    double *X = reference_zeros(m * m, sizeof *X), one = 0, infinite = 0;
    for (size_t i = 0; i < m; i++) {
        double row = 0, column = 0;
        for (size_t j = 0; j < m; j++) {
            row += fabs(A[i * m + j]);
            column += fabs(A[j * m + i]);
        }
        infinite = fmax(infinite, row);
        one = fmax(one, column);
    }
    if (one * infinite < 1e-12) /* landmarks so far apart that kernels vanish: nothing to compare */
        head->margin = 0;
    for (size_t i = 0; i < m * m; i++)
        X[i] = one * infinite > 0 ? A[i % m * m + i / m] / (one * infinite) : 0;
    for (size_t s = 0; s < steps; s++) {
        double *AX = product(m, m, m, A, X), *XAX = product(m, m, m, X, AX);
        for (size_t i = 0; i < m * m; i++)
            X[i] = 2 * X[i] - XAX[i];
        free(AX);
        free(XAX);
    }
    return X;
}

static double *kernels(const reference_head *head, const double *x, size_t m, const double *y, size_t n) {
    const size_t d = shape_of(head).d;
    double *K = reference_zeros(m * n, sizeof *K);
    for (size_t i = 0; i < m * n; i++)
        K[i] = kernel(head, x + i / n * d, y + i % n * d);
    return K;
}

static void soft(reference_head *head) {
    const locus_attention_options *options = head->call->options;
    const kind_shape shape = shape_of(head);
    size_t marks = kind_number(options->kind, "landmarks");
    marks = marks < head->m ? marks : head->m;
    marks = marks < head->n ? marks : head->n;
    double *qs = landmarks(head->q, head->m, marks, shape.d), *ks = landmarks(head->k, head->n, marks, shape.d);
    double *A = kernels(head, qs, marks, ks, marks), *F = kernels(head, head->q, head->m, ks, marks);
    double *B = kernels(head, qs, marks, head->k, head->n);
    double *X = inverse(head, marks, kind_number(options->kind, "iterations"), A);
    double *P = product(marks, shape.dv, head->n, B, head->v), *M = product(marks, shape.dv, marks, X, P);
    double *o = product(head->m, shape.dv, marks, F, M);
    memcpy(head->o, o, head->m * shape.dv * sizeof *o);
    for (size_t i = 0; i < marks * shape.dv; i++) /* X may be large where P is small */
        for (size_t j = 0; j < marks; j++)
            note_mass(head, (double)marks * X[i / shape.dv * marks + j] * P[j * shape.dv + i % shape.dv]);
    for (size_t i = 0; i < head->m; i++)
        head->log_sum_exp[i] = head->n > 0 ? 0 : -INFINITY;
    double *owned[] = {qs, ks, A, F, B, X, P, M, o};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
}

/* ---- clustered ---- */

static size_t nearest(reference_head *head, const double *x, const double *centroids, size_t count) {
    const size_t d = shape_of(head).d;
    size_t best = 0;
    double least = INFINITY, next = INFINITY, size = 0;
    for (size_t c = 0; c < count; c++) {
        double square = 0;
        for (size_t e = 0; e < d; e++) {
            square += (x[e] - centroids[c * d + e]) * (x[e] - centroids[c * d + e]);
            size = fmax(size, fmax(fabs(x[e]), fabs(centroids[c * d + e])));
        }
        next = square < least ? least : fmin(next, square);
        best = square < least ? c : best;
        least = fmin(least, square);
    }
    if (count > 1)
        head->margin = fmin(head->margin, (next - least) / ((double)d * size * size));
    return best;
}

/* Lloyd's rounds from queries spread evenly; a cluster without queries keeps its centroid. */
static void cluster(reference_head *head, size_t count, double *centroids, size_t *of) {
    const size_t d = shape_of(head).d, asked = kind_number(head->call->options->kind, "iterations");
    const bool known = head->call->clusters_known;
    const size_t rounds = known ? 1 : asked;
    for (size_t c = 0; c < count; c++)
        memcpy(centroids + c * d, head->q + (2 * c + 1) * head->m / (2 * count) * d, d * sizeof *centroids);
    for (size_t r = 0; r < rounds; r++) {
        double *sums = reference_zeros(count * d, sizeof *sums), *members = reference_zeros(count, sizeof *members);
        for (size_t i = 0; i < head->m; i++) {
            of[i] = known ? of[i] : nearest(head, head->q + i * d, centroids, count);
            members[of[i]] += 1;
            for (size_t e = 0; e < d; e++)
                sums[of[i] * d + e] += head->q[i * d + e];
        }
        for (size_t c = 0; c < count * d; c++)
            centroids[c] = members[c / d] > 0 ? sums[c] / members[c / d] : centroids[c];
        free(sums);
        free(members);
    }
}

/* Weights and output of one centroid. */
static void attend_centroid(reference_head *head, const double *centroid, size_t row, double *o, double *log_sum) {
    const kind_shape shape = shape_of(head);
    double top = -INFINITY, sum = 0;
    for (size_t j = 0; j < head->n; j++)
        top = fmax(top, head->scale * dot(centroid, head->k + j * shape.d, shape.d));
    for (size_t j = 0; j < head->n; j++)
        sum += exp(head->scale * dot(centroid, head->k + j * shape.d, shape.d) - top);
    for (size_t j = 0; j < head->n; j++) {
        const double s = head->scale * dot(centroid, head->k + j * shape.d, shape.d);
        const double kept = reference_dropout(head, row, j);
        head->score = fmax(head->score, fabs(s) * 4 + (double)shape.d);
        for (size_t c = 0; c < shape.dv; c++) {
            o[c] += exp(s - top) / sum * kept * head->v[j * shape.dv + c];
            note_mass(head, kept * head->v[j * shape.dv + c]);
        }
    }
    *log_sum = head->n > 0 ? top + log(sum) : -INFINITY;
}

static void clustered(reference_head *head) {
    const kind_shape shape = shape_of(head);
    size_t count = kind_number(head->call->options->kind, "clusters");
    count = count < head->m ? count : head->m;
    size_t *of = reference_zeros(head->m, sizeof *of);
    double *centroids = reference_zeros(count * shape.d, sizeof *centroids);
    const size_t first = head->call->model->queries->first[head->sequence], heads = head->call->model->shape.heads;
    size_t *told = head->call->clusters;
    for (size_t i = 0; i < head->m && told; i++)
        of[i] = told[(first + i) * heads + head->head];
    cluster(head, count, centroids, of);
    for (size_t i = 0; i < head->m && told; i++)
        told[(first + i) * heads + head->head] = of[i];
    for (size_t i = 0; i < head->m; i++)
        attend_centroid(head, centroids + of[i] * shape.d, first + of[i], head->o + i * shape.dv,
                        &head->log_sum_exp[i]);
    free(centroids);
    free(of);
}

void reference_kinds(reference_head *head) {
    if (kind_is(head->call->options->kind, "linear"))
        linear(head);
    else if (kind_is(head->call->options->kind, "soft"))
        soft(head);
    else
        clustered(head);
}
