/* SPDX-License-Identifier: MIT */
/* The block form of skew matrices by its laws, exp(S) and the gradient against plain dense oracles: a scaled and
 * squared Taylor series in long double, whose derivative is read off a block matrix (exp [[X, E], [0, X]] has
 * dexp(X)[E] in its corner), and central differences of the loss itself, and SciPy's values
 * (tools/golden_linalg.py). */
#include "io/safetensors.h"
#include "linalg/dense.h"
#include "linalg/orthogonal.h"
#include <locus/random.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const locus_random stream = {.seed = 20, .purpose = LOCUS_RANDOM_USER};
static uint64_t drawn;

static double normal(void) {
    return locus_random_normal(&stream, drawn++);
}

static void *grab(size_t count, size_t size) {
    void *block = calloc(count ? count : 1, size);
    assert_non_null(block);
    return block;
}

static double *numbers(size_t count) {
    return grab(count, sizeof(double));
}

/* exp(S) as generators are made: A − Aᵀ is S for A = S/2. */
static locus_status skew_exp(size_t n, const double *S, double *W) {
    double *A = numbers(n * n), *work = numbers(locus_orthogonal_work(n));
    for (size_t i = 0; i < n * n; i++)
        A[i] = S[i] / 2;
    locus_status status = locus_orthogonal_make(LOCUS_ORTHOGONAL_SKEW, n, A, W, work);
    free(A);
    free(work);
    return status;
}

/* ---- plain dense oracles ---- */

static void multiply(size_t n, const long double *A, const long double *B, long double *C) {
    memset(C, 0, n * n * sizeof *C);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++)
                C[i * n + j] += A[i * n + k] * B[k * n + j];
}

/* exp(X): Taylor series of X / 2^s, squared s times. */
static void dense_exp(size_t n, const long double *X, long double *W) {
    long double largest = 0, *scaled = grab(3 * n * n, sizeof *scaled), *term = scaled + n * n, *next = term + n * n;
    for (size_t i = 0; i < n * n; i++)
        largest = fmaxl(largest, fabsl(X[i]));
    int squarings = 0;
    for (long double size = largest * (long double)n; size > 0.25L; size /= 2)
        squarings++;
    for (size_t i = 0; i < n * n; i++) {
        scaled[i] = ldexpl(X[i], -squarings);
        term[i] = W[i] = i % (n + 1) == 0;
    }
    for (int order = 1; order < 24; order++) {
        multiply(n, term, scaled, next);
        for (size_t i = 0; i < n * n; i++)
            W[i] += term[i] = next[i] / order;
    }
    for (int i = 0; i < squarings; i++) {
        multiply(n, W, W, next);
        memcpy(W, next, n * n * sizeof *W);
    }
    free(scaled);
}

/* ---- matrices with chosen angles ---- */

/* S = V Λ Vᵀ with a random orthogonal V (from the block form of a random matrix). */
static void skew_with_angles(size_t n, const double *theta, double *S) {
    double *random = numbers(n * n), *V = numbers(n * n), *angles = numbers(n), *work = numbers(locus_skew_work(n));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            random[j * n + i] = -(random[i * n + j] = normal());
    assert_int_equal(locus_skew_schur(n, random, V, angles, work), LOCUS_OK);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            double sum = 0;
            for (size_t k = 0; k < n / 2; k++)
                sum += theta[k] * (V[i * n + 2 * k + 1] * V[j * n + 2 * k] - V[i * n + 2 * k] * V[j * n + 2 * k + 1]);
            S[i * n + j] = sum;
            S[j * n + i] = -sum;
        }
    free(random);
    free(V);
    free(angles);
    free(work);
}

/* Angles of several sorts: 0 all different, 1 all equal, 2 all zero, 3 nearly equal (1e-12 … 1e-1), 4 zeros and tiny
 * ones, 5 RoPE's, 6 a random dense matrix instead. */
enum { SORTS = 7 };

