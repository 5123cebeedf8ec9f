/* SPDX-License-Identifier: MIT */
/* Archives through libarchive, which is loaded when there is one. Only formats that it reads itself are switched on:
 * others would start programs. */
#include "io/published/archive.h"

#include "io/fail.h"
#include "io/published/late_library.h"
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define READ_BLOCK ((size_t)1 << 18)

#define FUNCTIONS(each) \
    each(archive_entry_filetype) each(archive_entry_hardlink) each(archive_entry_pathname) each(archive_entry_size) \
        each(archive_entry_size_is_set) each(archive_errno) each(archive_error_string) each(archive_read_data) \
            each(archive_read_free) each(archive_read_new) each(archive_read_next_header) \
                each(archive_read_open_filename) each(archive_read_support_filter_bzip2) \
                    each(archive_read_support_filter_gzip) each(archive_read_support_filter_xz) \
                        each(archive_read_support_filter_zstd) each(archive_read_support_format_tar)

static LAB_LATE_FUNCTIONS(FUNCTIONS) libarchive;

struct lab_archive {
    struct archive *reader;
    char *path;
    char *name; /* of the member */
};

static locus_status fail_reader(lab_archive *archive, locus_error *error) {
    const char *reason = libarchive.archive_error_string(archive->reader);
    if (libarchive.archive_errno(archive->reader) == ENOMEM)
        return lab_fail_memory(error, "an archive");
    if (libarchive.archive_errno(archive->reader) == EACCES)
        return lab_fail_system(error, "read", archive->path, EACCES);
    return lab_fail_file(error, archive->path, "is cut, damaged or no tar archive (%s)",
                         reason != NULL ? reason : "no reason is known");
}

/* libarchive opens folders and says nothing useful about what it cannot open. */
static locus_status check_file(const char *path, locus_error *error) {
    struct stat facts;
    if (stat(path, &facts) != 0)
        return lab_fail_system(error, "read", path, errno);
    return S_ISDIR(facts.st_mode) ? lab_fail_system(error, "read", path, EISDIR) : LOCUS_OK;
}

static bool switch_on(struct archive *reader) {
    return libarchive.archive_read_support_filter_gzip(reader) >= ARCHIVE_WARN &&
           libarchive.archive_read_support_filter_xz(reader) >= ARCHIVE_WARN &&
           libarchive.archive_read_support_filter_bzip2(reader) >= ARCHIVE_WARN &&
           libarchive.archive_read_support_filter_zstd(reader) >= ARCHIVE_WARN &&
           libarchive.archive_read_support_format_tar(reader) >= ARCHIVE_WARN;
}

locus_status lab_archive_open(lab_archive **archive, const char *path, locus_error *error) {
    *archive = NULL;
    locus_status status = check_file(path, error);
    if (status == LOCUS_OK)
        status = LAB_LATE_LOAD(LAB_ARCHIVE_FILE, FUNCTIONS, &libarchive, error);
    if (status != LOCUS_OK)
        return status;
    lab_archive *made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->reader = libarchive.archive_read_new();
        made->path = strdup(path);
    }
    if (made == NULL || made->reader == NULL || made->path == NULL || !switch_on(made->reader))
        status = lab_fail_memory(error, "an archive");
    else if (libarchive.archive_read_open_filename(made->reader, path, READ_BLOCK) != ARCHIVE_OK)
        status = fail_reader(made, error);
    if (status != LOCUS_OK)
        lab_archive_close(&made);
    *archive = made;
    return status;
}

/* Keeps the last part of the path; an entry whose path cannot be told has none. */
static locus_status take_name(lab_archive *archive, struct archive_entry *entry, locus_error *error) {
    const char *path = libarchive.archive_entry_pathname(entry);
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    free(archive->name);
    archive->name = strdup(slash != NULL ? slash + 1 : path != NULL ? path : "");
    return archive->name != NULL ? LOCUS_OK : lab_fail_memory(error, "a file name");
}

locus_status lab_archive_next(lab_archive *archive, lab_member *member, locus_error *error) {
    struct archive_entry *entry;
    *member = (lab_member){NULL, 0};
    for (;;) {
        int result = libarchive.archive_read_next_header(archive->reader, &entry);
        if (result == ARCHIVE_EOF)
            return LOCUS_OK;
        if (result < ARCHIVE_WARN)
            return fail_reader(archive, error);
        if (libarchive.archive_entry_filetype(entry) == AE_IFREG && libarchive.archive_entry_hardlink(entry) == NULL &&
            libarchive.archive_entry_size_is_set(entry) && libarchive.archive_entry_size(entry) >= 0) {
            member->bytes = (size_t)libarchive.archive_entry_size(entry);
            locus_status status = take_name(archive, entry, error);
            member->name = archive->name;
            return status;
        }
    }
}

locus_status lab_archive_read(lab_archive *archive, void *target, size_t bytes, locus_error *error) {
    const la_ssize_t got =
        libarchive.archive_read_data(archive->reader, target, bytes); /* less at the file's end only */
    if (got < 0)
        return fail_reader(archive, error);
    return (size_t)got == bytes ? LOCUS_OK
                                : lab_fail_file(error, archive->path, "is cut: %zu bytes of %s are missing at least",
                                                bytes - (size_t)got, archive->name != NULL ? archive->name : "a file");
}

void lab_archive_close(lab_archive **archive) {
    if (archive == NULL || *archive == NULL)
        return;
    if ((*archive)->reader != NULL)
        libarchive.archive_read_free((*archive)->reader);
    free((*archive)->path);
    free((*archive)->name);
    free(*archive);
    *archive = NULL;
}
