/* SPDX-License-Identifier: MIT */
/* What messages of both parsers, of groups and of paths, point at. */
#ifndef LOCUS_BLAME_H
#define LOCUS_BLAME_H

#include <stddef.h>

/* As much of a token as a message should quote, for %.*s: whole characters, at most 32 bytes. */
static inline int locus_blame_quoted(const char *token, size_t length) {
    if (length > 32)
        for (length = 32; length > 0 && ((unsigned char)token[length] & 0xC0) == 0x80;)
            length--;
    return (int)length;
}

/* The innermost parenthesis that was opened before `at` and not closed; 0 if there is none. */
static inline size_t locus_blame_open(const char *text, size_t at) {
    size_t closed = 0;
    for (size_t i = at; i-- > 0;)
        if (text[i] == ')')
            closed++;
        else if (text[i] == '(' && closed-- == 0)
            return i;
    return 0;
}

#endif
