/* SPDX-License-Identifier: MIT */
/* Elements are drawn as text and parsed, so that what a law is measured with is what a user could type. */
#include "check/elements.h"

#include "io/fail.h"
#include "io/text_stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SHORT_STEPS 6 /* steps of a short path in each coordinate, at most */

static uint64_t below(lab_elements *elements, uint64_t bound) {
    return locus_random_below(&elements->random, elements->next++, bound);
}

/* Every magnitude is as likely as another: an upper bound of 1, 10, 100 … first. */
static int64_t draw_integer(lab_elements *elements, lab_element_kind kind) {
    int64_t most = elements->reach < SHORT_STEPS ? elements->reach : SHORT_STEPS;
    for (uint64_t i = kind == LAB_ELEMENT_ANY ? below(elements, 7) : 0; i > 0 && most < elements->reach; i--)
        most = most > elements->reach / 10 ? elements->reach : 10 * most;
    int64_t value = (int64_t)below(elements, (uint64_t)most + 1);
    return !elements->forward && below(elements, 2) ? -value : value;
}

static void put_word(lab_elements *elements, uint64_t branches, size_t letters, bool forward, FILE *out) {
    fputs(letters ? "" : "0", out);
    for (size_t i = 0; i < letters; i++) {
        int64_t branch = (int64_t)below(elements, branches) + 1;
        branch = !forward && below(elements, 2) ? -branch : branch;
        fprintf(out, "%s%" PRId64, i && branch > 0 ? "+" : "", branch);
    }
}

static void put_coordinate(lab_elements *elements, lab_element_kind kind, locus_coordinate coordinate, FILE *out) {
    if (coordinate.kind == LOCUS_COORDINATE_AXIS) {
        fprintf(out, "%" PRId64, draw_integer(elements, kind));
    } else if (coordinate.kind == LOCUS_COORDINATE_CYCLE) {
        fprintf(out, "%" PRIu64, below(elements, (uint64_t)coordinate.size));
    } else {
        const size_t most = kind == LAB_ELEMENT_SHORT && elements->depth > SHORT_STEPS ? SHORT_STEPS : elements->depth;
        put_word(elements, (uint64_t)coordinate.size, (size_t)below(elements, most + 1), elements->forward, out);
    }
}

/* The part of one coordinate that each of two paths gets, drawn anew for each coordinate: paths on a grid are not on
 * one line. */
static void put_far(lab_elements *elements, int64_t steps, size_t letters, locus_coordinate coordinate, FILE **out) {
    const uint64_t part = below(elements, (uint64_t)steps + 1);
    const size_t word = (size_t)((double)letters * (double)part / (double)steps);
    for (size_t i = 0; i < 2; i++)
        if (coordinate.kind == LOCUS_COORDINATE_TREE)
            put_word(elements, (uint64_t)coordinate.size, i ? letters - word : word, true, out[i]);
        else if (coordinate.kind == LOCUS_COORDINATE_CYCLE)
            fprintf(out[i], "%" PRIu64, below(elements, (uint64_t)coordinate.size));
        else
            fprintf(out[i], "%" PRId64, i ? steps - (int64_t)part : (int64_t)part);
}

/* ---- text that grows, and what is read of it ---- */

typedef struct element_text {
    char *text;
    size_t bytes;
    FILE *stream;
} element_text;

static locus_status open_text(element_text *out, locus_error *error) {
    *out = (element_text){0};
    out->stream = lab_text_stream(&out->text, &out->bytes);
    return out->stream ? LOCUS_OK : lab_fail_memory(error, "a path's text");
}

/* A failure from before, `status`, is the one that is told. */
static locus_status parse(const lab_elements *elements, element_text *out, locus_status status, locus_path **path,
                          locus_error *error) {
    if (!lab_text_close(out->stream, &out->text) && status == LOCUS_OK)
        status = lab_fail_memory(error, "a path's text");
    if (status == LOCUS_OK)
        status = locus_path_parse(elements->group, out->text, path, error);
    free(out->text);
    return status;
}

/* "(", "," before coordinate `index`, or ")" behind the last one: nothing around a single coordinate. */
static const char *mark(size_t index, size_t count) {
    return count < 2 ? "" : index == 0 ? "(" : index == count ? ")" : ",";
}

locus_status lab_element_draw(lab_elements *elements, lab_element_kind kind, locus_path **path, locus_error *error) {
    const size_t count = locus_group_coordinates(elements->group);
    element_text out;
    const locus_status status = open_text(&out, error);
    for (size_t i = 0; i <= count && status == LOCUS_OK; i++) {
        fputs(mark(i, count), out.stream);
        if (i < count)
            put_coordinate(elements, kind, locus_group_coordinate(elements->group, i), out.stream);
    }
    return parse(elements, &out, status, path, error);
}

locus_status lab_element_far(lab_elements *elements, int64_t steps, size_t letters, locus_path *ends[2],
                             locus_error *error) {
    const size_t count = locus_group_coordinates(elements->group);
    element_text out[2];
    locus_status status = open_text(&out[0], error);
    const locus_status other = open_text(&out[1], error);
    status = status == LOCUS_OK ? other : status;
    FILE *streams[2] = {out[0].stream, out[1].stream};
    for (size_t i = 0; i <= count && status == LOCUS_OK; i++) {
        fputs(mark(i, count), streams[0]);
        fputs(mark(i, count), streams[1]);
        if (i < count)
            put_far(elements, steps, letters, locus_group_coordinate(elements->group, i), streams);
    }
    status = parse(elements, &out[0], status, &ends[0], error);
    return parse(elements, &out[1], status, &ends[1], error);
}
