/* SPDX-License-Identifier: MIT */
/* A bias of attention's scores for tests, or room for its gradient: any element type, rank 2 to 4, extents of 1 where
 * one serves all, and room beyond the longest sequence; any order of dimensions in memory, gaps, strides of 0, and a
 * block of memory around it whose every other byte is watched. */
#ifndef TESTS_DRAWN_BIAS_H
#define TESTS_DRAWN_BIAS_H

#include "reference/chooser.h"
#include "reference/drawn_world.h"
#include "reference/reference.h"

typedef struct drawn_bias {
    locus_tensor view;
    reference_bias dense; /* as [sequences, heads, queries, keys]; `values` are owned */
    unsigned char *block, *kept;
    size_t bytes;
} drawn_bias;

/* With numbers, of which some are −∞; all bytes else are noise. */
drawn_bias drawn_bias_make(chooser *choices, locus_dtype dtype, const drawn_world *world);
/* Room of the same shape, all noise, no element in the place of another. */
drawn_bias drawn_bias_like(chooser *choices, locus_dtype dtype, const drawn_bias *other);
void drawn_bias_free(drawn_bias *bias);

size_t drawn_bias_count(const drawn_bias *bias);
void drawn_bias_get(drawn_bias *bias); /* into dense.values */

/* Whether no byte has changed since it was made; `written`: but for its elements. */
bool drawn_bias_untouched(const drawn_bias *bias, bool written);

#endif
