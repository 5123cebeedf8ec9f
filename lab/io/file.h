/* SPDX-License-Identifier: MIT */
/* Files that are either whole or not there: written under a temporary name in the same folder, synced, renamed. */
#ifndef LAB_FILE_H
#define LAB_FILE_H

#include <locus/status.h>
#include <stdio.h>

typedef struct lab_output {
    FILE *stream;
    char *path, *temporary;
} lab_output;

locus_status lab_output_open(lab_output *output, const char *path, locus_error *error);
locus_status lab_output_commit(lab_output *output, locus_error *error); /* flush, sync, rename, sync the folder */
void lab_output_discard(lab_output *output);                           /* after a failure; safe after commit */

/* Reads a whole file (NUL appended, not counted). *data from malloc. */
locus_status lab_file_read(const char *path, char **data, size_t *bytes, locus_error *error);
locus_status lab_directory_create(const char *path, locus_error *error); /* with parents */

#endif
