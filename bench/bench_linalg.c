/* SPDX-License-Identifier: MIT */
/* What learned operators cost when parameters change: eigenvalues with eigenvectors beside LAPACK, and bindings. One
 * thread, microseconds, least of runs, by the thread's own clock; each result is compared before it is timed. For a
 * head of d dimensions:
 *
 *   skew         the block form of a skew matrix; zheevd of iS, which is what LAPACK has for it
 *   bidiagonal   the part of it that is iterated: d/2 singular values, rows of d numbers on both sides; dbdsqr
 *   symmetric    eigenvectors of a symmetric matrix; dsyev, dsyevd
 *   tridiagonal  the part of it that is iterated; dsteqr, dstedc
 *
 * The binding of algebraic with 8 heads, wall time: on one thread, and on all.
 *
 *   bench_linalg [--json] [--quick]
 *
 * Exit: 0 done, 1 something failed or results differ, 2 usage. */
#include "group_subject.h"

#include "linalg/condensed.h"
#include "linalg/dense.h"
#include "linalg/linalg.h"

#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HEADS = 8, PEERS = 2 };

typedef struct bench_options {
    bool json, quick;
} bench_options;

/* One matrix and room for every way to take it apart. */
typedef struct problem {
    size_t n;
    double *A, *S;                  /* symmetric, skew */
    double *diagonal, *beside;      /* the tridiagonal form of A */
    double *d, *f;                  /* the bidiagonal one of S */
    double *X, *Y, *values, *other; /* results */
    double *work;
    lapack_complex_double *hermitian, *hermitian_work;
    lapack_int *integers;
    size_t lwork;
} problem;

static double thread_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double *doubles(size_t count) {
    double *block = bench_memory(count * sizeof(double));
    memset(block, 0, count * sizeof(double));
    return block;
}

static void must(bool holds, const char *what, size_t n) {
    if (holds)
        return;
    fprintf(stderr, "bench_linalg: %s of %zu dimensions failed\n", what, n);
    exit(1);
}

/* ---- the problems ---- */

static problem problem_of(size_t n) {
    problem p = {.n = n, .lwork = 8 * n * n + 64 * n + 64};
    float *random = bench_numbers(n * n, 3);
    p.A = doubles(n * n), p.S = doubles(n * n);
    p.diagonal = doubles(n), p.beside = doubles(n), p.d = doubles(n), p.f = doubles(n);
    p.X = doubles(locus_padded_size(n) + LOCUS_LINE), p.Y = doubles(locus_padded_size(n) + LOCUS_LINE);
    p.values = doubles(n), p.other = doubles(n), p.work = doubles(p.lwork);
    p.hermitian = bench_memory(n * n * sizeof *p.hermitian);
    p.hermitian_work = bench_memory(p.lwork * sizeof *p.hermitian_work);
    p.integers = bench_memory(p.lwork * sizeof *p.integers);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            p.A[i * n + j] = (double)random[i * n + j] + (double)random[j * n + i];
            p.S[i * n + j] = (double)random[i * n + j] - (double)random[j * n + i];
        }
    double *P = locus_line_begin(p.X), *Q = locus_line_begin(p.Y), *vectors = locus_line_begin(p.work);
    int exponent;
    must(locus_padded_load(n, LOCUS_SYMMETRIC, p.A, P, &exponent), "the symmetric matrix", n);
    locus_tridiagonalise(n, LOCUS_SYMMETRIC, P, Q, p.diagonal, p.beside, vectors);
    must(locus_padded_load(n, LOCUS_SKEW, p.S, P, &exponent), "the skew matrix", n);
    locus_tridiagonalise(n, LOCUS_SKEW, P, Q, p.values, p.other, vectors);
    for (size_t i = 0; i < n / 2; i++) {
        p.d[i] = p.other[2 * i];
        p.f[i] = 2 * i + 2 < n ? -p.other[2 * i + 1] : 0.0;
    }
    locus_release(random, n * n * sizeof *random);
    return p;
}

static void problem_forget(problem *p) {
    const size_t n = p->n, square = n * n * sizeof(double), row = n * sizeof(double);
    const size_t padded = (locus_padded_size(n) + LOCUS_LINE) * sizeof(double);
    locus_release(p->A, square), locus_release(p->S, square);
    locus_release(p->diagonal, row), locus_release(p->beside, row), locus_release(p->d, row), locus_release(p->f, row);
    locus_release(p->X, padded), locus_release(p->Y, padded);
    locus_release(p->values, row), locus_release(p->other, row);
    locus_release(p->work, p->lwork * sizeof *p->work);
    locus_release(p->hermitian, n * n * sizeof *p->hermitian);
    locus_release(p->hermitian_work, p->lwork * sizeof *p->hermitian_work);
    locus_release(p->integers, p->lwork * sizeof *p->integers);
}

/* Each leaves its values in p->values, of which the largest is compared. */

