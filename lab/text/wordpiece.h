/* SPDX-License-Identifier: MIT */
/* BERT's tokens (Devlin et al. 2018): text is cleaned, lower-cased and stripped of accents (uncased models), split at
 * white space, punctuation and CJK characters into words, and each word greedily into the longest entries of a
 * vocabulary; those inside a word begin with "##".
 *
 *   "Unaffable, 中国!"   →   una ##ffa ##ble , 中 国 !
 *
 * Cleaning: NUL, U+FFFD, control and format characters go; tab, line ends and space separators are white space. A
 * word of more than 100 characters, or one that the vocabulary cannot express to its end, is [UNK]. Special tokens
 * ("[CLS]") in the text itself stay whole, as the reference implementation has it. */
#ifndef LAB_WORDPIECE_H
#define LAB_WORDPIECE_H

#include <locus/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lab_wordpiece lab_wordpiece; /* opaque; read-only once it is open */

/* `path`: one entry to a line, whose number counted from 0 is its token. IO unless [UNK], [CLS] and [SEP] are there. */
locus_status lab_wordpiece_open(lab_wordpiece **words, const char *path, bool uncased, locus_error *error);
void lab_wordpiece_close(lab_wordpiece **words); /* accepts NULL, nulls the pointer */

size_t lab_wordpiece_count(const lab_wordpiece *words);
bool lab_wordpiece_uncased(const lab_wordpiece *words);
const char *lab_wordpiece_text(const lab_wordpiece *words, int32_t token); /* "" of numbers that are none */
int32_t lab_wordpiece_find(const lab_wordpiece *words, const char *entry, size_t length); /* −1: no such entry */
/* Special tokens; PAD and MASK may be −1. */
typedef struct lab_wordpiece_specials {
    int32_t unknown, first, separator, pad, mask; /* [UNK] [CLS] [SEP] [PAD] [MASK] */
} lab_wordpiece_specials;
lab_wordpiece_specials lab_wordpiece_special(const lab_wordpiece *words);

/* Tokens of UTF-8 text without [CLS] and [SEP]; from malloc. IO if it is no UTF-8. */
locus_status lab_wordpiece_encode(const lab_wordpiece *words, const char *text, size_t bytes, int32_t **tokens,
                                  size_t *count, locus_error *error);

/* What a classifier reads of one text: [CLS] text [SEP], the text cut at its end so that they are at most `most` tokens
 * (at least 2). From malloc. */
locus_status lab_wordpiece_frame(const lab_wordpiece *words, const char *text, size_t bytes, size_t most,
                                 int32_t **tokens, size_t *count, locus_error *error);

#endif
