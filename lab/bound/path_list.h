/* SPDX-License-Identifier: MIT */
/* Lists of paths that are destroyed together, and as packed positions. */
#ifndef LAB_PATH_LIST_H
#define LAB_PATH_LIST_H

#include <locus/positions.h>
#include <stdbool.h>

typedef struct lab_paths {
    locus_path **items; /* [count], each NULL or owned */
    size_t count;
} lab_paths;

/* All NULL. Close it in either case. */
locus_status lab_paths_open(lab_paths *paths, size_t count, locus_error *error);
void lab_paths_close(lab_paths *paths);

/* The positions of a list as paths of their own. Opens the paths. */
struct lab_position_list;
locus_status lab_paths_of(lab_paths *paths, const struct lab_position_list *list, locus_error *error);

/* Each path `repeat` times in a row; one sequence for each token if `apart`, else one for all. `group` NULL: seq. Fails
 * as locus_positions_create_paths does. */
locus_status lab_path_positions(const locus_path *const *paths, size_t count, const locus_group *group, size_t repeat,
                                bool apart, locus_positions **positions, locus_error *error);

#endif
