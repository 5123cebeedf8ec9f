/* SPDX-License-Identifier: MIT */
/* See text_stream.h. */
#define _GNU_SOURCE 1 /* fopencookie */
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

#ifdef __GLIBC__

typedef struct growing_text {
    char **text;
    size_t *bytes, room;
} growing_text;

static ssize_t add(void *cookie, const char *more, size_t count) {
    growing_text *grown = cookie;
    const size_t needed = *grown->bytes + count + 1;
    if (needed > grown->room) {
        const size_t room = needed > 2 * grown->room ? needed : 2 * grown->room;
        char *text = realloc(*grown->text, room);
        if (text == NULL)
            return 0;
        *grown->text = text;
        grown->room = room;
    }
    memcpy(*grown->text + *grown->bytes, more, count);
    *grown->bytes += count;
    (*grown->text)[*grown->bytes] = '\0';
    return (ssize_t)count;
}

static int end(void *cookie) {
    free(cookie);
    return 0;
}

FILE *lab_text_stream(char **text, size_t *bytes) {
    growing_text *grown = malloc(sizeof *grown);
    FILE *stream = NULL;
    *bytes = 0;
    *text = calloc(1, 1);
    if (grown != NULL && *text != NULL) {
        *grown = (growing_text){text, bytes, 1};
        stream = fopencookie(grown, "w", (cookie_io_functions_t){.write = add, .close = end});
    }
    if (stream == NULL) {
        free(grown);
        free(*text);
        *text = NULL;
    }
    return stream;
}

#else

FILE *lab_text_stream(char **text, size_t *bytes) {
    return open_memstream(text, bytes);
}

#endif

bool lab_text_close(FILE *stream, char **text) {
    const bool written = stream != NULL && fflush(stream) == 0 && ferror(stream) == 0;
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
