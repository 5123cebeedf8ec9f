/* SPDX-License-Identifier: MIT */
/* The walk of rotary.h in one element type (kernels/real.h).
 *
 * T tokens of a block, D head dimension, x̂ = Uᵀx and ĝ = Uᵀg as rows: X̂ = X·U. In the standard basis x̂ is x. */
#include "core/call.h"
#include "kernels/real.h"
#include "operators/rotary/rotary.h"

#include <string.h>

#define KERNELS_OF(walk) ((walk)->op->REAL_NAME(kernels))
#define SCRATCH(walk, what) ((real *)(void *)((char *)(walk)->call->scratch + (walk)->scratch.what))

static size_t least_rows(size_t a, size_t b) {
    return a < b ? a : b;
}

static const real *x_row(const locus_rotary_walk *walk, size_t token, size_t head) {
    return (const real *)walk->call->x + (ptrdiff_t)token * walk->call->x_stride +
           (ptrdiff_t)head * walk->heads->x_head;
}

static real *y_row(const locus_rotary_walk *walk, size_t token, size_t head) {
    return (real *)walk->heads->y + (ptrdiff_t)token * walk->heads->y_stride + (ptrdiff_t)head * walk->heads->y_head;
}

static const real *g_row(const locus_rotary_walk *walk, size_t token, size_t head) {
    return (const real *)walk->heads->gy + (ptrdiff_t)token * walk->heads->gy_stride +
           (ptrdiff_t)head * walk->heads->gy_head;
}

/* Cosines of `rows` places in the two-level tables of one axis, and the sines right behind them; those of all heads
 * side by side, unless heads share them. Returns the width of a row. */
static size_t axis_phases(const locus_rotary_walk *walk, const locus_angle_table *table, locus_heads_range heads,
                          const uint32_t *coarse, const uint32_t *fine, size_t rows, real *phase) {
    const size_t pairs = table->base->rates.pairs;
    const bool shared = table->base->rates.tables == 1;
    const size_t tables = shared ? 1 : heads.count, first = shared ? 0 : walk->call->head + heads.first;
    const size_t width = tables * pairs;
    for (size_t i = 0; i < tables; i++)
        KERNELS_OF(walk)->angles(rows, pairs, locus_angle_coarse_of(table, first + i), coarse,
                                 locus_angle_fine_of(table, first + i), fine, phase + i * pairs,
                                 phase + rows * width + i * pairs, (ptrdiff_t)width);
    return width;
}

/* The same where each pair follows one axis: every axis has its own columns of the rows, so all of them together cost
 * what one does; pairs that are not in the axes' order are put back into their own. */
static size_t part_phases(const locus_rotary_walk *walk, size_t first, size_t rows) {
    const locus_rotary *rotary = walk->op->rotary;
    const size_t width = rotary->pairs;
    real *phase = SCRATCH(walk, phase), *sorted = rotary->places ? SCRATCH(walk, factor) : phase;
    for (size_t axis = 0; axis < rotary->axes; axis++) {
        const locus_token_side *side = locus_rotary_side(walk, axis);
        const locus_angle_table *table = &walk->angles[axis];
        real *own = sorted + rotary->parts[axis];
        KERNELS_OF(walk)->angles(rows, rotary->parts[axis + 1] - rotary->parts[axis], locus_angle_coarse_of(table, 0),
                                 side->coarse + first, locus_angle_fine_of(table, 0), side->fine + first, own,
                                 own + rows * width, (ptrdiff_t)width);
    }
    for (size_t row = 0; rotary->places && row < 2 * rows; row++)
        for (size_t i = 0; i < width; i++)
            phase[row * width + i] = sorted[row * width + rotary->places[i]];
    return width;
}

/* Phases of several axes are multiplied, which is to turn one by the other: `phase` [pairs] by those of an axis. */
static void multiply_phases(const locus_rotary_walk *walk, size_t pairs, bool half_pairs, const real *factor,
                            real *phase) {
    const locus_rotation all = {.rows = 1, .heads = 1, .D = 2 * pairs, .pairs = pairs, .half_pairs = half_pairs};
    KERNELS_OF(walk)->rotate(&all, 1, 1, factor, factor + pairs, phase, phase);
}

