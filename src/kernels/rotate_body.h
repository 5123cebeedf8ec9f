/* SPDX-License-Identifier: MIT */
/* Rotary: each pair (x, y) of a row is turned by its angle, (x, y) → scale·(x cos − y sin, x sin + y cos). The backward
 * pass is the same with sign −1. Sign and scale are multiplied into cosines and sines as they are read; heads that share
 * a table find them in registers. Beyond the cache the data is all that costs: it is walked once, a token's heads one
 * after another, and asked for a little ahead. */
#ifndef LOCUS_KERNELS_ROTATE_BODY_H
#define LOCUS_KERNELS_ROTATE_BODY_H

#include "kernels/vector_body.h"

/* Vectors of pairs that pass over the heads together: their cosines and sines stay in registers. */
#if LOCUS_SIMD == LOCUS_SIMD_NEON
#define ROTATE_VECTORS ((size_t)4)
#else
#define ROTATE_VECTORS ((size_t)2)
#endif
#define ROTATE_AHEAD ((uintptr_t)1024) /* bytes; measured: 512 to 4096 are alike, none costs a tenth */

/* One pass over heads with the same table. */
typedef struct rotate_pass {
    size_t heads, pairs;
    vreal cosine_factor, sine_factor;
    const real *cosine, *sine, *source;
    real *target;
    ptrdiff_t source_head, target_head;
    size_t lines; /* cache lines to ask for ahead, for each head */
} rotate_pass;

SIMD void rotate_pair(vreal cosine, vreal sine, vreal *x, vreal *y)
{
    vreal turned = v_fnma(*y, sine, v_mul(*x, cosine));
    *y = v_fma(*x, sine, v_mul(*y, cosine));
    *x = turned;
}

/* A vector of pairs from pair i on: (i, i + pairs) if half_pairs, else (2i, 2i + 1). */
SIMD void rotate_vector(size_t pairs, const bool half_pairs, size_t i, vreal cosine, vreal sine, const real *source,
                        real *target)
{
    vreal x, y, a, b;
    if (half_pairs) {
        x = v_load(source + i);
        y = v_load(source + pairs + i);
        rotate_pair(cosine, sine, &x, &y);
        v_store(target + i, x);
        v_store(target + pairs + i, y);
    } else {
        v_deinterleave(v_load(source + 2 * i), v_load(source + 2 * i + LANES), &x, &y);
        rotate_pair(cosine, sine, &x, &y);
        v_interleave(x, y, &a, &b);
        v_store(target + 2 * i, a);
        v_store(target + 2 * i + LANES, b);
    }
}

/* The same for the last pairs, fewer than a vector. */
SIMD void rotate_part(size_t pairs, const bool half_pairs, size_t i, vreal cosine, vreal sine, const real *source,
                      real *target)
{
    const size_t elements = 2 * (pairs - i);
    const vpart part = v_first(pairs - i), low = v_first(elements < LANES ? elements : LANES);
    const vpart high = v_first(elements < LANES ? 0 : elements - LANES);
    vreal x, y, a, b;
    if (half_pairs) {
        x = v_load_part(source + i, part);
        y = v_load_part(source + pairs + i, part);
        rotate_pair(cosine, sine, &x, &y);
        v_store_part(target + i, x, part);
        v_store_part(target + pairs + i, y, part);
    } else {
        v_deinterleave(v_load_part(source + 2 * i, low), v_load_part(source + 2 * i + LANES, high), &x, &y);
        rotate_pair(cosine, sine, &x, &y);
        v_interleave(x, y, &a, &b);
        v_store_part(target + 2 * i, a, low);
        v_store_part(target + 2 * i + LANES, b, high);
    }
}

