/* SPDX-License-Identifier: MIT */
/* Angles: cosines and sines from two-level tables in double, and the gradient with respect to the angles' rates.
 *
 * A position p = coarse·C + fine has e^{ipω} = e^{i coarse·C·ω} · e^{i fine·ω}: one complex product of exact tables
 * instead of a sine and cosine of a large argument. It is carried out in double and rounded once, so position 1,000,000
 * is as good as 1. */
#ifndef LOCUS_KERNELS_ANGLES_BODY_H
#define LOCUS_KERNELS_ANGLES_BODY_H

/* Complex product of a + ib and interleaved (cos, sin) in two vectors. */
SIMD void angles_product(vd a, vd b, vd fine0, vd fine1, vd *cosine, vd *sine) {
    vd c, d;
    vd_deinterleave(fine0, fine1, &c, &d);
    *cosine = vd_fnma(b, d, vd_mul(a, c));
    *sine = vd_fma(a, d, vd_mul(b, c));
}

/* Rows with the same coarse factor, as consecutive positions have. */
typedef struct angles_run {
    size_t rows, pairs;
    const double *coarse, *fine;
    const uint32_t *fine_index;
    real *cosine, *sine;
    ptrdiff_t table_stride;
} angles_run;

/* `vectors` vectors of pairs from pair i on: the coarse factor stays in registers while the rows pass. */
SIMD void angles_columns(const angles_run *run, size_t i, const size_t vectors) {
    real *cosine = run->cosine + i, *sine = run->sine + i;
    vd a[4], b[4];
    SIMD_UNROLL
    for (size_t j = 0; j < vectors; j++) {
        const double *coarse = run->coarse + 2 * (i + j * VD_LANES);
        vd_deinterleave(vd_load(coarse), vd_load(coarse + VD_LANES), &a[j], &b[j]);
    }
    for (size_t row = 0; row < run->rows; row++) {
        const double *fine = run->fine + 2 * (run->pairs * run->fine_index[row] + i);
        SIMD_UNROLL
        for (size_t j = 0; j < vectors; j++) {
            vd c, s;
            angles_product(a[j], b[j], vd_load(fine + 2 * j * VD_LANES), vd_load(fine + (2 * j + 1) * VD_LANES), &c,
                           &s);
            vd_store_real(cosine + j * VD_LANES, c);
            vd_store_real(sine + j * VD_LANES, s);
        }
        cosine += run->table_stride;
        sine += run->table_stride;
    }
}

/* The last pairs, fewer than a vector. */
SIMD void angles_last(const angles_run *run, size_t i) {
    const size_t elements = 2 * (run->pairs - i);
    const vd_part part = vd_first(run->pairs - i), low = vd_first(elements < VD_LANES ? elements : VD_LANES);
    const vd_part high = vd_first(elements < VD_LANES ? 0 : elements - VD_LANES);
    const double *coarse = run->coarse + 2 * i;
    vd a, b, c, s;
    vd_deinterleave(vd_load_part(coarse, low), vd_load_part(coarse + VD_LANES, high), &a, &b);
    for (size_t row = 0; row < run->rows; row++) {
        const double *fine = run->fine + 2 * (run->pairs * run->fine_index[row] + i);
        angles_product(a, b, vd_load_part(fine, low), vd_load_part(fine + VD_LANES, high), &c, &s);
        vd_store_real_part(run->cosine + (ptrdiff_t)row * run->table_stride + i, c, part);
        vd_store_real_part(run->sine + (ptrdiff_t)row * run->table_stride + i, s, part);
    }
}

/* How many rows begin with the same coarse factor. */
SIMD size_t angles_alike(const uint32_t *coarse_index, size_t rows) {
    size_t alike = 1;
    while (alike < rows && coarse_index[alike] == coarse_index[0])
        alike++;
    return alike;
}