static void skew_own(problem *p) {
    must(locus_skew_schur(p->n, p->S, p->X, p->values, p->work) == LOCUS_OK, "the block form", p->n);
}

static void skew_zheevd(problem *p) {
    const lapack_int n = (lapack_int)p->n, room = (lapack_int)p->lwork;
    for (size_t i = 0; i < p->n * p->n; i++)
        p->hermitian[i] = lapack_make_complex_double(0.0, p->S[i]);
    must(LAPACKE_zheevd_work(LAPACK_COL_MAJOR, 'V', 'L', n, p->hermitian, n, p->values, p->hermitian_work, room,
                             p->work, room, p->integers, room) == 0,
         "zheevd", p->n);
}

static void load(problem *p, const double *d, const double *f, size_t count) {
    memcpy(p->values, d, count * sizeof *d);
    memcpy(p->other, f, count * sizeof *f);
}

static void identity(size_t rows, size_t stride, double *X) {
    for (size_t i = 0; i < rows; i++) {
        memset(X + i * stride, 0, stride * sizeof *X);
        X[i * stride + i] = 1.0;
    }
}

static void bidiagonal_own(problem *p) {
    const size_t n = p->n, stride = locus_padded_stride(n);
    double *X = locus_line_begin(p->X), *Y = locus_line_begin(p->Y);
    const locus_rows left = {X, (ptrdiff_t)stride, locus_padded_width(n)}, right = {Y, left.stride, left.width};
    identity(n / 2, stride, X);
    identity(n / 2, stride, Y);
    load(p, p->d, p->f, n / 2);
    const locus_bidiagonal B = {n / 2, p->values, p->other, .floor = 0.0};
    must(locus_bidiagonal_values(&B, &left, &right), "the bidiagonal matrix", n);
}

static void bidiagonal_dbdsqr(problem *p) {
    const lapack_int n = (lapack_int)p->n, m = n / 2;
    double unused = 0;
    identity(p->n / 2, p->n, p->X); /* as m rows of n, and as the columns of n × m */
    memset(p->Y, 0, p->n * p->n / 2 * sizeof *p->Y);
    for (size_t i = 0; i < p->n / 2; i++)
        p->Y[i * p->n / 2 + i] = 1.0;
    load(p, p->d, p->f, p->n / 2);
    must(LAPACKE_dbdsqr_work(LAPACK_COL_MAJOR, 'U', m, n, n, 0, p->values, p->other, p->Y, m, p->X, n, &unused, 1,
                             p->work) == 0,
         "dbdsqr", p->n);
}

static void symmetric_own(problem *p) {
    must(locus_dense_symmetric(p->n, p->A, p->X, p->values, p->work), "the symmetric matrix", p->n);
}

static void symmetric_dsyev(problem *p) {
    const lapack_int n = (lapack_int)p->n;
    memcpy(p->X, p->A, p->n * p->n * sizeof *p->X);
    must(LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'L', n, p->X, n, p->values, p->work, (lapack_int)p->lwork) == 0,
         "dsyev", p->n);
}

static void symmetric_dsyevd(problem *p) {
    const lapack_int n = (lapack_int)p->n, room = (lapack_int)p->lwork;
    memcpy(p->X, p->A, p->n * p->n * sizeof *p->X);
    must(LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', n, p->X, n, p->values, p->work, room, p->integers, room) == 0,
         "dsyevd", p->n);
}

static void tridiagonal_own(problem *p) {
    const size_t stride = locus_padded_stride(p->n);
    double *X = locus_line_begin(p->X);
    const locus_rows rows = {X, (ptrdiff_t)stride, locus_padded_width(p->n)};
    identity(p->n, stride, X);
    load(p, p->diagonal, p->beside, p->n);
    must(locus_tridiagonal_values(p->n, p->values, p->other, &rows), "the tridiagonal matrix", p->n);
}

static void tridiagonal_dsteqr(problem *p) {
    const lapack_int n = (lapack_int)p->n;
    identity(p->n, p->n, p->X);
    load(p, p->diagonal, p->beside, p->n);
    must(LAPACKE_dsteqr_work(LAPACK_COL_MAJOR, 'V', n, p->values, p->other, p->X, n, p->work) == 0, "dsteqr", p->n);
}

static void tridiagonal_dstedc(problem *p) {
    const lapack_int n = (lapack_int)p->n, room = (lapack_int)p->lwork;
    identity(p->n, p->n, p->X);
    load(p, p->diagonal, p->beside, p->n);
    must(LAPACKE_dstedc_work(LAPACK_COL_MAJOR, 'V', n, p->values, p->other, p->X, n, p->work, room, p->integers,
                             room) == 0,
         "dstedc", p->n);
}

/* ---- running ---- */

