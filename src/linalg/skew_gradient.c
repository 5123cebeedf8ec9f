/* SPDX-License-Identifier: MIT */
/* The derivative of y_t = exp(p_t S) x_t with respect to S, from sums over tokens only.
 *
 * Daleckii and Krein: with L's upstream gradient g_t, x̂ = Uᵀx, ĝ = Uᵀg and Λ the block form of S,
 *
 *     G[i,j] = dL/dΛ[i,j] = Σ_t p ∫₀¹ (R(−(1−s)pθ) ĝ)_i (R(spθ) x̂)_j ds.
 *
 * Take a pair of coordinates as one complex number: γ = ĝ_2I + iĝ_2I+1, ξ = x̂_2J + ix̂_2J+1; R(a) multiplies by
 * e^{ia}. The 2×2 block N = (ĝ_2I, ĝ_2I+1)ᵀ(x̂_2J, x̂_2J+1) is the same as two complex numbers,
 *
 *     c = γ·conj(ξ)/2 = ((N00 + N11) + i(N10 − N01))/2        N00 = Re c + Re a    N01 = Im a − Im c
 *     a = γ·ξ/2       = ((N00 − N11) + i(N10 + N01))/2        N10 = Im c + Im a    N11 = Re c − Re a
 *
 * and rotations only turn them, so both integrals are elementary:
 *
 *     c-part: γ·conj(ξ)/2 · p ∫ e^{−i(1−s)pθ_I − ispθ_J} ds = (forward_c − backward_c) / (i(θ_I − θ_J))
 *     a-part: γ·ξ/2       · p ∫ e^{−i(1−s)pθ_I + ispθ_J} ds = (forward_a − backward_a) / (i(θ_I + θ_J))
 *
 * with forward = Σ ĝ (R(pθ)x̂)ᵀ and backward = Σ (R(−pθ)ĝ) x̂ᵀ. Where the denominator 2δ = θ_I ∓ θ_J is small, the
 * integral is taken about its middle, p·sin(pδ)/(pδ) times the block at half the turn on both sides:
 *
 *     Σ_m (−1)^m δ^{2m}/(2m+1)! · moment_m,      moment_m = Σ_t p^{2m+1} (R(−pθ/2)ĝ)(R(pθ/2)x̂)ᵀ.
 *
 * An odd last coordinate is a pair with θ = 0 whose second half is absent: taken as 0 it stays 0 under R(0), so the
 * formulas hold as they are and the absent entries are not written. */
#include "linalg/linalg.h"

typedef struct number {
    double real, imaginary;
} number;

/* The two complex parts of one block, one that turns with θ_I − θ_J and one with θ_I + θ_J. */
typedef struct parts {
    number c, a;
} parts;

/* Size of the matrix and which block. */
typedef struct block {
    size_t n, I, J;
} block;

static double entry(const block *at, const double *matrix, size_t row, size_t column) {
    size_t i = 2 * at->I + row, j = 2 * at->J + column;
    return i < at->n && j < at->n ? matrix[i * at->n + j] : 0.0;
}

static parts split(const block *at, const double *matrix) {
    double n00 = entry(at, matrix, 0, 0), n01 = entry(at, matrix, 0, 1);
    double n10 = entry(at, matrix, 1, 0), n11 = entry(at, matrix, 1, 1);
    return (parts){{(n00 + n11) / 2, (n10 - n01) / 2}, {(n00 - n11) / 2, (n10 + n01) / 2}};
}

static void join(const block *at, parts value, double *matrix) {
    size_t i = 2 * at->I, j = 2 * at->J, n = at->n;
    matrix[i * n + j] = value.c.real + value.a.real;
    if (j + 1 < n)
        matrix[i * n + j + 1] = value.a.imaginary - value.c.imaginary;
    if (i + 1 < n)
        matrix[(i + 1) * n + j] = value.c.imaginary + value.a.imaginary;
    if (i + 1 < n && j + 1 < n)
        matrix[(i + 1) * n + j + 1] = value.c.real - value.a.real;
}

/* (forward − backward) / (i·difference) */
static number quotient(number forward, number backward, double difference) {
    return (number){(forward.imaginary - backward.imaginary) / difference,
                    -(forward.real - backward.real) / difference};
}

static double angle(size_t n, const double *theta, size_t I) {
    return I < n / 2 ? theta[I] : 0.0;
}

static double distance(double x, double y) {
    return x > y ? x - y : y - x;
}

/* Angles within `near` of each other, and angles that are the same, whatever `near` is. */
static bool is_near(double gap, double near) {
    return gap < near || gap == 0.0;
}

/* Angles fall and are not negative: the next one is the nearest, and what is near −θ is nearer to θ. */
bool locus_skew_has_near(size_t n, const double *theta, double near) {
    for (size_t I = 0; I + 1 < (n + 1) / 2; I++)
        if (is_near(distance(angle(n, theta, I), angle(n, theta, I + 1)), near))
            return true;
    return false;
}

/* Both series at once: they share the moments, each takes its own part. */
static parts series(const block *at, const double *const *moments, size_t count, double delta_c, double delta_a) {
    parts sum = {{0.0, 0.0}, {0.0, 0.0}};
    double weight_c = 1.0, weight_a = 1.0;
    for (size_t m = 0; m < count; m++) {
        parts moment = split(at, moments[m]);
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

void locus_skew_gradient(size_t n, const double *theta, double near, const double *forward, const double *backward,
                         const double *const *moments, size_t count, double *G_inner) {
    size_t blocks = (n + 1) / 2;
    for (size_t I = 0; I < blocks; I++)
        for (size_t J = 0; J < blocks; J++) {
            block at = {n, I, J};
            double difference = angle(n, theta, I) - angle(n, theta, J),
                   total = angle(n, theta, I) + angle(n, theta, J);
            bool near_c = I == J || is_near(distance(difference, 0.0), near), near_a = is_near(total, near);
            parts result = {{0.0, 0.0}, {0.0, 0.0}};
            if (near_c || near_a)
                result = series(&at, moments, count, difference / 2, total / 2);
            if (!near_c || !near_a) {
                parts f = split(&at, forward), b = split(&at, backward);
                if (!near_c)
                    result.c = quotient(f.c, b.c, difference);
                if (!near_a)
                    result.a = quotient(f.a, b.a, total);
            }
            join(&at, result, G_inner);
        }
}
