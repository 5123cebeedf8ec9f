/* SPDX-License-Identifier: MIT */
/* Positions of tokens as rows of numbers, and of trees as words: as encodings from outside are told of them
 * (extension.h). */
#ifndef LOCUS_POINTS_H
#define LOCUS_POINTS_H

#include "spec/placement.h"

#include <locus/extension.h>

/* The words of all nodes of a plan's tries. */
typedef struct locus_point_words {
    const locus_extension_word *const *nodes; /* [coordinates], by node; NULL where the coordinate is no tree */
    bool trees;                               /* whether any is */
} locus_point_words;

/* What words point to comes from `memory`. UNSUPPORTED if all words together are longer than the places' workspace. */
locus_status locus_point_words_make(const locus_places *places, locus_point_words *words, locus_owned *memory,
                                    locus_error *error);

/* Where a token of queries or keys stands: values [coordinates], and on groups with trees spelt [coordinates]. */
void locus_point_write(const locus_places *places, const locus_point_words *words, bool keys, size_t token,
                       double *values, locus_extension_word *spelt);

#endif
