/* SPDX-License-Identifier: MIT */
/* Orthogonal matrices from free parameters, forward and backward. Reflections are in reflections.c; the two functions
 * of a skew S = A − Aᵀ = U Λ Uᵀ share everything here: f acts on the eigenvalues iσ of S, so W = U f(Λ) Uᵀ, and
 * (Daleckii and Krein) in the basis of U each pair of eigenvalues multiplies G_W by conj((f(iσ_I) − f(iσ_J))/(iσ_I −
 * iσ_J)): both parts of a 2×2 block (block_form.h), where the a-part has −σ_J for σ_J. Written without a difference,
 * which makes equal eigenvalues nothing special:
 *
 *     exp      e^{−iμ} sin δ/δ      μ = (σ_I + σ_J)/2, δ = (σ_I − σ_J)/2
 *     Cayley   2/((1 + iσ_I)(1 + iσ_J))      f(z) = (1 + z)/(1 − z), of length 1 and angle 2·atan σ
 *
 * S is decomposed again in the backward pass; nothing is kept between the two. */
#include "linalg/orthogonal.h"

#include "linalg/block_form.h"
#include "linalg/reflections.h"
#include <math.h>

/* Powers of reflections want most: four matrices beside what a decomposition asks for. */
size_t locus_orthogonal_work(size_t n) {
    return 4 * n * n + 3 * n + locus_skew_work(n);
}

/* ---- functions of a skew matrix ---- */

static bool load_skew(size_t n, const double *A, double *S) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            S[i * n + j] = A[i * n + j] - A[j * n + i];
            if (!isfinite(A[i * n + j]))
                return false;
        }
    return true;
}

/* The block form of S = A − Aᵀ; work holds n² + locus_skew_work. */
static locus_status decompose(size_t n, const double *A, double *U, double *sigma, double *work) {
    if (!load_skew(n, A, work))
        return LOCUS_ERROR_NUMERIC;
    return locus_skew_schur(n, work, U, sigma, work + n * n);
}

/* f(iσ) */
static locus_number eigenvalue(locus_orthogonal_kind kind, double sigma) {
    if (kind == LOCUS_ORTHOGONAL_SKEW)
        return (locus_number){cos(sigma), sin(sigma)};
    double length = hypot(1.0, sigma), c = 1.0 / length, s = sigma / length; /* of half the angle */
    return (locus_number){(c - s) * (c + s), 2 * c * s};
}

static locus_status make(locus_orthogonal_kind kind, size_t n, const double *A, double *W, double *work) {
    double *U = work, *sigma = U + n * n, *sine = sigma + n / 2, *rest = sigma + n;
    locus_status status = decompose(n, A, U, sigma, rest);
    if (status != LOCUS_OK)
        return status;
    for (size_t i = 0; i < n / 2; i++) {
        locus_number value = eigenvalue(kind, sigma[i]);
        sigma[i] = value.real;
        sine[i] = value.imaginary;
    }
    locus_block_compose(&(locus_block_form){n, U, sigma, sine, 1.0}, W, rest);
    return LOCUS_OK;
}

/* 1/(1 + iσ) */
static locus_number resolvent(double sigma) {
    double length = hypot(1.0, sigma);
    return (locus_number){1 / length / length, -sigma / length / length};
}

/* The weight of a pair of eigenvalues: see the head. */
static locus_number weight(locus_orthogonal_kind kind, double left, double right) {
    if (kind == LOCUS_ORTHOGONAL_CAYLEY) {
        locus_number product = locus_number_multiply(resolvent(left), resolvent(right));
        return (locus_number){2 * product.real, 2 * product.imaginary};
    }
    double middle = left / 2 + right / 2, half = left / 2 - right / 2, size = half == 0.0 ? 1.0 : sin(half) / half;
    return (locus_number){size * cos(middle), -size * sin(middle)};
}

/* In the coordinates of U: from dL/dW to dL/dS, in place. */
static void weigh(locus_orthogonal_kind kind, size_t n, const double *sigma, double *M) {
    size_t blocks = (n + 1) / 2;
    for (size_t I = 0; I < blocks; I++)
        for (size_t J = 0; J < blocks; J++) {
            locus_block at = {n, I, J};
            locus_parts parts = locus_block_split(&at, M);
            double left = locus_block_angle(n, sigma, I), right = locus_block_angle(n, sigma, J);
            parts.c = locus_number_multiply(weight(kind, left, right), parts.c);
            parts.a = locus_number_multiply(weight(kind, left, -right), parts.a);
            locus_block_join(&at, parts, M);
        }
}