/* The same for the sum of all axes' angles. */
static size_t phases(const locus_rotary_walk *walk, locus_heads_range heads, size_t first, size_t rows) {
    const locus_rotary *rotary = walk->op->rotary;
    real *phase = SCRATCH(walk, phase), *factor = SCRATCH(walk, factor);
    size_t width = 0;
    if (rotary->parts)
        return part_phases(walk, first, rows);
    for (size_t axis = 0; axis < rotary->axes; axis++) {
        const locus_token_side *side = locus_rotary_side(walk, axis);
        width = axis_phases(walk, &walk->angles[axis], heads, side->coarse + first, side->fine + first, rows,
                            axis == 0 ? phase : factor);
        if (axis > 0)
            multiply_phases(walk, rows * width, true, factor, phase);
    }
    return width;
}

static void copy(const locus_rotary_walk *walk) {
    for (size_t t = 0; t < walk->call->count; t++)
        for (size_t h = 0; h < walk->heads->count; h++)
            KERNELS_OF(walk)->scale(walk->op->rotary->dim, (real)walk->call->scale, x_row(walk, t, h),
                                    y_row(walk, t, h));
}

/* ---- turning rows ---- */

typedef struct rotary_turn {
    locus_heads_range heads;
    size_t token, rows;
    double sign;
    const real *from;
    ptrdiff_t from_row, from_head;
    real *to;
    ptrdiff_t to_row, to_head;
    bool ready; /* the phases of these rows are there already */
} rotary_turn;

static locus_rotation rotation(const locus_rotary_walk *walk, const rotary_turn *turn, size_t rows) {
    const locus_rotary *rotary = walk->op->rotary;
    return (locus_rotation){.rows = rows,
                            .heads = turn->heads.count,
                            .D = rotary->dim,
                            .pairs = rotary->pairs,
                            .half_pairs = rotary->half_pairs,
                            .source_row = turn->from_row,
                            .source_head = turn->from_head,
                            .target_row = turn->to_row,
                            .target_head = turn->to_head};
}

/* Half pairs within blocks. To the kernel a block is a head of its own and a head is a row, so that a token's row is
 * still walked once, in order. */
static void turn_blocks(const locus_rotary_walk *walk, const locus_rotation *all, real sign, real scale,
                        const real *cosine, const real *sine, const real *from, real *to) {
    const size_t blocks = walk->op->rotary->blocks, pairs = all->pairs / blocks;
    locus_rotation part = *all;
    part.heads = blocks;
    part.pairs = pairs;
    part.D = 2 * pairs;
    part.table_head = (ptrdiff_t)pairs;
    part.source_head = part.target_head = (ptrdiff_t)part.D;
    if (all->heads == 1) {
        KERNELS_OF(walk)->rotate(&part, sign, scale, cosine, sine, from, to);
        return;
    }
    part.rows = all->heads;
    part.table_row = 0;
    part.source_row = all->source_head;
    part.target_row = all->target_head;
    for (ptrdiff_t row = 0; row < (ptrdiff_t)all->rows; row++)
        KERNELS_OF(walk)->rotate(&part, sign, scale, cosine + row * all->table_row, sine + row * all->table_row,
                                 from + row * all->source_row, to + row * all->target_row);
}

/* Half pairs within blocks, or an attention factor, which the rest of a head is not multiplied by. */
static void turn_apart(const locus_rotary_walk *walk, const locus_rotation *all, real sign, const real *cosine,
                       const real *from, real *to) {
    const real *sine = cosine + all->rows * walk->op->rotary->pairs;
    const real stretched = (real)(walk->call->scale * walk->factor);
    const size_t turned = 2 * all->pairs;
    locus_rotation part = *all;
    part.D = turned;
    if (walk->op->rotary->blocks > 1)
        turn_blocks(walk, &part, sign, stretched, cosine, sine, from, to);
    else
        KERNELS_OF(walk)->rotate(&part, sign, stretched, cosine, sine, from, to);
    part.pairs = 0;
    part.D = all->D - turned;
    if (part.D > 0)
        KERNELS_OF(walk)->rotate(&part, sign, (real)walk->call->scale, cosine, sine, from + turned, to + turned);
}

