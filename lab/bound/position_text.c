/* SPDX-License-Identifier: MIT */
/* Reads positions in the forms that position_text.h lists; real numbers in position_reals.c. Nothing is rounded,
 * clamped or guessed. */
#include "bound/position_text.h"

#include "bound/position_reals.h"
#include "bound/spec_text.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/npy.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_POSITIONS ((int64_t)1 << 30)

static locus_status reserve_values(lab_position_reader *r, size_t count) {
    r->list->values = calloc(count, r->coordinates * sizeof *r->list->values);
    r->list->count = count;
    return r->list->values ? LOCUS_OK
                           : lab_fail(r->error, LOCUS_ERROR_MEMORY, NULL, "out of memory for %zu positions", count);
}

static locus_status reserve_paths(lab_position_reader *r, size_t count) {
    r->list->paths = calloc(count ? count : 1, sizeof *r->list->paths);
    return r->list->paths ? LOCUS_OK
                          : lab_fail(r->error, LOCUS_ERROR_MEMORY, NULL, "out of memory for %zu positions", count);
}

/* ---- ranges and boxes ---- */

/* An integer at *text; moves *text behind it. */
static bool take_integer(const char **text, int64_t *value) {
    char *end;
    if (isspace((unsigned char)**text))
        return false;
    errno = 0;
    long long number = strtoll(*text, &end, 10);
    bool good = end != *text && errno == 0;
    *value = number;
    *text = end;
    return good;
}

/* "grid:4x6 or a file", with a size for each coordinate. */
static void example_box(size_t coordinates, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "grid:4");
    for (size_t c = 1; c < coordinates && c < 8; c++)
        used += (size_t)snprintf(text + used, size - used, "x%zu", 4 + 2 * c);
    snprintf(text + used, size - used, "%s or a file", coordinates > 8 ? "x…" : "");
}

static locus_status read_range(lab_position_reader *r) {
    const char *at = r->text;
    int64_t first = 0, end = 0;
    if (!take_integer(&at, &first) || *at++ != ':' || !take_integer(&at, &end) || *at)
        return lab_fail(r->error, LOCUS_ERROR_ARGUMENT, NULL,
                        "--%s %.200s: not a range (0:100) nor a list of paths (0,5,7)", r->option, r->text);
    if (r->trees || r->coordinates > 1) {
        char box[64] = "paths, such as 0,1,1+2, or a file";
        if (!r->trees)
            example_box(r->coordinates, box, sizeof box);
        return lab_fail(r->error, LOCUS_ERROR_ARGUMENT, NULL, "--%s %.200s: '%s' has no ranges; give %s", r->option,
                        r->text, r->group, box);
    }
    if (first >= end) {
        return lab_fail(r->error, LOCUS_ERROR_ARGUMENT, NULL,
                        "--%s %.200s: the range is empty; it goes from its first number up to, without, its second",
                        r->option, r->text);
    }
    if (first < INT64_MIN / 4 || end > INT64_MAX / 4 || end - first > MOST_POSITIONS)
        return lab_fail(r->error, LOCUS_ERROR_ARGUMENT, NULL, "--%s %.200s: more than %" PRId64 " positions", r->option,
                        r->text, MOST_POSITIONS);
    locus_status status = reserve_values(r, (size_t)(end - first));
    for (size_t i = 0; status == LOCUS_OK && i < r->list->count; i++)
        r->list->values[i] = first + (int64_t)i;
    return status;
}

/* The sizes of "grid:4x6": their number, or 0 if that is not what it is. At most `room` are written. */
static size_t take_sizes(const char *text, int64_t *sizes, size_t room) {
    size_t count = 0;
    for (const char *at = text + strlen("grid:");; at++) {
        int64_t size = 0;
        if (!isdigit((unsigned char)*at) || !take_integer(&at, &size) || size == 0)
            return 0;
        if (count < room)
            sizes[count] = size;
        count++;
        if (*at != 'x')
            return *at ? 0 : count;
    }
}

/* Row by row: the last coordinate runs fastest. */
static void fill_box(lab_position_reader *r, const int64_t *sizes) {
    int64_t *values = r->list->values;
    for (size_t i = 0; i < r->list->count; i++) {
        size_t rest = i;
        for (size_t c = r->coordinates; c-- > 0; rest /= (size_t)sizes[c])
            values[i * r->coordinates + c] = (int64_t)(rest % (size_t)sizes[c]);
    }
}

