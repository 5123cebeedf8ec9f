/* SPDX-License-Identifier: MIT */
/* Rows of tokens of a half type to and from contiguous floats, by the kernels of the level in use. */
#ifndef LOCUS_HALF_ROWS_H
#define LOCUS_HALF_ROWS_H

#include <locus/tensor.h>
#include <stdbool.h>

static inline bool locus_dtype_is_half(locus_dtype dtype) {
    return dtype == LOCUS_FLOAT16 || dtype == LOCUS_BFLOAT16;
}

/* What arithmetic is done in. */
static inline locus_dtype locus_dtype_working(locus_dtype dtype) {
    return locus_dtype_is_half(dtype) ? LOCUS_FLOAT32 : dtype;
}

/* Element j of head h of row t stands at data + t·row + h·head + j elements; as floats they are [rows, heads, dim]. */
typedef struct locus_half_rows {
    locus_dtype dtype; /* a half type */
    size_t heads, dim;
    ptrdiff_t row, head;
} locus_half_rows;

void locus_half_rows_widen(const locus_half_rows *rows, size_t count, const void *from, float *to);
void locus_half_rows_narrow(const locus_half_rows *rows, size_t count, const float *from, void *to);

/* *at += value in double, rounded once. */
void locus_half_add(locus_dtype dtype, uint16_t *at, double value);

#endif
