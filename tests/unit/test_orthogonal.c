/* SPDX-License-Identifier: MIT */
/* Orthogonal parametrisations by their laws, against oracles in long double, and every backward pass against central
 * differences. */
#include "orthogonal_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const size_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 24, 33, 64};

typedef void check(locus_orthogonal_kind kind, int spectrum, size_t n);

static void for_all(check *law, size_t largest) {
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes && sizes[s] <= largest; s++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int spectrum = 0; spectrum < SPECTRA; spectrum++)
                law((locus_orthogonal_kind)kind, spectrum, sizes[s]);
}

static double largest_difference(size_t count, const double *x, const long double *y) {
    double worst = 0;
    for (size_t i = 0; i < count; i++)
        worst = fmax(worst, fabs((double)(x[i] - y[i])));
    return worst;
}

/* ---- forward ---- */

static void agrees_with_oracle(locus_orthogonal_kind kind, int spectrum, size_t n) {
    double *A = case_numbers(n * n), *W = case_numbers(n * n), *work = case_numbers(locus_orthogonal_work(n));
    long double *want = case_grab(n * n, sizeof *want);
    case_parameters(kind, spectrum, n, A);
    assert_int_equal(locus_orthogonal_make(kind, n, A, W, work), LOCUS_OK);
    oracle_make(kind, n, A, want);
    double off = largest_difference(n * n, W, want), lost = orthogonality_error(n, W);
    if (!(off <= 2e-15 * (1.0 + case_size(n * n, A))) || !(lost <= 1e-13))
        fail_msg("kind %d, spectrum %d, n = %zu: off by %g, WᵀW − I is %g", kind, spectrum, n, off, lost);
    int sign = kind == LOCUS_ORTHOGONAL_HOUSEHOLDER && n % 2 ? -1 : 1;
    assert_int_equal(oracle_determinant_sign(n, W), sign);
    free(A);
    free(W);
    free(work);
    free(want);
}

static void make_agrees_with_the_oracle(void **state) {
    (void)state;
    for_all(agrees_with_oracle, 64);
}

/* W from its block form, the plain way. */
static void block_form(locus_orthogonal_kind kind, size_t n, const double *U, const double *theta, double *W) {
    double last = kind == LOCUS_ORTHOGONAL_HOUSEHOLDER ? -1.0 : 1.0;
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c < n; c++) {
            double sum = n % 2 ? last * U[r * n + n - 1] * U[c * n + n - 1] : 0.0;
            for (size_t i = 0; i < n / 2; i++) {
                double x = U[r * n + 2 * i], y = U[r * n + 2 * i + 1], u = U[c * n + 2 * i], v = U[c * n + 2 * i + 1];
                sum += cos(theta[i]) * (x * u + y * v) + sin(theta[i]) * (y * u - x * v);
            }
            W[r * n + c] = sum;
        }
}

static void returns(locus_orthogonal_kind kind, int spectrum, size_t n) {
    double *A = case_numbers(n * n), *W = case_numbers(n * n), *U = case_numbers(n * n), *want = case_numbers(n * n);
    double *theta = case_numbers(n), *work = case_numbers(locus_orthogonal_work(n)), worst = 0;
    case_basis(n, U);
    case_angles(kind, spectrum == RANDOM ? ZERO : spectrum, n, theta);
    for (size_t i = 0; i < n * n && spectrum == RANDOM; i++) /* the identity itself */
        U[i] = i % (n + 1) == 0;
    assert_int_equal(locus_orthogonal_parameters(kind, n, U, theta, A, work), LOCUS_OK);
    assert_int_equal(locus_orthogonal_make(kind, n, A, W, work), LOCUS_OK);
    block_form(kind, n, U, theta, want);
    for (size_t i = 0; i < n * n; i++)
        worst = fmax(worst, fabs(W[i] - want[i]));
    if (!(worst <= 1e-14 * sqrt((double)n) + 1e-15 * case_size(n * n, A))) /* A's own rounding */
        fail_msg("kind %d, spectrum %d, n = %zu: off by %g", kind, spectrum, n, worst);
    for (size_t i = 0; i < n && kind == LOCUS_ORTHOGONAL_HOUSEHOLDER; i++)
        assert_true(fabs(case_size(n, A + i * n) - 1.0) <= 1e-14);
    for (size_t i = 0; i < n * n && kind != LOCUS_ORTHOGONAL_HOUSEHOLDER; i++) /* skew, in the diagonal too */
        assert_true(fabs(A[i] + A[i % n * n + i / n]) <= 1e-15 * (1 + case_size(n * n, A)));
    free(A);
    free(W);
    free(U);
    free(want);
    free(theta);
    free(work);
}