static locus_status read_box(lab_position_reader *r) {
    enum { MOST_SIZES = 64 };
    int64_t sizes[MOST_SIZES], total = 1;
    size_t count = take_sizes(r->text, sizes, MOST_SIZES);
    if (count == 0)
        return lab_fail(r->error, LOCUS_ERROR_ARGUMENT, NULL,
                        "--%s %.200s: not a box; write its sizes, each from 1, as in grid:4x6", r->option, r->text);
    if (r->trees) {
        return lab_fail(r->error, LOCUS_ERROR_ARGUMENT, NULL,
                        "--%s %.200s: '%s' has a tree, which no box describes; give paths or a text file", r->option,
                        r->text, r->group);
    }
    if (count != r->coordinates || count > MOST_SIZES) {
        return lab_fail(r->error, LOCUS_ERROR_ARGUMENT, NULL,
                        "--%s %.200s: has %zu size%s, '%s' has %zu coordinate%s; give one for each", r->option, r->text,
                        count, count == 1 ? "" : "s", r->group, r->coordinates, r->coordinates == 1 ? "" : "s");
    }
    for (size_t c = 0; c < count; c++) {
        if (sizes[c] > MOST_POSITIONS / total)
            return lab_fail(r->error, LOCUS_ERROR_ARGUMENT, NULL, "--%s %.200s: more than %" PRId64 " positions",
                            r->option, r->text, MOST_POSITIONS);
        total *= sizes[c];
    }
    locus_status status = reserve_values(r, (size_t)total);
    if (status == LOCUS_OK)
        fill_box(r, sizes);
    return status;
}

/* ---- lists ---- */

/* An item is wrong that begins at `offset` of the argument: the option's name goes before what is wrong with it. */
static locus_status bad_item(const lab_position_reader *r, size_t offset, const locus_error *found) {
    const locus_status status = lab_fail(r->error, found->status, NULL, "--%s: %.400s", r->option, found->message);
    if (r->error && found->offset >= 0) {
        r->error->offset = found->offset + (ptrdiff_t)offset;
        r->error->length = found->length;
    }
    return status;
}

static locus_status read_list(lab_position_reader *r) {
    size_t count = 1;
    for (const char *c = r->text + lab_spec_span(r->text, ","); *c; c += 1 + lab_spec_span(c + 1, ","))
        count++;
    char *copy = malloc(strlen(r->text) + 1);
    locus_status status = copy ? reserve_paths(r, count)
                               : lab_fail(r->error, LOCUS_ERROR_MEMORY, NULL, "out of memory for %zu positions", count);
    for (const char *at = r->text; status == LOCUS_OK; at++) {
        locus_error error = {.offset = -1};
        const size_t length = lab_spec_span(at, ",");
        memcpy(copy, at, length);
        copy[length] = '\0';
        if (locus_path_parse(r->list->group, copy, &r->list->paths[r->list->count], &error) != LOCUS_OK) {
            status = bad_item(r, (size_t)(at - r->text), &error);
            break;
        }
        r->list->count++;
        at += length;
        if (!*at)
            break;
    }
    free(copy);
    return status;
}

/* ---- .npy ---- */

static locus_status check_rank(const lab_position_reader *r, const lab_array *array, size_t rank, const char *layout) {
    if (array->rank == rank)
        return LOCUS_OK;
    return lab_fail(r->error, LOCUS_ERROR_IO, NULL, "--%s %.200s: has %zu dimension%s; positions on '%s' have %s",
                    r->option, r->text, array->rank, array->rank == 1 ? "" : "s", r->group, layout);
}

static locus_status read_integers(lab_position_reader *r, const lab_array *array) {
    locus_status status = check_rank(r, array, r->coordinates > 1 ? 2 : 1,
                                     r->coordinates > 1 ? "two ([tokens, coordinates])" : "one ([tokens])");
    if (status == LOCUS_OK && r->coordinates > 1 && (size_t)array->shape[1] != r->coordinates) {
        status =
            lab_fail(r->error, LOCUS_ERROR_IO, NULL, "--%s %.200s: has %" PRId64 " columns; '%s' has %zu coordinates",
                     r->option, r->text, array->shape[1], r->group, r->coordinates);
    }
    status = status != LOCUS_OK ? status : reserve_values(r, (size_t)array->shape[0]);
    for (size_t i = 0; status == LOCUS_OK && i < lab_array_count(array); i++)
        r->list->values[i] = lab_array_integer(array, i);
    return status;
}