/* `vectors` vectors of pairs from pair i on, in all heads. */
SIMD void rotate_columns(const rotate_pass *pass, const bool half_pairs, size_t i, const size_t vectors, size_t lines)
{
    const real *source = pass->source;
    real *target = pass->target;
    vreal cosine[ROTATE_VECTORS], sine[ROTATE_VECTORS];
    SIMD_UNROLL
    for (size_t j = 0; j < vectors; j++) {
        cosine[j] = v_mul(v_load(pass->cosine + i + j * LANES), pass->cosine_factor);
        sine[j] = v_mul(v_load(pass->sine + i + j * LANES), pass->sine_factor);
    }
    for (size_t head = 0; head < pass->heads; head++) {
        for (size_t line = 0; line < lines; line++) /* past the end this is a hint without effect */
            __builtin_prefetch((const void *)((uintptr_t)source + ROTATE_AHEAD + 64 * line));
        SIMD_UNROLL
        for (size_t j = 0; j < vectors; j++)
            rotate_vector(pass->pairs, half_pairs, i + j * LANES, cosine[j], sine[j], source, target);
        source += pass->source_head;
        target += pass->target_head;
    }
}

SIMD void rotate_last(const rotate_pass *pass, const bool half_pairs, size_t i)
{
    const vpart part = v_first(pass->pairs - i);
    const vreal cosine = v_mul(v_load_part(pass->cosine + i, part), pass->cosine_factor);
    const vreal sine = v_mul(v_load_part(pass->sine + i, part), pass->sine_factor);
    for (size_t head = 0; head < pass->heads; head++) {
        const real *source = pass->source + (ptrdiff_t)head * pass->source_head;
        rotate_part(pass->pairs, half_pairs, i, cosine, sine, source, pass->target + (ptrdiff_t)head * pass->target_head);
    }
}

SIMD void rotate_heads(const rotate_pass *pass, const bool half_pairs)
{
    const size_t pairs = pass->pairs;
    size_t i = 0;
    for (; i + ROTATE_VECTORS * LANES <= pairs; i += ROTATE_VECTORS * LANES)
        rotate_columns(pass, half_pairs, i, ROTATE_VECTORS, i == 0 ? pass->lines : 0);
    for (; i + LANES <= pairs; i += LANES)
        rotate_columns(pass, half_pairs, i, 1, i == 0 ? pass->lines : 0);
    if (i < pairs)
        rotate_last(pass, half_pairs, i);
}

/* What is left of each head behind the pairs. */
static void KERNEL(rotate_rest)(const locus_rotation *shape, real scale, const real *source, real *target)
{
    const size_t rest = 2 * shape->pairs;
    if (rest >= shape->D || (source == target && scale == 1))
        return;
    for (size_t head = 0; head < shape->heads; head++) {
        const ptrdiff_t h = (ptrdiff_t)head;
        KERNEL(scale)(shape->D - rest, scale, source + h * shape->source_head + rest, target + h * shape->target_head + rest);
    }
}

static void KERNEL(rotate)(const locus_rotation *shape, real sign, real scale, const real *cosine, const real *sine,
                           const real *source, real *target)
{
    const bool shared = shape->table_head == 0;
    rotate_pass pass = {.heads = shared ? shape->heads : 1,
                        .pairs = shape->pairs,
                        .cosine_factor = v_set(scale),
                        .sine_factor = v_set(sign * scale),
                        .source_head = shape->source_head,
                        .target_head = shape->target_head,
                        .lines = shape->D * sizeof(real) / 64};
    for (size_t row = 0; row < shape->rows; row++) {
        const ptrdiff_t r = (ptrdiff_t)row;
        const real *from = source + r * shape->source_row;
        real *to = target + r * shape->target_row;
        for (size_t head = 0; head < shape->heads; head += pass.heads) {
            const ptrdiff_t h = (ptrdiff_t)head, table = r * shape->table_row + h * shape->table_head;
            pass.cosine = cosine + table;
            pass.sine = sine + table;
            pass.source = from + h * shape->source_head;
            pass.target = to + h * shape->target_head;
            if (shape->half_pairs)
                rotate_heads(&pass, true);
            else
                rotate_heads(&pass, false);
        }
        KERNEL(rotate_rest)(shape, scale, from, to);
    }
}

#endif
