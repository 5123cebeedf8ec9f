/* SPDX-License-Identifier: MIT */
/* Texts from malloc: printed, or gathered by a stream into memory. */
#ifndef LAB_TEXT_STREAM_H
#define LAB_TEXT_STREAM_H

#include "io/fail.h"

#include <stdbool.h>
#include <stdio.h>

/* What printf would write; NULL: no memory. */
LAB_PRINTF(1, 2)
char *lab_text_print(const char *format, ...);

/* Bytes of the byte order mark that a text in UTF-8 may begin with: 3 or 0. */
size_t lab_text_mark(const char *text, size_t bytes);

/* open_memstream(), but what it lost for want of memory ferror() says: glibc's leaves characters out and is silent.
 * *text (from malloc, ends with 0) and *bytes hold when it is flushed or closed. It cannot seek. NULL: no memory. */
FILE *lab_text_stream(char **text, size_t *bytes);

/* Closes the stream, or takes one that could not be opened (NULL). False: something is missing for want of memory, and
 * *text is NULL. */
bool lab_text_close(FILE *stream, char **text);

#endif
