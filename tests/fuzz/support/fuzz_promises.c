/* SPDX-License-Identifier: MIT */
/* What every failure owes its caller, and texts made of inputs. */
#include "fuzz.h"

#include "text/tokenizer.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

void fuzz_broken(const char *file, int line, const char *condition, const char *text) {
    fprintf(stderr, "%s:%d: broken promise: %s%s%s\n", file, line, condition, text[0] != '\0' ? ": " : "", text);
    abort();
}

/* Code points U+0080 … U+009F are control characters, too: two bytes, the first of them 0xC2. */
static bool is_control(const char *at) {
    const unsigned char first = (unsigned char)at[0], second = (unsigned char)at[1];
    return first < 0x20 || first == 0x7F || (first == 0xC2 && second < 0xA0);
}

void fuzz_check_line(const char *text) {
    FUZZ_REQUIRE(text[0] != '\0');
    for (const char *at = text; *at != '\0'; at++)
        FUZZ_REQUIRE_SAYING(!is_control(at), text);
    FUZZ_REQUIRE_SAYING(lab_utf8_check(text, strlen(text)) == strlen(text), text);
}

void fuzz_check_failure(locus_status status, const locus_error *error) {
    FUZZ_REQUIRE(status != LOCUS_OK);
    FUZZ_REQUIRE_SAYING(error->status == status, error->message);
    fuzz_check_line(error->message);
}

void fuzz_check_failure_in(locus_status status, const locus_error *error, size_t length) {
    fuzz_check_failure(status, error);
    FUZZ_REQUIRE_SAYING(error->offset >= 0 && error->length >= 1, error->message);
    FUZZ_REQUIRE_SAYING((size_t)error->offset + (size_t)error->length <= length + 1, error->message);
}

/* ---- inputs ---- */

char *fuzz_text(const uint8_t *data, size_t size) {
    const uint8_t *end = size > 0 ? memchr(data, '\0', size) : NULL;
    const size_t length = end != NULL ? (size_t)(end - data) : size;
    char *text = malloc(length + 1);
    FUZZ_REQUIRE(text != NULL);
    if (length > 0)
        memcpy(text, data, length);
    text[length] = '\0';
    return text;
}

char *fuzz_next_part(fuzz_parts *parts) {
    const size_t left = (size_t)(parts->end - parts->at);
    const uint8_t *mark = left > 0 ? memchr(parts->at, 0x1F, left) : NULL, *start = parts->at;
    parts->at = mark != NULL ? mark + 1 : parts->end;
    return fuzz_text(start, (size_t)((mark != NULL ? mark : parts->end) - start));
}
