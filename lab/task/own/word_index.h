/* SPDX-License-Identifier: MIT */
/* Words numbered in the order in which they come. */
#ifndef LAB_WORD_INDEX_H
#define LAB_WORD_INDEX_H

#include <stdbool.h>
#include <stddef.h>

/* {0} is empty. */
typedef struct lab_word_index {
    char **words;  /* [count], each from malloc with a 0 at its end */
    size_t *bytes; /* of each */
    size_t count, room;
    size_t *slots; /* 1 + a word's number; 0: free */
    size_t slot_count;
} lab_word_index;

/* The number of a word; SIZE_MAX: it is not there. */
size_t lab_word_find(const lab_word_index *index, const char *word, size_t bytes);
/* The same; a word that is not there gets the next number. SIZE_MAX: out of memory. */
size_t lab_word_add(lab_word_index *index, const char *word, size_t bytes);
void lab_word_index_free(lab_word_index *index);

#endif
