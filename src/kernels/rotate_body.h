/* SPDX-License-Identifier: MIT */
/* Rotary: each pair (x, y) of a row is turned by its angle, (x, y) → scale·(x cos − y sin, x sin + y cos). The backward
 * pass is the same with sign −1. Sign and scale are multiplied into cosines and sines as they are read; heads that
 * share a table find them in registers. Beyond the cache the data is all that costs: it is walked once, a token's heads
 * one after another, and asked for a little ahead. */
#ifndef LOCUS_KERNELS_ROTATE_BODY_H
#define LOCUS_KERNELS_ROTATE_BODY_H

#include "kernels/vector_body.h"

/* Vectors of pairs that pass over the heads together: their cosines and sines stay in registers. */
#if LOCUS_SIMD == LOCUS_SIMD_NEON
#define ROTATE_VECTORS ((size_t)4)
#else
#define ROTATE_VECTORS ((size_t)2)
#endif
#define ROTATE_AHEAD ((size_t)8192) /* bytes */

typedef struct rotate_call {
    locus_rotation shape;
    real sign, scale;
    const real *cosine, *sine, *source;
    real *target;
} rotate_call;

/* Asks for what stands ahead of a head, into the second cache level: in the first it would push out what is turned now
 * and the tables. Past the buffer's end this is a hint without effect. */
SIMD void rotate_ahead(const real *source, size_t bytes, size_t lines) {
    for (size_t line = 0; line < lines; line++)
        __builtin_prefetch((const void *)((uintptr_t)source + bytes + 64 * line), 0, 2);
}

SIMD void rotate_pair(vreal cosine, vreal sine, vreal *x, vreal *y) {
    vreal turned = v_fnma(*y, sine, v_mul(*x, cosine));
    *y = v_fma(*x, sine, v_mul(*y, cosine));
    *x = turned;
}

/* A vector of pairs from pair i on: (i, i + pairs) if half_pairs, else (2i, 2i + 1). */
SIMD void rotate_vector(size_t pairs, const bool half_pairs, size_t i, vreal cosine, vreal sine, const real *source,
                        real *target) {
    vreal x, y, a, b;
    if (half_pairs) {
        x = v_held(v_load(source + i));
        y = v_held(v_load(source + pairs + i));
        rotate_pair(cosine, sine, &x, &y);
        v_store(target + i, x);
        v_store(target + pairs + i, y);
    } else {
        v_deinterleave(v_held(v_load(source + 2 * i)), v_held(v_load(source + 2 * i + LANES)), &x, &y);
        rotate_pair(cosine, sine, &x, &y);
        v_interleave(x, y, &a, &b);
        v_store(target + 2 * i, a);
        v_store(target + 2 * i + LANES, b);
    }
}

