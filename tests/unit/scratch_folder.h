/* SPDX-License-Identifier: MIT */
/* A folder of its own for a test program that writes files. */
#ifndef TESTS_SCRATCH_FOLDER_H
#define TESTS_SCRATCH_FOLDER_H

#include <stddef.h>

/* Group set-up and tear-down for cmocka: makes the folder below TMPDIR, and removes it with all files in it. */
int scratch_create(void **state);
int scratch_remove(void **state);

/* Path of a file in the folder: static storage, good for the next seven calls. */
const char *scratch_path(const char *name);

/* Entries of the folder. */
size_t scratch_count(void);

void scratch_write(const char *name, const void *data, size_t bytes);

#endif