void locus_skew_exp_backward(size_t n, const double *U, const double *theta, const double *G_W, double *G_S,
                             double *work) {
    double *M = work, *rest = work + n * n;
    locus_block_to_basis(n, U, G_W, M, rest);
    weigh(LOCUS_ORTHOGONAL_SKEW, n, theta, M);
    locus_block_from_basis(n, U, M, G_S, rest);
}

/* S = A − Aᵀ */
static void add_antisymmetric(size_t n, const double *G_S, double *G_A) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            G_A[i * n + j] += G_S[i * n + j] - G_S[j * n + i];
}

static locus_status backward(locus_orthogonal_kind kind, size_t n, const double *A, const double *G_W, double *G_A,
                             double *work) {
    double *U = work, *sigma = U + n * n, *M = sigma + n, *rest = M + n * n;
    locus_status status = decompose(n, A, U, sigma, M);
    if (status != LOCUS_OK)
        return status;
    locus_block_to_basis(n, U, G_W, M, rest);
    weigh(kind, n, sigma, M);
    locus_block_from_basis(n, U, M, M, rest);
    add_antisymmetric(n, M, G_A);
    return LOCUS_OK;
}

/* ---- every kind ---- */

locus_status locus_orthogonal_make(locus_orthogonal_kind kind, size_t n, const double *A, double *W, double *work) {
    if (kind == LOCUS_ORTHOGONAL_HOUSEHOLDER)
        return locus_reflections_multiply(n, A, W, work);
    return make(kind, n, A, W, work);
}

locus_status locus_orthogonal_backward(locus_orthogonal_kind kind, size_t n, const double *A, const double *G_W,
                                       double *G_A, double *work) {
    if (kind == LOCUS_ORTHOGONAL_HOUSEHOLDER)
        return locus_reflections_spread(n, A, G_W, G_A, work);
    return backward(kind, n, A, G_W, G_A, work);
}

locus_status locus_orthogonal_spread(locus_orthogonal_kind kind, size_t n, const double *A, const double *G_outer,
                                     double *G_A, double *work) {
    if (kind == LOCUS_ORTHOGONAL_HOUSEHOLDER)
        return locus_reflections_spread(n, A, G_outer, G_A, work);
    add_antisymmetric(n, G_outer, G_A);
    return LOCUS_OK;
}

/* A = S/2: the parameter that is skew itself. Reflections are factored from W. */
locus_status locus_orthogonal_parameters(locus_orthogonal_kind kind, size_t n, const double *U, const double *theta,
                                         double *A, double *work) {
    const double half_turn = acos(-1.0);
    bool reflections = kind == LOCUS_ORTHOGONAL_HOUSEHOLDER;
    double *real = work, *imaginary = real + n / 2, *W = work + n, *rest = W + n * n;
    for (size_t i = 0; i < n / 2; i++) {
        double angle = theta[i];
        if (!isfinite(angle) || (kind == LOCUS_ORTHOGONAL_CAYLEY && !(fabs(angle) < half_turn)))
            return LOCUS_ERROR_NUMERIC;
        real[i] = reflections ? cos(angle) : 0.0;
        imaginary[i] = reflections ? sin(angle) : kind == LOCUS_ORTHOGONAL_CAYLEY ? tan(angle / 2) / 2 : angle / 2;
    }
    locus_block_form form = {n, U, real, imaginary, reflections ? -1.0 : 0.0};
    locus_block_compose(&form, reflections ? W : A, rest);
    if (reflections)
        locus_reflections_factor(n, W, A, rest);
    return LOCUS_OK;
}

locus_status locus_orthogonal_powers(locus_orthogonal_kind kind, size_t n, const double *A, double *U, double *theta,
                                     double *sigma, size_t *flip, double *work) {
    bool reflections = kind == LOCUS_ORTHOGONAL_HOUSEHOLDER;
    *flip = n;
    if (n == 0)
        return LOCUS_OK;
    if (n > LOCUS_LARGEST_MATRIX)
        return LOCUS_ERROR_UNSUPPORTED;
    locus_status status =
        reflections ? locus_reflections_powers(n, A, U, theta, flip, work) : decompose(n, A, U, theta, work);
    for (size_t i = 0; i < n / 2 && status == LOCUS_OK; i++) {
        sigma[i] = theta[i];
        if (kind == LOCUS_ORTHOGONAL_CAYLEY)
            theta[i] = 2 * atan(sigma[i]);
    }
    return status;
}
