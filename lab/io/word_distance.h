/* SPDX-License-Identifier: MIT */
/* How far words are from each other, to find the one that was meant; and words among others. */
#ifndef LAB_WORD_DISTANCE_H
#define LAB_WORD_DISTANCE_H

#include <stdbool.h>
#include <stddef.h>

/* Edits (insert, delete, replace, swap of neighbours) from a to b; long words are cut. */
size_t lab_word_distance(const char *a, const char *b);

/* Whether a word, or several that follow one another, are among those that spaces part (NULL: there are none). */
bool lab_word_among(const char *word, const char *words);

#endif