/* The same for the last pairs, fewer than a vector. */
SIMD void rotate_part(size_t pairs, const bool half_pairs, size_t i, vreal cosine, vreal sine, const real *source,
                      real *target) {
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

/* One head with its table. */
SIMD void rotate_head(size_t pairs, const bool half_pairs, vreal cosine_factor, vreal sine_factor, const real *cosine,
                      const real *sine, const real *source, real *target) {
    size_t i = 0;
    for (; i + LANES <= pairs; i += LANES)
        rotate_vector(pairs, half_pairs, i, v_mul(v_load(cosine + i), cosine_factor),
                      v_mul(v_load(sine + i), sine_factor), source, target);
    if (i < pairs) {
        const vpart part = v_first(pairs - i);
        rotate_part(pairs, half_pairs, i, v_mul(v_load_part(cosine + i, part), cosine_factor),
                    v_mul(v_load_part(sine + i, part), sine_factor), source, target);
    }
}

/* Each head has its own row of the table. */
SIMD void rotate_own(const rotate_call *call, const bool half_pairs) {
    const locus_rotation *shape = &call->shape;
    const vreal cosine_factor = v_set(call->scale), sine_factor = v_set(call->sign * call->scale);
    const size_t pairs = shape->pairs, lines = shape->D * sizeof(real) / 64;
    for (size_t row = 0; row < shape->rows; row++) {
        const real *cosine = call->cosine + (ptrdiff_t)row * shape->table_row;
        const real *sine = call->sine + (ptrdiff_t)row * shape->table_row;
        const real *source = call->source + (ptrdiff_t)row * shape->source_row;
        real *target = call->target + (ptrdiff_t)row * shape->target_row;
        for (size_t head = shape->heads; head > 0; head--) {
            rotate_ahead(source, ROTATE_AHEAD, lines);
            rotate_head(pairs, half_pairs, cosine_factor, sine_factor, cosine, sine, source, target);
            cosine += shape->table_head;
            sine += shape->table_head;
            source += shape->source_head;
            target += shape->target_head;
        }
    }
}

/* `vectors` vectors of pairs from pair i on, in all heads of a row. */
SIMD void rotate_columns(const locus_rotation *shape, const bool half_pairs, size_t i, const size_t vectors,
                         size_t lines, const vreal cosine[], const vreal sine[], const real *source, real *target) {
    const size_t pairs = shape->pairs;
    for (size_t head = shape->heads; head > 0; head--) {
        rotate_ahead(source, ROTATE_AHEAD, lines);
        SIMD_UNROLL
        for (size_t j = 0; j < vectors; j++)
            rotate_vector(pairs, half_pairs, i + j * LANES, cosine[j], sine[j], source, target);
        source += shape->source_head;
        target += shape->target_head;
    }
}

/* All heads of a row share one row of the table. */
SIMD void rotate_shared(const rotate_call *call, const bool half_pairs) {
    const locus_rotation *shape = &call->shape;
    const vreal cosine_factor = v_set(call->scale), sine_factor = v_set(call->sign * call->scale);
    const size_t pairs = shape->pairs;
    for (size_t row = 0; row < shape->rows; row++) {
        const real *cosine = call->cosine + (ptrdiff_t)row * shape->table_row;
        const real *sine = call->sine + (ptrdiff_t)row * shape->table_row;
        const real *source = call->source + (ptrdiff_t)row * shape->source_row;
        real *target = call->target + (ptrdiff_t)row * shape->target_row;
        size_t lines = shape->D * sizeof(real) / 64, i = 0; /* ahead in the first pass over the row only */
        for (; i + ROTATE_VECTORS * LANES <= pairs; i += ROTATE_VECTORS * LANES, lines = 0) {
            vreal c[ROTATE_VECTORS], s[ROTATE_VECTORS];
            SIMD_UNROLL
            for (size_t j = 0; j < ROTATE_VECTORS; j++) {
                c[j] = v_mul(v_load(cosine + i + j * LANES), cosine_factor);
                s[j] = v_mul(v_load(sine + i + j * LANES), sine_factor);
            }
            rotate_columns(shape, half_pairs, i, ROTATE_VECTORS, lines, c, s, source, target);
        }
        for (; i + LANES <= pairs; i += LANES, lines = 0) {
            const vreal c = v_mul(v_load(cosine + i), cosine_factor), s = v_mul(v_load(sine + i), sine_factor);
            rotate_columns(shape, half_pairs, i, 1, lines, &c, &s, source, target);
        }
        if (i < pairs) {
            const vpart part = v_first(pairs - i);
            const vreal c = v_mul(v_load_part(cosine + i, part), cosine_factor);
            const vreal s = v_mul(v_load_part(sine + i, part), sine_factor);
            for (size_t head = 0; head < shape->heads; head++) {
                const ptrdiff_t h = (ptrdiff_t)head;
                rotate_part(pairs, half_pairs, i, c, s, source + h * shape->source_head,
                            target + h * shape->target_head);
            }
        }
    }
}

/* Functions of their own: inlined into one, they take the registers from each other. */
#define ROTATE_LAYOUT(name, walk, half_pairs) \
    static __attribute__((noinline)) void KERNEL(name)(const rotate_call *call) { \
        walk(call, half_pairs); \
    }
ROTATE_LAYOUT(rotate_own_half, rotate_own, true)
ROTATE_LAYOUT(rotate_own_interleaved, rotate_own, false)
ROTATE_LAYOUT(rotate_shared_half, rotate_shared, true)
ROTATE_LAYOUT(rotate_shared_interleaved, rotate_shared, false)

/* What is left of each head behind the pairs. */
static void KERNEL(rotate_rest)(const rotate_call *call) {
    const locus_rotation *shape = &call->shape;
    const size_t rest = 2 * shape->pairs;
    if (rest >= shape->D || (call->source == call->target && call->scale == 1))
        return;
    for (size_t row = 0; row < shape->rows; row++) {
        for (size_t head = 0; head < shape->heads; head++) {
            const ptrdiff_t r = (ptrdiff_t)row, h = (ptrdiff_t)head;
            KERNEL(scale)
            (shape->D - rest, call->scale, call->source + r * shape->source_row + h * shape->source_head + rest,
             call->target + r * shape->target_row + h * shape->target_head + rest);
        }
    }
}

/* Rows that are rotated before what is left of them is scaled: they are still in the cache then. */
#define ROTATE_ROWS ((size_t)16)

static void KERNEL(rotate)(const locus_rotation *shape, real sign, real scale, const real *cosine, const real *sine,
                           const real *source, real *target) {
    rotate_call call = {*shape, sign, scale, cosine, sine, source, target};
    const bool shared = shape->table_head == 0 && shape->heads > 1;
    for (size_t left = shape->rows; left > 0; left -= call.shape.rows) {
        call.shape.rows = left < ROTATE_ROWS ? left : ROTATE_ROWS;
        if (shared && shape->half_pairs)
            KERNEL(rotate_shared_half)(&call);
        else if (shared)
            KERNEL(rotate_shared_interleaved)(&call);
        else if (shape->half_pairs)
            KERNEL(rotate_own_half)(&call);
        else
            KERNEL(rotate_own_interleaved)(&call);
        KERNEL(rotate_rest)(&call);
        call.cosine += (ptrdiff_t)call.shape.rows * shape->table_row;
        call.sine += (ptrdiff_t)call.shape.rows * shape->table_row;
        call.source += (ptrdiff_t)call.shape.rows * shape->source_row;
        call.target += (ptrdiff_t)call.shape.rows * shape->target_row;
    }
}

#endif
