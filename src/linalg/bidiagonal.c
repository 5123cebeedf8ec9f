/* SPDX-License-Identifier: MIT */
/* Singular values and vectors of a bidiagonal matrix by implicit QR steps (Golub and Kahan 1965), with the zero shift
 * and the stopping criteria by which small singular values keep all their digits (Demmel and Kahan, Accurate singular
 * values of bidiagonal matrices, SIAM J. Sci. Stat. Comput. 11, 1990; numbers in brackets are theirs).
 *
 * A block that no zero divides is looked at from its larger end, so that a step carries what is small to where the
 * block gets shorter: from the lower end the matrix is its transpose, turned round, with left and right exchanged. A
 * block of two is finished by one rotation on the right that makes its columns orthogonal, and the one on the left
 * that follows. */
#include "linalg/condensed.h"

#include <float.h>

#define TOLERANCE (8 * DBL_EPSILON) /* of a value, relative to itself, for each element that is dropped */

#define UNIT (DBL_EPSILON / 2)
#define SHIFTED_FROM 0.01 /* of the largest element; times the block's size */

enum { STEPS_FOR_EACH = 40 }; /* about two are needed */

/* A block of the matrix from one of its ends: d[i·step], f[i·step]. */
typedef struct locus_block_view {
    size_t count;
    ptrdiff_t step;
    double *d, *f;
    locus_rows left, right; /* row i at at + i·stride */
} locus_block_view;

static double least_of(double a, double b) {
    return a < b ? a : b;
}

static double most_of(double a, double b) {
    return a > b ? a : b;
}

static double *row_of(const locus_rows *rows, size_t i) {
    return rows->at + (ptrdiff_t)i * rows->stride;
}

static void rotate(const locus_rows *rows, size_t i, locus_rotation by) {
    locus_rotate_rows(rows->width, by.c, by.s, row_of(rows, i), row_of(rows, i + 1));
}

/* ---- steps ---- */

/* One QR step on BᵀB − shift², from the first row to the last. */
static void step_shifted(const locus_block_view *at, double shift) {
    const ptrdiff_t step = at->step;
    double *d = at->d, *f = at->f;
    double x = (fabs(*d) - shift) * (copysign(1.0, *d) + shift / *d), bulge = *f;
    for (size_t i = 0; i + 1 < at->count; i++, d += step, f += step) {
        const locus_rotation right = locus_rotation_make(x, bulge);
        if (i > 0)
            f[-step] = right.r;
        x = right.c * d[0] + right.s * f[0];
        const double over = right.c * f[0] - right.s * d[0], below = right.c * d[step];
        const locus_rotation left = locus_rotation_make(x, right.s * d[step]);
        d[0] = left.r;
        x = left.c * over + left.s * below;
        d[step] = left.c * below - left.s * over;
        if (i + 2 < at->count) {
            bulge = left.s * f[step];
            f[step] = left.c * f[step];
        }
        rotate(&at->right, i, right);
        rotate(&at->left, i, left);
    }
    f[-step] = x;
}

/* The same for shift 0, without a difference of two numbers (section 3). */
static void step_unshifted(const locus_block_view *at) {
    const ptrdiff_t step = at->step;
    double *d = at->d, *f = at->f;
    locus_rotation right = {1.0, 0.0, 0.0}, left = right;
    for (size_t i = 0; i + 1 < at->count; i++, d += step, f += step) {
        right = locus_rotation_make(right.c * d[0], f[0]);
        if (i > 0)
            f[-step] = left.s * right.r;
        left = locus_rotation_make(left.c * right.r, d[step] * right.s);
        d[0] = left.r;
        rotate(&at->right, i, right);
        rotate(&at->left, i, left);
    }
    const double last = right.c * d[0];
    d[0] = left.c * last;
    f[-step] = left.s * last;
}

/* ---- blocks of two ---- */

/* The smaller singular value of [a g; 0 b]: half the sum and half the difference of |(a ± b, g)| are the two. */
static double smaller_of_two(double a, double g, double b) {
    const double x = fabs(a), y = fabs(b);
    const double larger = locus_rotation_make(x + y, g).r / 2 + locus_rotation_make(x - y, g).r / 2;
    return larger > 0.0 ? least_of(x, y) * (most_of(x, y) / larger) : 0.0;
}

/* [a g; 0 b]: the columns (a, 0) and (g, b) become orthogonal by the rotation with tan φ = t, t² − 2ζt − 1 = 0. The
 * longer of them gives the rotation on the left, and the determinant the other value. */
static void finish_two(const locus_block_view *at) {
    int exponent;
    (void)frexp(most_of(most_of(fabs(at->d[0]), fabs(at->d[at->step])), fabs(at->f[0])), &exponent);
    const double a = ldexp(at->d[0], -exponent), b = ldexp(at->d[at->step], -exponent), g = ldexp(at->f[0], -exponent);
    const double excess = (b - a) * (b + a) + g * g, zeta = excess / (2 * a * g);
    const double t = a * g == 0.0 ? 0.0 : -copysign(1.0 / (fabs(zeta) + sqrt(1.0 + zeta * zeta)), zeta);
    const double c = 1.0 / sqrt(1.0 + t * t), s = t * c;
    const bool second = excess >= 0.0; /* is the longer one */
    const double top = second ? c * g - s * a : c * a + s * g, bottom = second ? c * b : s * b;
    const locus_rotation left = second ? locus_rotation_make(bottom, -top) : locus_rotation_make(top, bottom);
    const double larger = ldexp(left.r, exponent), smaller = ldexp(left.r > 0.0 ? a * (b / left.r) : 0.0, exponent);
    at->d[0] = second ? smaller : larger;
    at->d[at->step] = second ? larger : smaller;
    at->f[0] = 0.0;
    rotate(&at->right, 0, (locus_rotation){c, s, 0.0});
    rotate(&at->left, 0, left);
}

