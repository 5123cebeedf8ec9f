/* SPDX-License-Identifier: MIT */
/* The derivative of y_t = W^{p_t} x_t with respect to S or W, from sums over tokens only.
 *
 * Daleckii and Krein: with L's upstream gradient g_t, x̂ = Uᵀx, ĝ = Uᵀg and S = UΛUᵀ, W = exp(S),
 *
 *     G[i,j] = dL/dΛ[i,j] = Σ_t p ∫₀¹ (R(−(1−s)pθ) ĝ)_i (R(spθ) x̂)_j ds.
 *
 * Rotations only turn the two complex parts of a 2×2 block (block_form.h), so both integrals are elementary:
 *
 *     c-part: γ·conj(ξ)/2 · p ∫ e^{−i(1−s)pθ_I − ispθ_J} ds = (forward_c − backward_c) / (i(θ_I − θ_J))
 *     a-part: γ·ξ/2       · p ∫ e^{−i(1−s)pθ_I + ispθ_J} ds = (forward_a − backward_a) / (i(θ_I + θ_J))
 *
 * with forward = Σ ĝ (R(p)x̂)ᵀ and backward = Σ (R(−p)ĝ) x̂ᵀ. Where the denominator 2δ = θ_I ∓ θ_J is small, the
 * integral is taken about its middle, p·sin(pδ)/(pδ) times the block at half the turn on both sides:
 *
 *     Σ_m (−1)^m δ^{2m}/(2m+1)! · moment_m,      moment_m = Σ_t p^{2m+1} (R(−pθ/2)ĝ)(R(pθ/2)x̂)ᵀ.
 *
 * Other kinds. The a-part is the c-part with −θ_J for θ_J, so only c is spelt out. Every gradient is
 * (backward − forward) / conj(z_I − z_J) with the eigenvalues z_I, z_J of what it is taken for: iθ of a logarithm, iσ
 * of Cayley's S, λ = ±e^{iθ} of W itself (whose derivative is Σ_k W^{−(p−1−k)}g (W^k x)ᵀ, a geometric series in λ; the
 * sign is the flip). Within one part of the spectrum the gradient is the one above times a slope without singularities,
 *
 *     Cayley        (θ_I − θ_J)/(σ_I − σ_J) = 2 atan(d/q)/d                     d = σ_I − σ_J, q = 1 + σ_I σ_J
 *     reflections   conj(iθ_I − iθ_J)/conj(λ_I − λ_J) = ±e^{i(θ_I + θ_J)/2} δ/sin δ
 *
 * and across parts, where conj(λ_I − λ_J) = ±2cos δ·e^{−i(θ_I + θ_J)/2} is never near 0, it is the quotient itself. A
 * coordinate without a partner is an eigenvalue 1, or −1 if flipped: a pair with θ = 0 whose second half is absent.
 *
 * The block of a pair with itself enters dL/dA by the antisymmetric part of its moment only, for every kind: Cayley's
 * slope is real; and for reflections WᵀG counts, in which e^{−iθ} of Wᵀ takes the slope's e^{iθ} back. */
#include "linalg/orthogonal.h"

#include "linalg/block_form.h"
#include <math.h>

/* Angles within `near` of each other, and angles that are the same, whatever `near` is. */
static bool is_near(double gap, double near) {
    return fabs(gap) < near || gap == 0.0;
}

/* Both series at once: they share the moments, each takes its own part. */
static locus_parts series(const locus_block *at, const locus_power_sums *sums, double delta_c, double delta_a) {
    locus_parts sum = {{0.0, 0.0}, {0.0, 0.0}};
    double weight_c = sums->span, weight_a = sums->span;
    for (size_t m = 0; m < sums->count; m++) {
        locus_parts moment = locus_block_split(at, sums->moments[m]);
        sum.c.real += weight_c * moment.c.real;
        sum.c.imaginary += weight_c * moment.c.imaginary;
        sum.a.real += weight_a * moment.a.real;
        sum.a.imaginary += weight_a * moment.a.imaginary;
        double next = (double)((2 * m + 2) * (2 * m + 3));
        weight_c *= -delta_c * delta_c / next;
        weight_a *= -delta_a * delta_a / next;
    }
    return sum;
}

/* ---- one pair of eigenvalues ---- */

typedef struct eigenvalue {
    double theta, sigma, sign;
} eigenvalue;