static void parameters_make_the_matrix_they_were_asked_for(void **state) {
    (void)state;
    for_all(returns, 64);
}

/* Only directions of reflection vectors count, over the whole range of numbers. */
static void reflections_take_any_scale(void **state) {
    (void)state;
    enum { n = 5 };
    const double scales[] = {1e-300, 1e-160, 1e-20, 1e150, 1e300};
    double A[n * n], B[n * n], W[n * n], V[n * n], *work = case_numbers(locus_orthogonal_work(n));
    case_parameters(LOCUS_ORTHOGONAL_HOUSEHOLDER, RANDOM, n, A);
    assert_int_equal(locus_orthogonal_make(LOCUS_ORTHOGONAL_HOUSEHOLDER, n, A, W, work), LOCUS_OK);
    for (size_t s = 0; s < 5; s++) {
        for (size_t i = 0; i < n * n; i++)
            B[i] = A[i] * (i / n == s ? scales[s] : 1.0);
        assert_int_equal(locus_orthogonal_make(LOCUS_ORTHOGONAL_HOUSEHOLDER, n, B, V, work), LOCUS_OK);
        for (size_t i = 0; i < n * n; i++)
            assert_true(fabs(V[i] - W[i]) <= 1e-15);
    }
    free(work);
}

/* ---- backward ---- */

/* L = Σ C∘W, in long double. */
static long double loss(locus_orthogonal_kind kind, size_t n, const double *A, const double *C) {
    long double *W = case_grab(n * n, sizeof *W), sum = 0;
    oracle_make(kind, n, A, W);
    for (size_t i = 0; i < n * n; i++)
        sum += W[i] * C[i];
    free(W);
    return sum;
}

/* A moved by ±1e-7 along `direction`, as far as doubles go: the slope that L shows minus the one that G says, over what
 * was really moved. */
static double slope_error(size_t n, locus_orthogonal_kind kind, const double *A, const double *C, const double *G,
                          const double *direction) {
    double *moved = case_numbers(2 * n * n), *low = moved, *high = moved + n * n, step = 1e-7;
    long double said = 0;
    for (size_t i = 0; i < n * n; i++) {
        low[i] = A[i] - step * direction[i];
        high[i] = A[i] + step * direction[i];
        said += ((long double)high[i] - low[i]) * G[i];
    }
    long double shown = loss(kind, n, high, C) - loss(kind, n, low, C);
    free(moved);
    return (double)((shown - said) / (2 * (long double)step));
}

/* In long double rounding is 1e-19·|A|/h (Cayley's S may be in the thousands); the cut term is about (4h/|v|)²/6 with
 * vectors not shorter than 0.1. One direction for each element where that is quick, else one at random. G_A starts from
 * 1. */
static void backward_agrees(locus_orthogonal_kind kind, int spectrum, size_t n) {
    double *A = case_numbers(n * n), *C = case_numbers(n * n), *G = case_numbers(n * n);
    double *direction = case_numbers(n * n), *work = case_numbers(locus_orthogonal_work(n));
    case_parameters(kind, spectrum, n, A);
    for (size_t i = 0; i < n * n; i++) {
        C[i] = case_normal();
        G[i] = 1.0;
    }
    assert_int_equal(locus_orthogonal_backward(kind, n, A, C, G, work), LOCUS_OK);
    size_t count = n <= 9 ? n * n : 1;
    for (size_t i = 0; i < n * n; i++)
        G[i] -= 1.0;
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < n * n; i++)
            direction[i] = count == 1 ? case_normal() / (double)n : i == k;
        double error = slope_error(n, kind, A, C, G, direction);
        if (!(fabs(error) <= (1e-10 + 2e-13 * case_size(n * n, A)) * (1.0 + case_size(n * n, C))))
            fail_msg("kind %d, spectrum %d, n = %zu, direction %zu: slope is off by %g", kind, spectrum, n, k, error);
    }
    free(A);
    free(C);
    free(G);
    free(direction);
    free(work);
}

