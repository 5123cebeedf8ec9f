/* SPDX-License-Identifier: MIT */
/* target[j,i] = source[i,j], in squares of lanes × lanes held in registers; squares at the edges are loaded in part. */
#ifndef LOCUS_KERNELS_TRANSPOSE_BODY_H
#define LOCUS_KERNELS_TRANSPOSE_BODY_H

SIMD void transpose_square(const real *source, ptrdiff_t ld_source, real *target, ptrdiff_t ld_target) {
    vreal block[LANES];
    SIMD_UNROLL
    for (size_t i = 0; i < LANES; i++)
        block[i] = v_load(source + (ptrdiff_t)i * ld_source);
    v_transpose(block);
    SIMD_UNROLL
    for (size_t j = 0; j < LANES; j++)
        v_store(target + (ptrdiff_t)j * ld_target, block[j]);
}

static void KERNEL(transpose_edge)(size_t rows, size_t columns, const real *source, ptrdiff_t ld_source, real *target,
                                   ptrdiff_t ld_target) {
    const vpart in = v_first(columns), out = v_first(rows);
    vreal block[LANES];
    SIMD_UNROLL
    for (size_t i = 0; i < LANES; i++)
        block[i] = i < rows ? v_load_part(source + (ptrdiff_t)i * ld_source, in) : v_zero();
    v_transpose(block);
    SIMD_UNROLL
    for (size_t j = 0; j < LANES; j++)
        if (j < columns)
            v_store_part(target + (ptrdiff_t)j * ld_target, block[j], out);
}

static void KERNEL(transpose)(size_t rows, size_t columns, const real *source, ptrdiff_t ld_source, real *target,
                              ptrdiff_t ld_target) {
    for (size_t i = 0; i < rows; i += LANES) {
        for (size_t j = 0; j < columns; j += LANES) {
            const real *from = source + (ptrdiff_t)i * ld_source + j;
            real *to = target + (ptrdiff_t)j * ld_target + i;
            size_t high = rows - i < LANES ? rows - i : LANES, wide = columns - j < LANES ? columns - j : LANES;
            if (high == LANES && wide == LANES)
                transpose_square(from, ld_source, to, ld_target);
            else
                KERNEL(transpose_edge)(high, wide, from, ld_source, to, ld_target);
        }
    }
}

#endif