static void make_skew(size_t n, int sort, double scale, double *S) {
    double *theta = numbers(n);
    for (size_t i = 0; i < n / 2; i++) {
        const double gaps[] = {1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
        const double all[] = {0.3 + (double)i,
                              0.7,
                              0.0,
                              1.0 + gaps[i % 9] * (i > 0),
                              i % 2 ? 0.0 : pow(10.0, -(double)i),
                              pow(10000.0, -2.0 * (double)i / (double)n),
                              0.0};
        theta[i] = scale * all[sort];
    }
    skew_with_angles(n, theta, S);
    for (size_t i = 0; i < n && sort == 6; i++)
        for (size_t j = 0; j < i; j++)
            S[j * n + i] = -(S[i * n + j] = scale * normal());
    free(theta);
}

static double frobenius(size_t count, const double *x) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum = hypot(sum, x[i]);
    return sum;
}

/* ---- block form ---- */

static double orthogonality_error(size_t n, const double *U) {
    double *error = numbers(n * n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = i == j ? -1.0 : 0.0;
            for (size_t r = 0; r < n; r++)
                sum += U[r * n + i] * U[r * n + j];
            error[i * n + j] = sum;
        }
    double size = frobenius(n * n, error);
    free(error);
    return size;
}

static double reconstruction_error(size_t n, const double *S, const double *U, const double *theta) {
    double *error = numbers(n * n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = S[i * n + j];
            for (size_t k = 0; k < n / 2; k++)
                sum -= theta[k] * (U[i * n + 2 * k + 1] * U[j * n + 2 * k] - U[i * n + 2 * k] * U[j * n + 2 * k + 1]);
            error[i * n + j] = sum;
        }
    double size = frobenius(n * n, error);
    free(error);
    return size;
}

static void check_schur(size_t n, int sort, double scale) {
    double *S = numbers(n * n), *U = numbers(n * n), *theta = numbers(n), *work = numbers(locus_skew_work(n));
    make_skew(n, sort, scale, S);
    assert_int_equal(locus_skew_schur(n, S, U, theta, work), LOCUS_OK);
    for (size_t i = 0; i < n / 2; i++)
        assert_true(theta[i] >= 0.0 && (i == 0 || theta[i] <= theta[i - 1]));
    double lost = orthogonality_error(n, U), rest = reconstruction_error(n, S, U, theta), whole = frobenius(n * n, S);
    if (!(lost <= 1e-13) || !(rest <= 1e-13 * whole))
        fail_msg("n = %zu, sort %d, scale %g: UᵀU − I is %g, S − UΛUᵀ is %g of %g", n, sort, scale, lost, rest, whole);
    free(S);
    free(U);
    free(theta);
    free(work);
}

static void schur_reconstructs_every_sort_of_matrix(void **state) {
    (void)state;
    for (size_t n = 1; n <= 20; n++)
        for (int sort = 0; sort < SORTS; sort++)
            check_schur(n, sort, 1.0);
    const size_t sizes[] = {31, 32, 33, 63, 64, 65, 96, 127, 128};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int sort = 0; sort < SORTS; sort++)
            check_schur(sizes[i], sort, 1.0);
}

static void schur_takes_any_scale(void **state) {
    (void)state;
    const double scales[] = {1e-300, 1e-160, 1e-20, 1e20, 1e150, 1e290};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        for (size_t n = 2; n <= 9; n++)
            for (int sort = 0; sort < SORTS; sort++)
                check_schur(n, sort, scales[i]);
}

/* Elements of very different sizes in one matrix: reflectors of tiny columns must stay orthogonal. */
static void schur_takes_graded_matrices(void **state) {
    (void)state;
    for (size_t n = 3; n <= 12; n++) {
        double *S = numbers(n * n), *U = numbers(n * n), *theta = numbers(n), *work = numbers(locus_skew_work(n));
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++)
                S[j * n + i] = -(S[i * n + j] = normal() * pow(10.0, -37.0 * (double)i));
        assert_int_equal(locus_skew_schur(n, S, U, theta, work), LOCUS_OK);
        assert_true(orthogonality_error(n, U) <= 1e-13);
        assert_true(reconstruction_error(n, S, U, theta) <= 1e-13 * frobenius(n * n, S));
        free(S);
        free(U);
        free(theta);
        free(work);
    }
}

