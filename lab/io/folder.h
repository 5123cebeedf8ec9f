/* SPDX-License-Identifier: MIT */
/* Folders by their paths, what names end in, and what kind of file system a path lies on. */
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

/* The name of the file system that several hosts share ("NFS", "Lustre", "GPFS", "SMB") and that `path` lies on, or the
 * nearest of its folders that is there. NULL: it is none of these, or the system does not say. */
const char *lab_file_system_shared(const char *path);

#endif
