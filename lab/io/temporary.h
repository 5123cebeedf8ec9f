/* SPDX-License-Identifier: MIT */
/* Names under which files are written until they are whole: beside the file, ".<name>.tmp-<16 hexadecimal digits>",
 * of a long name its beginning. The digits are random, so that no two processes share a name, on whatever hosts they
 * run. A temporary is locked (flock) while somebody writes it: the system drops the lock of a process that was killed,
 * and what is not locked can be removed. Where a file system has no locks, nothing is removed that somebody may
 * write. */
#ifndef LAB_TEMPORARY_H
#define LAB_TEMPORARY_H

#include <stddef.h>

/* Makes a new file that is to become `path` and locks it as long as its descriptor is open. *name from malloc; its
 * descriptor, or -1 with errno: *name is NULL then. */
int lab_temporary_create(const char *path, char **name);

/* Removes what killed processes left behind when they wrote `path`. */
void lab_temporary_clean(const char *path);

/* The same for a folder of files that are to be moved: makes <start>.tmp-<digits> and locks it as long as its
 * descriptor is open. *name from malloc; the descriptor, or -1 with errno: *name is NULL then. */
int lab_temporary_folder(const char *start, char **name);
int lab_temporary_private_folder(const char *start, char **name); /* that nobody else may look into */

/* The files that such a folder may hold: the names that `name` gives for 0, 1, … until NULL, and their temporaries. */
typedef struct lab_temporary_content {
    const char *(*name)(const void *of, size_t index);
    const void *of;
} lab_temporary_content;
/* Removes these files of a folder (NULL: all), and the folder if nothing else is in it. Links are not followed. */
void lab_temporary_remove(const char *folder, const lab_temporary_content *content);
/* Removes so the folders <start>.tmp-<digits> that killed processes left in `parent`; where all files go, those of this
 * user alone. */
void lab_temporary_sweep(const char *parent, const char *start, const lab_temporary_content *content);

#endif
