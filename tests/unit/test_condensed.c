/* SPDX-License-Identifier: MIT */
/* Singular values and eigenvalues of condensed forms, and of whole symmetric matrices, by their laws (what is put
 * together again, orthogonality), against LAPACK, and against Sturm's counts in long double, which know every singular
 * value of a bidiagonal matrix relative to itself. Matrices are those that break such programs: clusters, zeros,
 * gradings over 200 powers of ten, values that are all equal, Wilkinson's, numbers that are not finite. */
#include "linalg/condensed.h"
#include "linalg/dense.h"
#include "linalg/linalg.h"
#include "sanitized.h"

#include <lapacke.h>
#include <locus/random.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EPSILON 2.220446049250313e-16

static const locus_random stream = {.seed = 31, .purpose = LOCUS_RANDOM_USER};
static uint64_t drawn;

static double normal(void) {
    return locus_random_normal(&stream, drawn++);
}

static double uniform(void) {
    return locus_random_uniform(&stream, drawn++);
}

/* On a line of the cache, as rows are. */
static double *numbers(size_t count) {
    const size_t bytes = (count * sizeof(double) / 64 + 1) * 64;
    double *block = aligned_alloc(64, bytes);
    assert_non_null(block);
    memset(block, 0, bytes);
    return block;
}

static double *copy_of(size_t count, const double *x) {
    double *copy = numbers(count);
    memcpy(copy, x, count * sizeof *x);
    return copy;
}

/* ---- padded rows ---- */

static double *identity(size_t n) {
    double *rows = numbers(locus_padded_size(n));
    for (size_t i = 0; i < n; i++)
        rows[i * (locus_padded_stride(n) + 1)] = 1.0;
    return rows;
}

static locus_rows rows_of(size_t n, double *matrix) {
    return (locus_rows){matrix, (ptrdiff_t)locus_padded_stride(n), locus_padded_width(n)};
}

/* |R Rᵀ − I| */
static double orthogonality_error(size_t n, const double *R) {
    const size_t stride = locus_padded_stride(n);
    double square = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = i == j ? -1.0 : 0.0;
            for (size_t k = 0; k < n; k++)
                sum += R[i * stride + k] * R[j * stride + k];
            square += sum * sum;
        }
    return sqrt(square);
}

/* |T − Lᵀ diag(values) R| where T has d on its diagonal, above beside it on the right and below on the left */
static double rest_of(size_t n, const double *L, const double *values, const double *R, const double *d,
                      const double *above, const double *below) {
    const size_t stride = locus_padded_stride(n);
    double square = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = i == j ? d[i] : j == i + 1 ? above[i] : below && i == j + 1 ? below[j] : 0.0;
            for (size_t k = 0; k < n; k++)
                sum -= values[k] * L[k * stride + i] * R[k * stride + j];
            square = hypot(square, sum);
        }
    return square;
}

