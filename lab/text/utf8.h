/* SPDX-License-Identifier: MIT */
/* UTF-8 (RFC 3629): no surrogates, nothing above U+10FFFF, no longer forms than needed. */
#ifndef LAB_UTF8_H
#define LAB_UTF8_H

#include <locus/status.h>
#include <stddef.h>
#include <stdint.h>

/* The length, 1 to 4, of the character that begins at `at`; 0: the `count` bytes are the beginning of one, and it needs
 * more; −1: none begins with them. */
int lab_utf8_sequence(const unsigned char *at, size_t count);

/* The code point of a whole character of that length. */
int32_t lab_utf8_code(const unsigned char *at, int length);

/* Bytes of the character that begins at `at`, as its first byte says; 1 unless so many of the `count` bytes follow. */
size_t lab_utf8_span(const char *at, size_t count);

/* The offset of the first byte that is no UTF-8 (RFC 3629), or `bytes`. */
size_t lab_utf8_check(const char *text, size_t bytes);

/* Refuses text that is no UTF-8, with the offset and the line of its first bad byte; `place` names the text in the
 * message ("'a.txt'", "the prompt"). */
locus_status lab_utf8_require(const char *text, size_t bytes, const char *place, locus_error *error);

#endif
