/* SPDX-License-Identifier: MIT */
/* The product of bfloat16.h by AMX tiles, TDPBF16PS: 32 × 32 of C in four tiles, 32 of K at a time. All tiles are whole:
 * parts of C at its edges go through memory of their own. An element is the sum, in order, of one number for each 32 of
 * K, which the processor makes of two chains, of even and of odd k. */
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

/* A tile of C: where it stands, and how much of it there is. */
typedef struct tile_place {
    float *c;
    size_t rows, columns;
    float *edge; /* [16][16] where it is not whole */
} tile_place;

static tile_place place_of(float *c, ptrdiff_t ldc, size_t M, size_t N, float *edge, bool accumulate) {
    const tile_place place = {c, M < 16 ? M : 16, N < 16 ? N : 16, edge};
    if (accumulate && (place.rows < 16 || place.columns < 16))
        for (size_t i = 0; i < place.rows; i++)
            memcpy(edge + 16 * i, c + (ptrdiff_t)i * ldc, place.columns * sizeof *c);
    return place;
}

static void edge_back(const tile_place *place, ptrdiff_t ldc) {
    for (size_t i = 0; i < place->rows; i++)
        memcpy(place->c + (ptrdiff_t)i * ldc, place->edge + 16 * i, place->columns * sizeof(float));
}

#define TILE_BEGIN(tile, place) \
    do { \
        if (!accumulate) \
            _tile_zero(tile); \
        else if (whole(&(place))) \
            _tile_loadd(tile, (place).c, ldc * 4); \
        else \
            _tile_loadd(tile, (place).edge, 64); \
    } while (0)

#define TILE_END(tile, place) \
    do { \
        if (whole(&(place))) { \
            _tile_stored(tile, (place).c, ldc * 4); \
        } else { \
            _tile_stored(tile, (place).edge, 64); \
            edge_back(&(place), ldc); \
        } \
    } while (0)

static bool whole(const tile_place *place) {
    return place->rows == 16 && place->columns == 16;
}

/* `high` rows of tiles by `wide` columns of them, 1 or 2: constants wherever this is called. */
SIMD void product_tiles(size_t M, size_t N, size_t K, const uint16_t *a, ptrdiff_t lda, const uint16_t *b,
                        ptrdiff_t panel, float *c, ptrdiff_t ldc, bool accumulate, const bool high, const bool wide) {
    float edges[4][256] __attribute__((aligned(64)));
    const tile_place at[4] = {place_of(c, ldc, M, N, edges[0], accumulate),
                              wide ? place_of(c + 16, ldc, M, N - 16, edges[1], accumulate) : (tile_place){0},
                              high ? place_of(c + 16 * ldc, ldc, M - 16, N, edges[2], accumulate) : (tile_place){0},
                              high && wide ? place_of(c + 16 * ldc + 16, ldc, M - 16, N - 16, edges[3], accumulate)
                                           : (tile_place){0}};
    TILE_BEGIN(0, at[0]);
    if (wide)
        TILE_BEGIN(1, at[1]);
    if (high)
        TILE_BEGIN(2, at[2]);
    if (high && wide)
        TILE_BEGIN(3, at[3]);
    for (size_t k = 0; k < K; k += 32) {
        _tile_loadd(6, b + 16 * k, 64);
        _tile_loadd(4, a + k, lda * 2);
        _tile_dpbf16ps(0, 4, 6);
        if (wide) {
            _tile_loadd(7, b + panel + 16 * k, 64);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (high) {
            _tile_loadd(5, a + 16 * lda + k, lda * 2);
            _tile_dpbf16ps(2, 5, 6);
        }
        if (high && wide)
            _tile_dpbf16ps(3, 5, 7);
    }
    TILE_END(0, at[0]);
    if (wide)
        TILE_END(1, at[1]);
    if (high)
        TILE_END(2, at[2]);
    if (high && wide)
        TILE_END(3, at[3]);
}

static void BFLOAT16(product)(size_t M, size_t N, size_t K, const uint16_t *a, ptrdiff_t lda, const uint16_t *b,
                              ptrdiff_t panel, float *c, ptrdiff_t ldc, bool accumulate) {
    for (size_t m = 0; m < M; m += 32)
        for (size_t n = 0; n < N; n += 32) {
            const uint16_t *left = a + (ptrdiff_t)m * lda, *right = b + (ptrdiff_t)(n / 16) * panel;
            float *to = c + (ptrdiff_t)m * ldc + n;
            const bool high = M - m > 16, wide = N - n > 16;
            if (high && wide)
                product_tiles(M - m, N - n, K, left, lda, right, panel, to, ldc, accumulate, true, true);
            else if (high)
                product_tiles(M - m, N - n, K, left, lda, right, panel, to, ldc, accumulate, true, false);
            else if (wide)
                product_tiles(M - m, N - n, K, left, lda, right, panel, to, ldc, accumulate, false, true);
            else
                product_tiles(M - m, N - n, K, left, lda, right, panel, to, ldc, accumulate, false, false);
        }
}

#endif