static int rising(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- bidiagonal ---- */

/* Singular values below x, by the differential form of Sturm's count for BᵀB − x². */
static size_t count_below(size_t m, const double *d, const double *f, long double x) {
    long double t = -x * x;
    size_t below = 0;
    if (x == 0)
        return 0;
    for (size_t i = 0; i < m; i++) {
        long double q = (long double)d[i] * d[i] + t;
        if (q == 0)
            q = -1e-4900L;
        below += q < 0;
        if (i + 1 < m)
            t = (long double)f[i] * f[i] * (t / q) - x * x;
    }
    return below;
}

enum { BIDIAGONALS = 18 };

static void make_bidiagonal(int sort, size_t m, double *d, double *f) {
    for (size_t i = 0; i < m; i++) {
        const double a = normal(), b = normal(), up = (double)i, down = (double)m - up;
        const double small = pow(10, -200 * uniform()), other = pow(10, -200 * uniform());
        const double two[BIDIAGONALS][2] = {
            {a, b},
            {1, 1},                                 /* no two alike, the least near 1/m */
            {1, 1e8},                               /* the least near 1e-8m */
            {1, 1e-8},                              /* one cluster */
            {pow(10, -up), pow(10, -up)},           /* graded */
            {pow(10, -down), pow(10, -down) * b},   /* the other way */
            {small, other},                         /* everything at once */
            {i % 3 ? a : 0, b},                     /* zeros on the diagonal */
            {0, b},                                 /* nothing else */
            {i + 1 == m ? 0 : 1, 1},                /* singular at one end */
            {i == 0 ? 0 : 1, 1},                    /* at the other */
            {a, 0},                                 /* diagonal */
            {i < m / 2 ? a : 1e-17 * a, 1e-17 * b}, /* what is left of many equal angles */
            {uniform() < 0.5 ? 1 : 1e-17 * a, b},   /* half of it noise */
            {pow(2, -8 * (double)(i % 7)), 1},      /* saw teeth */
            {1e-150 * a, 1e-150 * b},               /* squares are too small */
            {1e140 * a, 1e140 * b},                 /* or too large */
            {-1, i % 2 ? -1 : 1},                   /* signs */
        };
        d[i] = two[sort][0];
        f[i] = two[sort][1];
    }
}

/* Every value against the counts: value i is the i-th. Returns how far off the worst is, relative to itself. */
static void check_counts(size_t m, const double *d, const double *f, const double *values, int sort) {
    const long double slack = 40 * EPSILON * (long double)m;
    double *sorted = copy_of(m, values);
    qsort(sorted, m, sizeof *sorted, rising);
    for (size_t i = 0; i < m; i++) {
        const size_t before = count_below(m, d, f, sorted[i] * (1 - slack));
        const size_t upto = count_below(m, d, f, sorted[i] * (1 + slack) + 1e-290L);
        if (!(before <= i && i < upto))
            fail_msg("m = %zu, sort %d: value %zu is not %.17g: %zu below, %zu up to it", m, sort, i, sorted[i], before,
                     upto);
    }
    free(sorted);
}

static bool singular_values(size_t m, double *d, double *f, double floor, const locus_rows *left,
                            const locus_rows *right) {
    const locus_bidiagonal B = {m, d, f, floor};
    return locus_bidiagonal_values(&B, left, right);
}

/* `floored`: small values need not be exact relative to themselves. */
static void check_bidiagonal(size_t m, int sort, bool floored) {
    double *d = numbers(m), *f = numbers(m), *X = identity(m), *Y = identity(m);
    make_bidiagonal(sort, m, d, f);
    double *values = copy_of(m, d), *beside = copy_of(m, f), largest = 0, floor = 0;
    for (size_t i = 0; i < m && floored; i++)
        floor = fmax(floor, fmax(fabs(d[i]), i + 1 < m ? fabs(f[i]) : 0));
    const locus_rows left = rows_of(m, X), right = rows_of(m, Y);
    assert_true(singular_values(m, values, beside, floor, &left, &right));
    for (size_t i = 0; i < m; i++) {
        assert_true(values[i] >= 0 && !signbit(values[i]));
        largest = fmax(largest, values[i]);
    }
    const double lost = fmax(orthogonality_error(m, X), orthogonality_error(m, Y));
    const double rest = rest_of(m, X, values, Y, d, f, NULL), allowed = 8 * EPSILON * (double)m;
    if (!(lost <= allowed) || !(rest <= allowed * largest))
        fail_msg("m = %zu, sort %d: rotations are off by %g, the matrix by %g of %g", m, sort, lost, rest, largest);
    if (!floored)
        check_counts(m, d, f, values, sort);
    free(d);
    free(f);
    free(X);
    free(Y);
    free(values);
    free(beside);
}

static void check_bidiagonals(bool floored) {
    for (int sort = 0; sort < BIDIAGONALS; sort++) {
        for (size_t m = 1; m <= 20; m++)
            check_bidiagonal(m, sort, floored);
        check_bidiagonal(45, sort, floored);
        check_bidiagonal(64, sort, floored);
        if (!IS_SANITIZED)
            check_bidiagonal(128, sort, floored);
    }
}

static void singular_values_are_exact_relative_to_themselves(void **state) {
    (void)state;
    check_bidiagonals(false);
}

static void singular_values_are_exact_beside_a_floor(void **state) {
    (void)state;
    check_bidiagonals(true);
}

/* An element is dropped up to the tolerance times the smaller value, over √2, up to four times the smallest number, or
 * up to rounding beside the floor; a larger one is rotated away, which shows in the rows. What stands behind the matrix
 * does not matter. */
static void small_elements_are_dropped(void **state) {
    (void)state;
    static const struct {
        double d[2], f, floor;
        bool dropped;
    } cases[] = {{{1, 1}, 5.65 * EPSILON, 0, true},
                 {{1, 1}, -5.65 * EPSILON, 0, true},
                 {{1, 1}, 5.66 * EPSILON, 0, false},
                 {{1, 1}, -5.66 * EPSILON, 0, false},
                 {{0x1p-10, 1}, 5.65 * EPSILON * 0x1p-10, 0, true},
                 {{0x1p-10, 1}, 5.66 * EPSILON * 0x1p-10, 0, false},
                 {{1, 0x1p-10}, 5.65 * EPSILON * 0x1p-10, 0, true},
                 {{1, 0x1p-10}, 5.66 * EPSILON * 0x1p-10, 0, false},
                 {{1, 1}, 32 * EPSILON, 64, true},
                 {{1, 1}, 32.01 * EPSILON, 64, false},
                 {{0, 0}, 4 * 0x1p-1022, 0, true},
                 {{0, 0}, 4.01 * 0x1p-1022, 0, false},
                 {{0, 1}, 4 * 0x1p-1022, 0, true},
                 {{0, 0}, -4.01 * 0x1p-1022, 0, false}};
    static const double behind[] = {0, 1, 1e300};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t b = 0; b < 9; b++) {
            double d[4] = {cases[i].d[0], cases[i].d[1], behind[b % 3], behind[b % 3]};
            double f[4] = {cases[i].f, behind[b / 3], behind[b / 3], behind[b / 3]};
            double *X = identity(2), *Y = identity(2), *before = identity(2);
            const size_t bytes = locus_padded_size(2) * sizeof *X;
            const locus_rows left = rows_of(2, X), right = rows_of(2, Y);
            assert_true(singular_values(2, d, f, cases[i].floor, &left, &right));
            const bool kept = memcmp(X, before, bytes) == 0 && memcmp(Y, before, bytes) == 0 && d[0] == cases[i].d[0] &&
                              d[1] == cases[i].d[1];
            if (kept != cases[i].dropped)
                fail_msg("case %zu, %g and %g behind: %s", i, behind[b % 3], behind[b / 3], kept ? "dropped" : "kept");
            assert_true(d[2] == behind[b % 3] && f[1] == behind[b / 3]);
            free(X);
            free(Y);
            free(before);
        }
}

