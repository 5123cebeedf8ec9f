/* SPDX-License-Identifier: MIT */
/* oneDNN's matrix product of bfloat16 operands with float32 results, oneDNN 2 and 3 behind one call. */
#ifndef LAB_BF16_PRIMITIVE_H
#define LAB_BF16_PRIMITIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* result[rows, columns] = left[rows, depth] · right[depth, columns], operands laid out as nn/bf16.h says, rows of the
 * result without gaps: where there are gaps oneDNN has nothing but its reference. depth is a multiple of
 * LAB_BF16_DEPTH. */
typedef struct lab_bf16_shape {
    size_t rows, columns, depth;
} lab_bf16_shape;

/* Whether the processor multiplies bfloat16, and oneDNN makes use of it. Where it doesn't, oneDNN's own product is four
 * times slower than that of float32 (AVX-512) or none (AVX2). */
bool lab_bf16_has_units(void);

/* On the calling thread only. A product of a shape that was not asked for lately is made first, which takes a
 * millisecond; those of the latest shapes, 512 at most, are kept for all threads. false: there was no memory. */
bool lab_bf16_primitive_run(const lab_bf16_shape *shape, const uint16_t *left, const uint16_t *right, float *result);

#endif
