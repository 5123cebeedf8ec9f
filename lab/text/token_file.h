/* SPDX-License-Identifier: MIT */
/* Token files: a text as tokens, mapped into memory. Little-endian:
 *
 *   0   8   "LOCUSTOK"
 *   8   4   version, 1
 *   12  4   bytes of a token: 1, 2 or 4
 *   16  8   vocabulary
 *   24  8   tokens
 *   32  8   bytes of the text that all tokens but the first stand for
 *   40  8   digest: the first 8 bytes of the SHA-256 of the tokens as they stand in the file
 *   48  …   tokens
 *
 * A folder holds train.tokens, dev.tokens, test.tokens and the tokenizer's files (tokenizer.h). A file is written
 * under a temporary name and renamed; one whose size, header or tokens don't agree is refused, naming what is
 * wrong. */
#ifndef LAB_TEXT_TOKEN_FILE_H
#define LAB_TEXT_TOKEN_FILE_H

#include <locus/status.h>
#include <stddef.h>
#include <stdint.h>

enum { LAB_TOKEN_FILE_LEAST = 2 }; /* tokens that a set needs: one to read and one to predict */

typedef struct lab_token_file {
    const void *data; /* the mapping */
    size_t data_bytes;
    size_t token_bytes, vocabulary, tokens;
    uint64_t predicted_bytes, digest;
} lab_token_file;

locus_status lab_token_file_open(lab_token_file *file, const char *path, locus_error *error);
void lab_token_file_close(lab_token_file *file);
/* Tokens first … first + count − 1. */
void lab_token_file_read(const lab_token_file *file, size_t first, size_t count, int32_t *tokens);

typedef struct lab_token_file_content {
    size_t vocabulary, count;
    const int32_t *tokens;
    uint64_t predicted_bytes;
} lab_token_file_content;
locus_status lab_token_file_write(const char *path, const lab_token_file_content *content, locus_error *error);

/* The file of a set in a folder, from malloc; NULL: no memory. `set` is "train", "dev" or "test". */
char *lab_token_file_path(const char *folder, const char *set);

#endif
