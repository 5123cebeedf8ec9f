/* SPDX-License-Identifier: MIT */
/* Real block form of a skew-symmetric matrix, S = U Λ Uᵀ (Ward and Gray, Eigensystem computation
 * for skew-symmetric and a class of symmetric matrices, ACM TOMS 4, 1978).
 *
 * 1. Householder: S = Q T Qᵀ, T skew and tridiagonal with T[k+1,k] = e_k (tridiagonalise.c).
 * 2. T maps even coordinates to odd ones and odd to even. Seen from the evens it is the bidiagonal matrix
 *        B = | e_0 −e_1            |      T q_even = q_odd B,   T q_odd = −q_even Bᵀ
 *            |      e_2 −e_3       |
 *            |           e_4   …   |      for odd n with one column more than rows, which is rotated away.
 * 3. B = X Σ Yᵀ (bidiagonal.c), accumulated into Q: u_2i = Q_even y_i and u_2i+1 = Q_odd x_i obey S u_2i = σ_i u_2i+1,
 *    S u_2i+1 = −σ_i u_2i. Each angle is one singular value: pairs are exact, equal and zero angles nothing special. */
#include "linalg/linalg.h"

#include "linalg/condensed.h"

/* The decomposition takes two padded matrices and eight vectors. At least 4n² are promised to callers, who multiply the
 * result out in the same scratch. */
size_t locus_skew_work(size_t n) {
    const size_t own = LOCUS_LINE + 2 * locus_padded_size(n) + 8 * locus_padded_stride(n), theirs = 4 * n * n + 9 * n;
    return own > theirs ? own : theirs;
}

/* Odd n: turns the last even row of Qᵀ against the others so that B's last column vanishes. */
static void drop_last_column(size_t n, double *d, double *f, double *Q) {
    const size_t m = n / 2, stride = locus_padded_stride(n);
    double bulge = f[m - 1];
    for (size_t k = m; k-- > 0 && bulge != 0.0;) {
        const locus_rotation by = locus_rotation_make(d[k], bulge);
        d[k] = by.r;
        bulge = 0.0;
        if (k > 0) {
            bulge = -by.s * f[k - 1];
            f[k - 1] *= by.c;
        }
        locus_rotate_rows(locus_padded_width(n), by.c, by.s, Q + 2 * k * stride, Q + (n - 1) * stride);
    }
}

/* Columns 2i and 2i + 1 of U, by falling angles, from rows of Qᵀ. */
static void take_pairs(size_t n, const double *sigma, int exponent, const double *Q, double *U, double *theta) {
    const size_t m = n / 2, stride = locus_padded_stride(n);
    for (size_t i = 0; i < m; i++) {
        const size_t rank = locus_rank(m, sigma, i);
        const double *even = Q + 2 * i * stride, *odd = even + stride;
        theta[rank] = ldexp(sigma[i], exponent);
        for (size_t r = 0; r < n; r++) {
            U[r * n + 2 * rank] = even[r];
            U[r * n + 2 * rank + 1] = odd[r];
        }
    }
    for (size_t r = 0; r < n && n % 2; r++)
        U[r * n + n - 1] = Q[(n - 1) * stride + r];
}

locus_status locus_skew_schur(size_t n, const double *S, double *U, double *theta, double *work) {
    if (n == 0)
        return LOCUS_OK;
    if (n > LOCUS_LARGEST_MATRIX)
        return LOCUS_ERROR_UNSUPPORTED;
    const size_t m = n / 2, stride = locus_padded_stride(n);
    double *A = locus_line_begin(work), *Q = A + locus_padded_size(n), *e = Q + locus_padded_size(n);
    double *d = e + stride, *f = d + stride, *diagonal = f + stride, *vectors = diagonal + stride;
    int exponent;
    if (!locus_padded_load(n, LOCUS_SKEW, S, A, &exponent))
        return LOCUS_ERROR_NUMERIC;
    locus_tridiagonalise(n, LOCUS_SKEW, A, Q, diagonal, e, vectors);
    for (size_t i = 0; i < m; i++) {
        d[i] = e[2 * i];
        f[i] = 2 * i + 2 < n ? -e[2 * i + 1] : 0.0;
    }
    if (n % 2 && m > 0)
        drop_last_column(n, d, f, A);
    const locus_rows even = {A, 2 * (ptrdiff_t)stride, locus_padded_width(n)};
    const locus_rows odd = {A + stride, even.stride, even.width};
    const locus_bidiagonal B = {m, d, f, .floor = 1.0}; /* the reflectors have cost that much */
    if (!locus_bidiagonal_values(&B, &odd, &even))
        return LOCUS_ERROR_NUMERIC;
    take_pairs(n, d, exponent, A, U, theta);
    return LOCUS_OK;
}