/* LAPACK's dbdsqr promises the same accuracy; asked for vectors it iterates on the values, not on their squares. */
static void singular_values_are_lapacks(void **state) {
    (void)state;
    for (int sort = 0; sort < BIDIAGONALS; sort++)
        for (size_t m = 1; m <= 64; m += m < 12 ? 1 : 13) {
            double *d = numbers(m), *f = numbers(m), *work = numbers(4 * m), *column = numbers(m), unused = 0;
            make_bidiagonal(sort, m, d, f);
            double *want = copy_of(m, d), *beside = copy_of(m, f);
            const locus_rows none = {&unused, 0, 0};
            assert_int_equal(LAPACKE_dbdsqr_work(LAPACK_COL_MAJOR, 'U', (lapack_int)m, 1, 0, 0, want, beside, column,
                                                 (lapack_int)m, &unused, 1, &unused, 1, work),
                             0);
            assert_true(singular_values(m, d, f, 0, &none, &none));
            qsort(d, m, sizeof *d, rising);
            for (size_t i = 0; i < m; i++)
                if (!(fabs(d[i] - want[m - 1 - i]) <= 80 * EPSILON * (double)m * d[i] + 1e-290))
                    fail_msg("m = %zu, sort %d: value %zu is %.17g, LAPACK's %.17g", m, sort, i, d[i], want[m - 1 - i]);
            free(d);
            free(f);
            free(column);
            free(work);
            free(want);
            free(beside);
        }
}

