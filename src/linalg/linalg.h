/* SPDX-License-Identifier: MIT */
/* Small dense linear algebra in double: what orthogonal generators need. Matrices are row-major, n × n.
 * Nothing here allocates; `work` is scratch of locus_skew_work(n) doubles. Distinct calls may run at the same time. */
#ifndef LOCUS_LINALG_H
#define LOCUS_LINALG_H

#include <locus/status.h>
#include <stdbool.h>
#include <stddef.h>

enum { LOCUS_LARGEST_MATRIX = 30000 }; /* rows: n² numbers can be counted everywhere */

/* Real block form of a skew-symmetric S: S = U Λ Uᵀ, U orthogonal, Λ = diag of blocks [0 −θ_i; θ_i 0], i < n/2, with
 * θ_i ≥ 0, falling; for odd n a last 0. So exp(pS) = U·rotation by pθ of the pairs (2i, 2i+1)·Uᵀ. Householder to
 * tridiagonal form, whose even–odd permutation is a bidiagonal matrix: its singular values are the angles, each pair
 * found once and exactly paired (Ward and Gray 1978). Only the part of S below the diagonal is read. `theta` receives
 * ⌊n/2⌋ numbers; U must not overlap S. NUMERIC if S is not finite or the iteration fails,
 * UNSUPPORTED if n is beyond LOCUS_LARGEST_MATRIX. */
size_t locus_skew_work(size_t n);
LOCUS_MUST_USE locus_status locus_skew_schur(size_t n, const double *S, double *U, double *theta, double *work);

/* Gradient of L with respect to S (unconstrained; dL/dA = G − Gᵀ for S = A − Aᵀ), for y_t = exp(p_t S) x_t and upstream
 * g_t. In the coordinates of U (x̂ = Uᵀx, ĝ = Uᵀg) from token sums, all [n, n], row-major:
 *
 *   forward[i,j]    = Σ_t ĝ_ti (ŷ_t)_j                                              ŷ = R(p_t θ) x̂
 *   backward[i,j]   = Σ_t (R(−p_t θ) ĝ_t)_i x̂_tj
 *   moments[m][i,j] = Σ_t p_t^(2m+1) (R(−p_t θ/2) ĝ_t)_i (R(p_t θ/2) x̂_t)_j         m < count, count ≥ 1
 *
 * R(a) turns the pairs (2i, 2i+1) by a_i and leaves a last unpaired coordinate alone.
 *
 * The quotient (forward − backward)/(θ_i ∓ θ_j) serves pairs of blocks whose angles are at least `near` apart (from −θ
 * too); the others take a series in the moments. Every block is near itself: the 2×2 blocks on the diagonal of
 * `moments` must always be there; the rest of `moments` is read only where two angles are near.
 *
 * With x = near·max|p_t| the series stops short by about (x/2)^(2·count)/(2·count+1)! of the moment, and the quotient
 * loses a relative (rounding of the sums)/x: sums of float32 data want a wide x and count of 4 (x = 1: 1e-8), sums of
 * double data are good with x = 0.01 and count of 2 (5e-12). Where powers of p could overflow or lose bits, hand in
 * positions p/s, angles s·θ, near·s and multiply G_inner by s.
 *
 * G_inner is dL/dΛ seen as a full matrix; it may not overlap its inputs. dL/dS = U G_inner Uᵀ is left to the caller,
 * who has faster products. See the head of orthogonal_gradient.c for the derivation. */
void locus_skew_gradient(size_t n, const double *theta, double near, const double *forward, const double *backward,
                         const double *const *moments, size_t count, double *G_inner);

#endif
