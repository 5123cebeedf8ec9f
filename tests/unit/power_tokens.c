/* SPDX-License-Identifier: MIT */
/* Draws tokens and makes the sums from which their gradient is taken. */
#include "power_tokens.h"

#include "linalg/dense.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

power_tokens power_tokens_create(size_t n, size_t count, double reach) {
    const double first[] = {reach, -reach, 0.0, 1.0, -1.0, 2.0};
    power_tokens t = {n, count, case_numbers(count), case_numbers(count * n), case_numbers(count * n)};
    for (size_t i = 0; i < count; i++)
        t.p[i] = i < 6 ? first[i] : fmax(-reach, fmin(reach, round(reach * case_normal() / 2.0)));
    for (size_t i = 0; i < count * n; i++) {
        t.x[i] = case_normal();
        t.g[i] = case_normal();
    }
    return t;
}

void power_tokens_free(power_tokens *t) {
    free(t->p);
    free(t->x);
    free(t->g);
}

double power_tokens_size(const power_tokens *t) {
    double sum = 0;
    for (size_t k = 0; k < t->count; k++)
        sum += fabs(t->p[k]) * case_size(t->n, t->g + k * t->n) * case_size(t->n, t->x + k * t->n);
    return sum;
}

static double farthest(const power_tokens *t) {
    double reach = 1;
    for (size_t k = 0; k < t->count; k++)
        reach = fmax(reach, fabs(t->p[k]));
    return reach;
}

/* ---- from sums ---- */

enum { MOMENTS = 4 };

typedef struct token_sums {
    double *forward, *backward, *moment[MOMENTS];
} token_sums;

static token_sums make_sums(size_t n) {
    token_sums sums = {case_numbers(n * n), case_numbers(n * n), {NULL}};
    for (size_t m = 0; m < MOMENTS; m++)
        sums.moment[m] = case_numbers(n * n);
    return sums;
}

static void free_sums(token_sums *sums) {
    free(sums->forward);
    free(sums->backward);
    for (size_t m = 0; m < MOMENTS; m++)
        free(sums->moment[m]);
}

static void add_outer(size_t n, double weight, const double *g, const double *x, double *sum) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            sum[i * n + j] += weight * g[i] * x[j];
}

static void to_basis(const power_form *form, const double *x, double *y) {
    size_t n = form->n;
    for (size_t j = 0; j < n; j++) {
        y[j] = 0;
        for (size_t i = 0; i < n; i++)
            y[j] += form->U[i * n + j] * x[i];
    }
}

static void add_token(const power_form *form, const power_tokens *t, size_t k, double span, token_sums *sums) {
    size_t n = form->n;
    double p = t->p[k], *x = case_numbers(4 * n), *g = x + n, *turned_x = g + n, *turned_g = turned_x + n;
    to_basis(form, t->x + k * n, x);
    to_basis(form, t->g + k * n, g);
    power_form_turn(form, p, x, turned_x);
    power_form_turn(form, -p, g, turned_g);
    add_outer(n, 1.0, g, turned_x, sums->forward);
    add_outer(n, 1.0, turned_g, x, sums->backward);
    power_form_half_turn(form, p, x, turned_x);
    power_form_half_turn(form, -p, g, turned_g);
    for (size_t i = 0; i < n; i++)
        turned_g[i] *= power_form_sign(form, p, i);
    for (size_t m = 0; m < MOMENTS; m++)
        add_outer(n, pow(p / span, (double)(2 * m + 1)), turned_g, turned_x, sums->moment[m]);
    free(x);
}

static void restrict_moments(size_t n, extent what, token_sums *sums) {
    for (size_t m = 0; m < MOMENTS && what != WHOLE; m++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                if (i / 2 != j / 2)
                    sums->moment[m][i * n + j] = NAN;
    for (size_t m = 0; m < MOMENTS && what == ANTISYMMETRIC; m++)
        for (size_t i = 0; i + 1 < n; i += 2) {
            double *block = sums->moment[m] + i * n + i, half = (block[n] - block[1]) / 2;
            block[0] = block[n + 1] = 0;
            block[n] = half;
            block[1] = -half;
        }
}

void power_tokens_gradient(locus_orthogonal_kind kind, const double *A, const power_tokens *t, double near, extent what,
                           double *G_outer, double *G_A) {
    size_t n = t->n;
    double *G = case_numbers(3 * n * n), *product = G + n * n, *transposed = product + n * n;
    double *work = case_numbers(locus_orthogonal_work(n)), span = farthest(t);
    power_form form = power_form_create(kind, n, A);
    token_sums sums = make_sums(n);
    for (size_t k = 0; k < t->count; k++)
        add_token(&form, t, k, span, &sums);
    restrict_moments(n, what, &sums);
    const locus_power_sums handed = {sums.forward, sums.backward, (const double *const *)sums.moment,
                                     MOMENTS,      span,          near};
    locus_orthogonal_gradient(kind, n, form.theta, form.sigma, form.flip, &handed, G);
    locus_dense_multiply(n, form.U, G, product);
    locus_dense_transpose(n, form.U, transposed);
    locus_dense_multiply(n, product, transposed, G_outer);
    memset(G_A, 0, n * n * sizeof(double));
    assert_int_equal(locus_orthogonal_spread(kind, n, A, G_outer, G_A, work), LOCUS_OK);
    power_form_free(&form);
    free_sums(&sums);
    free(G);
    free(work);
}