static void backward_agrees_with_central_differences(void **state) {
    (void)state;
    for_all(backward_agrees, 24);
    for (int kind = 0; kind < KINDS; kind++)
        backward_agrees((locus_orthogonal_kind)kind, RANDOM, 64);
}

/* exp [[Sᵀ, G], [0, Sᵀ]] has the adjoint derivative in its corner. */
static void exp_backward_agrees(size_t n, int spectrum) {
    size_t N = 2 * n;
    double *A = case_numbers(n * n), *G = case_numbers(n * n), *got = case_numbers(n * n);
    double *work = case_numbers(locus_orthogonal_work(n));
    long double *X = case_grab(N * N, sizeof *X), *W = case_grab(N * N, sizeof *W);
    case_parameters(LOCUS_ORTHOGONAL_SKEW, spectrum, n, A);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            G[i * n + j] = case_normal();
            X[i * N + j] = X[(n + i) * N + n + j] = (long double)A[j * n + i] - A[i * n + j];
            X[i * N + n + j] = G[i * n + j];
        }
    oracle_exp(N, X, W);
    power_form form = power_form_create(LOCUS_ORTHOGONAL_SKEW, n, A);
    locus_skew_exp_backward(n, form.U, form.theta, G, got, work);
    locus_skew_exp_backward(n, form.U, form.theta, G, G, work);
    assert_memory_equal(G, got, n * n * sizeof *G);
    for (size_t i = 0; i < n * n; i++) {
        double off = fabs(got[i] - (double)W[i / n * N + n + i % n]);
        if (!(off <= 1e-14 * (double)n * (1.0 + case_size(n * n, A))))
            fail_msg("spectrum %d, n = %zu: off by %g", spectrum, n, off);
    }
    power_form_free(&form);
    free(A);
    free(G);
    free(got);
    free(work);
    free(X);
    free(W);
}

static void exp_backward_agrees_with_the_dense_derivative(void **state) {
    (void)state;
    for (size_t n = 1; n <= 9; n++)
        for (int spectrum = 0; spectrum < SPECTRA; spectrum++)
            exp_backward_agrees(n, spectrum);
    exp_backward_agrees(24, RANDOM);
}

static void spread_is_backward_without_the_map(void **state) {
    (void)state;
    enum { n = 7 };
    double A[n * n], G[n * n], got[n * n], want[n * n], *work = case_numbers(locus_orthogonal_work(n));
    case_parameters(LOCUS_ORTHOGONAL_HOUSEHOLDER, RANDOM, n, A);
    for (size_t i = 0; i < n * n; i++) {
        G[i] = case_normal();
        got[i] = want[i] = case_normal();
    }
    assert_int_equal(locus_orthogonal_spread(LOCUS_ORTHOGONAL_HOUSEHOLDER, n, A, G, got, work), LOCUS_OK);
    assert_int_equal(locus_orthogonal_backward(LOCUS_ORTHOGONAL_HOUSEHOLDER, n, A, G, want, work), LOCUS_OK);
    assert_memory_equal(got, want, sizeof got);
    for (int kind = 0; kind < LOCUS_ORTHOGONAL_HOUSEHOLDER; kind++) {
        memset(got, 0, sizeof got);
        assert_int_equal(locus_orthogonal_spread((locus_orthogonal_kind)kind, n, A, G, got, work), LOCUS_OK);
        for (size_t i = 0; i < n * n; i++)
            assert_true(got[i] == G[i] - G[i % n * n + i / n]);
    }
    free(work);
}

/* ---- powers ---- */

