/* SPDX-License-Identifier: MIT */
/* See csv.h. */
#include "io/csv.h"

#include "io/printable.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void lab_csv_text(FILE *stream, const char *text) {
    const size_t end = strlen(text);
    const bool computed = text[0] != '\0' && strchr("=+-@", text[0]) != NULL;
    const bool quoted = strpbrk(text, ",\"") != NULL;
    fputs(quoted ? "\"" : "", stream);
    fputs(computed ? "'" : "", stream);
    for (size_t at = 0, bytes; at < end; at += bytes) {
        bool shown;
        bytes = lab_printable_at(text + at, end - at, &shown);
        if (text[at] == '"')
            fputc('"', stream);
        if (shown)
            fwrite(text + at, 1, bytes, stream);
        else
            fputc('?', stream);
    }
    fputs(quoted ? "\"" : "", stream);
}

void lab_number_short(double value, int digits, char text[32]) {
    if (value == rint(value))
        lab_number_exact(value, text);
    else
        snprintf(text, 32, "%.*g", digits, value);
}

void lab_number_exact(double value, char text[32]) {
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

void lab_csv_number(FILE *stream, double value) {
    char text[32];
    if (isfinite(value)) {
        lab_number_exact(value, text);
        fputs(text, stream);
    }
}