/* A row of branch indices as text: 0 2 −1 becomes 1+3. */
static locus_status row_text(const lab_position_reader *r, const lab_array *array, size_t row, int64_t branches,
                             char *text) {
    size_t depth = (size_t)array->shape[1], letters = 0;
    memcpy(text, "0", sizeof "0");
    for (size_t i = 0; i < depth; i++) {
        int64_t index = lab_array_integer(array, row * depth + i);
        if (index == -1)
            continue;
        if (letters < i) {
            return lab_fail(r->error, LOCUS_ERROR_IO, NULL,
                            "--%s %.200s, row %zu: branch %" PRId64
                            " stands behind a -1; only the end of a row is padded",
                            r->option, r->text, row, index);
        }
        if (index < 0 || index >= branches) {
            return lab_fail(r->error, LOCUS_ERROR_IO, NULL,
                            "--%s %.200s, row %zu: '%s' has no branch index %" PRId64 "; they count from 0 to %" PRId64
                            ", and -1 pads",
                            r->option, r->text, row, r->group, index, branches - 1);
        }
        letters++;
        text += sprintf(text, "%s%" PRId64, letters > 1 ? "+" : "", index + 1);
    }
    return LOCUS_OK;
}

static locus_status read_branches(lab_position_reader *r, const lab_array *array) {
    enum { MOST_DIGITS = 20 };
    locus_status status = check_rank(r, array, 2, "two ([tokens, depth], branches from 0, padded with -1)");
    if (status)
        return status;
    size_t rows = (size_t)array->shape[0];
    char *text = malloc((size_t)array->shape[1] * (MOST_DIGITS + 1) + 2);
    status = text ? reserve_paths(r, rows)
                  : lab_fail(r->error, LOCUS_ERROR_MEMORY, NULL, "out of memory for %zu positions", rows);
    int64_t branches = locus_group_coordinate(r->list->group, 0).size;
    for (size_t row = 0; status == LOCUS_OK && row < rows; row++) {
        locus_error error = {.offset = -1};
        status = row_text(r, array, row, branches, text);
        if (status == LOCUS_OK && locus_path_parse(r->list->group, text, &r->list->paths[row], &error) != LOCUS_OK)
            status = lab_fail(r->error, error.status, error.argument, "%s", error.message);
        r->list->count += status == LOCUS_OK;
    }
    free(text);
    return status;
}

static locus_status read_npy(lab_position_reader *r) {
    lab_array array = {0};
    locus_status status = lab_npy_read(&array, r->text, r->error);
    if (status != LOCUS_OK)
        return status;
    if (array.rank > 0 && array.shape[0] == 0) {
        status = lab_fail(r->error, LOCUS_ERROR_IO, NULL, "--%s %.200s: is empty", r->option, r->text);
    } else if (array.dtype == LAB_F32 || array.dtype == LAB_F64) {
        status = lab_reals_npy(r, &array);
    } else if (r->trees && r->coordinates > 1) {
        status = lab_fail(r->error, LOCUS_ERROR_IO, NULL,
                          "--%s %.200s: a product with trees such as '%s' has no .npy form; give a text file with one "
                          "path to a line, such as (3,1+2)",
                          r->option, r->text, r->group);
    } else {
        status = r->trees ? read_branches(r, &array) : read_integers(r, &array);
    }
    lab_array_free(&array);
    return status;
}

/* ---- text files ---- */

static locus_status bad_line(const lab_position_reader *r, size_t number, const char *line, const locus_error *error) {
    if (line[strspn(line, " \t")] == '\0')
        return lab_fail(r->error, LOCUS_ERROR_IO, NULL, "--%s %.200s, line %zu: is empty; every line holds one path",
                        r->option, r->text, number);
    const locus_status status = error->status == LOCUS_ERROR_MEMORY ? error->status : LOCUS_ERROR_IO;
    return lab_fail(r->error, status, NULL, "--%s %.200s, line %zu: %s", r->option, r->text, number, error->message);
}

