/* SPDX-License-Identifier: MIT */
/* Real block form of a skew-symmetric matrix, S = U Λ Uᵀ (Ward and Gray, Eigensystem computation
 * for skew-symmetric and a class of symmetric matrices, ACM TOMS 4, 1978).
 *
 * 1. Householder: S = Q T Qᵀ, T skew and tridiagonal with T[k+1,k] = e_k. For H = I − τvvᵀ and a skew A, vᵀAv = 0, so
 *    H A H = A + v wᵀ − w vᵀ with w = τAv. Computed as written, the result is skew to the last bit.
 * 2. T maps even coordinates to odd ones and odd to even. Seen from the evens it is the bidiagonal matrix
 *        B = | e_0 −e_1            |      T q_even = q_odd B,   T q_odd = −q_even Bᵀ
 *            |      e_2 −e_3       |
 *            |           e_4   …   |      for odd n with one column more than rows, which is rotated away.
 * 3. B = X Σ Yᵀ (LAPACK dbdsqr, accumulated into Q): u_2i = Q_even y_i and u_2i+1 = Q_odd x_i obey S u_2i = σ_i u_2i+1,
 *    S u_2i+1 = −σ_i u_2i. Each angle is one singular value: pairs are exact, equal and zero angles nothing special.
 *
 * S is scaled by a power of two first, so that nothing over- or underflows on the way. */
#include "linalg/linalg.h"

#include "linalg/dense.h"
#include <lapacke.h>
#include <math.h>
#include <string.h>

enum { MAX_SIZE = 30000 }; /* LAPACK's indices are 32 bits wide */

/* The decomposition takes 3n² + 8n: A, Q, the evens and odds together, six vectors, and 2n for dbdsqr. The rest is for
 * callers, who multiply the result out in the same scratch. */
size_t locus_skew_work(size_t n) {
    return 4 * n * n + 9 * n + 8;
}

/* ---- to tridiagonal form ---- */

/* A ← H A H on the trailing block that begins at `from`; w is scratch. */
static void apply_two_sided(size_t n, size_t from, double *A, const double *v, double tau, double *w) {
    size_t length = n - from;
    memset(w, 0, length * sizeof(double));
    for (size_t i = 0; i < length; i++) /* A v = −Aᵀv: rows are read in their order in memory */
        locus_dense_axpy(length, -tau * v[i], A + (from + i) * n + from, w);
    for (size_t i = 0; i < length; i++) {
        double *row = A + (from + i) * n + from;
        double vi = v[i], wi = w[i];
        for (size_t j = 0; j < length; j++)
            row[j] += vi * w[j] - wi * v[j];
    }
}

/* Reduces A; the reflectors stay in the rows of A right of the diagonal, tau[k] beside them, and e[k] = T[k+1,k]. */
static void reduce(size_t n, double *A, double *tau, double *e, double *w) {
    for (size_t k = 0; k + 1 < n; k++) {
        double *v = A + k * n + k + 1, beta; /* the row is minus the column */
        tau[k] = locus_dense_reflector(n - k - 1, v, &beta);
        e[k] = -beta;
        if (tau[k] != 0.0)
            apply_two_sided(n, k + 1, A, v, tau[k], w);
    }
}

/* Q = H_0 H_1 …, from the last to the first: each touches its own trailing block only. */
static void accumulate(size_t n, const double *A, const double *tau, double *Q, double *z) {
    memset(Q, 0, n * n * sizeof(double));
    for (size_t i = 0; i < n; i++)
        Q[i * n + i] = 1.0;
    for (size_t k = n - 1; k-- > 0;) {
        size_t from = k + 1, length = n - from;
        const double *v = A + k * n + from;
        if (tau[k] == 0.0)
            continue;
        memset(z, 0, length * sizeof(double));
        for (size_t i = 0; i < length; i++)
            locus_dense_axpy(length, v[i], Q + (from + i) * n + from, z);
        for (size_t i = 0; i < length; i++)
            locus_dense_axpy(length, -tau[k] * v[i], z, Q + (from + i) * n + from);
    }
}

/* ---- from the bidiagonal form to angles ---- */