/* ---- tridiagonal ---- */

enum { TRIDIAGONALS = 14, GLUED = 21 };

static void make_tridiagonal(int sort, size_t n, double *d, double *e) {
    for (size_t i = 0; i < n; i++) {
        const double a = normal(), b = normal(), k = (double)(i + 1), up = (double)i;
        const double small = pow(10, -140 * uniform()), other = pow(10, -140 * uniform());
        const double two[TRIDIAGONALS][2] = {
            {a, b},
            {2, -1},                             /* 2 − 2cos(kπ/(n + 1)) */
            {0, sqrt(k * ((double)n - k))},      /* Clement: n − 1, n − 3, …, 1 − n */
            {fabs(up - ((double)n - 1) / 2), 1}, /* Wilkinson's W⁺: pairs equal to 14 digits */
            {fabs((double)(i % GLUED) - 10), i % GLUED == 20 ? 1e-8 : 1}, /* many of them, glued: clusters */
            {0, b},                                                       /* nothing on the diagonal */
            {a, 0},                                                       /* nothing beside it */
            {1, 1e-9 * b},                                                /* one cluster */
            {pow(10, -up), pow(10, -up)},                                 /* graded */
            {pow(10, up - (double)n), pow(10, up - (double)n) * b},       /* the other way */
            {small, other},
            {i < n / 2 ? a : 1e-17 * a, 1e-17 * b}, /* what is left of a repeated eigenvalue */
            {1e-100 * a, 1e-100 * b},
            {1e100 * a, 1e100 * b},
        };
        d[i] = two[sort][0];
        e[i] = two[sort][1];
    }
}

static void check_tridiagonal(size_t n, int sort) {
    double *d = numbers(n), *e = numbers(n), *Z = identity(n), largest = 0;
    make_tridiagonal(sort, n, d, e);
    double *values = copy_of(n, d), *beside = copy_of(n, e), *want = copy_of(n, d), *used = copy_of(n, e);
    const locus_rows rows = rows_of(n, Z);
    assert_true(locus_tridiagonal_values(n, values, beside, &rows));
    assert_int_equal(LAPACKE_dsterf((lapack_int)n, want, used), 0);
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(values[i]));
    const double lost = orthogonality_error(n, Z), rest = rest_of(n, Z, values, Z, d, e, e);
    const double allowed = 8 * EPSILON * (double)n;
    if (!(lost <= allowed) || !(rest <= allowed * largest))
        fail_msg("n = %zu, sort %d: rotations are off by %g, the matrix by %g of %g", n, sort, lost, rest, largest);
    qsort(values, n, sizeof *values, rising);
    for (size_t i = 0; i < n; i++)
        if (!(fabs(values[i] - want[i]) <= allowed * largest))
            fail_msg("n = %zu, sort %d: eigenvalue %zu is %.17g, LAPACK's %.17g", n, sort, i, values[i], want[i]);
    free(d);
    free(e);
    free(Z);
    free(values);
    free(beside);
    free(want);
    free(used);
}

static void eigenvalues_are_lapacks(void **state) {
    (void)state;
    for (int sort = 0; sort < TRIDIAGONALS; sort++) {
        for (size_t n = 1; n <= 22; n++)
            check_tridiagonal(n, sort);
        check_tridiagonal(63, sort);
        check_tridiagonal(64, sort);
        if (!IS_SANITIZED)
            check_tridiagonal(128, sort);
    }
}

static void known_eigenvalues_are_found(void **state) {
    (void)state;
    enum { n = 40 };
    double d[n], e[n];
    const locus_rows none = {d, 0, 0};
    make_tridiagonal(1, n, d, e);
    assert_true(locus_tridiagonal_values(n, d, e, &none));
    qsort(d, n, sizeof *d, rising);
    for (size_t i = 0; i < n; i++)
        assert_true(fabs(d[i] - (2 - 2 * cos(acos(-1.0) * (double)(i + 1) / (n + 1)))) <= 1e-14);
    make_tridiagonal(2, n, d, e);
    assert_true(locus_tridiagonal_values(n, d, e, &none));
    qsort(d, n, sizeof *d, rising);
    for (size_t i = 0; i < n; i++)
        assert_true(fabs(d[i] - (2 * (double)i - (n - 1))) <= 1e-12);
}

