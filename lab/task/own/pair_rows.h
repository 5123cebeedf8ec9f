/* SPDX-License-Identifier: MIT */
/* The lines of files of pairs (pairs.h), as they stand there: ids or texts, and where they have paths the trees that
 * their tokens are nodes of. */
#ifndef LAB_PAIR_ROWS_H
#define LAB_PAIR_ROWS_H

#include "task/task.h"

enum { LAB_PAIR_INPUT = 0, LAB_PAIR_TARGET = 1 };

/* One side of a pair. */
typedef struct lab_pair_side {
    char *text; /* its bytes; of ids NULL */
    size_t bytes;
    int32_t *ids;                /* NULL: it is text */
    size_t count;                /* tokens */
    int32_t *parents, *branches; /* [count], as lab_tree_nodes has them; NULL: it is a sequence */
    unsigned orders;             /* of trees: those (1 << lab_order) in which their nodes stand */
} lab_pair_side;

typedef struct lab_pair_row {
    lab_pair_side sides[2];
    size_t line; /* in its file, from 1 */
    lab_set set;
    const char *path; /* the caller's */
} lab_pair_row;

/* {0} is empty. All rows are of one form: texts or ids, sequences or trees. */
typedef struct lab_pair_rows {
    lab_pair_row *rows;
    size_t count, room;
    bool ids, trees;
} lab_pair_rows;

/* Appends the rows of a file, texts cut as `kind` says, as rows of that set. IO, with the line: what is wrong with
 * it. */
locus_status lab_pair_rows_read(lab_pair_rows *rows, const char *path, lab_token_kind kind, lab_set set,
                                locus_error *error);
void lab_pair_rows_free(lab_pair_rows *rows);

#endif
