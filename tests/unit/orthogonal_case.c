/* SPDX-License-Identifier: MIT */
/* Draws parameters with wanted bases and angles; the oracles, written plainly. */
#include "orthogonal_case.h"

#include <locus/random.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PI 3.14159265358979323846

static const locus_random stream = {.seed = 33, .purpose = LOCUS_RANDOM_USER};
static uint64_t drawn;

double case_normal(void) {
    return locus_random_normal(&stream, drawn++);
}

void *case_grab(size_t count, size_t size) {
    void *block = calloc(count ? count : 1, size);
    assert_non_null(block);
    return block;
}

double *case_numbers(size_t count) {
    return case_grab(count, sizeof(double));
}

double case_size(size_t count, const double *x) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum = hypot(sum, x[i]);
    return sum;
}

/* ---- cases ---- */

/* Gram and Schmidt, twice; the first row's sign makes the determinant positive. */
void case_basis(size_t n, double *W) {
    for (size_t i = 0; i < n; i++) {
        double *row = W + i * n;
        for (size_t j = 0; j < n; j++)
            row[j] = case_normal();
        for (int pass = 0; pass < 2; pass++) {
            for (size_t k = 0; k < i; k++) {
                double sum = 0;
                for (size_t j = 0; j < n; j++)
                    sum += W[k * n + j] * row[j];
                for (size_t j = 0; j < n; j++)
                    row[j] -= sum * W[k * n + j];
            }
            double size = case_size(n, row);
            for (size_t j = 0; j < n; j++)
                row[j] /= size;
        }
    }
    double sign = oracle_determinant_sign(n, W);
    for (size_t j = 0; j < n; j++)
        W[j] *= sign;
}

void case_angles(locus_orthogonal_kind kind, int spectrum, size_t n, double *theta) {
    const double gaps[] = {1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
    const double most = kind == LOCUS_ORTHOGONAL_CAYLEY ? PI - 1e-3 : PI;
    for (size_t i = 0; i < n / 2; i++) {
        double gap = gaps[i % 9], place = (double)i / (double)(n / 2);
        const double all[SPECTRA] = {
            [DIFFERENT] = 0.2 + 2.7 * place + 0.1 * place * place,
            [EQUAL] = 0.7,
            [NEARLY_EQUAL] = 1.1 + gap * (i > 0),
            [NEAR_ZERO] = i % 2 ? gap : 0.0,
            [NEAR_PI] = i % 3 == 1 ? most : most - gap,
            [ZERO_AND_PI] = i % 2 ? most : 0.0,
            [NEAR_QUARTER] = PI / 2 + (i % 2 ? gap : -gap),
            [ROPE] = pow(10000.0, -2.0 * (double)i / (double)n),
            [EVEN] = most * (1.0 - place),
        };
        theta[i] = all[spectrum];
    }
}

static void blur(locus_orthogonal_kind kind, size_t n, double *A) {
    for (size_t i = 0; i < n; i++) {
        double length = (i % 2 ? -1.0 : 1.0) * (0.3 + fabs(case_normal()));
        for (size_t j = 0; j <= i; j++) {
            double noise = case_normal();
            if (kind == LOCUS_ORTHOGONAL_HOUSEHOLDER)
                continue;
            A[i * n + j] += noise;
            A[j * n + i] += i == j ? 0.0 : noise;
        }
        for (size_t j = 0; j < n && kind == LOCUS_ORTHOGONAL_HOUSEHOLDER; j++)
            A[i * n + j] *= length;
    }
}

void case_parameters(locus_orthogonal_kind kind, int spectrum, size_t n, double *A) {
    if (spectrum == RANDOM) {
        for (size_t i = 0; i < n * n; i++)
            A[i] = case_normal() / sqrt((double)n);
        return;
    }
    double *U = case_numbers(n * n), *theta = case_numbers(n), *work = case_numbers(locus_orthogonal_work(n));
    case_basis(n, U);
    case_angles(kind, spectrum, n, theta);
    assert_int_equal(locus_orthogonal_parameters(kind, n, U, theta, A, work), LOCUS_OK);
    blur(kind, n, A);
    free(U);
    free(theta);
    free(work);
}

/* ---- oracles ---- */

/* Taylor series of X / 2^s, squared s times. */
void oracle_exp(size_t n, const long double *X, long double *W) {
    long double largest = 0, *scaled = case_grab(3 * n * n, sizeof *scaled), *term = scaled + n * n,
                *next = term + n * n;
    int squarings = 0;
    for (size_t i = 0; i < n * n; i++)
        largest = fmaxl(largest, fabsl(X[i]));
    for (long double size = largest * (long double)n; size > 0.25L; size /= 2)
        squarings++;
    for (size_t i = 0; i < n * n; i++) {
        scaled[i] = ldexpl(X[i], -squarings);
        term[i] = W[i] = i % (n + 1) == 0;
    }
    for (int order = 1; order < 24; order++) {
        dense_multiply_wide(n, term, scaled, next);
        for (size_t i = 0; i < n * n; i++)
            W[i] += term[i] = next[i] / order;
    }
    for (int i = 0; i < squarings; i++) {
        dense_multiply_wide(n, W, W, next);
        memcpy(W, next, n * n * sizeof *W);
    }
    free(scaled);
}

/* B ← M⁻¹ B, Gauss and Jordan with row pivots; M is used up. Returns the sign of det M. */
static int solve(size_t n, long double *M, long double *B) {
    int sign = 1;
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < n; i++)
            pivot = fabsl(M[i * n + k]) > fabsl(M[pivot * n + k]) ? i : pivot;
        for (size_t j = 0; j < n && pivot != k; j++) {
            long double m = M[k * n + j], b = B[k * n + j];
            M[k * n + j] = M[pivot * n + j];
            M[pivot * n + j] = m;
            B[k * n + j] = B[pivot * n + j];
            B[pivot * n + j] = b;
        }
        long double scale = 1 / M[k * n + k];
        sign *= (pivot == k ? 1 : -1) * (scale < 0 ? -1 : 1);
        for (size_t j = 0; j < n; j++) {
            M[k * n + j] *= scale;
            B[k * n + j] *= scale;
        }
        for (size_t i = 0; i < n; i++) {
            long double factor = i == k ? 0 : M[i * n + k];
            for (size_t j = 0; j < n; j++) {
                M[i * n + j] -= factor * M[k * n + j];
                B[i * n + j] -= factor * B[k * n + j];
            }
        }
    }
    return sign;
}

