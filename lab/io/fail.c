/* SPDX-License-Identifier: MIT */
/* Error records of the laboratory. Nothing here allocates: it must work when memory has run out. */
#include "io/fail.h"

#include "io/printable.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One line of whole characters that a terminal only shows: a character that was cut goes. */
static void tidy(char *text) {
    size_t length = strlen(text), lead = length;
    while (lead > 0 && ((unsigned char)text[lead - 1] & 0xC0) == 0x80)
        lead--;
    if (lead > 0) {
        unsigned char first = (unsigned char)text[lead - 1];
        size_t needed = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
        if (length - (lead - 1) < needed)
            text[lead - 1] = '\0';
    }
    lab_printable(text, "");
}

/* Composes in a buffer of its own: a caller that wraps a failure may quote the record's old message in the new one. */
static void fill(locus_error *error, locus_status status, const char *argument, const char *format, va_list values) {
    locus_error fresh = {.status = status, .offset = -1, .length = 0};
    snprintf(fresh.argument, sizeof fresh.argument, "%s", argument ? argument : "");
    if (vsnprintf(fresh.message, sizeof fresh.message, format, values) < 0)
        snprintf(fresh.message, sizeof fresh.message, "%s", locus_status_text(status));
    tidy(fresh.argument);
    tidy(fresh.message);
    *error = fresh;
}

locus_status lab_fail(locus_error *error, locus_status status, const char *argument, const char *format, ...) {
    if (error) {
        va_list values;
        va_start(values, format);
        fill(error, status, argument, format, values);
        va_end(values);
    }
    return status;
}

/* The end of a long path says more than its beginning, and the reason must not be cut off. */
static const char *path_end(const char *path) {
    size_t length = strlen(path);
    if (length <= 240)
        return path;
    for (path += length - 240; ((unsigned char)*path & 0xC0) == 0x80;)
        path++;
    return path;
}

locus_status lab_fail_system(locus_error *error, const char *action, const char *path, int code) {
    char reason[128];
    if (strerror_r(code, reason, sizeof reason) != 0)
        snprintf(reason, sizeof reason, "system error %d", code);
    locus_status status = code == ENOMEM ? LOCUS_ERROR_MEMORY : LOCUS_ERROR_IO;
    const char *shown = path_end(path);
    const char *there = code == ENOENT || code == ENOTDIR ? NULL : LAB_FAIL_THERE;
    return lab_fail(error, status, there, "cannot %s '%s%s': %s", action, shown == path ? "" : "…", shown, reason);
}

locus_status lab_fail_file(locus_error *error, const char *path, const char *format, ...) {
    char reason[400];
    va_list values;
    va_start(values, format);
    if (vsnprintf(reason, sizeof reason, format, values) < 0)
        snprintf(reason, sizeof reason, "could not be used");
    va_end(values);
    const char *shown = path_end(path);
    return lab_fail(error, LOCUS_ERROR_IO, NULL, "'%s%s' %s", shown == path ? "" : "…", shown, reason);
}

locus_status lab_fail_memory(locus_error *error, const char *purpose) {
    return lab_fail(error, LOCUS_ERROR_MEMORY, NULL, "out of memory for %s", purpose);
}
