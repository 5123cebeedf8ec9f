/* SPDX-License-Identifier: MIT */
/* Error records and status texts. Nothing here allocates: it must work when memory has run out. */
#include "core/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* snprintf may have cut a UTF-8 character in two: takes the broken rest away. */
static void drop_broken_character(char *text) {
    size_t length = strlen(text), lead = length;
    while (lead > 0 && ((unsigned char)text[lead - 1] & 0xC0) == 0x80)
        lead--;
    if (lead == 0)
        return;
    unsigned char first = (unsigned char)text[lead - 1];
    size_t needed = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    if (length - (lead - 1) < needed)
        text[lead - 1] = '\0';
}

/* The bytes of the character that begins at `at` if a terminal only shows it, else 0: what is no UTF-8 (RFC 3629),
 * control characters of both sets (U+0000 … U+001F, U+007F … U+009F), line separators, marks that turn the direction of
 * writing. */
static size_t shown_length(const unsigned char *at) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t length = at[0] < 0x80   ? 1
                          : at[0] < 0xC2 ? 0
                          : at[0] < 0xE0 ? 2
                          : at[0] < 0xF0 ? 3
                          : at[0] < 0xF5 ? 4
                                         : 0;
    uint32_t code = length < 2 ? at[0] : at[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3Fu);
    }
    const bool is_none = length == 0 || code < least[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF);
    const bool is_control = code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029;
    const bool turns = code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
                       (code >= 0x2066 && code <= 0x2069);
    return is_none || is_control || turns ? 0 : length;
}

/* Messages quote what strangers wrote; a terminal would obey some of it. */
static void keep_what_is_shown(char *text) {
    while (*text != '\0') {
        const size_t length = shown_length((const unsigned char *)text);
        if (length == 0)
            *text = '?';
        text += length > 0 ? length : 1;
    }
}

/* Composes in a buffer of its own: a caller that wraps a failure may quote the record's old message in the new one. */
static void fill(locus_error *error, locus_status status, const char *argument, const char *format, va_list values) {
    locus_error fresh = {.status = status, .offset = -1, .length = 0};
    snprintf(fresh.argument, sizeof fresh.argument, "%s", argument ? argument : "");
    if (vsnprintf(fresh.message, sizeof fresh.message, format, values) < 0)
        snprintf(fresh.message, sizeof fresh.message, "%s", locus_status_text(status));
    drop_broken_character(fresh.argument);
    drop_broken_character(fresh.message);
    keep_what_is_shown(fresh.argument);
    keep_what_is_shown(fresh.message);
    *error = fresh;
}

locus_status locus_fail(locus_error *error, locus_status status, const char *argument, const char *format, ...) {
    if (error) {
        va_list values;
        va_start(values, format);
        fill(error, status, argument, format, values);
        va_end(values);
    }
    return status;
}

locus_status locus_fail_at(locus_error *error, locus_status status, const char *argument, ptrdiff_t offset,
                           ptrdiff_t length, const char *format, ...) {
    if (error) {
        va_list values;
        va_start(values, format);
        fill(error, status, argument, format, values);
        va_end(values);
        error->offset = offset;
        error->length = length < 1 ? 1 : length;
    }
    return status;
}

locus_status locus_fail_memory(locus_error *error, size_t bytes) {
    return locus_fail(error, LOCUS_ERROR_MEMORY, NULL, "out of memory: %zu bytes were refused", bytes);
}

const char *locus_status_text(locus_status status) {
    switch (status) {
    case LOCUS_OK:
        return "no error";
    case LOCUS_ERROR_ARGUMENT:
        return "invalid argument";
    case LOCUS_ERROR_SHAPE:
        return "wrong shape";
    case LOCUS_ERROR_DTYPE:
        return "wrong element type";
    case LOCUS_ERROR_SPEC:
        return "malformed text";
    case LOCUS_ERROR_POSITION:
        return "invalid position";
    case LOCUS_ERROR_UNSUPPORTED:
        return "not supported";
    case LOCUS_ERROR_MEMORY:
        return "out of memory";
    case LOCUS_ERROR_IO:
        return "input or output failed";
    case LOCUS_ERROR_NUMERIC:
        return "not finite or did not converge";
    case LOCUS_ERROR_INTERRUPTED:
        return "interrupted";
    }
    return "unknown status";
}
