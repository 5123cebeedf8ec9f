/* SPDX-License-Identifier: MIT */
/* BERT's basic tokenizer: what of a text is a word (wordpiece.h); for lab/text only. */
#ifndef LAB_WORDPIECE_WORDS_H
#define LAB_WORDPIECE_WORDS_H

#include <locus/status.h>
#include <stdbool.h>
#include <stddef.h>

/* Words of UTF-8 text one after another. Room grows as it is needed. */
typedef struct lab_words {
    const char *text;
    size_t bytes, at;
    bool uncased;
    char *word; /* the run between white space, cleaned and normalised; words are parts of it */
    size_t word_bytes, word_room, word_at;
    int *codes; /* work space of normalisation */
    size_t code_room;
} lab_words;

void lab_words_begin(lab_words *words, const char *text, size_t bytes, bool uncased);
/* The next word, valid until the next call. *word NULL: there is none. Fails for lack of memory only. */
locus_status lab_words_next(lab_words *words, const char **word, size_t *length, locus_error *error);
void lab_words_end(lab_words *words);

#endif