/* Cuts `data` into its lines, each of them a path. */
static locus_status read_lines(lab_position_reader *r, char *data) {
    locus_status status = LOCUS_OK;
    size_t number = 0;
    for (char *line = data; *line && status == LOCUS_OK;) {
        locus_error error = {.offset = -1};
        size_t length = strcspn(line, "\n");
        bool last = line[length] == '\0';
        line[length] = '\0';
        if (length > 0 && line[length - 1] == '\r')
            line[length - 1] = '\0';
        number++;
        if (locus_path_parse(r->list->group, line, &r->list->paths[r->list->count], &error) != LOCUS_OK)
            status = bad_line(r, number, line, &error);
        else
            r->list->count++;
        line += length + !last;
    }
    if (status == LOCUS_OK && r->list->count == 0)
        status = lab_fail(r->error, LOCUS_ERROR_IO, NULL, "--%s %.200s: is empty", r->option, r->text);
    return status;
}

static locus_status read_text(lab_position_reader *r) {
    char *data = NULL;
    size_t bytes = 0, lines = 1;
    locus_error error = {.offset = -1};
    if (!r->text[0]) {
        return lab_fail(r->error, LOCUS_ERROR_ARGUMENT, NULL,
                        "--%s: is empty; give a range (0:100), a list (0,5,7), a box (grid:4x6) or a file", r->option);
    }
    const locus_status came = lab_file_read(r->text, &data, &bytes, &error);
    if (came == LOCUS_ERROR_MEMORY)
        return lab_fail(r->error, came, NULL, "--%s %.200s: %s", r->option, r->text, error.message);
    if (came != LOCUS_OK) {
        return lab_fail(r->error, LOCUS_ERROR_IO, NULL,
                        "--%s %.200s: no range (0:100), list (0,5,7) or box (grid:4x6), and no file: %s", r->option,
                        r->text, error.message);
    }
    for (size_t i = 0; i < bytes; i++)
        lines += data[i] == '\n';
    locus_status status = strlen(data) != bytes ? lab_fail(r->error, LOCUS_ERROR_IO, NULL,
                                                           "--%s %.200s: is not a text file", r->option, r->text)
                                                : 0;
    if (status == LOCUS_OK && lab_reals_are_lines(data)) {
        status = lab_reals_lines(r, data);
    } else if (status == LOCUS_OK) {
        status = reserve_paths(r, lines);
        status = status != LOCUS_OK ? status : read_lines(r, data);
    }
    free(data);
    return status;
}

/* ---- all of them ---- */

static locus_status describe_group(lab_position_reader *r) {
    r->coordinates = locus_group_coordinates(r->list->group);
    locus_group_text(r->list->group, r->group, sizeof r->group);
    if (r->coordinates == SIZE_MAX) {
        return lab_fail(r->error, LOCUS_ERROR_IO, NULL, "--%s %.200s: '%s' has more axes than memory can hold",
                        r->option, r->text, r->group);
    }
    for (size_t c = 0; c < r->coordinates && !r->trees; c++)
        r->trees = locus_group_coordinate(r->list->group, c).kind == LOCUS_COORDINATE_TREE;
    return LOCUS_OK;
}

locus_status lab_position_list_parse(lab_position_list *list, const locus_group *group, const char *option,
                                     const char *text, locus_error *error) {
    *list = (lab_position_list){.group = group};
    lab_position_reader r = {.list = list, .option = option, .text = text, .error = error};
    locus_status status = describe_group(&r);
    if (status != LOCUS_OK)
        return status;
    if (lab_name_ends(text, ".npy"))
        status = read_npy(&r);
    else if (strncmp(text, "grid:", 5) == 0)
        status = read_box(&r);
    else if (lab_reals_are_meant(text))
        status = lab_reals_list(&r);
    else if (text[0] && text[strspn(text, "+-0123456789,:() ")] == '\0')
        status = strchr(text, ':') ? read_range(&r) : read_list(&r);
    else
        status = read_text(&r);
    if (status != LOCUS_OK)
        lab_position_list_free(list);
    return status;
}
