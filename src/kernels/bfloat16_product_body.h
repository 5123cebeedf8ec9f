/* SPDX-License-Identifier: MIT */
/* The product of bfloat16.h by VDPBF16PS: eight rows of A, a pair of numbers broadcast, against two panels of B. An
 * element is one chain in the order of k, of each pair the second first. */
#ifndef LOCUS_KERNELS_BFLOAT16_PRODUCT_BODY_H
#define LOCUS_KERNELS_BFLOAT16_PRODUCT_BODY_H

enum { PRODUCT_ROWS = 8 };

typedef struct product_block {
    const uint16_t *a, *b;
    float *c;
    ptrdiff_t lda, panel, ldc;
    size_t K;
    bool accumulate;
    __mmask16 last; /* columns of the last panel */
} product_block;

static void BFLOAT16(begin)(void) {}

static void BFLOAT16(end)(void) {}

/* rows and panels are constants wherever this is called. */
SIMD void product_tile(const product_block *x, const size_t rows, const size_t panels) {
    __m512 sum[PRODUCT_ROWS][2];
    SIMD_UNROLL
    for (size_t i = 0; i < rows; i++) {
        SIMD_UNROLL
        for (size_t j = 0; j < panels; j++)
            sum[i][j] = x->accumulate ? _mm512_maskz_loadu_ps(j + 1 < panels ? (__mmask16)0xffff : x->last,
                                                              x->c + (ptrdiff_t)i * x->ldc + 16 * j)
                                      : _mm512_setzero_ps();
    }
    for (size_t k = 0; k < x->K; k += 2) {
        __m512i b[2];
        SIMD_UNROLL
        for (size_t j = 0; j < panels; j++)
            b[j] = _mm512_loadu_si512(x->b + (ptrdiff_t)j * x->panel + 16 * k);
        SIMD_UNROLL
        for (size_t i = 0; i < rows; i++) {
            int pair;
            memcpy(&pair, x->a + (ptrdiff_t)i * x->lda + k, sizeof pair);
            const __m512i a = _mm512_set1_epi32(pair);
            SIMD_UNROLL
            for (size_t j = 0; j < panels; j++)
                sum[i][j] = _mm512_dpbf16_ps(sum[i][j], (__m512bh)a, (__m512bh)b[j]);
        }
    }
    SIMD_UNROLL
    for (size_t i = 0; i < rows; i++) {
        SIMD_UNROLL
        for (size_t j = 0; j < panels; j++)
            _mm512_mask_storeu_ps(x->c + (ptrdiff_t)i * x->ldc + 16 * j, j + 1 < panels ? (__mmask16)0xffff : x->last,
                                  sum[i][j]);
    }
}

SIMD void product_rows(product_block x, size_t M, const size_t panels) {
    for (; M >= PRODUCT_ROWS; M -= PRODUCT_ROWS, x.a += PRODUCT_ROWS * x.lda, x.c += PRODUCT_ROWS * x.ldc)
        product_tile(&x, PRODUCT_ROWS, panels);
    if (M >= 4) {
        product_tile(&x, 4, panels);
        M -= 4;
        x.a += 4 * x.lda;
        x.c += 4 * x.ldc;
    }
    for (; M > 0; M--, x.a += x.lda, x.c += x.ldc)
        product_tile(&x, 1, panels);
}

static void BFLOAT16(product)(size_t M, size_t N, size_t K, const uint16_t *a, ptrdiff_t lda, const uint16_t *b,
                              ptrdiff_t panel, float *c, ptrdiff_t ldc, bool accumulate) {
    product_block x = {a, b, c, lda, panel, ldc, K, accumulate, 0xffff};
    for (; N > 0; x.b += 2 * panel, x.c += 32) {
        const size_t width = N < 32 ? N : 32;
        x.last = (__mmask16)((1u << ((width - 1) % 16 + 1)) - 1u);
        if (width > 16)
            product_rows(x, M, 2);
        else
            product_rows(x, M, 1);
        N -= width;
    }
}

#endif
