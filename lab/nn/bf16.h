/* SPDX-License-Identifier: MIT */
/* bfloat16 operands of matrix products: rounded from float32 to nearest, ties to even, or bfloat16 already, and laid
 * out as the product reads them. Not-a-number stays so.
 *
 *   left    [rows, depth], rows without gaps
 *   right   blocks of 64 columns, one after the other; in a block groups of 32 of the depth; in a group
 *
 *             (0, 0) (1, 0) | (0, 1) (1, 1) | … | (0, 63) (1, 63)      (depth, column) of the block
 *             (2, 0) (3, 0) | (2, 1) (3, 1) | …                        16 such rows
 *
 *           which is oneDNN's BA16a64b2a: bfloat16 units multiply and add pairs of the depth. A run of whole blocks is
 *           an operand of its own.
 *
 * The depth of both is rounded up to LAB_BF16_DEPTH, columns of the right to LAB_BF16_COLUMNS; what is beyond is 0. */
#ifndef LAB_BF16_H
#define LAB_BF16_H

#include "nn/numbers.h"

enum { LAB_BF16_DEPTH = 32, LAB_BF16_COLUMNS = 64, LAB_BF16_ROWS = 16 };

static inline size_t lab_bf16_round(size_t count, size_t unit) {
    return (count + unit - 1) / unit * unit;
}

/* A matrix as it is stored, and read: `stride` elements from one row to the next. */
typedef struct lab_bf16_source {
    lab_numbers values;
    size_t stride;
    bool transposed; /* it is stored the other way round */
} lab_bf16_source;

/* Rows first … first + count of a left operand of `depth`, to `target` [count, depth_to]: depth_to is `depth` rounded
 * up, or more. */
void lab_bf16_pack_left(const lab_bf16_source *source, size_t first, size_t count, size_t depth, size_t depth_to,
                        uint16_t *target);

/* One block of columns of a right operand [depth, columns], from column `first` on, to `target` [depth_to · 64]. */
void lab_bf16_pack_right(const lab_bf16_source *source, size_t first, size_t columns, size_t depth, size_t depth_to,
                         uint16_t *target);

/* target[i] = x[i], rounded. */
void lab_bf16_round_row(size_t count, const float *x, uint16_t *target);

/* The way back: a left operand as floats [count]; of a right one the columns [depth, columns] of the first blocks. */
void lab_bf16_unpack_left(const uint16_t *source, size_t count, float *target);
void lab_bf16_unpack_right(const uint16_t *source, size_t depth, size_t columns, float *target);

#endif
