/* SPDX-License-Identifier: MIT */
/* The gradient of Σ_t g_tᵀ W^{p_t} x_t from token sums, against the chain of products written out: dL/dW is Σ_k
 * (Wᵀ)^{p−1−k} g (W^k x)ᵀ over p steps in long double, and against central differences of the loss. */
#include "power_tokens.h"
#include "sanitized.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the chain, step by step ---- */

enum { LARGEST = 64 };

static void step(size_t n, const long double *W, bool transposed, long double *x) {
    long double y[LARGEST];
    assert_true(n <= LARGEST);
    for (size_t i = 0; i < n; i++) {
        y[i] = 0;
        for (size_t j = 0; j < n; j++)
            y[i] += (transposed ? W[j * n + i] : W[i * n + j]) * x[j];
    }
    memcpy(x, y, n * sizeof *x);
}

/* Σ_k (Vᵀ)^{steps−1−k} g (V^k x)ᵀ; g goes back by V, which undoes Vᵀ. */
static void add_chain(size_t n, const long double *V, size_t steps, const double *g, const double *x,
                      long double *sum) {
    long double *left = case_grab(2 * n, sizeof *left), *right = left + n;
    for (size_t i = 0; i < n; i++) {
        left[i] = g[i];
        right[i] = x[i];
    }
    for (size_t k = 1; k < steps; k++)
        step(n, V, true, left);
    for (size_t k = 0; k < steps; k++) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                sum[i * n + j] += left[i] * right[j];
        step(n, V, false, left);
        step(n, V, false, right);
    }
    free(left);
}

/* dL/dW. W^−p = V^p for V = W⁻¹ = Wᵀ, and dV = −V dW V: dL/dW is −W (dL/dV) W. */
static void chain_gradient(const long double *W, const power_tokens *t, double *G) {
    size_t n = t->n;
    long double *V = case_grab(5 * n * n, sizeof *V), *ahead = V + n * n, *back = ahead + n * n;
    long double *product = back + n * n, *whole = product + n * n;
    for (size_t i = 0; i < n * n; i++)
        V[i] = W[i % n * n + i / n];
    for (size_t k = 0; k < t->count; k++) {
        double p = t->p[k];
        add_chain(n, p > 0 ? W : V, (size_t)fabs(p), t->g + k * n, t->x + k * n, p > 0 ? ahead : back);
    }
    dense_multiply_wide(n, W, back, product);
    dense_multiply_wide(n, product, W, whole);
    for (size_t i = 0; i < n * n; i++)
        G[i] = (double)(ahead[i] - whole[i]);
    free(V);
}

/* Rounding of U and θ turns a token by p·1e-16 times a little, beside |p||g||x|; for reflections dL/dA has 1/|v|. */
static void agrees_with_chain(locus_orthogonal_kind kind, int spectrum, size_t n, double reach, size_t count) {
    double *A = case_numbers(n * n), *G = case_numbers(n * n), *G_A = case_numbers(n * n), *want = case_numbers(n * n);
    double *want_A = case_numbers(n * n), *work = case_numbers(locus_orthogonal_work(n)), off = 0, off_A = 0;
    long double *W = case_grab(n * n, sizeof *W);
    case_parameters(kind, spectrum, n, A);
    power_tokens t = power_tokens_create(n, count, reach);
    power_tokens_gradient(kind, A, &t, 0.1, WHOLE, G, G_A);
    oracle_make(kind, n, A, W);
    chain_gradient(W, &t, want);
    assert_int_equal(locus_orthogonal_backward(kind, n, A, want, want_A, work), LOCUS_OK);
    for (size_t i = 0; i < n * n; i++) {
        off = fmax(off, kind == LOCUS_ORTHOGONAL_HOUSEHOLDER ? fabs(G[i] - want[i]) : 0);
        off_A = fmax(off_A, fabs(G_A[i] - want_A[i]));
    }
    double allowed = 1e-15 * (10.0 + reach) * (1.0 + case_size(n * n, A)) * power_tokens_size(&t);
    if (!(off <= allowed) || !(off_A <= 4 * allowed))
        fail_msg("kind %d, spectrum %d, n = %zu, reach %g: off by %g, dL/dA by %g, allowed %g", kind, spectrum, n,
                 reach, off, off_A, allowed);
    power_tokens_free(&t);
    free(A);
    free(G);
    free(G_A);
    free(want);
    free(want_A);
    free(work);
    free(W);
}

static void gradient_agrees_with_the_chain(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int spectrum = 0; spectrum < SPECTRA; spectrum++) {
            for (size_t n = 1; n <= 9; n++) {
                agrees_with_chain((locus_orthogonal_kind)kind, spectrum, n, 3.0, 6);
                agrees_with_chain((locus_orthogonal_kind)kind, spectrum, n, 50.0, 12);
            }
            agrees_with_chain((locus_orthogonal_kind)kind, spectrum, 24, 50.0, 8);
        }
    for (int kind = 0; kind < KINDS; kind++)
        agrees_with_chain((locus_orthogonal_kind)kind, RANDOM, LARGEST, 20.0, 8);
}

/* Under a sanitizer not as far: how many steps there are is the chain's alone. */
static void gradient_agrees_at_far_positions(void **state) {
    const double reach = SANITIZED(5000.0, 100000.0);
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int spectrum = 0; spectrum < SPECTRA; spectrum++)
            agrees_with_chain((locus_orthogonal_kind)kind, spectrum, 3 + (size_t)spectrum % 3, reach, 3);
}

/* ---- the series and the quotient ---- */

