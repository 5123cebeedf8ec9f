/* SPDX-License-Identifier: MIT */
/* Folders by their paths, and what names end in. */
#ifndef LAB_FOLDER_H
#define LAB_FOLDER_H

#include <locus/status.h>
#include <stdbool.h>

/* The folder that a path lies in, "." if it names none; from malloc, NULL: out of memory. */
char *lab_folder_of(const char *path);

/* Whether a name ends so: ".npy". */
bool lab_name_ends(const char *name, const char *end);

/* With parents; one that is there is no failure. IO otherwise, MEMORY. */
locus_status lab_directory_create(const char *path, locus_error *error);

#endif
