/* SPDX-License-Identifier: MIT */
/* See positions_reals.h. What a position may be is the library's to say; what a number looks like is said here. */
#include "positions_reals.h"
#include "output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool cli_reals_are_meant(const char *text) {
    return text[0] && text[strspn(text, "+-0123456789.,:() ")] == '\0' && strpbrk(text, "0123456789") &&
           strchr(text, '.');
}

bool cli_reals_are_lines(const char *data) {
    return data[strspn(data, "+-0123456789.,() \t\r\n")] == '\0' && strchr(data, '.');
}

/* The answer to positions that the group does not have: a file's fault, or the command line's. */
static int check_axes(const lab_position_list *list, const char *option, const char *text, bool file) {
    static const char fault[] = "--%s %s: '%s' has no real-valued positions; seq and grids have";
    for (size_t c = 0; c < locus_group_coordinates(list->group); c++) {
        if (locus_group_coordinate(list->group, c).kind != LOCUS_COORDINATE_AXIS) {
            char group[64];
            locus_group_text(list->group, group, sizeof group);
            return file ? cli_failure(fault, option, text, group) : cli_usage_error(fault, option, text, group);
        }
    }
    return 0;
}

static int reserve(lab_position_list *list, size_t count) {
    const size_t coordinates = locus_group_coordinates(list->group);
    if (count <= SIZE_MAX / sizeof *list->reals / coordinates)
        list->reals = calloc(count * coordinates + 1, sizeof *list->reals);
    return list->reals ? 0 : cli_failure("out of memory for %zu positions", count);
}

/* ---- lists ---- */

/* Skips blanks, then takes `mark` if it comes next. */
static bool take_mark(const char **at, char mark) {
    *at += strspn(*at, " ");
    *at += **at == mark;
    return (*at)[-1] == mark;
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

int cli_reals_read_list(lab_position_list *list, const char *option, const char *text) {
    const size_t coordinates = locus_group_coordinates(list->group);
    size_t most = 1;
    for (const char *c = text; *c; c++)
        most += *c == ',';
    int status = check_axes(list, option, text, false);
    status = status ? status : reserve(list, most);
    const char *at = text;
    for (bool more = true; status == 0 && more; list->count++) {
        if (!take_position(&at, list->reals + list->count * coordinates, coordinates)) {
            status = cli_usage_error("--%s %s: not a list of real positions: write %s", option, text,
                                     coordinates == 1 ? "numbers, as in 0.5,1.25"
                                                      : "one number for each axis, as in (0.5,1),(2,-3.75)");
            break;
        }
        more = take_mark(&at, ',');
    }
    at += strspn(at, " ");
    if (status == 0 && *at) {
        status = cli_usage_error("--%s %s: '%s' does not belong to a list of real positions%s", option, text, at,
                                 *at == ':' ? "; ranges are of whole numbers" : "");
    }
    return status;
}

/* ---- text files ---- */

static int bad_line(const char *option, const char *path, size_t number, size_t coordinates) {
    return cli_failure("--%s %s, line %zu: not a real position: write %s", option, path, number,
                       coordinates == 1 ? "a number, as in 1.25" : "a number for each axis, as in (0.5,1)");
}

int cli_reals_read_lines(lab_position_list *list, const char *option, const char *path, char *data) {
    const size_t coordinates = locus_group_coordinates(list->group);
    size_t most = 1;
    for (const char *c = data; *c; c++)
        most += *c == '\n';
    int status = check_axes(list, option, path, true);
    status = status ? status : reserve(list, most);
    for (char *line = data; *line && status == 0;) {
        const size_t length = strcspn(line, "\r\n");
        const size_t ending = line[length] == '\r' && line[length + 1] == '\n' ? 2 : line[length] != '\0';
        const char *at = line;
        line[length] = '\0';
        if (take_position(&at, list->reals + list->count * coordinates, coordinates) && at[strspn(at, " \t")] == '\0')
            list->count++;
        else
            status = bad_line(option, path, list->count + 1, coordinates);
        line += length + ending;
    }
    return status;
}

/* ---- .npy ---- */

int cli_reals_read_npy(lab_position_list *list, const char *option, const char *path, const lab_array *array) {
    const size_t coordinates = locus_group_coordinates(list->group), rank = coordinates > 1 ? 2 : 1;
    int status = check_axes(list, option, path, true);
    if (status == 0 && array->rank != rank) {
        status = cli_failure("--%s %s: has %zu dimension%s; real positions have %s", option, path, array->rank,
                             array->rank == 1 ? "" : "s", rank == 1 ? "one ([tokens])" : "two ([tokens, axes])");
    } else if (status == 0 && rank == 2 && (size_t)array->shape[1] != coordinates) {
        status = cli_failure("--%s %s: has %" PRId64 " columns; the grid has %zu axes", option, path, array->shape[1],
                             coordinates);
    }
    status = status ? status : reserve(list, (size_t)array->shape[0]);
    for (size_t i = 0; status == 0 && i < lab_array_count(array); i++)
        list->reals[i] = lab_array_at(array, i);
    list->count = status ? 0 : (size_t)array->shape[0];
    return status;
}
