/* SPDX-License-Identifier: MIT */
/* Positions that are real numbers, on seq and grids: lists such as 0.5,1.25 or (0.5,1),(2,-3.75), and .npy files of
 * floating-point numbers, and text files with one position to a line. */
#ifndef CLI_POSITIONS_REALS_H
#define CLI_POSITIONS_REALS_H

#include "bound/position_list.h"
#include "io/array.h"
#include <stdbool.h>

/* A list rather than a file's name, and numbers with a point among them. */
bool cli_reals_are_meant(const char *text);

/* A text file's content that is to be read like that. */
bool cli_reals_are_lines(const char *data);

/* All fill list->reals and list->count; the list's group is set. 0, or the exit status after one line on standard
 * error. */
int cli_reals_read_list(lab_position_list *list, const char *option, const char *text);
/* Lines of a file, which are cut up in `data`. */
int cli_reals_read_lines(lab_position_list *list, const char *option, const char *path, char *data);
int cli_reals_read_npy(lab_position_list *list, const char *option, const char *path, const lab_array *array);

#endif
