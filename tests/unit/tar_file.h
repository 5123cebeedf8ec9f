/* SPDX-License-Identifier: MIT */
/* Tar archives for tests of what reads them. */
#ifndef TESTS_TAR_FILE_H
#define TESTS_TAR_FILE_H

#include <stddef.h>

typedef enum tar_filter { TAR_PLAIN = 0, TAR_GZIP = 1, TAR_XZ = 2 } tar_filter;

typedef struct tar_member {
    const char *name; /* its path inside; one that ends in '/' is a folder */
    const void *data;
    size_t bytes;
    const char *link; /* not NULL: a symbolic link to it */
} tar_member;

/* Fails the test if it cannot. */
void tar_write(const char *path, tar_filter filter, const tar_member *members, size_t count);

#endif
