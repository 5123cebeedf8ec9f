/* SPDX-License-Identifier: MIT */
/* Texts of one's own as tokens: words between white space, characters of UTF-8, or bytes. What is no UTF-8 stands for
 * itself, byte by byte. */
#ifndef LAB_OWN_TEXT_H
#define LAB_OWN_TEXT_H

#include "task/task.h"

/* What texts of one's own are cut into; or there are no texts. */
typedef enum lab_token_kind {
    LAB_TOKENS_WORDS = 0,
    LAB_TOKENS_CHARACTERS = 1,
    LAB_TOKENS_BYTES = 2,
    LAB_TOKENS_IDS = 3 /* pairs: found in the files, never asked for */
} lab_token_kind;

/* What of a text's bytes is a token. */
typedef struct lab_own_token {
    const char *text; /* in the caller's text */
    size_t bytes;
} lab_own_token;

/* The next token from *at on, which then stands behind it; of 0 bytes: there is none. */
lab_own_token lab_own_next(lab_token_kind kind, const char **at, const char *end);

extern const char *const lab_token_names[]; /* by lab_token_kind, ends with NULL */

#endif
