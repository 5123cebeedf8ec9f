/* SPDX-License-Identifier: MIT */
/* The inside of a path: one part for each coordinate, and the letters of all its words behind one another.
 *
 *   tree:2 * seq * tree:3 at (1-2,7,3):   parts   { value 2, start 0 } { value 7 } { value 1, start 2 }
 *                                         letters | 1 −2 | 3 |                                          */
#ifndef LOCUS_PATH_ACCESS_H
#define LOCUS_PATH_ACCESS_H

#include <locus/path.h>

typedef struct locus_path_part {
    int64_t value; /* axes and cycles: the integer, on cycles 0 … n − 1; trees: the number of letters */
    size_t start;  /* trees: the first letter */
} locus_path_part;

struct locus_path {
    locus_group *group; /* a share */
    size_t bytes;
    locus_path_part *parts; /* [coordinates of the group] */
    int64_t *letters;       /* signed branches, no word has one next to its inverse */
};

/* Room for `parts` parts, all zero (the identity, if they are as many as the group has coordinates), and `letters`
 * letters, unset. */
locus_status locus_path_allocate(locus_path **path, const locus_group *group, size_t parts, size_t letters,
                                 locus_error *error);

/* value mod size, 0 … size − 1. */
int64_t locus_residue(int64_t value, int64_t size);

#endif
