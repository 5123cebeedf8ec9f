/* SPDX-License-Identifier: MIT */
/* Programs of others, run without a shell in a temporary folder of their own. */
#ifndef LAB_CHILD_H
#define LAB_CHILD_H

#include <locus/status.h>
#include <stddef.h>

/* A folder below TMPDIR (/tmp), <TMPDIR>/locus-text.tmp-<digits> (io/temporary.h), that goes away with all files in it.
 * The next one that is opened removes those that killed processes of the same user left there. */
typedef struct lab_child_folder {
    char path[512]; /* "": none */
    int held;       /* its descriptor, locked */
} lab_child_folder;
locus_status lab_child_open(lab_child_folder *folder, locus_error *error);
void lab_child_close(lab_child_folder *folder); /* safe after a failed open */

/* Writes, or reads, a file of the folder. */
locus_status lab_child_write(const lab_child_folder *folder, const char *name, const char *data, size_t bytes,
                             locus_error *error);
locus_status lab_child_read(const lab_child_folder *folder, const char *name, char **data, size_t *bytes,
                            locus_error *error);

/* Runs words[0], found on the PATH, with nothing on its standard input and its outputs in a log of the folder, and
 * waits for it. `words` ends with NULL. `package` is what to install where it is not there (UNSUPPORTED). IO with
 * the line of the log that says most if it fails, INTERRUPTED if Ctrl-C or a polite kill ended it. */
locus_status lab_child_run(const lab_child_folder *folder, const char *const *words, const char *package,
                           locus_error *error);

#endif
