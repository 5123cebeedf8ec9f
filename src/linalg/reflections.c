/* SPDX-License-Identifier: MIT */
/* Householder reflections as parameters (Mhammedi et al. 2017).
 *
 * Backward. H_j = I − 2uuᵀ, W = L_j H_j R_j. For unit u, dL/du of H_j is −2(M u + Mᵀu) with M = L_jᵀ G R_jᵀ, the part
 * along u left out, because v's length does nothing. With N_j = L_jᵀ G Wᵀ L_j = M H_j this is 2(N u − Nᵀu): only
 * K_j = N_j − N_jᵀ counts, which is skew and goes from reflection to reflection by a similarity,
 *
 *     K_0 = G Wᵀ − W Gᵀ,     dL/dv_j = w/|v_j| with w = 2 K_j u,     K_{j+1} = H_j K_j H_j = K_j + u wᵀ − w uᵀ,
 *
 * so that W is needed once and no product of reflections is kept.
 *
 * Factoring. Reflection k maps what is left of column k, x of length 1, to +e_k: v = x − e_k. Where x is e_k itself,
 * e_{k+1} serves, whose reflection leaves e_k alone. The last coordinate has no choice: what is left of it is det W
 * times the sign of the n − 1 reflections before, −1, which is what a reflection along it does. */
#include "linalg/reflections.h"

#include "linalg/dense.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* u = v/|v|, scaled first so that no square over- or underflows. Returns |v|; 0 if there is no direction. */
static double normalise(size_t n, const double *v, double *u) {
    double largest = 0.0, sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(v[i]))
            return 0.0;
        largest = fmax(largest, fabs(v[i]));
    }
    if (largest == 0.0)
        return 0.0;
    int exponent;
    frexp(largest, &exponent);
    for (size_t i = 0; i < n; i++) {
        u[i] = ldexp(v[i], -exponent);
        sum += u[i] * u[i];
    }
    double length = sqrt(sum);
    for (size_t i = 0; i < n; i++)
        u[i] /= length;
    return ldexp(length, exponent);
}

/* M ← H M for the reflection along u [rows]; w [columns] is scratch. */
static void reflect_rows(size_t rows, size_t columns, const double *u, double *M, double *w) {
    memset(w, 0, columns * sizeof(double));
    for (size_t i = 0; i < rows; i++)
        locus_dense_axpy(columns, u[i], M + i * columns, w);
    for (size_t i = 0; i < rows; i++)
        locus_dense_axpy(columns, -2 * u[i], w, M + i * columns);
}

locus_status locus_reflections_multiply(size_t n, const double *A, double *W, double *work) {
    double *u = work, *w = work + n;
    memset(W, 0, n * n * sizeof(double));
    for (size_t i = 0; i < n; i++)
        W[i * n + i] = 1.0;
    for (size_t j = n; j-- > 0;) {
        if (normalise(n, A + j * n, u) == 0.0)
            return LOCUS_ERROR_NUMERIC;
        reflect_rows(n, n, u, W, w);
    }
    return LOCUS_OK;
}

/* K = G Wᵀ − W Gᵀ; scratch holds n². */
static void start(size_t n, const double *G, const double *W, double *K, double *scratch) {
    locus_dense_transpose(n, W, K);
    locus_dense_multiply(n, G, K, scratch);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            K[i * n + j] = scratch[i * n + j] - scratch[j * n + i];
}

locus_status locus_reflections_spread(size_t n, const double *A, const double *G_W, double *G_A, double *work) {
    double *W = work, *K = W + n * n, *scratch = K + n * n, *u = scratch + n * n, *w = u + n;
    locus_status status = locus_reflections_multiply(n, A, W, u);
    if (status != LOCUS_OK)
        return status;
    start(n, G_W, W, K, scratch);
    for (size_t j = 0; j < n; j++) {
        double length = normalise(n, A + j * n, u);
        memset(w, 0, n * sizeof(double));
        for (size_t i = 0; i < n; i++) /* K u = −Kᵀu: rows are read in their order in memory */
            locus_dense_axpy(n, -2 * u[i], K + i * n, w);
        locus_dense_axpy(n, 1 / length, w, G_A + j * n);
        for (size_t i = 0; i < n; i++) {
            double *row = K + i * n, ui = u[i], wi = w[i];
            for (size_t k = 0; k < n; k++)
                row[k] += ui * w[k] - wi * u[k];
        }
    }
    return LOCUS_OK;
}

/* The unit vector along x − |x|e_0, without cancellation in its first element; false where x is a multiple of e_0. */
static bool point_to_axis(size_t n, const double *x, double *u) {
    double sum = 0.0;
    for (size_t i = 1; i < n; i++)
        sum += x[i] * x[i];
    double length = hypot(x[0], sqrt(sum));
    memcpy(u, x, n * sizeof(double));
    u[0] = x[0] > 0.0 ? -sum / (x[0] + length) : x[0] - length;
    return normalise(n, u, u) != 0.0;
}

void locus_reflections_factor(size_t n, double *W, double *A, double *work) {
    double *x = work, *w = work + n;
    memset(A, 0, n * n * sizeof(double));
    for (size_t k = 0; k < n; k++) {
        size_t left = n - k;
        double *u = A + k * n + k;
        for (size_t i = 0; i < left; i++)
            x[i] = W[(k + i) * n + k];
        if (left == 1)
            u[0] = 1.0;
        else if (!point_to_axis(left, x, u))
            u[1] = 1.0;
        /* rows from k on, whole, because a row is contiguous; columns before k are 0 there */
        reflect_rows(left, n, u, W + k * n, w);
    }
}
