/* SPDX-License-Identifier: MIT */
/* Haar-distributed matrices (Stewart 1980): Gram and Schmidt on independent normal vectors, twice for orthogonality to
 * rounding. The block form goes through Cayley's transform: W = U R(θ) Uᵀ has (W − I)(W + I)⁻¹ = U tan(θ/2) Uᵀ, a skew
 * matrix whose block form gives U and θ = 2 arctan. */
#include "operators/learned/haar.h"

#include "linalg/linalg.h"

#include <math.h>

#define ANEW ((uint64_t)1 << 48)

static double dot(size_t n, const double *x, const double *y) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static void orthogonalise(size_t n, const double *rows, size_t count, double *row) {
    for (size_t i = 0; i < count; i++) {
        double part = dot(n, rows + i * n, row);
        for (size_t j = 0; j < n; j++)
            row[j] -= part * rows[i * n + j];
    }
}

void locus_haar_orthogonal(size_t n, const locus_random *random, uint64_t *index, double *Q) {
    for (size_t i = 0; i < n; i++) {
        double *row = Q + i * n, norm = 0;
        uint64_t first = *index + i * n;
        do { /* a row within rounding of those before would be noise */
            for (size_t j = 0; j < n; j++)
                row[j] = locus_random_normal(random, first + j);
            first += ANEW;
            orthogonalise(n, Q, i, row);
            orthogonalise(n, Q, i, row);
            norm = sqrt(dot(n, row, row));
        } while (norm < 1e-6);
        for (size_t j = 0; j < n; j++)
            row[j] /= norm;
    }
    *index += (uint64_t)n * n;
}

void locus_skew_assemble(size_t n, const double *U, const double *theta, double *S) {
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c <= r; c++) {
            double sum = 0;
            for (size_t i = 0; i + 1 < n; i += 2)
                sum += theta[i / 2] * (U[r * n + i + 1] * U[c * n + i] - U[r * n + i] * U[c * n + i + 1]);
            S[r * n + c] = sum;
            S[c * n + r] = 0.0 - sum; /* its bits are those of the same sum there; nowhere −0 */
        }
}

/* Gauss–Jordan with row pivots: X M = B for rows of X, through Mᵀ Xᵀ = Bᵀ. M is used up; B becomes Xᵀ. Returns det's
 * sign. */
static double solve_transposed(size_t n, double *M, double *B) {
    double sign = 1;
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < n; i++)
            pivot = fabs(M[i * n + k]) > fabs(M[pivot * n + k]) ? i : pivot;
        sign = pivot == k ? sign : -sign;
        for (size_t j = 0; pivot != k && j < n; j++) {
            double m = M[k * n + j], b = B[k * n + j];
            M[k * n + j] = M[pivot * n + j], B[k * n + j] = B[pivot * n + j];
            M[pivot * n + j] = m, B[pivot * n + j] = b;
        }
        double inverse = 1 / M[k * n + k];
        sign = M[k * n + k] < 0 ? -sign : sign;
        for (size_t j = 0; j < n; j++)
            M[k * n + j] *= inverse, B[k * n + j] *= inverse;
        for (size_t i = 0; i < n; i++) {
            double factor = M[i * n + k];
            for (size_t j = 0; i != k && j < n; j++)
                M[i * n + j] -= factor * M[k * n + j], B[i * n + j] -= factor * B[k * n + j];
        }
    }
    return sign;
}

size_t locus_haar_work(size_t n) {
    return 3 * n * n + locus_skew_work(n);
}

/* W → skew (W − I)(W + I)⁻¹ in `skew`. The two factors commute, so it is also (W + I)⁻¹(W − I). */
static void cayley(size_t n, const double *W, double *sum, double *skew) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            sum[i * n + j] = W[i * n + j] + (i == j);
            skew[i * n + j] = W[i * n + j] - (i == j);
        }
    (void)solve_transposed(n, sum, skew);
}

static double determinant_sign(size_t n, const double *W, double *copy, double *other) {
    for (size_t i = 0; i < n * n; i++) {
        copy[i] = W[i];
        other[i] = 0;
    }
    return solve_transposed(n, copy, other);
}

locus_status locus_haar_blocks(size_t n, const locus_random *random, uint64_t *index, double *U, double *theta,
                               double *work) {
    double *W = work, *sum = W + n * n, *skew = sum + n * n, *rest = skew + n * n;
    locus_haar_orthogonal(n, random, index, W);
    if (determinant_sign(n, W, sum, skew) < 0)
        for (size_t j = 0; j < n; j++)
            W[j] = -W[j];
    cayley(n, W, sum, skew);
    locus_status status = locus_skew_schur(n, skew, U, theta, rest);
    for (size_t i = 0; i < n / 2 && status == LOCUS_OK; i++)
        theta[i] = 2 * atan(theta[i]);
    return status;
}