int oracle_determinant_sign(size_t n, const double *W) {
    long double *M = case_grab(2 * n * n, sizeof *M);
    for (size_t i = 0; i < n * n; i++)
        M[i] = W[i];
    int sign = solve(n, M, M + n * n);
    free(M);
    return sign;
}

/* W ← W − 2 (W v) vᵀ / |v|², for each row v of A. */
static void oracle_reflections(size_t n, const double *A, long double *W) {
    for (size_t i = 0; i < n * n; i++)
        W[i] = i % (n + 1) == 0;
    for (const double *v = A; v < A + n * n; v += n) {
        long double square = 0;
        for (size_t i = 0; i < n; i++)
            square += (long double)v[i] * v[i];
        for (long double *row = W; row < W + n * n; row += n) {
            long double along = 0;
            for (size_t j = 0; j < n; j++)
                along += row[j] * v[j];
            for (size_t j = 0; j < n; j++)
                row[j] -= 2 * along * v[j] / square;
        }
    }
}

void oracle_make(locus_orthogonal_kind kind, size_t n, const double *A, long double *W) {
    if (kind == LOCUS_ORTHOGONAL_HOUSEHOLDER) {
        oracle_reflections(n, A, W);
        return;
    }
    long double *M = case_grab(n * n, sizeof *M);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            long double s = (long double)A[i * n + j] - A[j * n + i];
            M[i * n + j] = kind == LOCUS_ORTHOGONAL_SKEW ? s : (i == j) - s;
            W[i * n + j] = (i == j) + s;
        }
    if (kind == LOCUS_ORTHOGONAL_SKEW)
        oracle_exp(n, M, W);
    else
        (void)solve(n, M, W);
    free(M);
}

double orthogonality_error(size_t n, const double *U) {
    double *error = case_numbers(n * n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = i == j ? -1.0 : 0.0;
            for (size_t r = 0; r < n; r++)
                sum += U[r * n + i] * U[r * n + j];
            error[i * n + j] = sum;
        }
    double size = case_size(n * n, error);
    free(error);
    return size;
}

/* ---- block forms ---- */

power_form power_form_create(locus_orthogonal_kind kind, size_t n, const double *A) {
    power_form form = {n, 0, case_numbers(n * n), case_numbers(n / 2), case_numbers(n / 2)};
    double *work = case_numbers(locus_orthogonal_work(n));
    assert_int_equal(locus_orthogonal_powers(kind, n, A, form.U, form.theta, form.sigma, &form.flip, work), LOCUS_OK);
    free(work);
    return form;
}

void power_form_free(power_form *form) {
    free(form->U);
    free(form->theta);
    free(form->sigma);
}

double power_form_sign(const power_form *form, double p, size_t coordinate) {
    return coordinate >= form->flip && fmod(fabs(p), 2.0) == 1.0 ? -1.0 : 1.0;
}

static void turn(const power_form *form, double times, const double *x, double *y) {
    size_t n = form->n;
    if (n % 2)
        y[n - 1] = x[n - 1];
    for (size_t i = 0; i < n / 2; i++) {
        double c = cos(times * form->theta[i]), s = sin(times * form->theta[i]);
        y[2 * i] = c * x[2 * i] - s * x[2 * i + 1];
        y[2 * i + 1] = s * x[2 * i] + c * x[2 * i + 1];
    }
}

void power_form_turn(const power_form *form, double p, const double *x, double *y) {
    turn(form, p, x, y);
    for (size_t i = 0; i < form->n; i++)
        y[i] *= power_form_sign(form, p, i);
}

void power_form_half_turn(const power_form *form, double p, const double *x, double *y) {
    turn(form, p / 2, x, y);
}
