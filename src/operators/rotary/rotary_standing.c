/* SPDX-License-Identifier: MIT */
/* Gradients over a run of tokens that all stand at one place p, as rows of a grid do on all axes but the last. R(p) is
 * then one matrix for all of them: it leaves the sums over tokens,
 *
 *   M = Σ ĝ x̂ᵀ:   Σ ĝ ŷᵀ = M R(p)ᵀ,   Σ (R(−p)ĝ) x̂ᵀ = R(−p) M,   moments = u^(2m+1) R(−p/2) M R(p/2)ᵀ
 *
 * and the changes of basis leave them too, M = Uᵀ (Σ g xᵀ) U. So two products of tokens with matrices, Σ g xᵀ and
 * gx = g·(U R(−p) Uᵀ), do the work of five and of all turns. Only gradients take this way: results of the forward
 * operator must depend on a token's position alone, not on its neighbours. What is not tokens is in double. */
#include "operators/rotary/rotary.h"

#include <string.h>

bool locus_rotary_may_stand(const locus_rotary *rotary) {
    return (rotary->learned & (LOCUS_LEARN_GENERATOR | LOCUS_LEARN_BASIS)) && rotary->dim <= LOCUS_BASIS_ROWS;
}

size_t locus_rotary_standing_bytes(const locus_rotary *rotary) {
    return (4 * rotary->dim * rotary->dim + 2 * rotary->dim) * sizeof(double);
}

size_t locus_rotary_standing_rows(const locus_rotary_walk *walk, size_t token, size_t most) {
    const locus_rotary *rotary = walk->op->rotary;
    const size_t first = walk->call->first + token, enough = rotary->dim > 16 ? rotary->dim : 16;
    size_t rows = locus_rotary_may_stand(rotary) ? most : 0;
    for (size_t axis = 0; axis < rotary->axes && rows >= enough; axis++) {
        const locus_token_side *side = locus_rotary_side(walk, axis);
        const double place = locus_token_position(side, first);
        size_t same = 1;
        while (same < rows && locus_token_position(side, first + same) == place)
            same++;
        rows = same;
    }
    return rows >= enough ? rows : 0;
}

/* ---- where a run stands ---- */

typedef struct locus_standing {
    const locus_rotary_walk *walk;
    size_t table, angle_table, token; /* of the buffer */
    size_t dim, pairs;
    bool odd;                               /* p is: what flips has changed sign */
    double *phase, *half, *A, *B, *C, *sum; /* scratch: [2·pairs] each, and matrices */
} locus_standing;

/* e^{ia} of one axis. */
static void phase_of(const locus_angle_table *table, size_t index, const locus_token_side *side, size_t token,
                     double *phase) {
    const size_t pairs = table->base->rates.pairs;
    const double *a = locus_angle_coarse_of(table, index) + side->coarse[token] * pairs * 2;
    const double *b = locus_angle_fine_of(table, index) + side->fine[token] * pairs * 2;
    for (size_t i = 0; i < 2 * pairs; i += 2) {
        phase[i] = a[i] * b[i] - a[i + 1] * b[i + 1];
        phase[i + 1] = a[i] * b[i + 1] + a[i + 1] * b[i];
    }
}

static locus_standing standing_of(const locus_rotary_walk *walk, size_t head, size_t token) {
    const locus_rotary_operator *op = walk->op;
    const locus_rotary *rotary = op->rotary;
    const size_t dim = rotary->dim, square = dim * dim, own = walk->call->head + head;
    double *at = (double *)(void *)((char *)walk->call->scratch + walk->scratch.standing);
    locus_standing s = {.walk = walk,
                        .table = rotary->tables == 1 ? 0 : own,
                        .angle_table = rotary->fine[0].rates.tables == 1 ? 0 : own,
                        .token = walk->call->first + token,
                        .dim = dim,
                        .pairs = rotary->pairs,
                        .A = at,
                        .B = at + square,
                        .C = at + 2 * square,
                        .sum = at + 3 * square,
                        .phase = at + 4 * square,
                        .half = at + 4 * square + dim};
    s.odd = rotary->flip && rotary->flip[s.table] < dim && locus_rotary_side(walk, 0)->values[s.token] % 2 != 0;
    phase_of(&op->angles[0], s.angle_table, locus_rotary_side(walk, 0), s.token, s.phase);
    for (size_t axis = 1; axis < rotary->axes; axis++) {
        phase_of(&op->angles[axis], s.angle_table, locus_rotary_side(walk, axis), s.token, s.half);
        for (size_t i = 0; i < 2 * s.pairs; i += 2) {
            const double cosine = s.phase[i] * s.half[i] - s.phase[i + 1] * s.half[i + 1];
            s.phase[i + 1] = s.phase[i] * s.half[i + 1] + s.phase[i + 1] * s.half[i];
            s.phase[i] = cosine;
        }
    }
    for (size_t i = 1; i < 2 * s.pairs; i += 2)
        s.phase[i] *= walk->sign;
    return s;
}

/* ---- turning matrices ---- */

/* Pairs of columns by the angles, as rows of tokens are turned; sign −1: back. */
static void turn_columns(size_t rows, size_t pairs, const double *phase, double sign, double *M, size_t ld) {
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < 2 * pairs; i += 2) {
            double *at = M + r * ld + i, x = at[0], y = at[1], sine = sign * phase[i + 1];
            at[0] = x * phase[i] - y * sine;
            at[1] = x * sine + y * phase[i];
        }
}

static void turn_rows(size_t columns, size_t pairs, const double *phase, double sign, double *M, size_t ld) {
    for (size_t i = 0; i < 2 * pairs; i += 2) {
        double *x = M + i * ld, *y = x + ld, sine = sign * phase[i + 1];
        for (size_t c = 0; c < columns; c++) {
            const double turned = x[c] * phase[i] - y[c] * sine;
            y[c] = x[c] * sine + y[c] * phase[i];
            x[c] = turned;
        }
    }
}