static void schur_finds_known_angles(void **state) {
    (void)state;
    enum { n = 17 };
    double wanted[n / 2], S[n * n], U[n * n], theta[n / 2], *work = numbers(locus_skew_work(n));
    for (size_t i = 0; i < n / 2; i++)
        wanted[i] = i < 2 ? 3.0 : i < 6 ? 1.0 / (double)i : 0.0;
    skew_with_angles(n, wanted, S);
    assert_int_equal(locus_skew_schur(n, S, U, theta, work), LOCUS_OK);
    for (size_t i = 0; i < n / 2; i++)
        assert_true(fabs(theta[i] - wanted[i]) <= 1e-14);
    free(work);
}

static void schur_reads_below_the_diagonal_only(void **state) {
    (void)state;
    enum { n = 6 };
    double S[n * n], T[n * n], U[n * n], V[n * n], theta[n / 2], phi[n / 2], *work = numbers(locus_skew_work(n));
    make_skew(n, 6, 1.0, S);
    memcpy(T, S, sizeof S);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            T[i * n + j] = NAN;
    assert_int_equal(locus_skew_schur(n, S, U, theta, work), LOCUS_OK);
    assert_int_equal(locus_skew_schur(n, T, V, phi, work), LOCUS_OK);
    assert_memory_equal(U, V, sizeof U);
    assert_memory_equal(theta, phi, sizeof theta);
    free(work);
}

static void schur_refuses_what_is_not_finite(void **state) {
    (void)state;
    enum { n = 5 };
    double S[n * n], U[n * n], theta[n / 2], *work = numbers(locus_skew_work(n));
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        make_skew(n, 0, 1.0, S);
        S[3 * n + 1] = bad[i];
        assert_int_equal(locus_skew_schur(n, S, U, theta, work), LOCUS_ERROR_NUMERIC);
        assert_int_equal(skew_exp(n, S, U), LOCUS_ERROR_NUMERIC);
    }
    assert_int_equal(locus_skew_schur((size_t)1 << 40, S, U, theta, work), LOCUS_ERROR_UNSUPPORTED);
    assert_int_equal(locus_skew_schur(0, NULL, NULL, NULL, NULL), LOCUS_OK); /* nothing is touched */
    free(work);
}

/* ---- exponential ---- */

static void exp_agrees_with_the_series(void **state) {
    (void)state;
    const size_t sizes[] = {1, 2, 3, 5, 8, 16, 33};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int sort = 0; sort < SORTS; sort++) {
            size_t n = sizes[s];
            double *S = numbers(n * n), *W = numbers(n * n), worst = 0;
            long double *X = grab(n * n, sizeof *X), *want = grab(n * n, sizeof *want);
            make_skew(n, sort, 1.0, S);
            for (size_t i = 0; i < n * n; i++)
                X[i] = S[i];
            assert_int_equal(skew_exp(n, S, W), LOCUS_OK);
            dense_exp(n, X, want);
            for (size_t i = 0; i < n * n; i++)
                worst = fmax(worst, fabs(W[i] - (double)want[i]));
            if (!(worst <= 1e-13 * (1.0 + frobenius(n * n, S))))
                fail_msg("n = %zu, sort %d: exp is off by %g", n, sort, worst);
            free(S);
            free(W);
            free(X);
            free(want);
        }
}

/* ---- gradient ---- */

typedef struct tokens {
    size_t n, count;
    double *p, *x, *g; /* [count], [count, n], [count, n] */
} tokens;

static tokens make_tokens(size_t n, size_t count, double reach) {
    tokens t = {n, count, numbers(count), numbers(count * n), numbers(count * n)};
    for (size_t i = 0; i < count; i++)
        t.p[i] = i == 0 ? reach : i == 1 ? -reach : i == 2 ? 0.0 : round(reach * normal() / 3.0);
    for (size_t i = 0; i < count * n; i++) {
        t.x[i] = normal();
        t.g[i] = normal();
    }
    return t;
}

static void free_tokens(tokens *t) {
    free(t->p);
    free(t->x);
    free(t->g);
}

static void to_basis(size_t n, const double *U, const double *x, double *y) {
    for (size_t j = 0; j < n; j++) {
        y[j] = 0;
        for (size_t i = 0; i < n; i++)
            y[j] += U[i * n + j] * x[i];
    }
}

