/* SPDX-License-Identifier: MIT */
/* How problems are written, and characters as tokens. */
#include "io/fail.h"
#include "task/problem.h"
#include "task/task_class.h"
#include "text/utf8.h"

#include <stdarg.h>
#include <string.h>

/* ---- texts ---- */

LAB_PRINTF(2, 3)
static void append(lab_problem *problem, const char *format, ...) {
    va_list values;
    va_start(values, format);
    int written = vsnprintf(problem->text + problem->length, sizeof problem->text - problem->length, format, values);
    va_end(values);
    problem->length += written > 0 ? (size_t)written : 0;
}

static void begin(lab_problem *problem) {
    problem->prompt = problem->length = 0;
}

void lab_problem_addition(lab_problem *problem, uint64_t first, uint64_t second) {
    unsigned carry = 0, place = 0;
    begin(problem);
    append(problem, "?d=%llu+%llu; ", (unsigned long long)first, (unsigned long long)second);
    problem->prompt = problem->length;
    for (uint64_t a = first, b = second; place == 0 || a > 0 || b > 0 || carry > 0; a /= 10, b /= 10, place++) {
        unsigned x = (unsigned)(a % 10), y = (unsigned)(b % 10), sum = x + y + carry;
        append(problem, "%ue%u+%ue%u+%ue%u==%ue%u and ", x, place, y, place, carry, place, sum, place);
        carry = sum / 10;
    }
    const unsigned long long total = first + second;
    append(problem, "d==%llu#", total);
}

void lab_problem_index(lab_problem *problem, const char *string, size_t index) {
    begin(problem);
    append(problem, "?s='%s'; s[%zu:]=='", string, index);
    problem->prompt = problem->length;
    append(problem, "%s'#", string + index);
}

/* ---- characters as tokens ---- */

int32_t lab_problem_token(const lab_task *task, const lab_task_options *options, char character) {
    const char *found = character == '\0' ? NULL : strchr(task->characters, character);
    return found != NULL && (size_t)(found - task->characters) < lab_task_vocabulary(task, options)
               ? (int32_t)(found - task->characters)
               : -1;
}

/* "'é'"; what cannot be printed by its number, "byte 0x0A". */
static void name_character(char *name, size_t size, const char *text) {
    const unsigned char first = (unsigned char)text[0];
    const size_t bytes = lab_utf8_span(text, SIZE_MAX); /* a 0 ends it */
    if (first < 0x20 || first == 0x7F || (bytes == 1 && first >= 0x80))
        snprintf(name, size, "byte 0x%02X", first);
    else
        snprintf(name, size, "'%.*s'", (int)bytes, text);
}

static locus_status fail_character(const lab_task *task, const lab_task_options *options, const char *text, size_t at,
                                   locus_error *error) {
    char name[16];
    size_t place = 1; /* among characters, not bytes */
    for (size_t i = 0; i < at; i += lab_utf8_span(text + i, SIZE_MAX))
        place++;
    name_character(name, sizeof name, text + at);
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, "prompt", "%s, character %zu of the text: %s knows only \"%.*s\"",
                    name, place, task->name, (int)lab_task_vocabulary(task, options), task->characters);
}

locus_status lab_problem_encode(const lab_task *task, const lab_task_options *options, const char *text,
                                int32_t *tokens, locus_error *error) {
    for (size_t i = 0; text[i] != '\0'; i++) {
        tokens[i] = lab_problem_token(task, options, text[i]);
        if (tokens[i] < 0)
            return fail_character(task, options, text, i, error);
    }
    return LOCUS_OK;
}

void lab_problem_decode(const lab_task *task, const int32_t *tokens, size_t count, char *text) {
    const size_t known = strlen(task->characters);
    for (size_t i = 0; i < count; i++)
        text[i] = tokens[i] >= 0 && (size_t)tokens[i] < known ? task->characters[tokens[i]] : '?';
    text[count] = '\0';
}