static const struct contest {
    const char *name;
    void (*own)(problem *);
    bool halves; /* n/2 values */
    struct {
        const char *name;
        void (*run)(problem *);
    } peers[PEERS];
} contests[] = {
    {"skew", skew_own, true, {{"zheevd", skew_zheevd}}},
    {"bidiagonal", bidiagonal_own, true, {{"dbdsqr", bidiagonal_dbdsqr}}},
    {"symmetric", symmetric_own, false, {{"dsyev", symmetric_dsyev}, {"dsyevd", symmetric_dsyevd}}},
    {"tridiagonal", tridiagonal_own, false, {{"dsteqr", tridiagonal_dsteqr}, {"dstedc", tridiagonal_dstedc}}},
};

static double largest(const problem *p, size_t count) {
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(p->values[i]));
    return most;
}

/* Least of many runs: in turn, so that whatever else the machine does is shared. */
static void measure(const struct contest *own, problem *p, double budget, double times[1 + PEERS]) {
    own->own(p);
    const double value = largest(p, own->halves ? p->n / 2 : p->n);
    for (size_t k = 0; k < PEERS && own->peers[k].run; k++) {
        own->peers[k].run(p);
        const size_t count = own->halves && own->peers[k].run != skew_zheevd ? p->n / 2 : p->n;
        must(fabs(largest(p, count) - value) <= 1e-14 * (double)p->n * value, own->peers[k].name, p->n);
    }
    for (size_t k = 0; k <= PEERS; k++)
        times[k] = INFINITY;
    const double end = bench_seconds() + budget;
    do {
        for (size_t k = 0; k <= PEERS; k++) {
            void (*run)(problem *) = k == 0 ? own->own : own->peers[k - 1].run;
            if (!run)
                continue;
            const double begin = thread_seconds();
            run(p);
            times[k] = fmin(times[k], thread_seconds() - begin);
        }
    } while (bench_seconds() < end);
}

static void report(const struct contest *own, size_t n, const double times[1 + PEERS], bool json) {
    if (json)
        printf("{\"problem\": \"%s\", \"d\": %zu, \"locus_us\": %.2f", own->name, n, times[0] * 1e6);
    else
        printf("%-12s %4zu  %9.1f", own->name, n, times[0] * 1e6);
    for (size_t k = 0; k < PEERS && own->peers[k].run; k++)
        printf(json ? ", \"%s_us\": %.2f" : "  %7s %9.1f", own->peers[k].name, times[k + 1] * 1e6);
    for (size_t k = 0; k < PEERS && own->peers[k].run && !json; k++)
        printf("  %5.2f", times[0] / times[k + 1]);
    printf(json ? "}\n" : "\n");
    fflush(stdout);
}

static void bind(void *context) {
    group_subject *s = context;
    const locus_shape shape = {.heads = s->heads, .head_dim = s->dim, .value_dim = 0, .model_dim = 0};
    locus_error error = {0};
    locus_binding_destroy(&s->binding);
    bench_check(locus_binding_create(&s->binding, s->encoding, &shape, s->values, s->count, &error), &error);
}

static void bench_binding(const char *spec, size_t dim, const bench_options *options) {
    group_subject s;
    const size_t threads = locus_threads();
    const double budget = options->quick ? 0.1 : 1;
    group_subject_open(&s, spec, HEADS, dim);
    const double many = bench_measure(bind, &s, 5, budget).best;
    bench_check(locus_threads_set(1), NULL);
    const double one = bench_measure(bind, &s, 5, budget).best;
    bench_check(locus_threads_set(threads), NULL);
    group_subject_close(&s);
    if (options->json)
        printf("{\"binding\": \"%s\", \"heads\": %d, \"d\": %zu, \"one_thread_us\": %.1f, \"threads\": %zu, \"us\": "
               "%.1f}\n",
               spec, HEADS, dim, one * 1e6, threads, many * 1e6);
    else
        printf("%-40s %4zu  %9.1f %9.1f\n", spec, dim, one * 1e6, many * 1e6);
}

int main(int count, char **arguments) {
    bench_options options = {false, false};
    for (int i = 1; i < count; i++)
        if (strcmp(arguments[i], "--json") == 0)
            options.json = true;
        else if (strcmp(arguments[i], "--quick") == 0)
            options.quick = true;
        else
            return fprintf(stderr, "usage: bench_linalg [--json] [--quick]\n"), 2;
    const size_t sizes[] = {8, 16, 32, 64, 128, 256};
    if (!options.json)
        printf("µs on one thread: locus, LAPACK; locus over LAPACK\n");
    for (size_t c = 0; c < sizeof contests / sizeof *contests; c++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            problem p = problem_of(sizes[i]);
            double times[1 + PEERS];
            measure(&contests[c], &p, options.quick ? 0.1 : 1, times);
            report(&contests[c], sizes[i], times, options.json);
            problem_forget(&p);
        }
    if (!options.json)
        printf("\nbindings of %d heads, µs: one thread, %zu threads\n", HEADS, locus_threads());
    const char *const specs[] = {"algebraic", "algebraic(generator=householder)", "algebraic(group=tree:2)"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (size_t dim = 16; dim <= 128; dim *= 2)
            bench_binding(specs[i], dim, &options);
    return 0;
}