static void turn(size_t n, const double *theta, double p, const double *x, double *y) {
    if (n % 2)
        y[n - 1] = x[n - 1];
    for (size_t i = 0; i < n / 2; i++) {
        double c = cos(p * theta[i]), s = sin(p * theta[i]);
        y[2 * i] = c * x[2 * i] - s * x[2 * i + 1];
        y[2 * i + 1] = s * x[2 * i] + c * x[2 * i + 1];
    }
}

/* G = U G Uᵀ; work holds 2n² */
static void map_outer(size_t n, const double *U, double *G, double *work) {
    double *product = work, *transposed = work + n * n;
    locus_dense_multiply(n, U, G, product);
    locus_dense_transpose(n, U, transposed);
    locus_dense_multiply(n, product, transposed, G);
}

static void add_outer(size_t n, double weight, const double *g, const double *x, double *sum) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            sum[i * n + j] += weight * g[i] * x[j];
}

/* The gradient as an encoding computes it: token sums in the basis of U. `diagonal_only` poisons what need not be
 * there. */
static void gradient(const tokens *t, const double *S, double near, size_t count, bool diagonal_only, double *G) {
    size_t n = t->n;
    double *U = numbers(n * n), *theta = numbers(n), *work = numbers(locus_skew_work(n)), *row = numbers(4 * n);
    double *sums = numbers((2 + count) * n * n), *forward = sums, *backward = sums + n * n;
    const double **moments = grab(count, sizeof *moments);
    assert_int_equal(locus_skew_schur(n, S, U, theta, work), LOCUS_OK);
    for (size_t k = 0; k < t->count; k++) {
        double *x = row, *g = row + n, *y = row + 2 * n, *h = row + 3 * n, p = t->p[k];
        to_basis(n, U, t->x + k * n, x);
        to_basis(n, U, t->g + k * n, g);
        turn(n, theta, p, x, y);
        add_outer(n, 1.0, g, y, forward);
        turn(n, theta, -p, g, h);
        add_outer(n, 1.0, h, x, backward);
        turn(n, theta, p / 2, x, y);
        turn(n, theta, -p / 2, g, h);
        for (size_t m = 0; m < count; m++)
            add_outer(n, pow(p, (double)(2 * m + 1)), h, y, sums + (2 + m) * n * n);
    }
    for (size_t m = 0; m < count; m++) {
        moments[m] = sums + (2 + m) * n * n;
        for (size_t i = 0; diagonal_only && i < n * n; i++)
            if (i / n / 2 != i % n / 2)
                sums[(2 + m) * n * n + i] = NAN;
    }
    locus_skew_gradient(n, theta, near, forward, backward, moments, count, G);
    map_outer(n, U, G, work);
    free(U);
    free(theta);
    free(work);
    free(row);
    free(sums);
    free(moments);
}

/* dL/dS of L = Σ gᵀ exp(pS) x: p times the derivative of exp at (pS)ᵀ in the direction g xᵀ. */
static void dense_gradient(const tokens *t, const double *S, double *G) {
    size_t n = t->n, N = 2 * n;
    long double *X = grab(N * N, sizeof *X), *W = grab(N * N, sizeof *W), *sum = grab(n * n, sizeof *sum);
    for (size_t k = 0; k < t->count; k++) {
        memset(X, 0, N * N * sizeof *X);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                X[i * N + j] = X[(n + i) * N + n + j] = (long double)t->p[k] * (long double)S[j * n + i];
                X[i * N + n + j] = (long double)t->g[k * n + i] * (long double)t->x[k * n + j];
            }
        dense_exp(N, X, W);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                sum[i * n + j] += (long double)t->p[k] * W[i * N + n + j];
    }
    for (size_t i = 0; i < n * n; i++)
        G[i] = (double)sum[i];
    free(X);
    free(W);
    free(sum);
}

/* Error bound: rounding of angles (p·θ carries a relative 1e-16), of the quotient (1e-16 / x) and the cut series. The
 * sizes are beside |G| as it would be without cancellation: Σ |p| |g| |x|. */