static void check_form(locus_orthogonal_kind kind, int spectrum, const power_form *form) {
    size_t n = form->n, pairs = n / 2, cut = form->flip / 2;
    double lost = orthogonality_error(n, form->U);
    if (!(lost <= 1e-13))
        fail_msg("kind %d, spectrum %d, n = %zu: UᵀU − I is %g", kind, spectrum, n, lost);
    assert_true(form->flip == n || form->flip % 2 == 0);
    assert_true(form->flip <= n && (kind == LOCUS_ORTHOGONAL_HOUSEHOLDER || form->flip == n));
    assert_true(kind != LOCUS_ORTHOGONAL_HOUSEHOLDER || n % 2 == 0 || form->flip < n);
    for (size_t i = 0; i < pairs; i++) {
        assert_true(form->theta[i] >= 0.0 && (i == 0 || i == cut || form->theta[i] <= form->theta[i - 1]));
        assert_true(kind != LOCUS_ORTHOGONAL_HOUSEHOLDER || form->theta[i] <= 2.356194490192345);
        assert_true(kind != LOCUS_ORTHOGONAL_CAYLEY || form->theta[i] == 2 * atan(form->sigma[i]));
        assert_true(kind == LOCUS_ORTHOGONAL_CAYLEY || form->theta[i] == form->sigma[i]);
    }
    for (size_t i = 0; i < cut && form->flip < n; i++) /* parts are never near, on either side of the circle */
        for (size_t j = cut; j < (n + 1) / 2; j++) {
            double other = j < pairs ? form->theta[j] : 0.0;
            assert_true(3.141592653589793 - other - form->theta[i] >= 1.5 / (double)(n / 2 + 1));
        }
}

/* U R(p) Uᵀ */
static void form_power(const power_form *form, double p, double *W) {
    size_t n = form->n;
    double *row = case_numbers(2 * n), *turned = row + n;
    for (size_t c = 0; c < n; c++) {
        power_form_turn(form, p, form->U + c * n, turned);
        for (size_t r = 0; r < n; r++) {
            W[r * n + c] = 0;
            for (size_t k = 0; k < n; k++)
                W[r * n + c] += form->U[r * n + k] * turned[k];
        }
    }
    free(row);
}

static void powers_agree(locus_orthogonal_kind kind, int spectrum, size_t n) {
    double *A = case_numbers(n * n), *W = case_numbers(n * n);
    long double *V = case_grab(3 * n * n, sizeof *V), *power = V + n * n, *next = power + n * n;
    case_parameters(kind, spectrum, n, A);
    oracle_make(kind, n, A, V);
    power_form form = power_form_create(kind, n, A);
    check_form(kind, spectrum, &form);
    for (size_t i = 0; i < n * n; i++)
        power[i] = i % (n + 1) == 0;
    for (int p = 0; p <= 7; p++) {
        form_power(&form, p, W);
        double off = largest_difference(n * n, W, power);
        form_power(&form, -p, W);
        for (size_t i = 0; i < n * n; i++) /* W^−p is the transpose */
            off = fmax(off, fabs(W[i] - (double)power[i % n * n + i / n]));
        if (!(off <= 5e-15 * (double)(1 + p) * (1.0 + case_size(n * n, A))))
            fail_msg("kind %d, spectrum %d, n = %zu, power %d: off by %g", kind, spectrum, n, p, off);
        dense_multiply_wide(n, power, V, next);
        memcpy(power, next, n * n * sizeof *V);
    }
    power_form_free(&form);
    free(A);
    free(W);
    free(V);
}

static void block_forms_reproduce_powers(void **state) {
    (void)state;
    for_all(powers_agree, 64);
}