/* Every token with angles of its own, rounded once from double. */
static void turn_exactly(const locus_rotary_walk *walk, const rotary_turn *turn) {
    const size_t pairs = walk->op->rotary->pairs;
    const size_t most = turn->heads.count > 1 ? LOCUS_TURN_ROWS : LOCUS_BASIS_ROWS;
    const real *phase = SCRATCH(walk, phase);
    for (size_t done = 0; done < turn->rows; done += most) {
        const size_t rows = least_rows(most, turn->rows - done), at = walk->call->first + turn->token + done;
        const size_t width = turn->ready ? pairs : phases(walk, turn->heads, at, rows);
        locus_rotation shape = rotation(walk, turn, rows);
        shape.table_row = (ptrdiff_t)width;
        shape.table_head = width == pairs ? 0 : (ptrdiff_t)pairs;
        const real *from = turn->from + (ptrdiff_t)done * turn->from_row;
        real *to = turn->to + (ptrdiff_t)done * turn->to_row;
        if (walk->factor == 1 && walk->op->rotary->blocks <= 1)
            KERNELS_OF(walk)->rotate(&shape, (real)turn->sign, (real)walk->call->scale, phase, phase + rows * width,
                                     from, to);
        else
            turn_apart(walk, &shape, (real)turn->sign, phase, from, to);
    }
}

#if LOCUS_REAL_BITS == 32
/* (cos, sin) of the first tokens of runs, where the last axis begins its block of 8, for heads that have angles of
 * their own: [runs, heads, pairs, 2]. */
static void base_phases(const locus_rotary_walk *walk, locus_heads_range heads, const locus_step_runs *runs) {
    const locus_rotary *rotary = walk->op->rotary;
    const size_t pairs = rotary->pairs, width = heads.count * pairs;
    real *phase = SCRATCH(walk, phase), *factor = SCRATCH(walk, factor);
    for (size_t axis = 0; axis < rotary->axes; axis++) {
        const locus_token_side *side = locus_rotary_side(walk, axis);
        const locus_angle_table *table = &walk->angles[axis];
        const bool alone = rotary->axes == 1;
        uint32_t coarse[LOCUS_BASE_ROWS], fine[LOCUS_BASE_ROWS];
        for (size_t i = 0; i < runs->count; i++) {
            coarse[i] = side->coarse[runs->first[i]];
            fine[i] = side->fine[runs->first[i]];
            fine[i] -= axis + 1 == rotary->axes ? fine[i] & (LOCUS_STEPS - 1) : 0;
            fine[i] /= alone ? LOCUS_STEPS : 1;
        }
        if (axis > 0) {
            (void)axis_phases(walk, table, heads, coarse, fine, runs->count, factor);
            multiply_phases(walk, runs->count * width, false, factor, phase);
            continue;
        }
        for (size_t i = 0; i < heads.count; i++) {
            const size_t own = walk->call->head + heads.first + i;
            KERNELS_OF(walk)->phases(runs->count, pairs, locus_angle_coarse_of(table, own), coarse,
                                     alone ? locus_angle_eighths_of(table, own) : locus_angle_fine_of(table, own), fine,
                                     phase + 2 * i * pairs, (ptrdiff_t)(2 * width));
        }
    }
}

/* Where every head has angles of its own, computing them all in double for every token would cost more than turning. So
 * in float p = 8b + f: the angle of 8b comes from double, once for up to 8 tokens, and the kernel multiplies it with
 * step f; a run that stands still takes one step for all. An angle is then off by a rounding or two of float instead of
 * half of one, at any position alike; and it depends on the position alone, not on the tokens around it. Of several
 * axes the last is the one that steps: it is what rises along the rows of a grid. */
static void turn_by_steps(const locus_rotary_walk *walk, const rotary_turn *turn) {
    const locus_rotary *rotary = walk->op->rotary;
    const locus_angle_fine *base = &rotary->fine[rotary->axes - 1];
    const size_t row = base->rates.tables * rotary->pairs, at = walk->call->first + turn->token;
    const float *steps = base->steps + 2 * (walk->call->head + turn->heads.first) * rotary->pairs;
    for (size_t done = 0; done < turn->rows;) {
        const locus_step_runs runs = locus_step_runs_find(walk, at + done, turn->rows - done);
        base_phases(walk, turn->heads, &runs);
        const locus_rotation_steps shape = {.count = runs.count,
                                            .runs = runs.run,
                                            .heads = turn->heads.count,
                                            .D = rotary->dim,
                                            .pairs = rotary->pairs,
                                            .base_row = (ptrdiff_t)(2 * turn->heads.count * rotary->pairs),
                                            .step_row = (ptrdiff_t)(2 * row),
                                            .source_row = turn->from_row,
                                            .source_head = turn->from_head,
                                            .target_row = turn->to_row,
                                            .target_head = turn->to_head};
        KERNELS_OF(walk)->rotate_steps(&shape, (real)turn->sign, (real)walk->call->scale, SCRATCH(walk, phase), steps,
                                       turn->from + (ptrdiff_t)done * turn->from_row,
                                       turn->to + (ptrdiff_t)done * turn->to_row);
        done += runs.rows;
    }
}
#endif

