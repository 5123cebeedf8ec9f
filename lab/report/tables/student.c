/* SPDX-License-Identifier: MIT */
/* The incomplete beta function by its continued fraction (Lentz's method), and quantiles by halving intervals. */
#include "report/tables/student.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

#define MOST_TERMS 10000 /* grows as the square root of the degrees: 10^6 need 2,000 */

/* log B(a, b). lgamma writes a global sign, which nobody reads. */
static double log_beta(double a, double b) {
    return lgamma(a) + lgamma(b) - lgamma(a + b);
}

/* Lentz's way through the continued fraction: 1 / (1 + d₁ / (1 + d₂ / …)). A term of 0 is nudged. */
static double fraction(double x, double a, double b) {
    const double least = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < least ? least : d);
    double value = d;
    for (size_t m = 1; m <= MOST_TERMS; m++) {
        const double k = (double)m;
        const double even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
        const double odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1));
        double factor = 1;
        for (size_t i = 0; i < 2; i++) {
            const double term = i == 0 ? even : odd;
            d = 1 + term * d;
            c = 1 + term / c;
            d = 1 / (fabs(d) < least ? least : d);
            c = fabs(c) < least ? least : c;
            factor = c * d;
            value *= factor;
        }
        if (fabs(factor - 1) < DBL_EPSILON)
            break;
    }
    return value;
}

/* I_x(a, b) where the fraction converges fast, x < (a + 1) / (a + b + 2); `rest` is 1 − x, without its rounding. */
static double beta_below(double x, double rest, double a, double b) {
    return exp(a * log(x) + b * log(rest) - log_beta(a, b)) * fraction(x, a, b) / a;
}

double lab_student_tails(double t, double degrees) {
    const double square = t * t, a = degrees / 2, b = 0.5;
    if (!(square > 0))
        return 1;
    if (!isfinite(square))
        return 0;
    const double x = degrees / (degrees + square), rest = square / (degrees + square);
    return x < (a + 1) / (a + b + 2) ? beta_below(x, rest, a, b) : 1 - beta_below(rest, x, b, a);
}

double lab_student(double miss, double degrees) {
    if (!(degrees > 0))
        return INFINITY;
    double low = 0, high = 1;
    while (lab_student_tails(high, degrees) > miss) {
        low = high;
        high *= 2;
    }
    double middle = (low + high) / 2;
    while (middle > low && middle < high) {
        *(lab_student_tails(middle, degrees) > miss ? &low : &high) = middle;
        middle = (low + high) / 2;
    }
    return high;
}
