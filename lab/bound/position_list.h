/* SPDX-License-Identifier: MIT */
/* Positions of any kind in a list, and what is packed of them. */
#ifndef LAB_POSITION_LIST_H
#define LAB_POSITION_LIST_H

#include <locus/positions.h>
#include <stdbool.h>

/* Integers or real numbers if they came as such, else paths: one of the three is not NULL, and owned. */
typedef struct lab_position_list {
    const locus_group *group; /* the caller's; NULL: seq */
    size_t count;
    int64_t *values;    /* [count, coordinates], from malloc */
    double *reals;      /* [count, coordinates], from malloc */
    locus_path **paths; /* [count], from malloc; each NULL or owned */
} lab_position_list;

/* A list of `count` paths, all NULL. MEMORY. Free it in either case. */
locus_status lab_path_list_open(lab_position_list *list, const locus_group *group, size_t count, locus_error *error);
/* The same with the positions of a list as its paths. */
locus_status lab_path_list_of(lab_position_list *paths, const lab_position_list *list, locus_error *error);
void lab_position_list_free(lab_position_list *list);

/* One sequence that fills a buffer; a sequence of one token for each position; as many of these, all of them at
 * position `index`. They fail as the library's constructors do, which see each position. */
locus_status lab_positions_one_sequence(locus_positions **positions, const lab_position_list *list, locus_error *error);
locus_status lab_positions_apart(locus_positions **positions, const lab_position_list *list, locus_error *error);
locus_status lab_positions_repeated(locus_positions **positions, const lab_position_list *list, size_t index,
                                    locus_error *error);
/* Each of `count` paths `repeat` times in a row; one sequence for each token if `apart`, else one for all. `group`
 * NULL: seq. */
locus_status lab_path_positions(const locus_path *const *paths, size_t count, const locus_group *group, size_t repeat,
                                bool apart, locus_positions **positions, locus_error *error);

#endif
