/* SPDX-License-Identifier: MIT */
/* Tensors of tokens for tests: any element type, odd strides, starts that are aligned to no more than an element, and a
 * block of memory around them whose every byte that is not an element of a token is watched. Values go in and out as
 * contiguous doubles; types are converted by arithmetic of this file's own. */
#ifndef TESTS_DRAWN_TENSOR_H
#define TESTS_DRAWN_TENSOR_H

#include "reference/chooser.h"
#include "reference/reference.h"

/* Packed or with its sequences apart: [tokens, heads, dim] or [sequences, heads, length, dim]; without `heads` for
 * heads 0, without `dim` for dim 0. */
typedef struct drawn_tensor {
    locus_tensor view;
    const reference_tokens *tokens; /* the caller's */
    int length;                     /* dimension of the view; −1: packed */
    unsigned char *block, *kept;
    size_t bytes, heads, dim;
} drawn_tensor;

/* Layouts are drawn: packed, padded, heads outermost, tokens from last to first, sequences apart. All bytes are
 * noise. */
drawn_tensor drawn_tensor_make(chooser *choices, locus_dtype dtype, const reference_tokens *tokens, size_t heads,
                               size_t dim);
/* One of the two, all else drawn. */
drawn_tensor drawn_tensor_packed(chooser *choices, locus_dtype dtype, const reference_tokens *tokens, size_t heads,
                                 size_t dim);
drawn_tensor drawn_tensor_apart(chooser *choices, locus_dtype dtype, const reference_tokens *tokens, size_t heads,
                                size_t dim);
void drawn_tensor_free(drawn_tensor *tensor);
size_t drawn_tensor_count(const drawn_tensor *tensor);

/* Numbers are those of packed tokens, in C order; they are rounded to the type as they go in: what a test compares with
 * must be what comes out. Tokens in gaps have no element where sequences are apart: 0 comes out. */
void drawn_tensor_put(drawn_tensor *tensor, const double *values);
void drawn_tensor_get(const drawn_tensor *tensor, double *values);
double drawn_round(locus_dtype dtype, double value);
void drawn_element_put(locus_dtype dtype, void *to, double value);
double drawn_element_get(locus_dtype dtype, const void *from);

/* Remembers all bytes; then whether none changed but elements of sequences' tokens (`tokens` NULL: none at all). */
void drawn_tensor_watch(drawn_tensor *tensor);
bool drawn_tensor_untouched(const drawn_tensor *tensor, const reference_tokens *tokens);

/* Half of the distance to the next number, relative: 2^−53, 2^−24, 2^−11, 2^−8. */
double drawn_rounding(locus_dtype dtype);

#endif
