/* SPDX-License-Identifier: MIT */
/* What the kinds of tokenizers have in common; for lab/text only. */
#ifndef LAB_TOKENIZER_KINDS_H
#define LAB_TOKENIZER_KINDS_H

#include "text/sentencepiece.h"
#include "text/tokenizer.h"
#include "text/wordpiece.h"

struct lab_tokenizer {
    lab_tokenizer_kind kind;
    char *path;                     /* of its model or vocabulary; NULL: bytes */
    lab_sentencepiece_model pieces; /* SentencePiece */
    lab_wordpiece *words;           /* WordPiece */
};

/* Their names in a folder. */
#define LAB_TOKENIZER_MODEL "tokenizer.model"
#define LAB_TOKENIZER_WORDS "vocab.txt"
#define LAB_TOKENIZER_WORDS_CONFIG "tokenizer_config.json"

#endif
