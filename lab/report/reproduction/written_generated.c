/* SPDX-License-Identifier: MIT */
#include "report/reproduction/written_generated.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A line of the generated part, and the head of the table that it is in. */
typedef struct line {
    const char *begin, *end, *head; /* head NULL: no table of schemes */
} line;

/* Whether `word` stands in a text, in capitals or not, and not as the beginning of another word. */
static bool names(const char *text, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = text; *at != '\0'; at++)
        if (strncasecmp(at, word, length) == 0 && (at == text || !lab_written_is_word(at[-1])) &&
            !lab_written_is_word(at[length]))
            return true;
    return false;
}

/* The cell of a row with that number, without the spaces around it. */
static void cell_at(const char *row, size_t index, char text[80]) {
    for (; index > 0 && *row != '\0' && *row != '\n'; row++)
        index -= *row == '|' && row[1] == ' ';
    row += strspn(row, " ");
    snprintf(text, 80, "%.*s", (int)strcspn(row, "|\n"), row);
    for (size_t length = strlen(text); length > 0 && text[length - 1] == ' '; length--)
        text[length - 1] = '\0';
}

static bool is_scheme(const lab_reproduction *table, const char *name) {
    for (size_t row = 0; row < table->row_count; row++) {
        char scheme[80];
        lab_reproduction_row_name(table, row, scheme, sizeof scheme);
        if (strcmp(scheme, name) == 0 || strcmp(table->columns[0].rows[row].name, name) == 0)
            return true;
    }
    return false;
}

/* Whether a passage names the scheme and the column of a place in a line. */
static bool is_meant(const line *in, const char *at, const lab_reproduction *table, const char *passage) {
    char scheme[80], head[80];
    size_t index = 0;
    cell_at(in->begin, 1, scheme);
    if (in->head == NULL || !is_scheme(table, scheme))
        return true;
    for (const char *c = in->begin; c < at; c++)
        index += *c == '|';
    cell_at(in->head, index, head);
    head[strcspn(head, " ,@")] = '\0';
    return names(passage, scheme) && names(passage, head);
}

static bool stands_in(const line *in, const char *generated, const lab_reproduction *table, const char *passage,
                      const lab_written_number *wanted) {
    lab_written_number found;
    for (const char *at = in->begin; lab_written_number_next(generated, at, &found) && found.begin < in->end;
         at = found.end)
        if ((found.decimals > 0 || found.percent) && lab_written_number_is(wanted, &found) &&
            is_meant(in, found.begin, table, passage))
            return true;
    return false;
}

bool lab_written_stands(const char *generated, const lab_reproduction *table, const char *passage,
                        const lab_written_number *wanted) {
    line in = {.end = generated};
    for (in.begin = generated; *in.begin != '\0'; in.begin = in.end + (*in.end == '\n')) {
        in.end = in.begin + strcspn(in.begin, "\n");
        in.head = strncmp(in.begin, "| scheme", 8) == 0 ? in.begin : *in.begin == '|' ? in.head : NULL;
        if (stands_in(&in, generated, table, passage, wanted))
            return true;
    }
    return false;
}
