/* SPDX-License-Identifier: MIT */
/* The product by AMX tiles on any processor: its six instructions written out as they are specified. */
#ifndef LOCUS_TESTS_TILES_IN_C_H
#define LOCUS_TESTS_TILES_IN_C_H

#include "kernels/bfloat16.h"
#include "kernels/simd.h"

enum { TILES = 8, TILE_ROWS = 16, TILE_WORDS = 16 };

static bool tiles_are_there;
static uint32_t tile_words[TILES][TILE_ROWS][TILE_WORDS];

/* All eight are whole. */
static void tile_loadconfig(const void *configuration) {
    static const uint8_t begins[16] = {1}, rows[TILES] = {16, 16, 16, 16, 16, 16, 16, 16};
    const uint8_t *const bytes = configuration;
    bool good = memcmp(bytes, begins, sizeof begins) == 0 && memcmp(bytes + 48, rows, sizeof rows) == 0;
    for (size_t i = 0; i < TILES; i++)
        good = good && bytes[16 + 2 * i] == 4 * TILE_WORDS && bytes[17 + 2 * i] == 0;
    tiles_are_there = good;
}

static void tile_release(void) {
    tiles_are_there = false;
}

static void tile_zero(int tile) {
    memset(tile_words[tile], 0, sizeof tile_words[tile]);
}

static void tile_loadd(int tile, const void *from, ptrdiff_t stride) {
    for (ptrdiff_t i = 0; i < TILE_ROWS; i++)
        memcpy(tile_words[tile][i], (const char *)from + i * stride, sizeof tile_words[tile][i]);
}

static void tile_stored(int tile, void *to, ptrdiff_t stride) {
    for (ptrdiff_t i = 0; tiles_are_there && i < TILE_ROWS; i++)
        memcpy((char *)to + i * stride, tile_words[tile][i], sizeof tile_words[tile][i]);
}

static float tile_number(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void tile_dpbf16ps(int sum, int a, int b) {
    for (size_t m = 0; m < TILE_ROWS; m++)
        for (size_t n = 0; n < TILE_WORDS; n++) {
            float even = 0, odd = 0, all = tile_number(tile_words[sum][m][n]);
            for (size_t k = 0; k < TILE_WORDS; k++) {
                const uint32_t x = tile_words[a][m][k], y = tile_words[b][k][n];
                even += tile_number(x << 16) * tile_number(y << 16);
                odd += tile_number(x & 0xffff0000u) * tile_number(y & 0xffff0000u);
            }
            all += even + odd;
            memcpy(&tile_words[sum][m][n], &all, sizeof all);
        }
}

#define _tile_loadconfig tile_loadconfig
#define _tile_release tile_release
#define _tile_zero tile_zero
#define _tile_loadd tile_loadd
#define _tile_stored tile_stored
#define _tile_dpbf16ps tile_dpbf16ps
#define BFLOAT16(name) in_c_##name
#include "kernels/bfloat16_tiles_body.h"

static void in_c_pairs(size_t count, size_t columns, const uint16_t *rows, ptrdiff_t ld, uint16_t *out,
                       ptrdiff_t panel) {
    for (size_t k = 0; k < count; k++)
        for (size_t n = 0; n < columns; n++)
            out[(ptrdiff_t)(n / 16) * panel + (ptrdiff_t)(k / 2 * 32 + n % 16 * 2 + k % 2)] =
                rows[(ptrdiff_t)k * ld + (ptrdiff_t)n];
}

static const locus_kernels_bfloat16 tiles_in_c = {
    .begin = in_c_begin, .end = in_c_end, .product = in_c_product, .pairs = in_c_pairs};

#endif
