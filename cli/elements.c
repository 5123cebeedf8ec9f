/* SPDX-License-Identifier: MIT */
/* Elements are drawn as text and parsed, so that what a law is measured with is what a user could type. */
#include "elements.h"
#include "output.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_STEPS 6   /* steps of a short path in each coordinate, at most */
#define LETTER_BYTES 21 /* of a signed 64-bit branch */

/* ---- text that grows ---- */

typedef struct element_text {
    char *text;
    size_t length, size;
} element_text;

static int reserve(element_text *out, size_t bytes) {
    if (out->length + bytes + 1 > out->size) {
        size_t size = 2 * (out->length + bytes + 1);
        char *text = realloc(out->text, size);
        if (!text)
            return cli_failure("out of memory for a path of %zu bytes", size);
        out->text = text;
        out->size = size;
    }
    return 0;
}

static int put_integer(element_text *out, const char *before, int64_t value) {
    int status = reserve(out, LETTER_BYTES + strlen(before));
    if (status == 0)
        out->length += (size_t)snprintf(out->text + out->length, out->size - out->length, "%s%" PRId64, before, value);
    return status;
}

/* ---- drawing ---- */

static uint64_t below(cli_elements *elements, uint64_t bound) {
    return locus_random_below(&elements->random, elements->next++, bound);
}

/* Every magnitude is as likely as another: an upper bound of 1, 10, 100 … first. */
static int64_t draw_integer(cli_elements *elements, cli_element_kind kind) {
    int64_t most = elements->reach < SHORT_STEPS ? elements->reach : SHORT_STEPS;
    for (uint64_t i = kind == CLI_ELEMENT_ANY ? below(elements, 7) : 0; i > 0 && most < elements->reach; i--)
        most = most > elements->reach / 10 ? elements->reach : 10 * most;
    int64_t value = (int64_t)below(elements, (uint64_t)most + 1);
    return !elements->forward && below(elements, 2) ? -value : value;
}

static int put_word(cli_elements *elements, uint64_t branches, size_t letters, bool forward, element_text *out) {
    int status = letters ? 0 : put_integer(out, "", 0);
    for (size_t i = 0; i < letters && status == 0; i++) {
        int64_t branch = (int64_t)below(elements, branches) + 1;
        branch = !forward && below(elements, 2) ? -branch : branch;
        status = put_integer(out, i && branch > 0 ? "+" : "", branch);
    }
    return status;
}

static int put_coordinate(cli_elements *elements, cli_element_kind kind, locus_coordinate coordinate,
                          element_text *out) {
    if (coordinate.kind == LOCUS_COORDINATE_AXIS)
        return put_integer(out, "", draw_integer(elements, kind));
    if (coordinate.kind == LOCUS_COORDINATE_CYCLE)
        return put_integer(out, "", (int64_t)below(elements, (uint64_t)coordinate.size));
    size_t most = kind == CLI_ELEMENT_SHORT && elements->depth > SHORT_STEPS ? SHORT_STEPS : elements->depth;
    return put_word(elements, (uint64_t)coordinate.size, (size_t)below(elements, most + 1), elements->forward, out);
}

static int put_mark(element_text *out, const char *mark) {
    int status = reserve(out, strlen(mark));
    if (status == 0) {
        memcpy(out->text + out->length, mark, strlen(mark) + 1);
        out->length += strlen(mark);
    }
    return status;
}

static int parse(const cli_elements *elements, element_text *text, int status, locus_path **path) {
    locus_error error = {.offset = -1};
    if (status == 0 && locus_path_parse(elements->group, text->text, path, &error) != LOCUS_OK)
        status = cli_error(&error);
    free(text->text);
    return status ? 1 : 0;
}

int cli_element_draw(cli_elements *elements, cli_element_kind kind, locus_path **path) {
    element_text text = {0};
    size_t count = locus_group_coordinates(elements->group);
    int status = put_mark(&text, count > 1 ? "(" : "");
    for (size_t i = 0; i < count && status == 0; i++) {
        status = put_mark(&text, i ? "," : "");
        status = status ? status : put_coordinate(elements, kind, locus_group_coordinate(elements->group, i), &text);
    }
    status = status ? status : put_mark(&text, count > 1 ? ")" : "");
    return parse(elements, &text, status, path);
}

/* The part of one coordinate that a gets and the part that b gets, drawn anew for each coordinate: paths on a grid are
 * not on one line. */
static int put_far(cli_elements *elements, int64_t steps, size_t letters, locus_coordinate coordinate,
                   element_text *texts) {
    const uint64_t part = below(elements, (uint64_t)steps + 1);
    const size_t word = (size_t)((double)letters * (double)part / (double)steps);
    int status = 0;
    for (size_t i = 0; i < 2 && status == 0; i++)
        if (coordinate.kind == LOCUS_COORDINATE_TREE)
            status = put_word(elements, (uint64_t)coordinate.size, i ? letters - word : word, true, &texts[i]);
        else if (coordinate.kind == LOCUS_COORDINATE_CYCLE)
            status = put_integer(&texts[i], "", (int64_t)below(elements, (uint64_t)coordinate.size));
        else
            status = put_integer(&texts[i], "", i ? steps - (int64_t)part : (int64_t)part);
    return status;
}

static int put_marks(element_text *texts, const char *mark) {
    int status = put_mark(&texts[0], mark);
    return status ? status : put_mark(&texts[1], mark);
}

int cli_element_far(cli_elements *elements, int64_t steps, size_t letters, locus_path **a, locus_path **b) {
    element_text texts[2] = {{0}, {0}};
    size_t count = locus_group_coordinates(elements->group);
    int status = put_marks(texts, count > 1 ? "(" : "");
    for (size_t i = 0; i < count && status == 0; i++) {
        status = put_marks(texts, i ? "," : "");
        status = status ? status : put_far(elements, steps, letters, locus_group_coordinate(elements->group, i), texts);
    }
    status = status ? status : put_marks(texts, count > 1 ? ")" : "");
    status = parse(elements, &texts[0], status, a);
    return parse(elements, &texts[1], status, b);
}

/* ---- lists ---- */

int cli_paths_open(cli_paths *paths, size_t count) {
    *paths = (cli_paths){calloc(count + 1, sizeof(locus_path *)), count};
    return paths->items ? 0 : cli_failure("out of memory for %zu paths", count);
}

void cli_paths_close(cli_paths *paths) {
    for (size_t i = 0; paths->items && i < paths->count; i++)
        locus_path_destroy(&paths->items[i]);
    free(paths->items);
    *paths = (cli_paths){0};
}

locus_status cli_paths_positions(const cli_paths *paths, const locus_group *group, size_t repeat, bool apart,
                                 locus_positions **positions, locus_error *error) {
    const size_t tokens = paths->count * repeat, sequences = apart ? tokens : 1;
    const locus_path **each = calloc(tokens + 1, sizeof *each);
    size_t *offsets = calloc(sequences + 1, sizeof *offsets);
    locus_status status = LOCUS_ERROR_MEMORY;
    if (each && offsets) {
        for (size_t i = 0; i < tokens; i++)
            each[i] = paths->items[i / repeat];
        for (size_t i = 0; i <= sequences; i++)
            offsets[i] = apart ? i : i * tokens;
        const locus_packing packing = {.size = sizeof packing, .sequences = sequences, .offsets = offsets};
        status = locus_positions_create_paths(positions, group, &packing, each, error);
    } else {
        *error = (locus_error){.status = status, .offset = -1, .message = "out of memory for positions"};
    }
    free(each);
    free(offsets);
    return status;
}