/* An odd last coordinate that changes sign with every step; pairs that do have it in their angles. What flips has a
 * basis of its own, and is turned head by head. */
static void flip_last(const locus_rotary_walk *walk, const rotary_turn *turn) {
    const locus_rotary *rotary = walk->op->rotary;
    const int64_t *values = locus_rotary_side(walk, 0)->values + walk->call->first + turn->token;
    const size_t table = rotary->tables == 1 ? 0 : walk->call->head + turn->heads.first;
    for (size_t r = 0; rotary->flip[table] < rotary->dim && r < turn->rows; r++) {
        real *last = turn->to + (ptrdiff_t)r * turn->to_row + rotary->dim - 1;
        *last = values[r] % 2 != 0 ? -*last : *last;
    }
}

static void turn_rows(const locus_rotary_walk *walk, const rotary_turn *turn) {
    const locus_rotary *rotary = walk->op->rotary;
#if LOCUS_REAL_BITS == 32
    if (rotary->fine[0].rates.tables > 1 && !walk->op->given)
        turn_by_steps(walk, turn);
    else
#endif
        turn_exactly(walk, turn);
    if (rotary->flip && rotary->dim % 2 != 0)
        flip_last(walk, turn);
}

/* ---- standard basis: all heads of a token at once ---- */

static void turn_all(const locus_rotary_walk *walk) {
    const size_t count = walk->call->count;
    for (size_t t = 0; t < count; t += LOCUS_BASIS_ROWS) {
        size_t rows = least_rows(LOCUS_BASIS_ROWS, count - t);
        const rotary_turn turn = {{0, walk->heads->count},
                                  t,
                                  rows,
                                  walk->sign,
                                  x_row(walk, t, 0),
                                  walk->call->x_stride,
                                  walk->heads->x_head,
                                  y_row(walk, t, 0),
                                  walk->heads->y_stride,
                                  walk->heads->y_head,
                                  false};
        turn_rows(walk, &turn);
    }
}

/* Of given angles: dL/da += x̂ ∧ gx for the position of each token. */
static void sum_given(const locus_rotary_walk *walk, size_t token, size_t rows, const real *x, ptrdiff_t x_stride,
                      const real *gx, ptrdiff_t gx_stride, double *sums) {
    const locus_rotary *rotary = walk->op->rotary;
    const uint32_t *numbers = locus_rotary_side(walk, 0)->coarse + walk->call->first + token;
    const double weight = -walk->sign;
    for (size_t r = 0; r < rows; r++)
        KERNELS_OF(walk)->angle_gradient(1, rotary->pairs, rotary->half_pairs, &weight, x + (ptrdiff_t)r * x_stride,
                                         x_stride, gx + (ptrdiff_t)r * gx_stride, gx_stride,
                                         sums + numbers[r] * rotary->pairs);
}

/* dL/dθ += Σ p·(x̂ ∧ gx) on every axis, the wedge product of pairs: it is that of y and gy, both turned back. Pairs
 * that follow one axis each and stand side by side are summed for their own alone; else what is too much is dropped
 * later. */
