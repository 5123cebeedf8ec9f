/* SPDX-License-Identifier: MIT */
/* Tokens of a half type as contiguous floats, [tokens, heads, dim], and back: what computes in float32 goes through
 * such copies. Tokens that belong to no sequence are neither read nor written. */
#ifndef LOCUS_WIDE_ROWS_H
#define LOCUS_WIDE_ROWS_H

#include "spec/placement.h"

typedef struct locus_wide_rows {
    const locus_token_side *side;
    locus_token_rows tensor;
    locus_dtype dtype; /* of the tensor, a half type */
    size_t heads, dim; /* of vectors: 1 head */
} locus_wide_rows;

/* Tokens first … first + count − 1, all in use: from the tensor to `wide`, which has these alone, or with `narrow` the
 * other way round. */
void locus_wide_rows_copy(const locus_wide_rows *rows, size_t first, size_t count, float *wide, bool narrow);

/* The same of all tokens in use, in parallel; `wide` has those of the whole buffer. */
void locus_wide_rows_copy_all(const locus_wide_rows *rows, float *wide, bool narrow);

#endif