/* ---- the iteration ---- */

/* What an element may be dropped for whatever is beside it: the tolerance times a lower bound of the smallest singular
 * value, over √m (section 4), or what the floor leaves to rounding. */
static double negligible(const locus_bidiagonal *B) {
    double mu = fabs(B->d[0]), least = mu;
    for (size_t i = 1; i < B->m && least > 0.0; i++) {
        mu = fabs(B->d[i]) * (mu / (mu + fabs(B->f[i - 1])));
        least = least_of(least, mu);
    }
    const double size = (double)B->m, own = most_of(TOLERANCE * least / sqrt(size), DBL_MIN * size * size);
    return most_of(own, UNIT * B->floor);
}

/* Drops one element that no singular value feels (criteria 1a and 2a), or says how small values may be. */
static bool drop_one(const locus_block_view *at, double *least) {
    const ptrdiff_t step = at->step, last = (ptrdiff_t)(at->count - 2) * step;
    if (fabs(at->f[last]) <= TOLERANCE * fabs(at->d[last + step])) {
        at->f[last] = 0.0;
        return true;
    }
    double mu = fabs(at->d[0]);
    *least = mu;
    for (ptrdiff_t i = 0; i != last + step; i += step) {
        if (fabs(at->f[i]) <= TOLERANCE * mu) {
            at->f[i] = 0.0;
            return true;
        }
        mu = fabs(at->d[i + step]) * (mu / (mu + fabs(at->f[i])));
        *least = least_of(*least, mu);
    }
    return false;
}

/* 0 where a shift would cost small values their digits, where the block is singular, or where it would do nothing. */
static double choose_shift(const locus_block_view *at, double least, double floor) {
    const ptrdiff_t step = at->step, last = (ptrdiff_t)(at->count - 1) * step;
    double largest = fabs(at->d[last]);
    for (ptrdiff_t i = 0; i != last; i += step)
        largest = most_of(largest, most_of(fabs(at->d[i]), fabs(at->f[i])));
    if (least <= UNIT * floor || (double)at->count * most_of(least, floor) <= SHIFTED_FROM * largest)
        return 0.0;
    const double shift = smaller_of_two(at->d[last - step], at->f[last - step], at->d[last]);
    const double share = shift / fabs(at->d[0]);
    return share * share < DBL_EPSILON ? 0.0 : shift;
}

static locus_rows shifted_rows(const locus_rows *rows, size_t first, bool turned) {
    return (locus_rows){row_of(rows, first), turned ? -rows->stride : rows->stride, rows->width};
}

static void improve(const locus_block_view *at, double floor) {
    double least;
    if (at->count == 2) {
        finish_two(at);
    } else if (!drop_one(at, &least)) {
        const double shift = choose_shift(at, least, floor);
        if (shift == 0.0)
            step_unshifted(at);
        else
            step_shifted(at, shift);
    }
}

bool locus_bidiagonal_values(const locus_bidiagonal *B, const locus_rows *left, const locus_rows *right) {
    const size_t m = B->m;
    double *d = B->d, *f = B->f;
    if (m == 0)
        return true;
    if (!locus_all_finite(m, d) || !locus_all_finite(m - 1, f))
        return false;
    const double nothing = negligible(B);
    size_t steps = STEPS_FOR_EACH * m, hi = m - 1, lo, last_lo = m, last_hi = m;
    bool turned = false;
    while (hi > 0 && steps-- > 0) {
        for (lo = hi; lo > 0 && fabs(f[lo - 1]) > nothing; lo--)
            ;
        if (lo > 0)
            f[lo - 1] = 0.0;
        if (lo == hi) {
            hi--;
            continue;
        }
        if (last_lo > hi || last_hi < lo) /* another block */
            turned = fabs(d[lo]) < fabs(d[hi]);
        last_lo = lo;
        last_hi = hi;
        const size_t first = turned ? hi : lo;
        const locus_rows ahead = shifted_rows(turned ? left : right, first, turned);
        const locus_rows behind = shifted_rows(turned ? right : left, first, turned);
        const locus_block_view at = {hi - lo + 1, turned ? -1 : 1, d + first, f + (turned ? hi - 1 : lo), behind,
                                     ahead};
        improve(&at, B->floor);
    }
    for (size_t i = 0; i < m; i++) {
        if (signbit(d[i])) {
            d[i] = -d[i];
            double *row = row_of(right, i);
            for (size_t j = 0; j < right->width; j++)
                row[j] = -row[j];
        }
    }
    return hi == 0 && locus_all_finite(m, d);
}