static void KERNEL(angles)(size_t rows, size_t pairs, const double *coarse, const uint32_t *coarse_index,
                           const double *fine, const uint32_t *fine_index, real *cosine, real *sine,
                           ptrdiff_t table_stride) {
    angles_run run = {.pairs = pairs, .fine = fine, .table_stride = table_stride};
    for (size_t row = 0; row < rows; row += run.rows) {
        size_t i = 0;
        run.rows = angles_alike(coarse_index + row, rows - row);
        run.coarse = coarse + 2 * pairs * coarse_index[row];
        run.fine_index = fine_index + row;
        run.cosine = cosine + (ptrdiff_t)row * table_stride;
        run.sine = sine + (ptrdiff_t)row * table_stride;
        for (; i + 4 * VD_LANES <= pairs; i += 4 * VD_LANES)
            angles_columns(&run, i, 4);
        for (; i + 2 * VD_LANES <= pairs; i += 2 * VD_LANES)
            angles_columns(&run, i, 2);
        for (; i + VD_LANES <= pairs; i += VD_LANES)
            angles_columns(&run, i, 1);
        if (i < pairs)
            angles_last(&run, i);
    }
}

/* ---- the same as complex numbers ---- */

/* `units` times VD_LANES pairs from pair i on (cut: the last ones), coarse ∘ re(f) + swap(coarse) ∘ im(f): neighbours
 * alone change places. The coarse factor stays in registers. */
SIMD void phases_columns(const angles_run *run, size_t i, const size_t units, const bool cut) {
    const size_t elements = cut ? 2 * (run->pairs - i) : 0;
    const vd_part low = vd_first(elements < VD_LANES ? elements : VD_LANES);
    const vd_part high = vd_first(elements < VD_LANES ? 0 : elements - VD_LANES);
    vd coarse[2][2], swapped[2][2];
    SIMD_UNROLL
    for (size_t j = 0; j < units; j++) {
        const double *at = run->coarse + 2 * (i + j * VD_LANES);
        coarse[j][0] = cut ? vd_load_part(at, low) : vd_load(at);
        coarse[j][1] = cut ? vd_load_part(at + VD_LANES, high) : vd_load(at + VD_LANES);
        vd_swap(coarse[j], swapped[j]);
    }
    for (size_t row = 0; row < run->rows; row++) {
        const double *fine = run->fine + 2 * (run->pairs * run->fine_index[row] + i);
        real *phase = run->cosine + (ptrdiff_t)row * run->table_stride + 2 * i;
        SIMD_UNROLL
        for (size_t j = 0; j < units; j++, fine += 2 * VD_LANES, phase += 2 * VD_LANES) {
            const vd f[2] = {cut ? vd_load_part(fine, low) : vd_load(fine),
                             cut ? vd_load_part(fine + VD_LANES, high) : vd_load(fine + VD_LANES)};
            vd re[2], im[2];
            vd_spread(f, re, im);
            re[0] = vd_fma(swapped[j][0], im[0], vd_mul(coarse[j][0], re[0]));
            re[1] = vd_fma(swapped[j][1], im[1], vd_mul(coarse[j][1], re[1]));
            if (cut) {
                vd_store_real_part(phase, re[0], low);
                vd_store_real_part(phase + VD_LANES, re[1], high);
            } else {
                vd_store_real(phase, re[0]);
                vd_store_real(phase + VD_LANES, re[1]);
            }
        }
    }
}

static void KERNEL(phases)(size_t rows, size_t pairs, const double *coarse, const uint32_t *coarse_index,
                           const double *fine, const uint32_t *fine_index, real *phase, ptrdiff_t table_stride) {
    angles_run run = {.pairs = pairs, .fine = fine, .table_stride = table_stride};
    for (size_t row = 0; row < rows; row += run.rows) {
        size_t i = 0;
        run.rows = angles_alike(coarse_index + row, rows - row);
        run.coarse = coarse + 2 * pairs * coarse_index[row];
        run.fine_index = fine_index + row;
        run.cosine = phase + (ptrdiff_t)row * table_stride;
        for (; i + 2 * VD_LANES <= pairs; i += 2 * VD_LANES)
            phases_columns(&run, i, 2, false);
        for (; i + VD_LANES <= pairs; i += VD_LANES)
            phases_columns(&run, i, 1, false);
        if (i < pairs)
            phases_columns(&run, i, 1, true);
    }
}

/* ---- gradients ---- */

