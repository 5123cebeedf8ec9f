/* SPDX-License-Identifier: MIT */
/* Eigenvalues and eigenvectors of a symmetric tridiagonal matrix by implicit QR steps with Wilkinson's shift (Dubrulle,
 * Martin and Wilkinson, The implicit QL algorithm, Numerische Mathematik 12, 1968; Parlett, The symmetric eigenvalue
 * problem, section 8.13). A block that no zero divides is looked at from its larger end, so that a step carries what is
 * small to where the block gets shorter. A block of two is finished by Jacobi's rotation. */
#include "linalg/condensed.h"

#include <float.h>

#define UNIT (DBL_EPSILON / 2) /* an element is nothing below this share of its neighbours' geometric mean */

enum { STEPS_FOR_EACH = 40 }; /* between one and two are needed */

/* A block of the matrix from one of its ends: d[i·step], e[i·step], row i at rows.at + i·rows.stride. */
typedef struct locus_block_view {
    size_t count;
    ptrdiff_t step;
    double *d, *e;
    locus_rows rows;
} locus_block_view;

static void rotate(const locus_rows *rows, size_t i, double c, double s) {
    double *row = rows->at + (ptrdiff_t)i * rows->stride;
    locus_rotate_rows(rows->width, c, s, row, row + rows->stride);
}

/* d and e between them are T − shift by one step, from the first row to the last; p is what the rotation before
 * moved from one diagonal element to the next. */
static void step_shifted(const locus_block_view *at) {
    const ptrdiff_t step = at->step, last = (ptrdiff_t)(at->count - 1) * step;
    double *d = at->d, *e = at->e, p = 0.0;
    const double half = (d[last - step] - d[last]) / (2 * e[last - step]); /* of the gap, in units of what is beside */
    double x = d[0] - d[last] + e[last - step] / (half + copysign(locus_rotation_make(half, 1.0).r, half));
    locus_rotation by = {1.0, 1.0, 0.0};
    for (size_t i = 0; i + 1 < at->count; i++, d += step, e += step) {
        const double beside = by.c * e[0];
        by = locus_rotation_make(x, by.s * e[0]);
        if (i > 0)
            e[-step] = by.r;
        x = d[0] - p;
        const double moved = (d[step] - x) * by.s + 2 * by.c * beside;
        p = by.s * moved;
        d[0] = x + p;
        x = by.c * moved - beside;
        rotate(&at->rows, i, by.c, by.s);
    }
    d[0] -= p;
    e[-step] = x;
}

static void finish_two(const locus_block_view *at) {
    double *a = at->d, *b = at->d + at->step, g = at->e[0];
    const double zeta = (*b - *a) / (2 * g);
    const double t = -copysign(1.0 / (fabs(zeta) + locus_rotation_make(zeta, 1.0).r), zeta);
    const locus_rotation by = locus_rotation_make(1.0, t);
    *a += t * g;
    *b -= t * g;
    at->e[0] = 0.0;
    rotate(&at->rows, 0, by.c, by.s);
}

static bool is_nothing(const double *d, double beside) {
    return !(beside * beside > UNIT * UNIT * fabs(d[0] * d[1]) + DBL_MIN);
}

bool locus_tridiagonal_values(size_t n, double *d, double *e, const locus_rows *rows) {
    if (n == 0)
        return true;
    if (!locus_all_finite(n, d) || !locus_all_finite(n - 1, e))
        return false;
    size_t steps = STEPS_FOR_EACH * n, hi = n - 1, lo, last_lo = n, last_hi = n;
    bool turned = false;
    while (hi > 0 && steps-- > 0) {
        for (lo = hi; lo > 0 && !is_nothing(d + lo - 1, e[lo - 1]); lo--)
            ;
        if (lo > 0)
            e[lo - 1] = 0.0;
        if (lo == hi) {
            hi--;
            continue;
        }
        if (last_lo > hi || last_hi < lo) /* another block */
            turned = fabs(d[lo]) < fabs(d[hi]);
        last_lo = lo;
        last_hi = hi;
        const size_t first = turned ? hi : lo;
        const locus_rows own = {rows->at + (ptrdiff_t)first * rows->stride, turned ? -rows->stride : rows->stride,
                                rows->width};
        const locus_block_view at = {hi - lo + 1, turned ? -1 : 1, d + first, e + (turned ? hi - 1 : lo), own};
        if (at.count == 2)
            finish_two(&at);
        else
            step_shifted(&at);
    }
    return hi == 0 && locus_all_finite(n, d);
}