/* Where they meet they must agree: any threshold gives the same gradient, up to what the quotient loses. */
static void gradient_does_not_depend_on_the_threshold(void **state) {
    (void)state;
    const double thresholds[] = {1e-4, 1e-3, 1e-2, 0.05, 0.1};
    for (int kind = 0; kind < KINDS; kind++)
        for (int spectrum = 0; spectrum < SPECTRA; spectrum++)
            for (size_t n = 2; n <= 9; n++) {
                double *A = case_numbers(n * n), *G = case_numbers(n * n), *G_A = case_numbers(n * n);
                double *want = case_numbers(n * n);
                case_parameters((locus_orthogonal_kind)kind, spectrum, n, A);
                power_tokens t = power_tokens_create(n, 8, 40.0);
                power_tokens_gradient((locus_orthogonal_kind)kind, A, &t, 0.2, WHOLE, want, G_A);
                for (size_t k = 0; k < 5; k++) {
                    power_tokens_gradient((locus_orthogonal_kind)kind, A, &t, thresholds[k], WHOLE, G, G_A);
                    double allowed = (1e-14 / thresholds[k] + 1e-12) * power_tokens_size(&t);
                    for (size_t i = 0; i < n * n; i++)
                        if (!(fabs(G[i] - want[i]) <= allowed))
                            fail_msg("kind %d, spectrum %d, n = %zu, near %g: off by %g, allowed %g", kind, spectrum, n,
                                     thresholds[k], G[i] - want[i], allowed);
                }
                power_tokens_free(&t);
                free(A);
                free(G);
                free(G_A);
                free(want);
            }
}

/* Nothing near: moments off the diagonal are not read, and symmetric parts of its blocks do not reach dL/dA. */
static void only_the_wedge_of_a_block_with_itself_counts(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t n = 1; n <= 9; n++) {
            double *A = case_numbers(n * n), *G = case_numbers(n * n), *got = case_numbers(n * n);
            double *want = case_numbers(n * n);
            case_parameters((locus_orthogonal_kind)kind, DIFFERENT, n, A);
            power_tokens t = power_tokens_create(n, 7, 9.0);
            power_tokens_gradient((locus_orthogonal_kind)kind, A, &t, 0.1, WHOLE, G, want);
            power_tokens_gradient((locus_orthogonal_kind)kind, A, &t, 0.1, DIAGONAL, G, got);
            for (size_t i = 0; i < n * n; i++)
                assert_true(got[i] == want[i]);
            power_tokens_gradient((locus_orthogonal_kind)kind, A, &t, 0.1, ANTISYMMETRIC, G, got);
            for (size_t i = 0; i < n * n; i++)
                assert_true(fabs(got[i] - want[i]) <= 1e-14 * (1.0 + case_size(n * n, want)));
            power_tokens_free(&t);
            free(A);
            free(G);
            free(got);
            free(want);
        }
}

/* ---- central differences ---- */

static long double loss(locus_orthogonal_kind kind, const double *A, const power_tokens *t) {
    size_t n = t->n;
    long double *W = case_grab(n * n, sizeof *W), *x = case_grab(n, sizeof *x), sum = 0;
    oracle_make(kind, n, A, W);
    for (size_t k = 0; k < t->count; k++) {
        for (size_t i = 0; i < n; i++)
            x[i] = t->x[k * n + i];
        for (size_t s = 0; s < (size_t)fabs(t->p[k]); s++)
            step(n, W, t->p[k] < 0, x);
        for (size_t i = 0; i < n; i++)
            sum += t->g[k * n + i] * x[i];
    }
    free(W);
    free(x);
    return sum;
}

/* In long double a step of 1e-7 loses 1e-19·p/h to rounding, and its cut term is about (4ph/|v|)²/6, with vectors not
 * shorter than 0.3: both below 1e-10. */
static void slopes_agree(locus_orthogonal_kind kind, int spectrum, size_t n) {
    double *A = case_numbers(n * n), *G = case_numbers(n * n), *G_A = case_numbers(n * n), h = 1e-7;
    case_parameters(kind, spectrum, n, A);
    power_tokens t = power_tokens_create(n, 7, 7.0);
    power_tokens_gradient(kind, A, &t, 0.1, WHOLE, G, G_A);
    for (size_t i = 0; i < n * n; i++) {
        double old = A[i];
        long double values[2], places[2];
        for (int side = 0; side < 2; side++) {
            places[side] = A[i] = old + (side ? h : -h);
            values[side] = loss(kind, A, &t);
        }
        A[i] = old;
        double slope = (double)((values[1] - values[0]) / (places[1] - places[0]));
        if (!(fabs(slope - G_A[i]) <= 2e-10 * power_tokens_size(&t)))
            fail_msg("kind %d, spectrum %d, n = %zu, %zu: slope %.12g, gradient %.12g", kind, spectrum, n, i, slope,
                     G_A[i]);
    }
    power_tokens_free(&t);
    free(A);
    free(G);
    free(G_A);
}

static void gradient_agrees_with_central_differences(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int spectrum = 0; spectrum < SPECTRA; spectrum++)
            for (size_t n = 1; n <= 6; n++)
                slopes_agree((locus_orthogonal_kind)kind, spectrum, n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_agrees_with_the_chain),
        cmocka_unit_test(gradient_agrees_at_far_positions),
        cmocka_unit_test(gradient_does_not_depend_on_the_threshold),
        cmocka_unit_test(only_the_wedge_of_a_block_with_itself_counts),
        cmocka_unit_test(gradient_agrees_with_central_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
