/* SPDX-License-Identifier: MIT */
/* See position_reals.h. What a position may be is the library's to say; what a number looks like is said here. */
#include "bound/position_reals.h"

#include "io/fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool lab_reals_are_meant(const char *text) {
    return text[0] && text[strspn(text, "+-0123456789.,:() ")] == '\0' && strpbrk(text, "0123456789") &&
           strchr(text, '.');
}

bool lab_reals_are_lines(const char *data) {
    return data[strspn(data, "+-0123456789.,() \t\r\n")] == '\0' && strchr(data, '.');
}

/* The answer to positions that the group does not have: IO is a file's fault, ARGUMENT the command line's. */
static locus_status check_axes(const lab_position_reader *r, locus_status fault) {
    for (size_t c = 0; c < r->coordinates; c++)
        if (locus_group_coordinate(r->list->group, c).kind != LOCUS_COORDINATE_AXIS)
            return lab_fail(r->error, fault, NULL, "--%s %.200s: '%s' has no real-valued positions; seq and grids have",
                            r->option, r->text, r->group);
    return LOCUS_OK;
}

static locus_status reserve(const lab_position_reader *r, size_t count, locus_status fault) {
    const locus_status status = check_axes(r, fault);
    if (status != LOCUS_OK)
        return status;
    r->list->reals = calloc(count + 1, r->coordinates * sizeof *r->list->reals);
    return r->list->reals ? LOCUS_OK
                          : lab_fail(r->error, LOCUS_ERROR_MEMORY, NULL, "out of memory for %zu positions", count);
}

/* ---- lists ---- */

/* Skips blanks, then takes `mark` if it comes next. */
static bool take_mark(const char **at, char mark) {
    *at += strspn(*at, " ");
    const bool comes = **at == mark;
    *at += comes;
    return comes;
}

/* Digits with a point or without; no exponents, no names of numbers. */
static bool take_number(const char **at, double *value) {
    *at += strspn(*at, " ");
    const char *digits = *at + (**at == '+' || **at == '-');
    const size_t length = strspn(digits, "0123456789.");
    char *end;
    *value = strtod(*at, &end);
    const bool good = length > 0 && end == digits + length;
    *at = end;
    return good;
}

static bool take_position(const char **at, double *values, size_t coordinates) {
    bool good = coordinates == 1 || take_mark(at, '(');
    for (size_t c = 0; c < coordinates && good; c++)
        good = (c == 0 || take_mark(at, ',')) && take_number(at, &values[c]);
    return good && (coordinates == 1 || take_mark(at, ')'));
}

locus_status lab_reals_list(lab_position_reader *r) {
    lab_position_list *list = r->list;
    size_t most = 1;
    for (const char *c = r->text; *c; c++)
        most += *c == ',';
    locus_status status = reserve(r, most, LOCUS_ERROR_ARGUMENT);
    const char *at = r->text;
    for (bool more = true; status == LOCUS_OK && more; list->count++) {
        if (!take_position(&at, list->reals + list->count * r->coordinates, r->coordinates)) {
            return lab_fail(r->error, LOCUS_ERROR_ARGUMENT, NULL, "--%s %.200s: not a list of real positions: write %s",
                            r->option, r->text,
                            r->coordinates == 1 ? "numbers, as in 0.5,1.25"
                                                : "one number for each axis, as in (0.5,1),(2,-3.75)");
        }
        more = take_mark(&at, ',');
    }
    at += strspn(at, " ");
    return status != LOCUS_OK || !*at
               ? status
               : lab_fail(r->error, LOCUS_ERROR_ARGUMENT, NULL,
                          "--%s %.200s: '%.60s' does not belong to a list of real positions%s", r->option, r->text, at,
                          *at == ':' ? "; ranges are of whole numbers" : "");
}

/* ---- text files ---- */

static locus_status bad_line(const lab_position_reader *r, size_t number) {
    return lab_fail(r->error, LOCUS_ERROR_IO, NULL, "--%s %.200s, line %zu: not a real position: write %s", r->option,
                    r->text, number,
                    r->coordinates == 1 ? "a number, as in 1.25" : "a number for each axis, as in (0.5,1)");
}

locus_status lab_reals_lines(lab_position_reader *r, char *data) {
    lab_position_list *list = r->list;
    size_t most = 1;
    for (const char *c = data; *c; c++)
        most += *c == '\n';
    locus_status status = reserve(r, most, LOCUS_ERROR_IO);
    for (char *line = data; *line && status == LOCUS_OK;) {
        const size_t length = strcspn(line, "\r\n");
        const size_t ending = line[length] == '\r' && line[length + 1] == '\n' ? 2 : line[length] != '\0';
        const char *at = line;
        line[length] = '\0';
        if (take_position(&at, list->reals + list->count * r->coordinates, r->coordinates) &&
            at[strspn(at, " \t")] == '\0')
            list->count++;
        else
            status = bad_line(r, list->count + 1);
        line += length + ending;
    }
    return status;
}

/* ---- .npy ---- */

locus_status lab_reals_npy(lab_position_reader *r, const lab_array *array) {
    const size_t rank = r->coordinates > 1 ? 2 : 1;
    locus_status status = check_axes(r, LOCUS_ERROR_IO);
    if (status == LOCUS_OK && array->rank != rank) {
        status = lab_fail(r->error, LOCUS_ERROR_IO, NULL, "--%s %.200s: has %zu dimension%s; real positions have %s",
                          r->option, r->text, array->rank, array->rank == 1 ? "" : "s",
                          rank == 1 ? "one ([tokens])" : "two ([tokens, axes])");
    } else if (status == LOCUS_OK && rank == 2 && (size_t)array->shape[1] != r->coordinates) {
        status = lab_fail(r->error, LOCUS_ERROR_IO, NULL, "--%s %.200s: has %" PRId64 " columns; the grid has %zu axes",
                          r->option, r->text, array->shape[1], r->coordinates);
    }
    status = status != LOCUS_OK ? status : reserve(r, (size_t)array->shape[0], LOCUS_ERROR_IO);
    for (size_t i = 0; status == LOCUS_OK && i < lab_array_count(array); i++)
        r->list->reals[i] = lab_array_at(array, i);
    r->list->count = status != LOCUS_OK ? 0 : (size_t)array->shape[0];
    return status;
}
