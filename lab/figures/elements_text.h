/* SPDX-License-Identifier: MIT */
/* A path taken apart, coordinate by coordinate, from its text: what figures need to know of a position. */
#ifndef LAB_ELEMENTS_TEXT_H
#define LAB_ELEMENTS_TEXT_H

#include <locus/path.h>

#define LAB_COORDINATES_MAX 4 /* that a figure can show */

typedef struct lab_part {
    int64_t value;         /* axes and cycles */
    size_t first, letters; /* trees: the word */
} lab_part;

typedef struct lab_element {
    size_t count; /* coordinates */
    lab_part parts[LAB_COORDINATES_MAX];
    int64_t *letters; /* of all words; owned */
} lab_element;

/* UNSUPPORTED for a group of more coordinates. */
locus_status lab_element_read(lab_element *element, const locus_path *path, locus_error *error);
void lab_element_free(lab_element *element);

/* The text of a path, from malloc; NULL: out of memory. */
char *lab_path_text(const locus_path *path);

#endif