static void sum_angles(const locus_rotary_walk *walk, size_t token, size_t rows, const real *x, ptrdiff_t x_stride,
                       const real *gx, ptrdiff_t gx_stride, double *sums) {
    const locus_rotary *rotary = walk->op->rotary;
    const bool apart = rotary->parts && !rotary->places && (!rotary->half_pairs || rotary->blocks > 1);
    double *weights = (double *)(void *)SCRATCH(walk, weights);
    for (size_t axis = 0; axis < rotary->axes; axis++) {
        const locus_token_side *side = locus_rotary_side(walk, axis);
        const size_t first = apart ? rotary->parts[axis] : 0;
        const size_t pairs = apart ? rotary->parts[axis + 1] - first : rotary->pairs;
        for (size_t r = 0; r < rows; r++) /* the kernel sums gx·y − gy·x, the negative */
            weights[r] = -walk->sign * locus_token_position(side, walk->call->first + token + r);
        KERNELS_OF(walk)->angle_gradient(rows, pairs, rotary->half_pairs, weights, x + 2 * first, x_stride,
                                         gx + 2 * first, gx_stride, sums + axis * rotary->pairs + first);
    }
}

/* gx = R(−p) gy, and the sums. */
static void learn_angles(const locus_rotary_walk *walk) {
    const locus_operator_heads *heads = walk->heads;
    const size_t count = walk->call->count;
    for (size_t t = 0; t < count && !locus_call_cancelled(); t += LOCUS_BASIS_ROWS) {
        size_t rows = least_rows(LOCUS_BASIS_ROWS, count - t);
        const rotary_turn turn = {{0, heads->count},
                                  t,
                                  rows,
                                  -walk->sign,
                                  g_row(walk, t, 0),
                                  heads->gy_stride,
                                  heads->gy_head,
                                  y_row(walk, t, 0),
                                  heads->y_stride,
                                  heads->y_head,
                                  false};
        turn_rows(walk, &turn);
        for (size_t h = 0; h < heads->count; h++)
            (walk->op->given ? sum_given : sum_angles)(
                walk, t, rows, x_row(walk, t, h), walk->call->x_stride, y_row(walk, t, h), heads->y_stride,
                locus_rotary_slot_at(walk->op, (char *)heads->slots + h * heads->slot_stride).angles);
    }
}

/* ---- a basis of its own: one head at a time ---- */

typedef struct rotary_rows {
    const real *data;
    ptrdiff_t stride;
} rotary_rows;

static const real *basis(const locus_rotary_walk *walk, size_t head, bool transposed) {
    const locus_rotary *rotary = walk->op->rotary;
    const real *matrices = transposed ? rotary->REAL_NAME(transposed) : rotary->REAL_NAME(basis);
    size_t table = rotary->tables == 1 ? 0 : walk->call->head + head;
    return matrices + table * rotary->dim * rotary->dim;
}

/* Rows that are needed next. They are asked for a few at a time, between products: a burst of requests would have to
 * wait for one another, and products that wait for memory leave the processor idle. */
typedef struct rotary_coming {
    const real *rows[2];
    ptrdiff_t stride[2];
    size_t left, step; /* rows, and how many are asked for at a time */
} rotary_coming;

static void ask(rotary_coming *coming, size_t dim) {
    const size_t count = least_rows(coming->step, coming->left);
    for (size_t stream = 0; stream < 2 && coming->rows[stream]; stream++) {
        for (size_t i = 0; i < count; i++) {
            const char *row = (const char *)(coming->rows[stream] + (ptrdiff_t)i * coming->stride[stream]);
            for (size_t byte = 0; byte < dim * sizeof(real); byte += 64)
                __builtin_prefetch(row + byte, 1, 3);
        }
        if (count < coming->left)
            coming->rows[stream] += (ptrdiff_t)count * coming->stride[stream];
    }
    coming->left -= count;
}

/* rows · matrix */
static void multiply(const locus_rotary_walk *walk, rotary_rows in, size_t count, const real *matrix,
                     rotary_coming *coming, real *out, ptrdiff_t stride) {
    const size_t dim = walk->op->rotary->dim,
                 most = LOCUS_PRODUCT_ELEMENTS / dim > 8 ? LOCUS_PRODUCT_ELEMENTS / dim : 8;
    for (size_t done = 0; done < count; done += most) {
        ask(coming, dim);
        KERNELS_OF(walk)->gemm(least_rows(most, count - done), dim, dim, in.data + (ptrdiff_t)done * in.stride,
                               in.stride, 1, matrix, (ptrdiff_t)dim, out + (ptrdiff_t)done * stride, stride, false);
    }
}

