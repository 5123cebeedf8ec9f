/* SPDX-License-Identifier: MIT */
/* Escapes: see markup.h. */
#include "page/markup.h"

#include "io/printable.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* What a character is replaced by; NULL: nothing. */
typedef const char *replace(char c);

static const char *in_text(char c) {
    return c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : NULL;
}

/* Between the quotes of JSON and around them: none of its own signs is among these. */
static const char *in_json(char c) {
    return c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : c == '&' ? "\\u0026" : NULL;
}

static const char *in_string(char c) {
    return c == '"' ? "\\\"" : c == '\\' ? "\\\\" : c == '\n' ? "\\n" : c == '\t' ? "\\t" : in_json(c);
}

static void put(FILE *page, const char *text, replace *other) {
    const char *end = text + strlen(text);
    for (size_t length; text < end; text += length) {
        bool shown;
        length = lab_printable_at(text, (size_t)(end - text), &shown);
        const char *instead = other(*text);
        if (instead != NULL)
            fputs(instead, page);
        else if (shown || *text == '\n' || *text == '\t')
            fwrite(text, 1, length, page);
        else
            fputc('?', page);
    }
}

void lab_markup_text(FILE *page, const char *text) {
    put(page, text, in_text);
}

void lab_markup_json_text(FILE *page, const char *text) {
    fputc('"', page);
    put(page, text, in_string);
    fputc('"', page);
}

void lab_markup_json(FILE *page, const char *json) {
    put(page, json, in_json);
}

void lab_markup_json_number(FILE *page, double value, int digits) {
    if (isfinite(value))
        fprintf(page, "%.*g", digits, value);
    else
        fputs("null", page);
}
