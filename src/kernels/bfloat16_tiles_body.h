/* SPDX-License-Identifier: MIT */
/* The product of bfloat16.h by AMX tiles, TDPBF16PS: 32 × 32 of C in four tiles, 32 of K at a time. All tiles are
 * whole: parts of C at its edges go through memory of their own. An element is the sum, in order, of one number for
 * each 32 of K, which the processor makes of two chains, of even and of odd k. */
#ifndef LOCUS_KERNELS_BFLOAT16_TILES_BODY_H
#define LOCUS_KERNELS_BFLOAT16_TILES_BODY_H

/* Tiles 0 to 3 are C, 4 and 5 A, 6 and 7 B: each 16 rows of 64 bytes. */
typedef struct tile_configuration {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_configuration;

static const tile_configuration tiles __attribute__((aligned(64))) = {
    .palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

static void BFLOAT16(begin)(void) {
    _tile_loadconfig(&tiles);
}

static void BFLOAT16(end)(void) {
    _tile_release();
}

typedef struct tile_block {
    const uint16_t *a, *b;
    float *c;
    ptrdiff_t lda, panel, ldc; /* of a in numbers, of c in bytes */
    size_t K;
    bool accumulate;
} tile_block;

/* `high`: two rows of tiles, `wide`: two columns; constants wherever this is called. */
SIMD void product_tiles(const tile_block *x, const bool high, const bool wide) {
    float *const c = x->c, *const below = (float *)(void *)((char *)c + 16 * x->ldc);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    if (x->accumulate) {
        _tile_loadd(0, c, x->ldc);
        if (wide)
            _tile_loadd(1, c + 16, x->ldc);
        if (high)
            _tile_loadd(2, below, x->ldc);
        if (high && wide)
            _tile_loadd(3, below + 16, x->ldc);
    }
    for (size_t k = 0; k < x->K; k += 32) {
        const uint16_t *const a = x->a + k, *const b = x->b + 16 * k;
        _tile_loadd(6, b, 64);
        _tile_loadd(4, a, x->lda * 2);
        _tile_dpbf16ps(0, 4, 6);
        if (wide) {
            _tile_loadd(7, b + x->panel, 64);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (high) {
            _tile_loadd(5, a + 16 * x->lda, x->lda * 2);
            _tile_dpbf16ps(2, 5, 6);
        }
        if (high && wide)
            _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, c, x->ldc);
    if (wide)
        _tile_stored(1, c + 16, x->ldc);
    if (high)
        _tile_stored(2, below, x->ldc);
    if (high && wide)
        _tile_stored(3, below + 16, x->ldc);
}

/* Rows × columns, at most 16 × 16 of them, through memory of its own: at the edges of C. */
static void product_edge(tile_block x, size_t rows, size_t columns) {
    float own[16][16] __attribute__((aligned(64)));
    char *const c = (char *)x.c;
    const ptrdiff_t ldc = x.ldc;
    for (size_t i = 0; x.accumulate && i < rows; i++)
        memcpy(own[i], c + (ptrdiff_t)i * ldc, columns * sizeof(float));
    x.c = own[0];
    x.ldc = sizeof own[0];
    product_tiles(&x, false, false);
    for (size_t i = 0; i < rows; i++)
        memcpy(c + (ptrdiff_t)i * ldc, own[i], columns * sizeof(float));
}

/* 32 × 32 of C, or what there is of it. */
static void product_square(const tile_block *x, size_t M, size_t N) {
    const bool high = M >= 32, wide = N >= 32;
    if ((high || M == 16) && (wide || N == 16)) {
        if (high && wide)
            product_tiles(x, true, true);
        else if (wide)
            product_tiles(x, false, true);
        else if (high)
            product_tiles(x, true, false);
        else
            product_tiles(x, false, false);
    } else {
        for (size_t m = 0; m < M && m < 32; m += 16)
            for (size_t n = 0; n < N && n < 32; n += 16) {
                tile_block part = *x;
                part.a += (ptrdiff_t)m * x->lda;
                part.b += (ptrdiff_t)(n / 16) * x->panel;
                part.c = (float *)(void *)((char *)x->c + (ptrdiff_t)m * x->ldc) + n;
                product_edge(part, M - m < 16 ? M - m : 16, N - n < 16 ? N - n : 16);
            }
    }
}

static void BFLOAT16(product)(size_t M, size_t N, size_t K, const uint16_t *a, ptrdiff_t lda, const uint16_t *b,
                              ptrdiff_t panel, float *c, ptrdiff_t ldc, bool accumulate) {
    tile_block x = {.lda = lda, .panel = panel, .ldc = ldc * (ptrdiff_t)sizeof *c, .K = K, .accumulate = accumulate};
    for (size_t m = 0; m < M; m += 32)
        for (size_t n = 0; n < N; n += 32) {
            x.a = a + (ptrdiff_t)m * lda;
            x.b = b + (ptrdiff_t)(n / 16) * panel;
            x.c = c + (ptrdiff_t)m * ldc + n;
            product_square(&x, M - m, N - n);
        }
}

#endif
