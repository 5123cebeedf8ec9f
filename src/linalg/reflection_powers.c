/* SPDX-License-Identifier: MIT */
/* The block form of a product of reflections and its powers, W^p = U R(p) Uᵀ (orthogonal.h), in two steps that neither
 * repeated eigenvalues nor ±1 of any multiplicity disturb.
 *
 * 1. The symmetric part C = (W + Wᵀ)/2 has the eigenvalue cos φ, twice, for each pair e^{±iφ} of W
 *    (locus_dense_symmetric). The space is cut in two where no φ is: in the middle of the widest gap that the angles
 *    leave in [π/4, 3π/4]. Only the cut needs a gap: rounding mixes the parts by a relative ε/gap, and n/2 angles leave
 *    at least (π/2)/(n/2 + 1).
 * 2. The second part is negated (the flip), so that both have cos φ ≥ −1/√2, and Cayley's transform
 *    (W − I)(W + I)⁻¹ = K (I + C)⁻¹, K = (W − Wᵀ)/2, is skew with eigenvalues ±i·tan(φ/2): a map of angles that is
 *    steep nowhere, so that locus_skew_schur separates what can be separated. C is diagonal by now, and because K and C
 *    commute, the element is K_ij/(1 + (c_i + c_j)/2), skew to the last bit. */
#include "linalg/reflections.h"

#include "linalg/dense.h"
#include "linalg/linalg.h"
#include <math.h>
#include <string.h>

/* Columns of X: eigenvectors of W's symmetric part, their eigenvalues falling. */
static bool find_cosines(size_t n, const double *W, double *X, double *cosine, double *work) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            X[i * n + j] = (W[i * n + j] + W[j * n + i]) / 2;
    return locus_dense_symmetric(n, X, X, cosine, work);
}

/* How many of the falling cosines belong to the first part. */
static size_t find_cut(size_t n, const double *cosine) {
    const double low = atan(1.0), high = 3 * low;
    double last = low, widest = 0.0;
    size_t cut = 0;
    for (size_t k = 0; k <= n; k++) {
        double angle = k < n ? acos(fmax(-1.0, fmin(1.0, cosine[k]))) : high;
        angle = fmax(low, fmin(high, angle));
        if (angle - last > widest) {
            widest = angle - last;
            cut = k;
        }
        last = angle;
    }
    return cut;
}

/* Coordinates of one part in the basis where C is diagonal and W is M, and its sign. */
typedef struct part {
    size_t n, from, count;
    double sign;
    const double *M, *cosine;
} part;

/* Cayley's transform of the part; S is [count, count]. */
static void transform(const part *at, double *S) {
    const double *M = at->M, *cosine = at->cosine;
    for (size_t i = 0; i < at->count; i++)
        for (size_t j = 0; j < at->count; j++) {
            size_t row = at->from + i, column = at->from + j;
            double skew = (M[row * at->n + column] - M[column * at->n + row]) / 2;
            S[i * at->count + j] = at->sign * skew / (1.0 + at->sign * (cosine[row] + cosine[column]) / 2);
        }
}

/* The part's block of `basis`, and its angles; `own` [count, count] is scratch too. */
static locus_status decompose(const part *at, double *basis, double *theta, double *own, double *work) {
    size_t count = at->count;
    transform(at, work);
    locus_status status = locus_skew_schur(count, work, own, theta, work + count * count);
    if (status != LOCUS_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        memcpy(basis + (at->from + i) * at->n + at->from, own + i * count, count * sizeof(double));
    for (size_t i = 0; i < count / 2; i++)
        theta[i] = 2 * atan(theta[i]);
    return LOCUS_OK;
}

/* U holds one scratch matrix after another before it is filled. */
locus_status locus_reflections_powers(size_t n, const double *A, double *U, double *theta, size_t *flip, double *work) {
    double *W = work, *X = W + n * n, *basis = X + n * n, *cosine = basis + n * n, *rest = cosine + n;
    locus_status status = locus_reflections_multiply(n, A, W, rest);
    if (status != LOCUS_OK)
        return status;
    if (!find_cosines(n, W, X, cosine, rest))
        return LOCUS_ERROR_NUMERIC;
    size_t cut = find_cut(n, cosine);
    if (cut % 2) /* pairs torn apart: not an orthogonal matrix of this determinant */
        return LOCUS_ERROR_NUMERIC;
    locus_dense_multiply(n, W, X, U);
    locus_dense_transpose(n, X, basis);
    locus_dense_multiply(n, basis, U, W);

    const part first = {n, 0, cut, 1.0, W, cosine}, second = {n, cut, n - cut, -1.0, W, cosine};
    memset(basis, 0, n * n * sizeof(double));
    status = decompose(&first, basis, theta, U, rest);
    if (status == LOCUS_OK)
        status = decompose(&second, basis, theta + cut / 2, U, rest);
    if (status == LOCUS_OK)
        locus_dense_multiply(n, X, basis, U);
    *flip = cut;
    return status;
}
