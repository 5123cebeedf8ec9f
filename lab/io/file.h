/* SPDX-License-Identifier: MIT */
/* Files that are either whole or not there: written under a temporary name in the same folder, synced, renamed. */
#ifndef LAB_FILE_H
#define LAB_FILE_H

#include "io/folder.h"
#include <locus/status.h>
#include <stdbool.h>
#include <stdio.h>

/* A file being written. What is written to `stream` appears under `path` when, and only if, it is committed; write
 * errors may be ignored until then. What killed processes left of the same path is removed (temporary.h). A path that
 * names a device or a pipe (/dev/stdout) is written directly. */
typedef struct lab_output {
    FILE *stream;
    char *path, *temporary;
} lab_output;

locus_status lab_output_open(lab_output *output, const char *path, locus_error *error);
/* Flush, sync, rename, sync the folder. On failure (a full disk) nothing is left, and what stood at `path` is
 * untouched. */
locus_status lab_output_commit(lab_output *output, locus_error *error);
void lab_output_discard(lab_output *output); /* after a failure; safe after commit */

/* A whole file of so many bytes. */
locus_status lab_file_write(const char *path, const char *data, size_t bytes, locus_error *error);

/* A file being read from its beginning. `bytes_left` is what a regular file still has, else SIZE_MAX. */
typedef struct lab_input {
    FILE *stream;
    const char *path; /* the caller's */
    size_t bytes_left;
} lab_input;

locus_status lab_input_open(lab_input *input, const char *path, locus_error *error);
/* Reads exactly `bytes`; otherwise IO: "is cut" if the file ends too early. */
locus_status lab_input_read(lab_input *input, void *target, size_t bytes, locus_error *error);
/* What is left (NUL appended, not counted). *data from malloc. */
locus_status lab_input_read_all(lab_input *input, char **data, size_t *bytes, locus_error *error);
bool lab_input_at_end(lab_input *input);
void lab_input_close(lab_input *input); /* safe after a failed open */

/* *exists: whether something that is no folder lies at `path`; IO where that cannot be told. */
locus_status lab_file_exists(const char *path, bool *exists, locus_error *error);

/* Reads a whole file (NUL appended, not counted). *data from malloc. */
locus_status lab_file_read(const char *path, char **data, size_t *bytes, locus_error *error);

#endif
