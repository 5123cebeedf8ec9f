/* SPDX-License-Identifier: MIT */
/* Plane rotations: the numbers where squares would over- or underflow, and rows in whole lines. */
#include "linalg/condensed.h"

#include "core/loop_clones.h"

locus_rotation locus_rotation_scaled(double f, double g) {
    const double largest = fmax(fabs(f), fabs(g));
    if (largest == 0.0)
        return (locus_rotation){1.0, 0.0, 0.0};
    int exponent;
    (void)frexp(largest, &exponent);
    const double x = ldexp(f, -exponent), y = ldexp(g, -exponent), r = sqrt(x * x + y * y);
    return (locus_rotation){x / r, y / r, ldexp(r, exponent)};
}

LOCUS_CLONES
static void locus_rotate_lines(size_t count, double c, double s, double *restrict x, double *restrict y) {
    const size_t width = count / LOCUS_LINE * LOCUS_LINE;
    for (size_t j = 0; j < width; j++) {
        const double a = x[j], b = y[j];
        x[j] = c * a + s * b;
        y[j] = c * b - s * a;
    }
}

void locus_rotate_rows(size_t width, double c, double s, double *x, double *y) {
    locus_rotate_lines(width, c, s, x, y);
}
