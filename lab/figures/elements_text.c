/* SPDX-License-Identifier: MIT */
/* Reads the canonical text of a path: "3", "1+2-1", "(3,1+2)". */
#include "figures/elements_text.h"

#include "io/fail.h"

#include <stdlib.h>
#include <string.h>

char *lab_path_text(const locus_path *path) {
    size_t bytes = locus_path_text(path, NULL, 0) + 1;
    char *text = malloc(bytes);
    if (text)
        locus_path_text(path, text, bytes);
    return text;
}

void lab_element_free(lab_element *element) {
    free(element->letters);
    *element = (lab_element){0};
}

/* A word at `at`; "0" is the empty one. Returns what stands behind it. */
static const char *read_word(const char *at, lab_part *part, int64_t *letters) {
    while (*at && *at != ',' && *at != ')') {
        char *end;
        int64_t letter = strtoll(at, &end, 10);
        if (end == at)
            break;
        if (letter != 0)
            letters[part->first + part->letters++] = letter;
        at = end;
    }
    return at;
}

locus_status lab_element_read(lab_element *element, const locus_path *path, locus_error *error) {
    const locus_group *group = locus_path_group(path);
    *element = (lab_element){.count = locus_group_coordinates(group)};
    if (element->count > LAB_COORDINATES_MAX) {
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "group",
                        "a group of %zu coordinates cannot be drawn: at most %d can", element->count,
                        LAB_COORDINATES_MAX);
    }
    char *text = lab_path_text(path);
    element->letters = text ? calloc(strlen(text) + 1, sizeof *element->letters) : NULL;
    if (!element->letters) {
        free(text);
        return lab_fail_memory(error, "a path");
    }
    const char *at = text;
    size_t used = 0;
    for (size_t i = 0; i < element->count; i++) {
        lab_part *part = &element->parts[i];
        at += strspn(at, "(, ");
        part->first = used;
        if (locus_group_coordinate(group, i).kind == LOCUS_COORDINATE_TREE) {
            at = read_word(at, part, element->letters);
            used += part->letters;
        } else {
            char *end;
            part->value = strtoll(at, &end, 10);
            at = end;
        }
    }
    free(text);
    return LOCUS_OK;
}