/* ---- numbers that are not ---- */

/* Whatever happens to the values, the end is reached, and says so. */
static void what_is_not_finite_ends_and_fails(void **state) {
    (void)state;
    enum { n = 33 };
    const double bad[] = {NAN, -NAN, INFINITY, -INFINITY, 1.7e308};
    double d[n], e[n], *R = identity(n), *L = identity(n);
    const locus_rows right = rows_of(n, R), left = rows_of(n, L);
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++)
        for (size_t at = 0; at < 2 * n - 1; at++) {
            make_bidiagonal(0, n, d, e);
            *(at < n ? &d[at] : &e[at - n]) = bad[b];
            assert_true(!singular_values(n, d, e, at % 2 ? 1.0 : 0.0, &left, &right) || b == 4);
            make_tridiagonal(0, n, d, e);
            *(at < n ? &d[at] : &e[at - n]) = bad[b];
            assert_true(!locus_tridiagonal_values(n, d, e, &right) || b == 4);
        }
    free(R);
    free(L);
}

/* ---- whole matrices ---- */

/* A = X Λ Xᵀ with an X of random reflections. */
static void symmetric_with(size_t n, const double *values, double *A) {
    double *v = numbers(n), *w = numbers(n);
    memset(A, 0, n * n * sizeof *A);
    for (size_t i = 0; i < n; i++)
        A[i * (n + 1)] = values[i];
    for (size_t k = 0; k < 3; k++) {
        double square = 0, along = 0;
        for (size_t i = 0; i < n; i++)
            v[i] = normal(), square += v[i] * v[i];
        for (size_t i = 0; i < n; i++) {
            w[i] = 0;
            for (size_t j = 0; j < n; j++)
                w[i] += A[i * n + j] * v[j];
            along += w[i] * v[i];
        }
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                A[i * n + j] += (4 * along / square * v[i] * v[j] - 2 * (v[i] * w[j] + w[i] * v[j])) / square;
    }
    free(v);
    free(w);
}

enum { SPECTRA = 9 };

static void make_symmetric(int sort, size_t n, double *A) {
    double *values = numbers(n);
    for (size_t i = 0; i < n; i++) {
        const double up = (double)i;
        const double all[SPECTRA] = {normal(),
                                     1,
                                     0,
                                     i % 2 ? 1 : -1,
                                     i < 2 ? up : 1e-17 * normal(),
                                     pow(10, -up),
                                     1 + 1e-13 * normal(),
                                     1e-300 * normal(),
                                     1e300 * uniform()};
        values[i] = all[sort];
    }
    symmetric_with(n, values, A);
    for (size_t i = 0; i < n; i++) /* to the last bit */
        for (size_t j = 0; j < i; j++)
            A[j * n + i] = A[i * n + j];
    free(values);
}

static void check_symmetric(size_t n, int sort) {
    double *A = numbers(n * n), *X = numbers(n * n), *values = numbers(n), *want = numbers(n), largest = 0;
    double *work = numbers(locus_dense_symmetric_work(n)), lost = 0, rest = 0;
    make_symmetric(sort, n, A);
    assert_true(locus_dense_symmetric(n, A, X, values, work));
    for (size_t i = 0; i < n * n; i++)
        largest = fmax(largest, fabs(A[i]));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double product = i == j ? -1.0 : 0.0, sum = A[i * n + j];
            for (size_t k = 0; k < n; k++) {
                product += X[k * n + i] * X[k * n + j];
                sum -= values[k] * X[i * n + k] * X[j * n + k];
            }
            lost = hypot(lost, product);
            rest = hypot(rest, sum);
        }
    const double allowed = 8 * EPSILON * (double)n;
    if (!(lost <= allowed) || !(rest <= allowed * (double)n * largest))
        fail_msg("n = %zu, sort %d: XᵀX − I is %g, A − XΛXᵀ is %g of %g", n, sort, lost, rest, largest);
    memcpy(X, A, n * n * sizeof *X);
    assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'L', (lapack_int)n, X, (lapack_int)n, want), 0);
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || values[i] <= values[i - 1]);
        if (!(fabs(values[i] - want[n - 1 - i]) <= allowed * (double)n * largest))
            fail_msg("n = %zu, sort %d: eigenvalue %zu is %.17g, LAPACK's %.17g", n, sort, i, values[i],
                     want[n - 1 - i]);
    }
    free(A);
    free(X);
    free(values);
    free(want);
    free(work);
}

