/* SPDX-License-Identifier: MIT */
/* Orthogonal matrices from free parameters A [n, n], and the way back. Row-major doubles, nothing allocates; `work` is
 * scratch of locus_orthogonal_work(n) doubles. Distinct calls may run at the same time.
 *
 *   SKEW         W = exp(S), S = A − Aᵀ                                                  det +1
 *   CAYLEY       W = (I + S)(I − S)⁻¹, S = A − Aᵀ: an angle 2·atan σ for each ±iσ of S   det +1, no eigenvalue −1
 *   HOUSEHOLDER  W = H_0 H_1 … H_{n−1}, H_j = I − 2 v vᵀ/vᵀv, v row j of A               det (−1)^n
 *
 * (Lezcano-Casado and Martínez-Rubio 2019; Helfrich, Willmott and Ye 2018; Mhammedi et al. 2017.) */
#ifndef LOCUS_ORTHOGONAL_H
#define LOCUS_ORTHOGONAL_H

#include "linalg/linalg.h"

typedef enum locus_orthogonal_kind {
    LOCUS_ORTHOGONAL_SKEW = 0,
    LOCUS_ORTHOGONAL_CAYLEY = 1,
    LOCUS_ORTHOGONAL_HOUSEHOLDER = 2
} locus_orthogonal_kind;

size_t locus_orthogonal_work(size_t n);

/* W from A; they do not overlap. NUMERIC if A is not finite, a reflection vector is zero, or an iteration fails. */
LOCUS_MUST_USE locus_status locus_orthogonal_make(locus_orthogonal_kind kind, size_t n, const double *A, double *W,
                                                  double *work);

/* G_A += dL/dA, given G_W = dL/dW as if W's elements were free. G_A overlaps nothing. */
LOCUS_MUST_USE locus_status locus_orthogonal_backward(locus_orthogonal_kind kind, size_t n, const double *A,
                                                      const double *G_W, double *G_A, double *work);

/* An A for the W whose block form is U, theta (linalg.h; |theta| < π for CAYLEY): for initial values. HOUSEHOLDER with
 * odd n has determinant −1: its last coordinate in U, which else would stand still, changes sign. */
LOCUS_MUST_USE locus_status locus_orthogonal_parameters(locus_orthogonal_kind kind, size_t n, const double *U,
                                                        const double *theta, double *A, double *work);

/* ---- powers: W^p = U R(p) Uᵀ ----
 *
 * R(p) turns the pairs (2i, 2i + 1) by p·theta[i], i < n/2, leaves a last unpaired coordinate alone, and then
 * multiplies the coordinates from `flip` on by (−1)^p (flip = n: none of them). `flip` is even unless it is n. theta ≥
 * 0 falls in each of the two parts. SKEW: theta are the angles of S, of any size, and flip = n. CAYLEY: theta in [0,
 * π), flip = n. HOUSEHOLDER: theta in [0, 3π/4), with the eigenvalues on the side of −1 in the second part; for odd n
 * the last coordinate belongs to an eigenvalue −1. The parts meet in the widest gap that the angles of W leave in [π/4,
 * 3π/4]. So angles that are equal, or nearly so, as eigenvalues are neighbours in their part, and eigenvalues of
 * different parts are never near. `sigma` [n/2] receives the angles of S for CAYLEY; for others theta. */
LOCUS_MUST_USE locus_status locus_orthogonal_powers(locus_orthogonal_kind kind, size_t n, const double *A, double *U,
                                                    double *theta, double *sigma, size_t *flip, double *work);

/* Gradient from sums over tokens, as in locus_skew_gradient (linalg.h), whose R(p_t θ) is now the R(p_t) above, flips
 * included; half turns R(±p θ/2) of moments are without flips, on x̂ and ĝ of which the ĝ side is multiplied by the
 * flip (−1)^p. Positions are divided by `span`, moments are Σ (p/span)^(2m+1) …; near applies to span·theta. Moments
 * are read for pairs of blocks of one part that are near. Of a block with itself only the antisymmetric part of the
 * moment (moment_10 − moment_01) reaches dL/dA, for every kind: the rest may be left out where G goes on to spread. */
typedef struct locus_power_sums {
    const double *forward, *backward;
    const double *const *moments; /* [count] */
    size_t count;
    double span, near;
} locus_power_sums;

/* G [n, n], in the coordinates of U: dL/dS for SKEW and CAYLEY, dL/dW for HOUSEHOLDER, unconstrained. It overlaps no
 * input. To go on: G_outer = U G Uᵀ, then locus_orthogonal_spread. */
void locus_orthogonal_gradient(locus_orthogonal_kind kind, size_t n, const double *theta, const double *sigma,
                               size_t flip, const locus_power_sums *sums, double *G);

/* G_A += what follows from G_outer: G − Gᵀ for SKEW and CAYLEY; backward through the reflections for HOUSEHOLDER. */
LOCUS_MUST_USE locus_status locus_orthogonal_spread(locus_orthogonal_kind kind, size_t n, const double *A,
                                                    const double *G_outer, double *G_A, double *work);

/* Gradient of a W = exp(S) given as its derivative: G_S with dL/dS for G_W = dL/dW, both unconstrained, W = U exp(Λ) Uᵀ
 * known by its block form (Daleckii and Krein; Najfeld and Havel 1995). G_S may be G_W. For LieRE, whose S is a sum. */
void locus_skew_exp_backward(size_t n, const double *U, const double *theta, const double *G_W, double *G_S,
                             double *work);

#endif
