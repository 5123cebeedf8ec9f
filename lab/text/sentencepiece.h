/* SPDX-License-Identifier: MIT */
/* SentencePiece models (Kudo and Richardson 2018) by the project's own programs, spm_train and spm_encode.
 *
 * The programs read text line by line and take U+2581 "▁" for a space. So text is cut at line ends, at "▁" and at NUL
 * into segments, each of which is one line for spm_encode, and what was cut out becomes pieces of single bytes:
 *
 *   "ab  c\n▁\td"   →   ab ▁ ▁c <0x0A> <0xE2> <0x96> <0x81> <0x09> d
 *
 * A model that lab_sentencepiece_train makes changes no character (identity normalisation, no dummy prefix, all spaces
 * kept) and has a piece for every byte, so decoding gives the text back byte for byte. Models made elsewhere may
 * normalise; they are applied as they are. What a model's pieces are is read from the .model file itself. */
#ifndef LAB_SENTENCEPIECE_H
#define LAB_SENTENCEPIECE_H

#include <locus/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LAB_PIECE_MOST_BYTES = 240 };

/* As numbered in sentencepiece_model.proto. */
typedef enum lab_piece_type {
    LAB_PIECE_NORMAL = 1,
    LAB_PIECE_UNKNOWN = 2,
    LAB_PIECE_CONTROL = 3,
    LAB_PIECE_USER = 4,
    LAB_PIECE_UNUSED = 5,
    LAB_PIECE_BYTE = 6
} lab_piece_type;

typedef struct lab_piece {
    size_t start, length; /* of its text in `texts`: spaces instead of ▁, a byte piece's one byte, nothing of control */
    lab_piece_type type;
} lab_piece;

typedef struct lab_sentencepiece_model {
    size_t count;
    lab_piece *pieces;
    char *texts;
    int32_t unknown;    /* piece of what no piece has; −1: there is none */
    int32_t bytes[256]; /* piece of each byte; −1 */
    int32_t line_end;   /* piece of '\n': a byte piece or a symbol of the model's own; −1: it has none */
    bool dummy_prefix;  /* each line is given a space before it */
} lab_sentencepiece_model;

/* IO: no such model, damaged, a piece is longer than LAB_PIECE_MOST_BYTES. */
locus_status lab_sentencepiece_read(lab_sentencepiece_model *model, const char *path, locus_error *error);
void lab_sentencepiece_release(lab_sentencepiece_model *model);

/* Tokens of UTF-8 text by spm_encode; from malloc. `path` is the .model file. UNSUPPORTED: the program is not
 * there. IO: it failed, or the vocabulary lacks a character, which is named with its line. */
locus_status lab_sentencepiece_encode(const lab_sentencepiece_model *model, const char *path, const char *text,
                                      size_t bytes, int32_t **tokens, size_t *count, locus_error *error);

/* Byte pair encoding with pieces for all bytes, trained by spm_train on UTF-8 text: what becomes PREFIX.model, from
 * malloc. */
locus_status lab_sentencepiece_train(const char *text, size_t bytes, size_t vocabulary, char **model,
                                     size_t *model_bytes, locus_error *error);

#endif
