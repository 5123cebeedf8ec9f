/* SPDX-License-Identifier: MIT */
/* The lines of files of labelled sequences (labelled.h). */
#ifndef LAB_LABELLED_ROWS_H
#define LAB_LABELLED_ROWS_H

#include "task/task.h"

typedef struct lab_labelled_row {
    char *text, *label; /* text: its bytes; of ids NULL */
    size_t bytes;
    int32_t *ids; /* NULL: it is text */
    size_t id_count;
    size_t line; /* in its file, from 1 */
    lab_set set;
    const char *path; /* the caller's */
} lab_labelled_row;

/* {0} is empty. All rows are texts, or all are ids. */
typedef struct lab_labelled_rows {
    lab_labelled_row *rows;
    size_t count, room;
    bool ids;
} lab_labelled_rows;

/* Appends the rows of a file, as rows of that set. IO, with the line: what is wrong with it. */
locus_status lab_labelled_rows_read(lab_labelled_rows *rows, const char *path, lab_set set, locus_error *error);
void lab_labelled_rows_free(lab_labelled_rows *rows);

#endif