/* Odd n: turns the last even column of Q against the others so that B's last column vanishes. */
static void drop_last_column(size_t n, double *d, double *f, double *Q) {
    size_t m = n / 2;
    double bulge = f[m - 1];
    for (size_t k = m; k-- > 0 && bulge != 0.0;) {
        double r = hypot(d[k], bulge), c = d[k] / r, s = bulge / r;
        d[k] = r;
        bulge = 0.0;
        if (k > 0) {
            bulge = -s * f[k - 1];
            f[k - 1] *= c;
        }
        for (size_t row = 0; row < n; row++) {
            double *x = Q + row * n + 2 * k, *y = Q + row * n + n - 1, old = *x;
            *x = c * old + s * *y;
            *y = c * *y - s * old;
        }
    }
}

/* LAPACK wants the evens as rows of a matrix in column order and the odds as columns of one. */
static bool decompose(size_t n, double *d, double *f, const double *Q, double *U, double *scratch) {
    size_t m = n / 2;
    double *even = scratch, *odd = even + m * n, *work = odd + m * n, unused = 0.0;
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < m; i++) {
            even[r * m + i] = Q[r * n + 2 * i];
            odd[i * n + r] = Q[r * n + 2 * i + 1];
        }
    lapack_int size = (lapack_int)m, rows = (lapack_int)n;
    if (LAPACKE_dbdsqr_work(LAPACK_COL_MAJOR, 'U', size, rows, rows, 0, d, f, even, size, odd, rows, &unused, 1,
                            work) != 0)
        return false;
    for (size_t r = 0; r < n; r++) {
        for (size_t i = 0; i < m; i++) {
            U[r * n + 2 * i] = even[r * m + i];
            U[r * n + 2 * i + 1] = odd[i * n + r];
        }
        if (n % 2)
            U[r * n + n - 1] = Q[r * n + n - 1];
    }
    return true;
}

/* Largest element below the diagonal; NaN or infinity if any is. */
static double largest_element(size_t n, const double *S) {
    double largest = 0.0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            double size = fabs(S[i * n + j]);
            if (!isfinite(size))
                return size;
            largest = fmax(largest, size);
        }
    return largest;
}

/* A = S·2^−exponent, from the part below the diagonal. Two steps: 2^−exponent alone may not be a normal number. */
static void load_scaled(size_t n, const double *S, int exponent, double *A) {
    double half = ldexp(1.0, -(exponent / 2)), rest = ldexp(1.0, -(exponent - exponent / 2));
    for (size_t i = 0; i < n; i++) {
        A[i * n + i] = 0.0;
        for (size_t j = 0; j < i; j++) {
            A[i * n + j] = S[i * n + j] * half * rest;
            A[j * n + i] = -A[i * n + j];
        }
    }
}

locus_status locus_skew_schur(size_t n, const double *S, double *U, double *theta, double *work) {
    if (n == 0)
        return LOCUS_OK;
    if (n > MAX_SIZE)
        return LOCUS_ERROR_UNSUPPORTED;
    size_t m = n / 2;
    double largest = largest_element(n, S);
    if (!isfinite(largest))
        return LOCUS_ERROR_NUMERIC;
    int exponent = 0;
    frexp(largest, &exponent);

    double *A = work, *Q = A + n * n, *e = Q + n * n, *tau = e + n, *w = tau + n, *d = w + n, *f = d + n, *rest = f + n;
    load_scaled(n, S, exponent, A);
    reduce(n, A, tau, e, w);
    accumulate(n, A, tau, Q, w);
    for (size_t i = 0; i < m; i++) {
        d[i] = e[2 * i];
        f[i] = 2 * i + 2 < n ? -e[2 * i + 1] : 0.0;
    }
    if (n % 2 && m > 0)
        drop_last_column(n, d, f, Q);
    if (m > 0 && !decompose(n, d, f, Q, U, rest))
        return LOCUS_ERROR_NUMERIC;
    if (m == 0)
        U[0] = 1.0;
    for (size_t i = 0; i < m; i++)
        theta[i] = ldexp(d[i], exponent);
    return LOCUS_OK;
}
