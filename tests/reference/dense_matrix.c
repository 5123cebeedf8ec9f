/* SPDX-License-Identifier: MIT */
/* See dense_matrix.h. */
#include "reference/dense_matrix.h"

#include "reference/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *copy_of(size_t n, const double *A) {
    double *copy = reference_zeros(n * n, sizeof *copy);
    memcpy(copy, A, n * n * sizeof *copy);
    return copy;
}

static double norm(size_t n, const double *A) {
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        double row = 0;
        for (size_t j = 0; j < n; j++)
            row += fabs(A[i * n + j]);
        most = fmax(most, row);
    }
    return most;
}

void dense_identity(size_t n, double *A) {
    for (size_t i = 0; i < n * n; i++)
        A[i] = i / n == i % n;
}

void dense_multiply(size_t n, const double *A, const double *B, double *C) {
    double *sum = reference_zeros(n * n, sizeof *sum);
    for (size_t i = 0; i < n; i++)
        for (size_t l = 0; l < n; l++)
            for (size_t j = 0; j < n && A[i * n + l] != 0; j++)
                sum[i * n + j] += A[i * n + l] * B[l * n + j];
    memcpy(C, sum, n * n * sizeof *C);
    free(sum);
}

void dense_transpose(size_t n, const double *A, double *B) {
    double *copy = copy_of(n, A);
    for (size_t i = 0; i < n * n; i++)
        B[i] = copy[i % n * n + i / n];
    free(copy);
}

static void swap_rows(size_t n, double *A, size_t a, size_t b) {
    for (size_t j = 0; j < n && a != b; j++) {
        const double kept = A[a * n + j];
        A[a * n + j] = A[b * n + j];
        A[b * n + j] = kept;
    }
}

void dense_solve(size_t n, const double *A, const double *B, double *X) {
    double *left = copy_of(n, A), *right = copy_of(n, B);
    for (size_t c = 0; c < n; c++) {
        size_t pivot = c;
        for (size_t i = c + 1; i < n; i++)
            pivot = fabs(left[i * n + c]) > fabs(left[pivot * n + c]) ? i : pivot;
        swap_rows(n, left, c, pivot);
        swap_rows(n, right, c, pivot);
        for (size_t i = 0; i < n; i++) {
            const double times = i == c ? 0 : left[i * n + c] / left[c * n + c];
            for (size_t j = 0; j < n && i != c; j++) {
                left[i * n + j] -= times * left[c * n + j];
                right[i * n + j] -= times * right[c * n + j];
            }
        }
    }
    for (size_t i = 0; i < n * n; i++)
        X[i] = right[i] / left[i / n * n + i / n];
    free(left);
    free(right);
}

/* Four columns of C in registers: a long double takes longer to store than to multiply. */
static void multiply_columns(size_t n, const long double *row, const long double *B, long double *C) {
    long double a = 0, b = 0, c = 0, d = 0;
    for (size_t l = 0; l < n; l++, B += n) {
        a += row[l] * B[0];
        b += row[l] * B[1];
        c += row[l] * B[2];
        d += row[l] * B[3];
    }
    C[0] = a;
    C[1] = b;
    C[2] = c;
    C[3] = d;
}

void dense_multiply_wide(size_t n, const long double *A, const long double *B, long double *C) {
    for (size_t i = 0; i < n; i++) {
        size_t j = 0;
        for (; j + 4 <= n; j += 4)
            multiply_columns(n, A + i * n, B + j, C + i * n + j);
        for (; j < n; j++) {
            long double sum = 0;
            for (size_t l = 0; l < n; l++)
                sum += A[i * n + l] * B[l * n + j];
            C[i * n + j] = sum;
        }
    }
}

/* Σ_{k ≤ 12} S^k/k!, in three pieces of powers of S⁴: six products. power[1] is S. */
static void taylor(size_t n, long double *const power[5], long double *E, long double *next) {
    long double over[13] = {1}; /* over[k] = 1/k! */
    for (size_t k = 1; k < 13; k++)
        over[k] = over[k - 1] / (long double)k;
    for (size_t k = 2; k < 5; k++)
        dense_multiply_wide(n, power[k - 1], power[1], power[k]);
    for (size_t i = 0; i < n * n; i++)
        E[i] = i / n == i % n ? over[12] : 0;
    for (size_t piece = 3; piece-- > 0;) {
        dense_multiply_wide(n, E, power[4], next);
        for (size_t i = 0; i < n * n; i++) {
            E[i] = next[i] + (i / n == i % n ? over[4 * piece] : 0);
            for (size_t k = 1; k < 4; k++)
                E[i] += over[4 * piece + k] * power[k][i];
        }
    }
}

/* Scaled until it is small, 0.2^13/13! < 2e-19; then squared. Each squaring doubles what is wrong with an angle, so
 * that an angle of 10^5 costs five digits and one of 25 two: long double has three more than double. */
