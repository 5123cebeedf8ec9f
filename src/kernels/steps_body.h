/* SPDX-License-Identifier: MIT */
/* Rotary where every head has angles of its own: the angle of a row is the sum of a base's, which some rows share, and
 * of a step's. Pairs stand next to each other and are turned as they stand, as complex numbers: all that moves in a
 * vector are neighbours, since permutations across vectors would compete with the multiplications for the same units.
 *
 *   w = P ∘ f + Q ∘ swap(f)        f = (cos, sin) of the step; P = (c, ±c) and Q = (−s, ±s) of the base, with the scale
 *   y = x ∘ re(w) + swap(x) ∘ im(w)        re(w) = (c, c), im(w) = (−s, s) */
#ifndef LOCUS_KERNELS_STEPS_BODY_H
#define LOCUS_KERNELS_STEPS_BODY_H

#include "kernels/rotate_body.h"

/* Rows that are asked for ahead: a run's. Fewer wait for memory, more ask for what another thread turns. */
#define STEPS_AHEAD ((size_t)8)

/* Rows of one run, at most ROTATE_ROWS. */
typedef struct steps_piece {
    const locus_rotation_steps *shape;
    real scale, signed_scale;
    size_t rows;
    const real *base, *step, *source;
    real *target;
} steps_piece;

/* LANES pairs, or fewer than that. */
typedef struct steps_part {
    bool cut;
    vpart low, high;
} steps_part;

SIMD void steps_load(const real *from, const steps_part *part, vreal x[2]) {
    x[0] = v_held(part->cut ? v_load_part(from, part->low) : v_load(from));
    x[1] = v_held(part->cut ? v_load_part(from + LANES, part->high) : v_load(from + LANES));
}

/* factor ∘ x + other ∘ swap(x) */
SIMD void steps_multiply(const vreal factor[2], const vreal other[2], const vreal x[2], vreal y[2]) {
    vreal swapped[2];
    v_swap(x, swapped);
    y[0] = v_fma(swapped[0], other[0], v_mul(x[0], factor[0]));
    y[1] = v_fma(swapped[1], other[1], v_mul(x[1], factor[1]));
}

/* `vectors` times LANES pairs from pair i on (cut: the last ones) of one head. Its base stays in registers; if the run
 * stands, so does what turns. */
SIMD void steps_columns(const steps_piece *piece, const bool stands, size_t head, size_t i, const size_t vectors,
                        const bool cut, size_t lines) {
    const locus_rotation_steps *shape = piece->shape;
    const size_t elements = cut ? 2 * (shape->pairs - i) : 0;
    const steps_part part = {cut, v_first(elements < LANES ? elements : LANES),
                             v_first(elements < LANES ? 0 : elements - LANES)};
    const ptrdiff_t h = (ptrdiff_t)head, step_row = shape->step_row;
    const ptrdiff_t source_row = shape->source_row, target_row = shape->target_row;
    const size_t at = head * shape->pairs + i, ahead = STEPS_AHEAD * (size_t)source_row * sizeof(real);
    const real *base = piece->base + 2 * at, *step = piece->step + 2 * at;
    const real *source = piece->source + h * shape->source_head + 2 * i;
    real *target = piece->target + h * shape->target_head + 2 * i;
    vreal P[ROTATE_VECTORS][2], Q[ROTATE_VECTORS][2], re[ROTATE_VECTORS][2], im[ROTATE_VECTORS][2];
    vreal f[2], w[2], x[2], y[2], factors[2];
    v_interleave(v_set(piece->scale), v_set(piece->signed_scale), &factors[0], &factors[1]);
    SIMD_UNROLL
    for (size_t j = 0; j < vectors; j++) {
        steps_load(base + 2 * j * LANES, &part, f);
        v_spread(f, P[j], Q[j]);
        SIMD_UNROLL
        for (size_t half = 0; half < 2; half++) {
            P[j][half] = v_mul(P[j][half], factors[half]);
            Q[j][half] = v_mul(Q[j][half], factors[half]);
        }
        if (stands) {
            steps_load(step + 2 * j * LANES, &part, f);
            steps_multiply(P[j], Q[j], f, w);
            v_spread(w, re[j], im[j]);
        }
    }
    for (size_t row = piece->rows; row > 0; row--) {
        rotate_ahead(source, ahead, lines);
        SIMD_UNROLL
        for (size_t j = 0; j < vectors; j++) {
            if (!stands) {
                steps_load(step + 2 * j * LANES, &part, f);
                steps_multiply(P[j], Q[j], f, w);
                v_spread(w, re[j], im[j]);
            }
            steps_load(source + 2 * j * LANES, &part, x);
            steps_multiply(re[j], im[j], x, y);
            if (cut) {
                v_store_part(target, y[0], part.low);
                v_store_part(target + LANES, y[1], part.high);
            } else {
                v_store(target + 2 * j * LANES, y[0]);
                v_store(target + (2 * j + 1) * LANES, y[1]);
            }
        }
        step += step_row;
        source += source_row;
        target += target_row;
    }
}

