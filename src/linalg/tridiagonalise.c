/* SPDX-License-Identifier: MIT */
/* Householder's reduction to tridiagonal form (Golub and Van Loan, Matrix computations, section 8.3.1; for skew
 * matrices Ward and Gray 1978), with each pass over the matrix serving two steps: it finishes the update of one
 * reflector and begins the product with the next.
 *
 * A of symmetry σ (Aᵀ = σA) and H = I − vvᵀ, |v|² = 2:
 *
 *     H A H = A − (v pᵀ + σ p vᵀ),     p = a − (vᵀa/2) v,     a = Σ_i v_i A_i, A_i row i; vᵀa is 0 if σ = −1.
 *
 * Both products of a pair are rounded before they are added, so that the result has A's symmetry to the last bit. A
 * row that is done keeps its reflector, with zeros before it. Q = H_0 H_1 … is multiplied out from the last to the
 * first, each of which touches its own trailing block only. */
#include "linalg/condensed.h"

#include "core/loop_clones.h"

#include <string.h>

#define NEGLIGIBLE 1e-280 /* as a sum of squares */

/* ---- loops along rows; widths are whole lines ---- */

/* Sum of x·y in eight parts. */
static inline double dot(size_t width, const double *restrict x, const double *restrict y) {
    double part[LOCUS_LINE] = {0};
    for (size_t j = 0; j + LOCUS_LINE <= width; j += LOCUS_LINE)
        for (size_t lane = 0; lane < LOCUS_LINE; lane++)
            part[lane] += x[j + lane] * y[j + lane];
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

typedef struct locus_update {
    double *rows;          /* where the columns in use begin */
    size_t stride;         /* from row to row */
    size_t count, width;   /* of the rows, and of the columns in use: multiples of 4, of LOCUS_LINE */
    const double *v, *p;   /* the last reflector, at the same columns */
    const double *vi, *pi; /* and at these rows, pi times σ */
    const double *next;    /* the next one, at these rows */
    double *sum;           /* Σ next_i A_i, added to */
} locus_update;

/* Four rows; the pointers are parameters, because those are where compilers believe `restrict`. */
static inline void two_sided(size_t width, const double *vi, const double *pi, const double *next, double *restrict a0,
                             double *restrict a1, double *restrict a2, double *restrict a3, const double *restrict v,
                             const double *restrict p, double *restrict sum) {
    const double v0 = vi[0], v1 = vi[1], v2 = vi[2], v3 = vi[3], p0 = pi[0], p1 = pi[1], p2 = pi[2], p3 = pi[3];
    const double n0 = next[0], n1 = next[1], n2 = next[2], n3 = next[3];
    for (size_t j = 0; j < width; j++) {
        const double b0 = a0[j] - (v0 * p[j] + p0 * v[j]), b1 = a1[j] - (v1 * p[j] + p1 * v[j]);
        const double b2 = a2[j] - (v2 * p[j] + p2 * v[j]), b3 = a3[j] - (v3 * p[j] + p3 * v[j]);
        a0[j] = b0;
        a1[j] = b1;
        a2[j] = b2;
        a3[j] = b3;
        sum[j] += (n0 * b0 + n1 * b1) + (n2 * b2 + n3 * b3);
    }
}

static inline void one_sided(size_t width, const double *vi, const double *next, double *restrict a0,
                             double *restrict a1, double *restrict a2, double *restrict a3, const double *restrict p,
                             double *restrict sum) {
    const double v0 = vi[0], v1 = vi[1], v2 = vi[2], v3 = vi[3];
    const double n0 = next[0], n1 = next[1], n2 = next[2], n3 = next[3];
    for (size_t j = 0; j < width; j++) {
        const double b0 = a0[j] - v0 * p[j], b1 = a1[j] - v1 * p[j], b2 = a2[j] - v2 * p[j], b3 = a3[j] - v3 * p[j];
        a0[j] = b0;
        a1[j] = b1;
        a2[j] = b2;
        a3[j] = b3;
        sum[j] += (n0 * b0 + n1 * b1) + (n2 * b2 + n3 * b3);
    }
}

/* A ← A − (v pᵀ + σ p vᵀ), sum += Σ next_i A_i */
LOCUS_CLONES
static void locus_condensed_two_sided(const locus_update *at) {
    const size_t width = at->width / LOCUS_LINE * LOCUS_LINE, stride = at->stride;
    for (size_t i = 0; i < at->count; i += 4) {
        double *row = at->rows + i * stride;
        two_sided(width, at->vi + i, at->pi + i, at->next + i, row, row + stride, row + 2 * stride, row + 3 * stride,
                  at->v, at->p, at->sum);
    }
}

/* A ← A − v pᵀ, sum += Σ next_i A_i */
LOCUS_CLONES
static void locus_condensed_one_sided(const locus_update *at) {
    const size_t width = at->width / LOCUS_LINE * LOCUS_LINE, stride = at->stride;
    for (size_t i = 0; i < at->count; i += 4) {
        double *row = at->rows + i * stride;
        one_sided(width, at->vi + i, at->next + i, row, row + stride, row + 2 * stride, row + 3 * stride, at->p,
                  at->sum);
    }
}

/* ---- reflectors ---- */

/* x ← v, which is 0 before `from`, with H x = β e_from for what x holds from there on. Returns β. */
static inline double make_reflector(size_t from, size_t width, double *x) {
    const double first = x[from];
    memset(x, 0, (from + 1) * sizeof *x);
    const double sum = dot(width, x, x);
    if (sum < NEGLIGIBLE) {
        memset(x, 0, width * sizeof *x);
        return first;
    }
    const double beta = -copysign(sqrt(first * first + sum), first);
    const double head = sqrt((beta - first) / beta), factor = head / (first - beta);
    for (size_t j = from / LOCUS_LINE * LOCUS_LINE; j < width; j++)
        x[j] *= factor;
    x[from] = head;
    return beta;
}

/* The rows and columns from `from` on, and a little before where nothing changes. */
static locus_update trailing(size_t n, size_t from, double *A) {
    const size_t stride = locus_padded_stride(n), row = from / 4 * 4, column = from / LOCUS_LINE * LOCUS_LINE;
    return (locus_update){.rows = A + row * stride + column,
                          .stride = stride,
                          .count = locus_padded_rows(n) - row,
                          .width = locus_padded_width(n) - column};
}

LOCUS_CLONES
static void locus_condensed_reduce(size_t n, locus_symmetry symmetry, double *A, double *diagonal, double *beside,
                                   double *vectors) {
    const size_t stride = locus_padded_stride(n), width = locus_padded_width(n);
    const double sign = symmetry;
    double *v = vectors, *p = v + stride, *sum = p + stride, *signed_p = sum + stride;
    memset(vectors, 0, 4 * stride * sizeof *vectors);
    for (size_t k = 0; k + 1 < n; k++) {
        double *row = A + k * stride;
        for (size_t j = k / LOCUS_LINE * LOCUS_LINE; j < width; j++)
            row[j] -= v[k] * p[j] + signed_p[k] * v[j];
        diagonal[k] = row[k];
        beside[k] = sign * make_reflector(k + 1, width, row);
        v[k] = p[k] = signed_p[k] = 0; /* this row is done */

        locus_update at = trailing(n, k + 1, A);
        const size_t first_row = (k + 1) / 4 * 4, first_column = width - at.width;
        at.v = v + first_column;
        at.p = p + first_column;
        at.vi = v + first_row;
        at.pi = signed_p + first_row;
        at.next = row + first_row;
        at.sum = sum + first_column;
        memset(sum, 0, stride * sizeof *sum);
        locus_condensed_two_sided(&at);

        memset(sum, 0, (k + 1) * sizeof *sum);
        const double along = symmetry == LOCUS_SYMMETRIC ? dot(width, sum, row) / 2 : 0;
        for (size_t j = 0; j < width; j++) {
            v[j] = row[j];
            p[j] = sum[j] - along * row[j];
            signed_p[j] = sign * p[j];
        }
    }
    diagonal[n - 1] = A[(n - 1) * (stride + 1)];
}

static void accumulate(size_t n, const double *A, double *Q, double *vectors) {
    const size_t stride = locus_padded_stride(n);
    double *z = vectors, *sum = z + stride, *none = sum + stride;
    const double *v = none;
    memset(vectors, 0, 3 * stride * sizeof *vectors);
    memset(Q, 0, locus_padded_size(n) * sizeof *Q);
    for (size_t i = 0; i < n; i++)
        Q[i * (stride + 1)] = 1.0;
    for (size_t k = n; k-- > 0;) { /* the last pass finishes only */
        const double *next = k > 0 ? A + (k - 1) * stride : none;
        locus_update at = trailing(n, k, Q);
        const size_t first_row = k / 4 * 4, first_column = k / LOCUS_LINE * LOCUS_LINE;
        at.p = z + first_column;
        at.vi = v + first_row;
        at.next = next + first_row;
        at.sum = sum + first_column;
        memset(sum, 0, stride * sizeof *sum);
        locus_condensed_one_sided(&at);
        double *other = z;
        z = sum;
        sum = other;
        v = next;
    }
}

void locus_tridiagonalise(size_t n, locus_symmetry symmetry, double *A, double *Q, double *diagonal, double *beside,
                          double *vectors) {
    const size_t stride = locus_padded_stride(n);
    locus_condensed_reduce(n, symmetry, A, diagonal, beside, vectors);
    accumulate(n, A, Q, vectors);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            A[j * stride + i] = Q[i * stride + j];
}