/* An odd last coordinate. */
static void flip_last(const locus_standing *s, double *first, size_t stride) {
    for (size_t i = 0; s->odd && s->dim % 2 != 0 && i < s->dim; i++)
        first[i * stride] = -first[i * stride];
}

static void multiply(const locus_standing *s, const double *a, const double *b, double *c) {
    const ptrdiff_t ld = (ptrdiff_t)s->dim;
    s->walk->op->kernels_float64->gemm(s->dim, s->dim, s->dim, a, ld, 1, b, ld, c, ld, false);
}

/* scale·U R(−p) Uᵀ for rows of tokens, without what INNER coordinates leave out. */
const double *locus_rotary_standing_matrix(const locus_rotary_walk *walk, size_t head, size_t token) {
    const locus_rotary *rotary = walk->op->rotary;
    const locus_standing s = standing_of(walk, head, token);
    const size_t square = s.dim * s.dim;
    for (size_t i = 0; i < square; i++)
        s.A[i] = walk->call->scale *
                 (walk->out_of ? rotary->basis_float64[s.table * square + i] : (double)(i % (s.dim + 1) == 0));
    turn_columns(s.dim, s.pairs, s.phase, -1, s.A, s.dim);
    flip_last(&s, s.A + s.dim - 1, s.dim);
    if (!walk->into)
        return s.A;
    multiply(&s, s.A, rotary->transposed_float64 + s.table * square, s.B);
    return s.B;
}

/* ---- sums ---- */

static void add(size_t count, const double *from, double *to) {
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

/* Moments of one run of near angles; `phase` are the half angles of its pairs. */
static void add_moments(const locus_standing *s, const locus_near_run *near, const double *phase, const double *M,
                        const locus_rotary_slot *slot) {
    const locus_rotary_operator *op = s->walk->op;
    const size_t count = near->count;
    const double u = s->walk->sign * locus_token_position(locus_rotary_side(s->walk, 0), s->token) / op->span;
    double weight = near->flips && s->odd ? -u : u;
    for (size_t i = 0; i < count; i++)
        memcpy(s->C + i * count, M + (near->first + i) * s->dim + near->first, count * sizeof(double));
    turn_rows(count, near->pairs, phase, -s->walk->sign, s->C, count);
    turn_columns(count, near->pairs, phase, s->walk->sign, s->C, count);
    for (size_t m = 0; m < LOCUS_NEAR_MOMENTS; m++, weight *= u * u) // NOLINT(cert-flp30-c): m counts
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < count; j++)
                slot->moment[m][(near->first + i) * s->dim + near->first + j] += weight * s->C[i * count + j];
}

/* What follows from R(−p)M alone: Σ x̂ ∧ R(−p)ĝ for each pair, the other way round. */
static void add_wedges(const locus_standing *s, const double *back, const locus_rotary_slot *slot) {
    const locus_rotary_operator *op = s->walk->op;
    for (size_t i = 0; i < s->pairs; i++) {
        const double *block = back + 2 * i * s->dim + 2 * i, wedge = s->walk->sign * (block[1] - block[s->dim]);
        if (op->rotary->learned & LOCUS_LEARN_GENERATOR)
            slot->diagonal[i] += wedge * locus_token_position(locus_rotary_side(s->walk, 0), s->token) / op->span;
        for (size_t axis = 0; (op->rotary->learned & LOCUS_LEARN_ANGLES) && axis < op->rotary->axes; axis++)
            slot->angles[axis * s->pairs + i] -=
                wedge * locus_token_position(locus_rotary_side(s->walk, axis), s->token);
    }
}

double *locus_rotary_standing_sum(const locus_rotary_walk *walk) {
    const size_t square = walk->op->rotary->dim * walk->op->rotary->dim;
    return (double *)(void *)((char *)walk->call->scratch + walk->scratch.standing) + 3 * square;
}

void locus_rotary_standing_add(const locus_rotary_walk *walk, size_t head, size_t token,
                               const locus_rotary_slot *slot) {
    const locus_rotary_operator *op = walk->op;
    const locus_standing s = standing_of(walk, head, token);
    const size_t square = s.dim * s.dim;
    double *M = s.sum;
    for (size_t i = 0; i < square; i++)
        M[i] *= walk->call->scale;
    if (walk->out_of) {
        multiply(&s, op->rotary->transposed_float64 + s.table * square, M, s.B);
        memcpy(M, s.B, square * sizeof *M);
    }
    if (walk->into) { /* one of the two at least, so that B is M */
        multiply(&s, M, op->rotary->basis_float64 + s.table * square, s.B);
        memcpy(M, s.B, square * sizeof *M);
    }
    memcpy(s.A, M, square * sizeof *M);
    turn_columns(s.dim, s.pairs, s.phase, 1, s.A, s.dim);
    flip_last(&s, s.A + s.dim - 1, s.dim);
    add(square, s.A, slot->forward);
    turn_rows(s.dim, s.pairs, s.phase, -1, s.B, s.dim);
    flip_last(&s, s.B + (s.dim - 1) * s.dim, 1);
    add(square, s.B, slot->backward);
    add_wedges(&s, s.B, slot);
    if (!op->near_first || op->near_first[s.table] == op->near_first[s.table + 1])
        return;
    phase_of(&op->half, s.angle_table, locus_rotary_side(walk, 0), s.token, s.half);
    const double *phase = s.half;
    for (size_t i = op->near_first[s.table]; i < op->near_first[s.table + 1]; phase += 2 * op->near[i++].pairs)
        add_moments(&s, &op->near[i], phase, M, slot);
}
