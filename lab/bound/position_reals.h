/* SPDX-License-Identifier: MIT */
/* Positions that are real numbers, on seq and grids: lists such as 0.5,1.25 or (0.5,1),(2,-3.75), and .npy files of
 * floating-point numbers, and text files with one position to a line. */
#ifndef LAB_POSITION_REALS_H
#define LAB_POSITION_REALS_H

#include "bound/position_list.h"
#include "io/array.h"
#include <stdbool.h>

/* What is being read, and from where. */
typedef struct lab_position_reader {
    lab_position_list *list; /* its group is set */
    const char *option, *text;
    size_t coordinates;
    bool trees;
    char group[64]; /* for messages */
    locus_error *error;
} lab_position_reader;

/* A list rather than a file's name, and numbers with a point among them. */
bool lab_reals_are_meant(const char *text);

/* A text file's content that is to be read like that. */
bool lab_reals_are_lines(const char *data);

/* All fill list->reals and list->count: of the argument's text, of a file's lines, which are cut up in `data`, or of an
 * array. */
locus_status lab_reals_list(lab_position_reader *reader);
locus_status lab_reals_lines(lab_position_reader *reader, char *data);
locus_status lab_reals_npy(lab_position_reader *reader, const lab_array *array);

#endif
