/* SPDX-License-Identifier: MIT */
/* See text_stream.h. */
#include "io/text_stream.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

char *lab_text_print(const char *format, ...) {
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(NULL, 0, format, values);
    va_end(values);
    char *text = length >= 0 ? malloc((size_t)length + 1) : NULL;
    va_start(values, format);
    if (text != NULL)
        vsnprintf(text, (size_t)length + 1, format, values);
    va_end(values);
    return text;
}

bool lab_text_close(FILE *stream, char **text) {
    const bool written = stream != NULL && ferror(stream) == 0;
    const bool whole = stream != NULL && fclose(stream) == 0 && written && *text != NULL;
    if (whole)
        return true;
    free(*text);
    *text = NULL;
    return false;
}

size_t lab_text_mark(const char *text, size_t bytes) {
    static const char mark[] = {'\xEF', '\xBB', '\xBF'};
    return bytes >= sizeof mark && memcmp(text, mark, sizeof mark) == 0 ? sizeof mark : 0;
}
