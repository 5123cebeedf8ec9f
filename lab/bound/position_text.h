/* SPDX-License-Identifier: MIT */
/* Positions as one writes them, on the group of an encoding:
 *
 *   0:100        on seq and cycle: a range without its end, ends may be negative
 *   0,5,7        on every group: a list of paths, such as 1+2,-1 or (3,1),(3,2)
 *   0.5,1.25     on seq and grids: real numbers, at least one of them with a point; (0.5,1),(2,-3.75) on a grid. What
 *                is made of digits, signs, points and commas alone is a list, not a file's name: ./1.5 is one
 *   grid:4x6     on groups without trees: all positions of a box, row by row, one size for each coordinate
 *   P.npy        int32 or int64: [n] on seq and cycle, [n, coordinates] on their products, [n, depth] of branch
 *                indices from 0, padded with −1, on a tree; products with trees come as text. float16, float32 or
 *                float64 on seq [n] and grids [n, axes]: real numbers
 *   P            on every group: a text file with one path to a line */
#ifndef LAB_POSITION_TEXT_H
#define LAB_POSITION_TEXT_H

#include "bound/position_list.h"

/* Fills an empty list; `group` must outlive it. Messages begin with the name of the option that has the text. ARGUMENT,
 * or SPEC with its place: the text cannot be read. IO: something is wrong in a file. */
locus_status lab_position_list_parse(lab_position_list *list, const locus_group *group, const char *option,
                                     const char *text, locus_error *error);

#endif
