/* SPDX-License-Identifier: MIT */
/* Tokenizers: UTF-8 text ↔ token numbers. Three kinds:
 *
 *   bytes          token = byte, 256 of them
 *   SentencePiece  a trained model (Kudo and Richardson 2018), applied by the project's own programs spm_train and
 *                  spm_encode, which are found on the PATH; what its pieces are is read from the model itself
 *   WordPiece      BERT's: a vocabulary of words and ##continuations (wordpiece.h); text → numbers only
 *
 * Text that is no UTF-8 is refused with the place of its first bad byte; what the vocabulary cannot express with the
 * character that it lacks. */
#ifndef LAB_TEXT_TOKENIZER_H
#define LAB_TEXT_TOKENIZER_H

#include <locus/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum lab_tokenizer_kind {
    LAB_TOKENIZER_BYTES = 0,
    LAB_TOKENIZER_SENTENCEPIECE = 1,
    LAB_TOKENIZER_WORDPIECE = 2
} lab_tokenizer_kind;

typedef struct lab_tokenizer lab_tokenizer; /* opaque; read-only once it is open */

locus_status lab_tokenizer_open_bytes(lab_tokenizer **tokenizer, locus_error *error);
/* `model` is F.model. */
locus_status lab_tokenizer_open_sentencepiece(lab_tokenizer **tokenizer, const char *model, locus_error *error);
/* One entry to a line; lower-cases and strips accents, as the uncased models want it, if `uncased`. */
locus_status lab_tokenizer_open_wordpiece(lab_tokenizer **tokenizer, const char *vocabulary, bool uncased,
                                          locus_error *error);
/* What a folder of token files, or the folder of a run, has: tokenizer.model, vocab.txt, or neither (bytes). */
locus_status lab_tokenizer_open_folder(lab_tokenizer **tokenizer, const char *folder, locus_error *error);
/* Copies the tokenizer's files there, so that a run can be used without what it was trained on. Bytes: nothing. */
locus_status lab_tokenizer_copy(const lab_tokenizer *tokenizer, const char *folder, locus_error *error);
void lab_tokenizer_close(lab_tokenizer **tokenizer); /* accepts NULL, nulls the pointer */

lab_tokenizer_kind lab_tokenizer_get_kind(const lab_tokenizer *tokenizer);
size_t lab_tokenizer_vocabulary(const lab_tokenizer *tokenizer);
/* The words of a WordPiece tokenizer (wordpiece.h), borrowed; NULL for the other kinds. */
const struct lab_wordpiece *lab_tokenizer_words(const lab_tokenizer *tokenizer);
/* Tokens of a text; from malloc. Line ends are kept as they are: decoding what was encoded gives the text back,
 * byte for byte (bytes, and models made by lab_sentencepiece_train). */
locus_status lab_tokenizer_encode(const lab_tokenizer *tokenizer, const char *text, size_t bytes, int32_t **tokens,
                                  size_t *count, locus_error *error);

/* Text token by token, as it comes. A character whose bytes come as several tokens is given once it is complete. */
typedef struct lab_detokenizer {
    const lab_tokenizer *tokenizer;
    unsigned char pending[4];
    size_t pending_count;
    bool begun;
} lab_detokenizer;
/* Writes at most `size` bytes without a final 0, returns how many; 256 are enough. Bytes that begin no character come
 * as U+FFFD. */
size_t lab_detokenizer_add(lab_detokenizer *detokenizer, int32_t token, char *text, size_t size);
size_t lab_detokenizer_end(lab_detokenizer *detokenizer, char *text, size_t size); /* what is pending */

#endif
