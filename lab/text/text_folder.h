/* SPDX-License-Identifier: MIT */
/* Makes a folder of token files from texts: train.tokens, dev.tokens, test.tokens and tokenizer.model unless tokens are
 * bytes. Either the folder gets all of them, or it is left as it was. */
#ifndef LAB_TEXT_FOLDER_H
#define LAB_TEXT_FOLDER_H

#include "io/watch.h"
#include "text/tokenizer.h"

enum { LAB_TEXT_SETS = 3 }; /* train, dev, test */
extern const char *const lab_text_set_names[LAB_TEXT_SETS];

typedef struct lab_text_source {
    const char *texts[LAB_TEXT_SETS]; /* files of UTF-8; dev and test may be NULL: each gets the last 5 % of train */
    size_t vocabulary;                /* pieces of a SentencePiece model that is trained on the training part; 0 … */
    const char *model;                /* … this one; NULL: bytes */
} lab_text_source;

typedef struct lab_text_facts {
    lab_tokenizer_kind kind;
    size_t vocabulary;
    size_t tokens[LAB_TEXT_SETS];
    uint64_t bytes[LAB_TEXT_SETS];           /* of the text */
    uint64_t predicted_bytes[LAB_TEXT_SETS]; /* that all tokens but the first stand for */
} lab_text_facts;

/* IO: a text cannot be read, is empty, gives a single token, is no UTF-8, has too few lines to be parted, or the
 * vocabulary lacks a character; SentencePiece's own complaint if it fails. `watch` hears what is being done. */
locus_status lab_text_make(const char *folder, const lab_text_source *source, const lab_watch *watch,
                           lab_text_facts *facts, locus_error *error);

/* What a folder has. */
locus_status lab_text_look(const char *folder, lab_text_facts *facts, locus_error *error);

#endif
