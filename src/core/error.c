/* SPDX-License-Identifier: MIT */
/* Error records and status texts. Nothing here allocates: it must work when memory has run out. */
#include "core/error.h"

#include <stdarg.h>
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

static void keep_one_line(char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7F)
            *text = '?';
}

/* Composes in a buffer of its own: a caller that wraps a failure may quote the record's old message in the new one. */
static void fill(locus_error *error, locus_status status, const char *argument, const char *format, va_list values) {
    locus_error fresh = {.status = status, .offset = -1, .length = 0};
    snprintf(fresh.argument, sizeof fresh.argument, "%s", argument ? argument : "");
    if (vsnprintf(fresh.message, sizeof fresh.message, format, values) < 0)
        snprintf(fresh.message, sizeof fresh.message, "%s", locus_status_text(status));
    drop_broken_character(fresh.argument);
    drop_broken_character(fresh.message);
    keep_one_line(fresh.argument);
    keep_one_line(fresh.message);
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
