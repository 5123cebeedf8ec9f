/* SPDX-License-Identifier: MIT */
/* Names under which files are written until they are whole: beside the file, ".<name>.tmp-<16 hexadecimal digits>",
 * of a long name its beginning. The digits are random, so that no two processes share a name, on whatever hosts they
 * run. A temporary is locked (flock) while somebody writes it: the system drops the lock of a process that was killed,
 * and what is not locked can be removed. Where a file system has no locks, nothing is removed that somebody may
 * write. */
#ifndef LAB_TEMPORARY_H
#define LAB_TEMPORARY_H

#include <stdbool.h>

/* Makes a new file that is to become `path` and locks it as long as its descriptor is open. *name from malloc; its
 * descriptor, or -1 with errno: *name is NULL then. */
int lab_temporary_create(const char *path, char **name);

/* Removes what killed processes left behind when they wrote `path`. */
void lab_temporary_clean(const char *path);

/* The same for a folder of files that are to be moved: makes <start>.tmp-<digits> and locks it as long as its
 * descriptor is open. *name from malloc; the descriptor, or -1 with errno: *name is NULL then. */
int lab_temporary_folder(const char *start, char **name);
int lab_temporary_private_folder(const char *start, char **name); /* that nobody else may look into */
/* Whether an entry is called <start>.tmp-<digits>, and whether nobody holds what a descriptor is of: it is then locked
 * for the caller. */
bool lab_temporary_folder_named(const char *entry, const char *start);
bool lab_temporary_idle(int descriptor);

#endif