SIMD void steps_heads(const steps_piece *piece, const bool stands) {
    const locus_rotation_steps *shape = piece->shape;
    const size_t pairs = shape->pairs;
    for (size_t head = 0; head < shape->heads; head++) {
        size_t i = 0, lines = shape->D * sizeof(real) / 64; /* ahead in the first columns only */
        for (; i + ROTATE_VECTORS * LANES <= pairs; i += ROTATE_VECTORS * LANES, lines = 0)
            steps_columns(piece, stands, head, i, ROTATE_VECTORS, false, lines);
        for (; i + LANES <= pairs; i += LANES, lines = 0)
            steps_columns(piece, stands, head, i, 1, false, lines);
        if (i < pairs)
            steps_columns(piece, stands, head, i, 1, true, lines);
    }
}

/* Functions of their own, as in rotate_body.h. */
static __attribute__((noinline)) void KERNEL(steps_rising)(const steps_piece *piece) {
    steps_heads(piece, false);
}

static __attribute__((noinline)) void KERNEL(steps_standing)(const steps_piece *piece) {
    steps_heads(piece, true);
}

static void KERNEL(steps_rest)(const steps_piece *piece) {
    const locus_rotation_steps *shape = piece->shape;
    const size_t rest = 2 * shape->pairs;
    if (rest >= shape->D || (piece->source == piece->target && piece->scale == 1))
        return;
    for (ptrdiff_t row = 0; row < (ptrdiff_t)piece->rows; row++)
        for (ptrdiff_t head = 0; head < (ptrdiff_t)shape->heads; head++) {
            const real *source = piece->source + row * shape->source_row + head * shape->source_head;
            real *target = piece->target + row * shape->target_row + head * shape->target_head;
            KERNEL(scale)(shape->D - rest, piece->scale, source + rest, target + rest);
        }
}

static void KERNEL(rotate_steps)(const locus_rotation_steps *shape, real sign, real scale, const real *base,
                                 const real *step, const real *source, real *target) {
    steps_piece piece = {.shape = shape, .scale = scale, .signed_scale = sign * scale};
    piece.source = source;
    piece.target = target;
    for (size_t r = 0; r < shape->count; r++) {
        const locus_rotation_run *run = &shape->runs[r];
        piece.base = base + (ptrdiff_t)r * shape->base_row;
        for (size_t done = 0; done < run->rows; done += piece.rows) {
            piece.rows = run->rows - done < ROTATE_ROWS ? run->rows - done : ROTATE_ROWS;
            piece.step = step + (ptrdiff_t)(run->step + (run->stands ? 0 : done)) * shape->step_row;
            (run->stands ? KERNEL(steps_standing) : KERNEL(steps_rising))(&piece);
            KERNEL(steps_rest)(&piece);
            piece.source += (ptrdiff_t)piece.rows * shape->source_row;
            piece.target += (ptrdiff_t)piece.rows * shape->target_row;
        }
    }
}

#endif
