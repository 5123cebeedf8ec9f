/* SPDX-License-Identifier: MIT */
/* Two bfloat16 numbers that belong together in the depth are one 32-bit word here, the first in its lower half. Where
 * words come out the wrong way round, 16 × 16 of them are turned at a time. */
#include "nn/bf16.h"
#include "nn/clones.h"
#include <string.h>

enum { PAIRS = LAB_BF16_DEPTH / 2, BLOCK = LAB_BF16_COLUMNS, TURN = 16 };

LAB_INLINE uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The upper half is the number. */
LAB_INLINE uint32_t rounded(uint32_t bits) {
    const uint32_t nearest = bits + 0x7fffu + ((bits >> 16) & 1u), quiet = bits | 0x400000u;
    return (bits & 0x7fffffffu) > 0x7f800000u ? quiet : nearest;
}

/* words[i] = (a[i], b[i]) */
LAB_CLONES static void bf16_pairs_of_rows(size_t count, const float *restrict a, const float *restrict b,
                                          uint32_t *restrict words) {
    for (size_t i = 0; i < count; ++i)
        words[i] = (rounded(bits_of(a[i])) >> 16) | (rounded(bits_of(b[i])) & 0xffff0000u);
}

/* The same of rows that are bfloat16. */
LAB_CLONES static void bf16_pairs_of_halves(size_t count, const uint16_t *restrict a, const uint16_t *restrict b,
                                            uint32_t *restrict words) {
    for (size_t i = 0; i < count; ++i)
        words[i] = (uint32_t)a[i] | (uint32_t)b[i] << 16;
}

LAB_CLONES static void bf16_row(size_t count, const float *restrict source, uint16_t *restrict target) {
    for (size_t i = 0; i < count; ++i)
        target[i] = (uint16_t)(rounded(bits_of(source[i])) >> 16);
}

void lab_bf16_round_row(size_t count, const float *x, uint16_t *target) {
    bf16_row(count, x, target);
}

/* `count` numbers of stored row `row`, from `from` on. */
static void row_as_halves(const lab_bf16_source *source, size_t row, size_t from, size_t count, uint16_t *target) {
    const lab_numbers values = lab_numbers_from(source->values, row * source->stride + from);
    if (values.half)
        memcpy(target, values.data, count * sizeof *target);
    else
        bf16_row(count, values.data, target);
}

/* target[c, r] = source[r, c] of 16 × 16 words: halves, quarters … of vectors change places. */
LAB_CLONES static void bf16_turn(const uint32_t *restrict source, size_t source_stride, uint32_t *restrict target,
                                 size_t target_stride) {
    for (size_t c = 0; c < TURN; ++c)
        for (size_t r = 0; r < TURN; ++r)
            target[c * target_stride + r] = source[r * source_stride + c];
}

