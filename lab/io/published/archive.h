/* SPDX-License-Identifier: MIT */
/* Regular files of a tar archive, plain or compressed (gzip, xz, bzip2, zstd), one after the other, without unpacking
 * it to the disk. Directories, links and devices are passed over. */
#ifndef LAB_ARCHIVE_H
#define LAB_ARCHIVE_H

#include <locus/status.h>
#include <stddef.h>

typedef struct lab_archive lab_archive; /* opaque; one thread at a time */

typedef struct lab_member {
    const char *name; /* the last part of its path: where the archive wants it does not matter; NULL: no more files.
                         Borrowed until the next call */
    size_t bytes;
} lab_member;

/* IO, naming the file, where it cannot be read or is no such archive. */
locus_status lab_archive_open(lab_archive **archive, const char *path, locus_error *error);
locus_status lab_archive_next(lab_archive *archive, lab_member *member, locus_error *error);
/* Exactly `bytes` of the file that `next` came to; IO if the archive is cut or damaged there. */
locus_status lab_archive_read(lab_archive *archive, void *target, size_t bytes, locus_error *error);
void lab_archive_close(lab_archive **archive); /* accepts NULL; nulls the pointer */

#endif
