/* SPDX-License-Identifier: MIT */
/* Rotary: each pair (x, y) of a row is turned by its angle, (x, y) → scale·(x cos − y sin, x sin + y cos). The backward pass is the
 * same with sign −1. Sign and scale are multiplied into the cosines and sines as they are read: the data is what costs,
 * and it is walked once, a token's heads one after another. */
#ifndef LOCUS_KERNELS_ROTATE_BODY_H
#define LOCUS_KERNELS_ROTATE_BODY_H

SIMD void rotate_pair(vreal cosine, vreal sine, vreal *x, vreal *y)
{
    vreal turned = v_fnma(*y, sine, v_mul(*x, cosine));
    *y = v_fma(*x, sine, v_mul(*y, cosine));
    *x = turned;
}

/* Pairs (i, i + pairs). */
SIMD void rotate_half(size_t pairs, vreal cosine_factor, vreal sine_factor, const real *cosine, const real *sine,
                      const real *source, real *target)
{
    size_t i = 0;
    for (; i + LANES <= pairs; i += LANES) {
        vreal x = v_load(source + i), y = v_load(source + pairs + i);
        rotate_pair(v_mul(v_load(cosine + i), cosine_factor), v_mul(v_load(sine + i), sine_factor), &x, &y);
        v_store(target + i, x);
        v_store(target + pairs + i, y);
    }
    if (i < pairs) {
        const vpart part = v_first(pairs - i);
        vreal x = v_load_part(source + i, part), y = v_load_part(source + pairs + i, part);
        rotate_pair(v_mul(v_load_part(cosine + i, part), cosine_factor),
                    v_mul(v_load_part(sine + i, part), sine_factor), &x, &y);
        v_store_part(target + i, x, part);
        v_store_part(target + pairs + i, y, part);
    }
}

/* Pairs (2i, 2i + 1). */
SIMD void rotate_interleaved(size_t pairs, vreal cosine_factor, vreal sine_factor, const real *cosine, const real *sine,
                             const real *source, real *target)
{
    size_t i = 0;
    vreal a, b, x, y;
    for (; i + LANES <= pairs; i += LANES) {
        v_deinterleave(v_load(source + 2 * i), v_load(source + 2 * i + LANES), &x, &y);
        rotate_pair(v_mul(v_load(cosine + i), cosine_factor), v_mul(v_load(sine + i), sine_factor), &x, &y);
        v_interleave(x, y, &a, &b);
        v_store(target + 2 * i, a);
        v_store(target + 2 * i + LANES, b);
    }
    if (i < pairs) {
        const size_t elements = 2 * (pairs - i);
        const vpart part = v_first(pairs - i), low = v_first(elements < LANES ? elements : LANES);
        const vpart high = v_first(elements < LANES ? 0 : elements - LANES);
        v_deinterleave(v_load_part(source + 2 * i, low), v_load_part(source + 2 * i + LANES, high), &x, &y);
        rotate_pair(v_mul(v_load_part(cosine + i, part), cosine_factor),
                    v_mul(v_load_part(sine + i, part), sine_factor), &x, &y);
        v_interleave(x, y, &a, &b);
        v_store_part(target + 2 * i, a, low);
        v_store_part(target + 2 * i + LANES, b, high);
    }
}

static void KERNEL(rotate)(const locus_rotation *shape, real sign, real scale, const real *cosine, const real *sine,
                           const real *source, real *target)
{
    const vreal cosine_factor = v_set(scale), sine_factor = v_set(sign * scale);
    const size_t rest = 2 * shape->pairs;
    for (size_t row = 0; row < shape->rows; row++) {
        for (size_t head = 0; head < shape->heads; head++) {
            const ptrdiff_t r = (ptrdiff_t)row, h = (ptrdiff_t)head;
            const real *from = source + r * shape->source_row + h * shape->source_head;
            real *to = target + r * shape->target_row + h * shape->target_head;
            const ptrdiff_t table = r * shape->table_row + h * shape->table_head;
            if (shape->half_pairs)
                rotate_half(shape->pairs, cosine_factor, sine_factor, cosine + table, sine + table, from, to);
            else
                rotate_interleaved(shape->pairs, cosine_factor, sine_factor, cosine + table, sine + table, from, to);
            if (rest < shape->D && !(from == to && scale == 1)) /* nothing to do in place */
                KERNEL(scale)(shape->D - rest, scale, from + rest, to + rest);
        }
    }
}

#endif