static double gradient_size(const tokens *t) {
    double sum = 0;
    for (size_t k = 0; k < t->count; k++)
        sum += fabs(t->p[k]) * frobenius(t->n, t->g + k * t->n) * frobenius(t->n, t->x + k * t->n);
    return sum;
}

static void gradient_agrees_with_the_dense_derivative(void **state) {
    (void)state;
    const size_t sizes[] = {1, 2, 3, 5, 8, 16};
    const double reaches[] = {1.0, 7.0, 1000.0};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int sort = 0; sort < SORTS; sort++)
            for (size_t r = 0; r < 3; r++) {
                size_t n = sizes[s], count = 4;
                double *S = numbers(n * n), *G = numbers(n * n), *want = numbers(n * n), worst = 0;
                make_skew(n, sort, 1.0, S);
                tokens t = make_tokens(n, 5, reaches[r]);
                gradient(&t, S, 0.1 / reaches[r], count, false, G);
                dense_gradient(&t, S, want);
                for (size_t i = 0; i < n * n; i++)
                    worst = fmax(worst, fabs(G[i] - want[i]));
                double allowed = 1e-13 * (double)n * (1.0 + reaches[r] * frobenius(n * n, S)) * gradient_size(&t);
                if (!(worst <= allowed + 1e-14))
                    fail_msg("n = %zu, sort %d, reach %g: off by %g, allowed %g", n, sort, reaches[r], worst, allowed);
                free_tokens(&t);
                free(S);
                free(G);
                free(want);
            }
}

/* Where the series and the quotient meet they must agree, so any threshold gives the same gradient. */
static void gradient_does_not_depend_on_the_threshold(void **state) {
    (void)state;
    for (size_t n = 4; n <= 9; n++) {
        double *S = numbers(n * n), *G = numbers(n * n), *want = numbers(n * n);
        make_skew(n, 3, 1.0, S);
        tokens t = make_tokens(n, 6, 20.0);
        dense_gradient(&t, S, want);
        const double thresholds[] = {1e-5, 1e-4, 1e-3, 1e-2, 0.05};
        for (size_t k = 0; k < 5; k++) {
            gradient(&t, S, thresholds[k], 6, false, G);
            double allowed = 1e-13 / (20.0 * thresholds[k]) * gradient_size(&t) + 1e-12 * gradient_size(&t);
            for (size_t i = 0; i < n * n; i++)
                if (!(fabs(G[i] - want[i]) <= allowed))
                    fail_msg("n = %zu, near %g: off by %g, allowed %g", n, thresholds[k], G[i] - want[i], allowed);
        }
        free_tokens(&t);
        free(S);
        free(G);
        free(want);
    }
}

static void gradient_needs_only_diagonal_moments_when_nothing_is_near(void **state) {
    (void)state;
    for (size_t n = 1; n <= 9; n++) {
        double *S = numbers(n * n), *G = numbers(n * n), *want = numbers(n * n);
        make_skew(n, 0, 1.0, S);
        tokens t = make_tokens(n, 4, 5.0);
        gradient(&t, S, 0.01, 2, true, G);
        dense_gradient(&t, S, want);
        for (size_t i = 0; i < n * n; i++)
            assert_true(fabs(G[i] - want[i]) <= 1e-11 * gradient_size(&t));
        free_tokens(&t);
        free(S);
        free(G);
        free(want);
    }
}

static double loss(const tokens *t, const double *S) {
    size_t n = t->n;
    double *scaled = numbers(n * n), *W = numbers(n * n), sum = 0;
    for (size_t k = 0; k < t->count; k++) {
        for (size_t i = 0; i < n * n; i++)
            scaled[i] = t->p[k] * S[i];
        assert_int_equal(skew_exp(n, scaled, W), LOCUS_OK);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                sum += t->g[k * n + i] * W[i * n + j] * t->x[k * n + j];
    }
    free(scaled);
    free(W);
    return sum;
}

/* Skew directions: S moves by h(E_ij − E_ji), so the slope is G_ij − G_ji. The step suits positions up to 7: the cut
 * term is (p h)³/6 of the loss, the rounding 1e-16/(p h); both about 1e-10 of Σ |p| |g| |x| for p h = 1e-5. */