/* The words of 16 stored rows, each [count] numbers; rows beyond `rows` and numbers beyond `count` are 0. */
static void rows_as_words(const lab_bf16_source *source, size_t first, size_t rows, size_t from, size_t count,
                          uint32_t words[TURN][TURN]) {
    memset(words, 0, TURN * TURN * sizeof(uint32_t));
    for (size_t r = 0; r < rows && r < TURN; ++r) {
        uint16_t row[2 * TURN] = {0};
        row_as_halves(source, first + r, from, count, row);
        memcpy(words[r], row, sizeof row);
    }
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* 16 pairs of stored rows, `count` ≤ 64 columns from `from` on, as words [16][64]; what is not there is 0. */
static void pairs_as_words(const lab_bf16_source *source, size_t first, size_t rows, size_t from, size_t count,
                           uint32_t words[PAIRS][BLOCK]) {
    static const float nothing[BLOCK];
    if (rows < 2 * PAIRS || count < BLOCK)
        memset(words, 0, PAIRS * BLOCK * sizeof(uint32_t));
    for (size_t p = 0; 2 * p < rows && p < PAIRS; ++p) {
        const lab_numbers a = lab_numbers_from(source->values, (first + 2 * p) * source->stride + from);
        const void *b = 2 * p + 1 < rows ? lab_numbers_from(a, source->stride).data : nothing;
        if (a.half)
            bf16_pairs_of_halves(count, a.data, b, words[p]);
        else
            bf16_pairs_of_rows(count, a.data, b, words[p]);
    }
}

/* ---- left ---- */

static void left_turned(const lab_bf16_source *source, size_t first, size_t count, size_t depth, size_t depth_to,
                        uint16_t *target) {
    uint32_t words[PAIRS][BLOCK], turned[TURN][PAIRS];
    for (size_t row = 0; row < count; row += BLOCK)
        for (size_t k = 0; k < depth_to; k += LAB_BF16_DEPTH) {
            const size_t rows = least(count - row, BLOCK);
            pairs_as_words(source, k, k < depth ? depth - k : 0, first + row, rows, words);
            for (size_t r = 0; r < rows; r += TURN) {
                bf16_turn(&words[0][r], BLOCK, turned[0], PAIRS);
                for (size_t i = 0; i < TURN && r + i < rows; ++i)
                    memcpy(target + (row + r + i) * depth_to + k, turned[i], sizeof turned[i]);
            }
        }
}

void lab_bf16_pack_left(const lab_bf16_source *source, size_t first, size_t count, size_t depth, size_t depth_to,
                        uint16_t *target) {
    if (source->transposed) {
        left_turned(source, first, count, depth, depth_to, target);
        return;
    }
    for (size_t r = 0; r < count; ++r) {
        row_as_halves(source, first + r, 0, depth, target + r * depth_to);
        memset(target + r * depth_to + depth, 0, (depth_to - depth) * sizeof *target);
    }
}

/* ---- right ---- */

static void right_turned(const lab_bf16_source *source, size_t first, size_t columns, size_t k, size_t count,
                         uint32_t *words) {
    uint32_t rows[TURN][TURN];
    for (size_t c = 0; c < BLOCK; c += TURN) {
        rows_as_words(source, first + c, c < columns ? columns - c : 0, k, count, rows);
        bf16_turn(rows[0], TURN, words + c, BLOCK);
    }
}

void lab_bf16_pack_right(const lab_bf16_source *source, size_t first, size_t columns, size_t depth, size_t depth_to,
                         uint16_t *target) {
    const size_t own = least(columns - first, BLOCK);
    for (size_t k = 0; k < depth_to; k += LAB_BF16_DEPTH) {
        const size_t left = k < depth ? depth - k : 0;
        uint32_t words[PAIRS][BLOCK];
        if (source->transposed)
            right_turned(source, first, own, k, least(left, LAB_BF16_DEPTH), words[0]);
        else
            pairs_as_words(source, k, left, first, own, words);
        memcpy(target + k * BLOCK, words, sizeof words);
    }
}

/* ---- the way back ---- */

LAB_CLONES static void bf16_widen(size_t count, const uint16_t *restrict source, float *restrict target) {
    for (size_t i = 0; i < count; ++i)
        target[i] = lab_widened(source[i]);
}

LAB_CLONES static void bf16_widen_pairs(size_t count, const uint16_t *restrict source, float *restrict a,
                                        float *restrict b) {
    for (size_t i = 0; i < count; ++i) {
        a[i] = lab_widened(source[2 * i]);
        b[i] = lab_widened(source[2 * i + 1]);
    }
}

void lab_bf16_unpack_left(const uint16_t *source, size_t count, float *target) {
    bf16_widen(count, source, target);
}

void lab_bf16_unpack_right(const uint16_t *source, size_t depth, size_t columns, float *target) {
    for (size_t first = 0; first < columns; first += BLOCK, source += depth * BLOCK)
        for (size_t k = 0; k < depth; k += 2)
            bf16_widen_pairs(least(columns - first, BLOCK), source + k * BLOCK, target + k * columns + first,
                             target + (k + 1) * columns + first);
}
