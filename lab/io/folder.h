/* SPDX-License-Identifier: MIT */
/* Folders by their paths. */
#ifndef LAB_FOLDER_H
#define LAB_FOLDER_H

#include <locus/status.h>

/* The folder that a path lies in, "." if it names none; from malloc, NULL: out of memory. */
char *lab_folder_of(const char *path);

/* With parents; one that is there is no failure. IO otherwise, MEMORY. */
locus_status lab_directory_create(const char *path, locus_error *error);

#endif
