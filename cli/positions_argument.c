/* SPDX-License-Identifier: MIT */
/* Reads positions in the forms that positions_argument.h lists. Integers only: nothing is rounded, clamped or
 * guessed. */
#include "positions_argument.h"
#include "command.h"
#include "io/file.h"
#include "io/npy.h"
#include "output.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_POSITIONS ((int64_t)1 << 30)

void cli_positions_free(cli_position_list *list) {
    free(list->values);
    *list = (cli_position_list){0};
}

static int reserve(cli_position_list *list, size_t count) {
    list->values = calloc(count ? count : 1, sizeof *list->values);
    return list->values ? 0 : cli_failure("out of memory for %zu positions", count);
}

/* An integer at *text; moves *text behind it. */
static bool take_integer(const char **text, int64_t *value) {
    char *end;
    if (isspace((unsigned char)**text)) {
        return false;
    }
    errno = 0;
    long long number = strtoll(*text, &end, 10);
    bool good = end != *text && errno == 0;
    *value = number;
    *text = end;
    return good;
}

static int unsupported(const char *option, const char *text) {
    return cli_failure("--%s %s: grids, trees and products are not supported in this version; positions are integers "
                       "(a range 0:100, a list 0,5,7, a .npy or a text file)",
                       option, text);
}

static int bad_list(const char *option, const char *text) {
    return cli_usage_error("--%s %s: not a range (0:100) nor a list of integers (0,5,7)", option, text);
}

static int read_range(cli_position_list *list, const char *option, const char *text) {
    const char *at = text;
    int64_t first = 0, end = 0;
    if (!take_integer(&at, &first) || *at++ != ':' || !take_integer(&at, &end) || *at) {
        return bad_list(option, text);
    }
    if (first >= end) {
        return cli_usage_error("--%s %s: the range is empty; it goes from its first number up to, without, its second",
                               option, text);
    }
    if (first < INT64_MIN / 4 || end > INT64_MAX / 4 || end - first > MOST_POSITIONS) {
        return cli_usage_error("--%s %s: more than %" PRId64 " positions", option, text, MOST_POSITIONS);
    }
    list->count = (size_t)(end - first);
    int status = reserve(list, list->count);
    for (size_t i = 0; status == 0 && i < list->count; i++) {
        list->values[i] = first + (int64_t)i;
    }
    return status;
}

static int read_list(cli_position_list *list, const char *option, const char *text) {
    size_t count = 1;
    for (const char *c = text; *c; c++) {
        count += *c == ',';
    }
    int status = reserve(list, count);
    if (status) {
        return status;
    }
    for (const char *at = text;; at++) {
        if (!take_integer(&at, &list->values[list->count++]) || (*at && *at != ',')) {
            return strpbrk(text, "+(") || strchr(text + 1, '-') ? unsupported(option, text) : bad_list(option, text);
        }
        if (!*at) {
            return 0;
        }
    }
}

static int read_npy(cli_position_list *list, const char *option, const char *path) {
    lab_array array = {0};
    locus_error error = {0};
    if (lab_npy_read(&array, path, &error) != LOCUS_OK) {
        return cli_error(&error);
    }
    int status = 0;
    size_t count = lab_array_count(&array);
    if (array.dtype != LAB_I32 && array.dtype != LAB_I64) {
        status = cli_failure("--%s %s: holds floating-point numbers; positions are int32 or int64", option, path);
    } else if (array.rank != 1) {
        status =
            cli_failure("--%s %s: has %zu dimensions; positions on seq have one ([tokens])", option, path, array.rank);
    } else if (count == 0) {
        status = cli_failure("--%s %s: is empty", option, path);
    } else if ((status = reserve(list, count)) == 0) {
        list->count = count;
        for (size_t i = 0; i < count; i++) {
            list->values[i] =
                array.dtype == LAB_I32 ? ((const int32_t *)array.data)[i] : ((const int64_t *)array.data)[i];
        }
    }
    lab_array_free(&array);
    return status;
}

static int bad_line(const char *option, const char *path, size_t number, const char *line) {
    char shown[48];
    snprintf(shown, sizeof shown, "%.*s", (int)strcspn(line, "\r\n"), line);
    if (shown[strspn(shown, "0123456789+-(), ")] == '\0' && shown[0]) {
        return cli_failure("--%s %s, line %zu: '%s' is a path on a tree or a product, which is not supported in this "
                           "version; one integer to a line",
                           option, path, number, shown);
    }
    return cli_failure("--%s %s, line %zu: '%s' is not an integer; one position to a line", option, path, number,
                       shown);
}

static int read_text(cli_position_list *list, const char *option, const char *path) {
    char *data = NULL;
    size_t bytes = 0, lines = 1, number = 0;
    locus_error error = {0};
    if (lab_file_read(path, &data, &bytes, &error) != LOCUS_OK) {
        return cli_error(&error);
    }
    for (size_t i = 0; i < bytes; i++) {
        lines += data[i] == '\n';
    }
    int status =
        strlen(data) != bytes ? cli_failure("--%s %s: is not a text file", option, path) : reserve(list, lines);
    for (const char *at = data; status == 0 && *at;) {
        const char *line = at;
        number++;
        bool good = take_integer(&at, &list->values[list->count++]);
        at += strspn(at, " \t\r");
        if (!good || (*at && *at != '\n')) {
            status = bad_line(option, path, number, line);
        }
        at += *at == '\n';
    }
    if (status == 0 && list->count == 0) {
        status = cli_failure("--%s %s: is empty", option, path);
    }
    free(data);
    return status;
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

int cli_positions_read(cli_position_list *list, const cli_arguments *arguments, const char *option) {
    *list = (cli_position_list){0};
    int status = cli_require(arguments, option);
    if (status) {
        return status;
    }
    const char *text = cli_text(arguments, option);
    if (ends_with(text, ".npy")) {
        status = read_npy(list, option, text);
    } else if (strncmp(text, "grid:", 5) == 0) {
        status = unsupported(option, text);
    } else if (text[0] && text[strspn(text, "+-0123456789,:()")] == '\0') {
        status = strchr(text, ':') ? read_range(list, option, text) : read_list(list, option, text);
    } else {
        status = read_text(list, option, text);
    }
    if (status) {
        cli_positions_free(list);
    }
    return status;
}

int cli_positions_one_sequence(locus_positions **positions, const cli_position_list *list) {
    locus_error error = {0};
    const size_t offsets[2] = {0, list->count};
    const locus_packing packing = {.sequences = 1, .offsets = offsets};
    locus_status status = locus_positions_create(positions, NULL, &packing, list->values, &error);
    return status == LOCUS_OK ? 0 : cli_error(&error);
}