/* Every multiplicity of 1 and −1, with and without other eigenvalues. */
static void reflections_with_any_number_of_ones(void **state) {
    (void)state;
    for (size_t n = 1; n <= 9; n++)
        for (size_t ones = 0; ones <= n / 2; ones++)
            for (size_t minus = 0; ones + minus <= n / 2; minus++) {
                double *U = case_numbers(n * n), *theta = case_numbers(n), *A = case_numbers(n * n);
                double *work = case_numbers(locus_orthogonal_work(n));
                case_basis(n, U);
                for (size_t i = 0; i < n / 2; i++)
                    theta[i] = i < ones ? 0.0 : i < ones + minus ? 3.141592653589793 : 0.4 * (double)(i + 1);
                assert_int_equal(locus_orthogonal_parameters(LOCUS_ORTHOGONAL_HOUSEHOLDER, n, U, theta, A, work),
                                 LOCUS_OK);
                power_form form = power_form_create(LOCUS_ORTHOGONAL_HOUSEHOLDER, n, A);
                check_form(LOCUS_ORTHOGONAL_HOUSEHOLDER, -1, &form);
                size_t zeros[2] = {0, 0};
                for (size_t i = 0; i < n / 2; i++)
                    zeros[2 * i >= form.flip] += form.theta[i] <= 1e-14;
                assert_int_equal(zeros[0], ones);
                assert_int_equal(zeros[1], minus);
                power_form_free(&form);
                free(U);
                free(theta);
                free(A);
                free(work);
            }
}

/* ---- refusals ---- */

static void what_has_no_matrix_is_refused(void **state) {
    (void)state;
    enum { n = 4 };
    double A[n * n], B[n * n], U[n * n], theta[n / 2], sigma[n / 2], *work = case_numbers(locus_orthogonal_work(n));
    const double bad[] = {NAN, INFINITY, -INFINITY};
    size_t flip;
    for (int k = 0; k < KINDS; k++) {
        locus_orthogonal_kind kind = (locus_orthogonal_kind)k;
        for (size_t place = 0; place < n * n; place++)
            for (size_t i = 0; i < 3; i++) {
                case_parameters(kind, DIFFERENT, n, A);
                A[place] = bad[i];
                assert_int_equal(locus_orthogonal_make(kind, n, A, U, work), LOCUS_ERROR_NUMERIC);
                assert_int_equal(locus_orthogonal_backward(kind, n, A, U, B, work), LOCUS_ERROR_NUMERIC);
                assert_int_equal(locus_orthogonal_powers(kind, n, A, U, theta, sigma, &flip, work),
                                 LOCUS_ERROR_NUMERIC);
            }
        size_t many = (size_t)1 << 40;
        assert_int_equal(locus_orthogonal_powers(kind, many, A, U, theta, sigma, &flip, work), LOCUS_ERROR_UNSUPPORTED);
        assert_int_equal(locus_orthogonal_powers(kind, 0, A, U, theta, sigma, &flip, work), LOCUS_OK);
        assert_int_equal(flip, 0);
        case_basis(n, U);
        theta[0] = 1.0;
        theta[1] = NAN;
        assert_int_equal(locus_orthogonal_parameters(kind, n, U, theta, A, work), LOCUS_ERROR_NUMERIC);
    }
    case_parameters(LOCUS_ORTHOGONAL_HOUSEHOLDER, RANDOM, n, A);
    memset(A + n, 0, n * sizeof *A);
    assert_int_equal(locus_orthogonal_make(LOCUS_ORTHOGONAL_HOUSEHOLDER, n, A, U, work), LOCUS_ERROR_NUMERIC);
    assert_int_equal(locus_orthogonal_spread(LOCUS_ORTHOGONAL_HOUSEHOLDER, n, A, U, B, work), LOCUS_ERROR_NUMERIC);
    theta[1] = 3.141592653589793;
    assert_int_equal(locus_orthogonal_parameters(LOCUS_ORTHOGONAL_CAYLEY, n, U, theta, A, work), LOCUS_ERROR_NUMERIC);
    free(work);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(make_agrees_with_the_oracle),
        cmocka_unit_test(parameters_make_the_matrix_they_were_asked_for),
        cmocka_unit_test(reflections_take_any_scale),
        cmocka_unit_test(backward_agrees_with_central_differences),
        cmocka_unit_test(exp_backward_agrees_with_the_dense_derivative),
        cmocka_unit_test(spread_is_backward_without_the_map),
        cmocka_unit_test(block_forms_reproduce_powers),
        cmocka_unit_test(reflections_with_any_number_of_ones),
        cmocka_unit_test(what_has_no_matrix_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