static void symmetric_matrices_are_taken_apart(void **state) {
    (void)state;
    for (int sort = 0; sort < SPECTRA; sort++) {
        for (size_t n = 1; n <= 18; n++)
            check_symmetric(n, sort);
        check_symmetric(65, sort);
        if (!IS_SANITIZED)
            check_symmetric(128, sort);
    }
}

/* In place, from below the diagonal alone, on any address, and the same bits each time. */
static void symmetric_matrices_are_read_below_the_diagonal(void **state) {
    (void)state;
    enum { n = 13 };
    double A[n * n], X[n * n], values[n], again[n], *work = numbers(locus_dense_symmetric_work(n) + LOCUS_LINE);
    for (size_t shift = 0; shift < LOCUS_LINE; shift++) {
        drawn = 1000;
        make_symmetric(0, n, A);
        assert_true(locus_dense_symmetric(n, A, X, values, work));
        for (size_t i = 0; i < n; i++)
            for (size_t j = i + 1; j < n; j++)
                A[i * n + j] = NAN;
        assert_true(locus_dense_symmetric(n, A, A, again, work + shift));
        assert_memory_equal(A, X, sizeof X);
        assert_memory_equal(again, values, sizeof values);
    }
    assert_true(locus_dense_symmetric(0, A, X, values, work)); /* a matrix of no rows */
    A[n * n - 1] = INFINITY;
    assert_false(locus_dense_symmetric(n, A, X, values, work));
    free(work);
}

/* Angles of a skew matrix are its singular values, each twice. */
static void angles_are_lapacks_singular_values(void **state) {
    (void)state;
    const size_t sizes[] = {2, 3, 8, 17, 64, 65, 100};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t n = sizes[s];
        double *S = numbers(n * n), *U = numbers(n * n), *theta = numbers(n), *want = numbers(n), *rest = numbers(n);
        double *work = numbers(locus_skew_work(n)), unused = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++)
                S[j * n + i] = -(S[i * n + j] = normal());
        assert_int_equal(locus_skew_schur(n, S, U, theta, work), LOCUS_OK);
        assert_int_equal(LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'N', 'N', (lapack_int)n, (lapack_int)n, S, (lapack_int)n,
                                        want, &unused, 1, &unused, 1, rest),
                         0);
        for (size_t i = 0; i < n / 2; i++)
            for (size_t twice = 0; twice < 2; twice++)
                assert_true(fabs(theta[i] - want[2 * i + twice]) <= 4 * EPSILON * (double)n * want[0]);
        free(S);
        free(U);
        free(theta);
        free(want);
        free(rest);
        free(work);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(singular_values_are_exact_relative_to_themselves),
        cmocka_unit_test(singular_values_are_exact_beside_a_floor),
        cmocka_unit_test(small_elements_are_dropped),
        cmocka_unit_test(singular_values_are_lapacks),
        cmocka_unit_test(eigenvalues_are_lapacks),
        cmocka_unit_test(known_eigenvalues_are_found),
        cmocka_unit_test(what_is_not_finite_ends_and_fails),
        cmocka_unit_test(symmetric_matrices_are_taken_apart),
        cmocka_unit_test(symmetric_matrices_are_read_below_the_diagonal),
        cmocka_unit_test(angles_are_lapacks_singular_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