/* rows · U, into contiguous scratch; or the rows themselves if they are in the basis already. */
static rotary_rows enter(const locus_rotary_walk *walk, size_t head, bool enters, rotary_rows in, size_t count,
                         rotary_coming *coming, real *scratch) {
    if (!enters)
        return in;
    multiply(walk, in, count, basis(walk, head, false), coming, scratch, (ptrdiff_t)walk->op->rotary->dim);
    return (rotary_rows){scratch, (ptrdiff_t)walk->op->rotary->dim};
}

/* Where a caller keeps x̂ between a forward and its backward, or NULL. */
static real *entered_rows(const locus_rotary_walk *walk, size_t token) {
    const locus_operator_call *call = walk->call;
    return call->entered && walk->into ? (real *)call->entered + (ptrdiff_t)token * call->entered_stride : NULL;
}

static void leave(const locus_rotary_walk *walk, size_t head, const real *rows, size_t count, rotary_coming *coming,
                  real *out, ptrdiff_t stride) {
    const rotary_rows in = {rows, (ptrdiff_t)walk->op->rotary->dim};
    multiply(walk, in, count, basis(walk, head, true), coming, out, stride);
}

/* Heads that share angles find the phases of a block ready. */
static bool prepare(const locus_rotary_walk *walk, size_t token, size_t rows) {
    if (walk->op->rotary->fine[0].rates.tables > 1)
        return false;
    (void)phases(walk, (locus_heads_range){0, 1}, walk->call->first + token, rows);
    return true;
}

/* Some tokens of one head. */
typedef struct rotary_block {
    size_t head, token, rows;
    bool ready; /* see prepare */
} rotary_block;

static void turn_block(const locus_rotary_walk *walk, rotary_block block, double sign, rotary_rows from, real *to,
                       ptrdiff_t to_stride) {
    const rotary_turn turn = {{block.head, 1}, block.token, block.rows, sign, from.data, from.stride, 0, to,
                              to_stride,       0,           block.ready};
    turn_rows(walk, &turn);
}

static void basis_block(const locus_rotary_walk *walk, rotary_block block, rotary_coming *coming) {
    const size_t head = block.head, rows = block.rows, dim = walk->op->rotary->dim;
    const rotary_rows given = {x_row(walk, block.token, head), walk->call->x_stride};
    real *hat = SCRATCH(walk, x), *y = y_row(walk, block.token, head), *kept = entered_rows(walk, block.token);
    rotary_rows in = {kept, walk->call->entered_stride};
    if (kept)
        multiply(walk, given, rows, basis(walk, head, false), coming, kept, in.stride);
    else
        in = enter(walk, head, walk->into, given, rows, coming, hat);
    if (!walk->out_of) {
        turn_block(walk, block, walk->sign, in, y, walk->heads->y_stride);
        return;
    }
    turn_block(walk, block, walk->sign, in, hat, (ptrdiff_t)dim);
    leave(walk, head, hat, rows, coming, y, walk->heads->y_stride);
}

/* Of the next head, or of the first one's next tokens. */
static rotary_coming coming_rows(const locus_rotary_walk *walk, rotary_block block) {
    const bool last = block.head + 1 == walk->heads->count;
    const size_t token = last ? block.token + block.rows : block.token;
    const size_t left = last ? least_rows(LOCUS_BASIS_ROWS, walk->call->count - token) : block.rows;
    rotary_coming coming = {.left = left, .step = LOCUS_ASK_ROWS};
    if (left > 0)
        coming.rows[0] = x_row(walk, token, last ? 0 : block.head + 1);
    coming.stride[0] = walk->call->x_stride;
    return coming;
}

static void basis_all(const locus_rotary_walk *walk) {
    const size_t count = walk->call->count;
    for (size_t t = 0; t < count; t += LOCUS_BASIS_ROWS) {
        const size_t rows = least_rows(LOCUS_BASIS_ROWS, count - t);
        const bool ready = prepare(walk, t, rows);
        for (size_t h = 0; h < walk->heads->count; h++) {
            const rotary_block block = {h, t, rows, ready};
            rotary_coming coming = coming_rows(walk, block);
            basis_block(walk, block, &coming);
        }
    }
}

void REAL_NAME(locus_rotary_run)(const locus_rotary_walk *walk) {
    if (!walk->acts)
        copy(walk);
    else if (walk->op->rotary->REAL_NAME(basis))
        basis_all(walk);
    else
        turn_all(walk);
}

#include "operators/rotary/rotary_learn_body.h" /* which speaks the vocabulary of this file */