static void gradient_agrees_with_central_differences(void **state) {
    (void)state;
    const size_t sizes[] = {2, 3, 5, 8, 16};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int sort = 0; sort < SORTS; sort++) {
            size_t n = sizes[s];
            double *S = numbers(n * n), *G = numbers(n * n), reach = 7.0, h = 3e-5 / reach;
            make_skew(n, sort, 1.0, S);
            tokens t = make_tokens(n, 4, reach);
            gradient(&t, S, 0.1 / reach, 4, false, G);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < i; j++) {
                    double values[2], old = S[i * n + j];
                    for (int side = 0; side < 2; side++) {
                        S[i * n + j] = old + (side ? h : -h);
                        S[j * n + i] = -S[i * n + j];
                        values[side] = loss(&t, S);
                    }
                    S[i * n + j] = old;
                    S[j * n + i] = -old;
                    double slope = (values[1] - values[0]) / (2 * h), got = G[i * n + j] - G[j * n + i];
                    if (!(fabs(slope - got) <= 2e-9 * gradient_size(&t)))
                        fail_msg("n = %zu, sort %d, (%zu, %zu): slope %.12g, gradient %.12g", n, sort, i, j, slope,
                                 got);
                }
            free_tokens(&t);
            free(S);
            free(G);
        }
}

/* ---- SciPy ---- */

static const double *golden(const lab_safetensors *file, size_t index, const char *key, size_t *extent) {
    char name[64];
    snprintf(name, sizeof name, "%zu.%s", index, key);
    const lab_array *array = lab_safetensors_find(file, name);
    assert_non_null(array);
    assert_int_equal(array->dtype, LAB_F64);
    if (extent)
        *extent = (size_t)array->shape[0];
    return array->data;
}

/* SciPy's own error, in its choice of Padé order and scaling, is about 1e-14 of the norm. */
static void results_agree_with_scipy(void **state) {
    (void)state;
    lab_safetensors file;
    locus_error error = {0};
    if (lab_safetensors_read(&file, LOCUS_SOURCE_DIR "/tests/golden/linalg.safetensors", &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    size_t cases = strtoul(lab_safetensors_metadata(&file, "count"), NULL, 10);
    assert_int_equal(cases, 24);
    for (size_t i = 0; i < cases; i++) {
        size_t n, count;
        const double *S = golden(&file, i, "S", &n), *p = golden(&file, i, "p", &count);
        double *W = numbers(n * n), *G = numbers(n * n);
        tokens t = make_tokens(n, count, 1.0);
        memcpy(t.p, p, count * sizeof *p);
        memcpy(t.x, golden(&file, i, "x", NULL), count * n * sizeof *p);
        memcpy(t.g, golden(&file, i, "g", NULL), count * n * sizeof *p);
        assert_int_equal(skew_exp(n, S, W), LOCUS_OK);
        gradient(&t, S, 0.01, 4, false, G);
        for (size_t k = 0; k < n * n; k++) {
            assert_true(fabs(W[k] - golden(&file, i, "exp", NULL)[k]) <= 1e-13 * (1.0 + frobenius(n * n, S)));
            assert_true(fabs(G[k] - golden(&file, i, "gradient", NULL)[k]) <= 1e-12 * (1.0 + gradient_size(&t)));
        }
        free_tokens(&t);
        free(W);
        free(G);
    }
    lab_safetensors_close(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schur_reconstructs_every_sort_of_matrix),
        cmocka_unit_test(schur_takes_any_scale),
        cmocka_unit_test(schur_takes_graded_matrices),
        cmocka_unit_test(schur_finds_known_angles),
        cmocka_unit_test(schur_reads_below_the_diagonal_only),
        cmocka_unit_test(schur_refuses_what_is_not_finite),
        cmocka_unit_test(exp_agrees_with_the_series),
        cmocka_unit_test(gradient_agrees_with_the_dense_derivative),
        cmocka_unit_test(gradient_does_not_depend_on_the_threshold),
        cmocka_unit_test(gradient_needs_only_diagonal_moments_when_nothing_is_near),
        cmocka_unit_test(gradient_agrees_with_central_differences),
        cmocka_unit_test(results_agree_with_scipy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
