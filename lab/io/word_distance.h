/* SPDX-License-Identifier: MIT */
/* How far words are from each other, to find the one that was meant. */
#ifndef LAB_WORD_DISTANCE_H
#define LAB_WORD_DISTANCE_H

#include <stddef.h>

/* Edits (insert, delete, replace, swap of neighbours) from a to b; long words are cut. */
size_t lab_word_distance(const char *a, const char *b);

#endif