/* x and y of VD_LANES pairs from pair i on, as doubles; y stands pairs further on, or next to x. */
SIMD void angles_load(size_t pairs, const bool half_pairs, const real *row, size_t i, vd *x, vd *y) {
    if (half_pairs) {
        *x = vd_load_real(row + i);
        *y = vd_load_real(row + pairs + i);
    } else {
        vd_deinterleave(vd_load_real(row + 2 * i), vd_load_real(row + 2 * i + VD_LANES), x, y);
    }
}

SIMD void angles_load_part(size_t pairs, const bool half_pairs, const real *row, size_t i, vd *x, vd *y) {
    const size_t elements = 2 * (pairs - i);
    if (half_pairs) {
        *x = vd_load_real_part(row + i, vd_first(pairs - i));
        *y = vd_load_real_part(row + pairs + i, vd_first(pairs - i));
    } else {
        vd low = vd_load_real_part(row + 2 * i, vd_first(elements < VD_LANES ? elements : VD_LANES));
        vd high = vd_load_real_part(row + 2 * i + VD_LANES, vd_first(elements < VD_LANES ? 0 : elements - VD_LANES));
        vd_deinterleave(low, high, x, y);
    }
}

typedef struct angles_rows {
    size_t rows, pairs;
    const double *weight;
    const real *y, *g;
    ptrdiff_t y_stride, g_stride;
} angles_rows;

/* `vectors` running sums stay in registers while the rows pass; cut: one vector, of which only a part exists. */
SIMD void angle_gradient_columns(const angles_rows *in, const bool half_pairs, size_t i, const size_t vectors,
                                 const bool cut, double *sum) {
    vd total[4];
    SIMD_UNROLL
    for (size_t j = 0; j < vectors; j++)
        total[j] = vd_zero();
    for (size_t row = 0; row < in->rows; row++) {
        const real *rotated = in->y + (ptrdiff_t)row * in->y_stride, *gradient = in->g + (ptrdiff_t)row * in->g_stride;
        const vd weight = vd_set(in->weight[row]);
        SIMD_UNROLL
        for (size_t j = 0; j < vectors; j++) {
            vd x, y, gx, gy;
            if (cut) {
                angles_load_part(in->pairs, half_pairs, rotated, i, &x, &y);
                angles_load_part(in->pairs, half_pairs, gradient, i, &gx, &gy);
            } else {
                angles_load(in->pairs, half_pairs, rotated, i + j * VD_LANES, &x, &y);
                angles_load(in->pairs, half_pairs, gradient, i + j * VD_LANES, &gx, &gy);
            }
            total[j] = vd_fma(weight, vd_fnma(gy, x, vd_mul(gx, y)), total[j]);
        }
    }
    SIMD_UNROLL
    for (size_t j = 0; j < vectors; j++) {
        double *at = sum + i + j * VD_LANES;
        if (cut) {
            const vd_part part = vd_first(in->pairs - i);
            vd_store_part(at, vd_add(vd_load_part(at, part), total[j]), part);
        } else {
            vd_store(at, vd_add(vd_load(at), total[j]));
        }
    }
}

SIMD void angle_gradient_all(const angles_rows *in, const bool half_pairs, double *sum) {
    size_t i = 0;
    for (; i + 4 * VD_LANES <= in->pairs; i += 4 * VD_LANES)
        angle_gradient_columns(in, half_pairs, i, 4, false, sum);
    for (; i + 2 * VD_LANES <= in->pairs; i += 2 * VD_LANES)
        angle_gradient_columns(in, half_pairs, i, 2, false, sum);
    for (; i + VD_LANES <= in->pairs; i += VD_LANES)
        angle_gradient_columns(in, half_pairs, i, 1, false, sum);
    if (i < in->pairs)
        angle_gradient_columns(in, half_pairs, i, 1, true, sum);
}

static void KERNEL(angle_gradient)(size_t rows, size_t pairs, bool half_pairs, const double *weight, const real *y,
                                   ptrdiff_t y_stride, const real *g, ptrdiff_t g_stride, double *sum) {
    const angles_rows in = {rows, pairs, weight, y, g, y_stride, g_stride};
    if (half_pairs)
        angle_gradient_all(&in, true, sum);
    else
        angle_gradient_all(&in, false, sum);
}

#endif
