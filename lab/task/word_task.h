/* SPDX-License-Identifier: MIT */
/* Tasks on words (kinds/words.c). Symbols are numbered from 1; 0 is the start token and vocabulary − 1 the end token,
 * neither of which stands in sets. */
#ifndef LAB_WORD_TASK_H
#define LAB_WORD_TASK_H

#include "task/task.h"

/* Words of length max(1, ⌊N(mean, deviation)⌋) over an alphabet. */
typedef struct lab_word_options {
    double length_mean, length_deviation;
    size_t symbols; /* 20 as published */
} lab_word_options;
#define LAB_WORDS(options) LAB_OF_KIND(lab_word_options, options)

#endif
