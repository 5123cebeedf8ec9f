/* SPDX-License-Identifier: MIT */
/* Vectors: scale, axpy, dot, elementwise product and sum. Outputs may be inputs. */
#ifndef LOCUS_KERNELS_VECTOR_BODY_H
#define LOCUS_KERNELS_VECTOR_BODY_H

static void KERNEL(scale)(size_t n, real a, const real *x, real *y) {
    const vreal factor = v_set(a);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        v_store(y + i, v_mul(factor, v_load(x + i)));
    if (i < n) {
        const vpart part = v_first(n - i);
        v_store_part(y + i, v_mul(factor, v_load_part(x + i, part)), part);
    }
}

static void KERNEL(axpy)(size_t n, real a, const real *x, real *y) {
    const vreal factor = v_set(a);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        v_store(y + i, v_fma(factor, v_load(x + i), v_load(y + i)));
    if (i < n) {
        const vpart part = v_first(n - i);
        v_store_part(y + i, v_fma(factor, v_load_part(x + i, part), v_load_part(y + i, part)), part);
    }
}

/* Eight chains, since one fma waits four cycles for the one before. */
static real KERNEL(dot)(size_t n, const real *x, const real *y) {
    vreal sum[8];
    size_t i = 0;
    SIMD_UNROLL
    for (size_t j = 0; j < 8; j++)
        sum[j] = v_zero();
    for (; i + 8 * LANES <= n; i += 8 * LANES) {
        SIMD_UNROLL
        for (size_t j = 0; j < 8; j++)
            sum[j] = v_fma(v_load(x + i + j * LANES), v_load(y + i + j * LANES), sum[j]);
    }
    for (; i + LANES <= n; i += LANES)
        sum[0] = v_fma(v_load(x + i), v_load(y + i), sum[0]);
    if (i < n) {
        const vpart part = v_first(n - i);
        sum[1] = v_fma(v_load_part(x + i, part), v_load_part(y + i, part), sum[1]);
    }
    vreal low = v_add(v_add(sum[0], sum[1]), v_add(sum[2], sum[3]));
    vreal high = v_add(v_add(sum[4], sum[5]), v_add(sum[6], sum[7]));
    return v_sum(v_add(low, high));
}

static void KERNEL(multiply)(size_t n, const real *x, const real *y, real *z) {
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        v_store(z + i, v_mul(v_load(x + i), v_load(y + i)));
    if (i < n) {
        const vpart part = v_first(n - i);
        v_store_part(z + i, v_mul(v_load_part(x + i, part), v_load_part(y + i, part)), part);
    }
}

static void KERNEL(add)(size_t n, const real *x, const real *y, real *z) {
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        v_store(z + i, v_add(v_load(x + i), v_load(y + i)));
    if (i < n) {
        const vpart part = v_first(n - i);
        v_store_part(z + i, v_add(v_load_part(x + i, part), v_load_part(y + i, part)), part);
    }
}

static void KERNEL(add_wide)(size_t n, const real *x, double *sum) {
    size_t i = 0;
    for (; i + VD_LANES <= n; i += VD_LANES)
        vd_store(sum + i, vd_add(vd_load(sum + i), vd_load_real(x + i)));
    for (; i < n; i++)
        sum[i] += (double)x[i];
}

#endif