static eigenvalue conjugate(eigenvalue z) {
    return (eigenvalue){-z.theta, -z.sigma, z.sign};
}

/* (forward − backward) / (i·difference) */
static locus_number quotient(locus_number forward, locus_number backward, double difference) {
    return (locus_number){(forward.imaginary - backward.imaginary) / difference,
                          -(forward.real - backward.real) / difference};
}

/* From the gradient of a logarithm to that of S or W. */
static locus_number slope(locus_orthogonal_kind kind, eigenvalue x, eigenvalue y) {
    if (kind == LOCUS_ORTHOGONAL_CAYLEY) {
        double d = x.sigma - y.sigma, q = 1.0 + x.sigma * y.sigma;
        if (d == 0.0)
            return (locus_number){2.0 / q, 0.0};
        return (locus_number){q > 0.0 ? 2.0 * atan(d / q) / d : (x.theta - y.theta) / d, 0.0};
    }
    if (kind == LOCUS_ORTHOGONAL_HOUSEHOLDER) {
        double middle = (x.theta + y.theta) / 2, half = (x.theta - y.theta) / 2;
        double size = x.sign * (half == 0.0 ? 1.0 : half / sin(half));
        return (locus_number){size * cos(middle), size * sin(middle)};
    }
    return (locus_number){1.0, 0.0};
}

/* (backward − forward) / conj(λ_x − λ_y), the signs of λ being opposite */
static locus_number across(locus_number forward, locus_number backward, eigenvalue x, eigenvalue y) {
    double middle = (x.theta + y.theta) / 2, size = x.sign / (2.0 * cos((x.theta - y.theta) / 2));
    locus_number difference = {backward.real - forward.real, backward.imaginary - forward.imaginary};
    return locus_number_multiply((locus_number){size * cos(middle), size * sin(middle)}, difference);
}

/* The spectrum, and what was summed. */
typedef struct problem {
    locus_orthogonal_kind kind;
    size_t n;
    const double *theta, *sigma;
    size_t flip;
    const locus_power_sums *sums;
} problem;

static eigenvalue eigenvalue_of(const problem *of, size_t I) {
    return (eigenvalue){locus_block_angle(of->n, of->theta, I), locus_block_angle(of->n, of->sigma, I),
                        2 * I < of->flip ? 1.0 : -1.0};
}

/* ---- one block ---- */

static locus_parts block_gradient(const problem *of, const locus_block *at) {
    const locus_power_sums *sums = of->sums;
    locus_parts f = locus_block_split(at, sums->forward), b = locus_block_split(at, sums->backward);
    eigenvalue x = eigenvalue_of(of, at->I), y = eigenvalue_of(of, at->J), z = conjugate(y);
    if (x.sign != y.sign)
        return (locus_parts){across(f.c, b.c, x, y), across(f.a, b.a, x, z)};
    double difference = x.theta - y.theta, total = x.theta + y.theta;
    bool near_c = at->I == at->J || is_near(sums->span * difference, sums->near);
    bool near_a = is_near(sums->span * total, sums->near);
    locus_parts result = {{0.0, 0.0}, {0.0, 0.0}};
    if (near_c || near_a)
        result = series(at, sums, sums->span * difference / 2, sums->span * total / 2);
    if (!near_c)
        result.c = quotient(f.c, b.c, difference);
    if (!near_a)
        result.a = quotient(f.a, b.a, total);
    result.c = locus_number_multiply(slope(of->kind, x, y), result.c);
    result.a = locus_number_multiply(slope(of->kind, x, z), result.a);
    return result;
}

void locus_orthogonal_gradient(locus_orthogonal_kind kind, size_t n, const double *theta, const double *sigma,
                               size_t flip, const locus_power_sums *sums, double *G) {
    const problem of = {kind, n, theta, sigma, flip, sums};
    size_t blocks = (n + 1) / 2;
    for (size_t I = 0; I < blocks; I++)
        for (size_t J = 0; J < blocks; J++) {
            locus_block at = {n, I, J};
            locus_block_join(&at, block_gradient(&of, &at), G);
        }
}

void locus_skew_gradient(size_t n, const double *theta, double near, const double *forward, const double *backward,
                         const double *const *moments, size_t count, double *G_inner) {
    const locus_power_sums sums = {forward, backward, moments, count, 1.0, near};
    locus_orthogonal_gradient(LOCUS_ORTHOGONAL_SKEW, n, theta, theta, n, &sums, G_inner);
}