static void compute_exponential(size_t n, const double *S, double *E) {
    int halvings = 0;
    for (double size = norm(n, S); size > 0.2; size /= 2)
        halvings++;
    long double *wide = reference_zeros(6 * n * n, sizeof *wide), *sum = wide, *next = wide + n * n;
    long double *const power[5] = {NULL, wide + 2 * n * n, wide + 3 * n * n, wide + 4 * n * n, wide + 5 * n * n};
    for (size_t i = 0; i < n * n; i++)
        power[1][i] = ldexpl(S[i], -halvings);
    taylor(n, power, sum, next);
    while (halvings-- > 0) {
        dense_multiply_wide(n, sum, sum, next);
        memcpy(sum, next, n * n * sizeof *sum);
    }
    for (size_t i = 0; i < n * n; i++)
        E[i] = (double)sum[i];
    free(wide);
}

/* Tokens that stand in one place, steps along one branch and heads that share a matrix ask for the same again: the last
 * ones are kept. */
void dense_exponential(size_t n, const double *S, double *E) {
    enum { KEPT = 64, LARGEST = 32 };
    static struct {
        size_t n;
        double S[LARGEST * LARGEST], E[LARGEST * LARGEST];
    } kept[KEPT];
    static size_t next;
    const size_t bytes = n * n * sizeof *S;
    for (size_t i = 0; i < KEPT; i++)
        if (kept[i].n == n && memcmp(kept[i].S, S, bytes) == 0) {
            memcpy(E, kept[i].E, bytes);
            return;
        }
    compute_exponential(n, S, E);
    if (n > LARGEST)
        return;
    kept[next].n = n;
    memcpy(kept[next].S, S, bytes);
    memcpy(kept[next].E, E, bytes);
    next = (next + 1) % KEPT;
}

/* The square root by Denman and Beavers. */
static void take_root(size_t n, double *W) {
    double *one = reference_zeros(n * n, sizeof *one), *Z = copy_of(n, W), *inverse = copy_of(n, W);
    dense_identity(n, one);
    dense_identity(n, Z);
    for (int step = 0; step < 30; step++) {
        double *of_Z = copy_of(n, Z);
        dense_solve(n, Z, one, of_Z);
        dense_solve(n, W, one, inverse);
        for (size_t i = 0; i < n * n; i++) {
            W[i] = (W[i] + of_Z[i]) / 2;
            Z[i] = (Z[i] + inverse[i]) / 2;
        }
        free(of_Z);
    }
    free(one);
    free(Z);
    free(inverse);
}

/* ln W = 2^k·2·artanh(X), X = (W' − I)(W' + I)⁻¹ of a root W' = W^(1/2^k) near the identity. */
void dense_logarithm(size_t n, const double *W, double *L) {
    double *root = copy_of(n, W), *less = copy_of(n, W), *more = copy_of(n, W), *power = copy_of(n, W);
    const int roots = 6;
    for (int k = 0; k < roots; k++)
        take_root(n, root);
    for (size_t i = 0; i < n * n; i++) {
        less[i] = root[i] - (i / n == i % n);
        more[i] = root[i] + (i / n == i % n);
    }
    dense_solve(n, more, less, power);
    dense_multiply(n, power, power, root); /* X² */
    memcpy(L, power, n * n * sizeof *L);
    for (int order = 3; order <= 21; order += 2) {
        dense_multiply(n, power, root, power);
        for (size_t i = 0; i < n * n; i++)
            L[i] += power[i] / order;
    }
    for (size_t i = 0; i < n * n; i++)
        L[i] = ldexp(L[i], roots + 1);
    free(root);
    free(less);
    free(more);
    free(power);
}

void dense_power(size_t n, const double *W, int64_t p, double *P) {
    double *base = copy_of(n, W);
    if (p < 0)
        dense_transpose(n, base, base);
    dense_identity(n, P);
    for (uint64_t left = p < 0 ? 0 - (uint64_t)p : (uint64_t)p; left > 0; left /= 2) {
        if (left % 2 != 0)
            dense_multiply(n, P, base, P);
        dense_multiply(n, base, base, base);
    }
    free(base);
}

void dense_reflections(size_t n, const double *A, double *W) {
    double *H = reference_zeros(n * n, sizeof *H);
    dense_identity(n, W);
    for (size_t r = 0; r < n; r++) {
        const double *v = A + r * n;
        double square = 0;
        for (size_t i = 0; i < n; i++)
            square += v[i] * v[i];
        for (size_t i = 0; i < n * n; i++)
            H[i] = (i / n == i % n) - 2 * v[i / n] * v[i % n] / square;
        dense_multiply(n, W, H, W);
    }
    free(H);
}

void dense_skew(size_t n, const double *A, double scale, double *S) {
    for (size_t i = 0; i < n * n; i++)
        S[i] = scale * (A[i] - A[i % n * n + i / n]);
}
