/* SPDX-License-Identifier: MIT */
/* Checks the files of a published set, and copies them.
 *
 * Copies are made in a folder of their own beside the target, <to>.tmp-<digits> (temporary.h); when all are there and
 * right it takes the target's name. Where the target is a folder already (or a link to one, or a disk of its own) that
 * folder is made in it, .tmp-<digits>, and the files are moved out one by one. */
#include "io/published/published_set.h"

#include "io/digest.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/temporary.h"
#include "io/text_stream.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK ((size_t)1 << 20)

/* ---- checking and copying file by file ---- */

typedef struct file_job {
    const lab_published_set *set;
    const char *to; /* folder of the copies; NULL: files are only checked */
    const char *phase;
    const lab_watch *watch;
    uint64_t done, total;
    unsigned char *block;
} file_job;

static locus_status check_size(const lab_published_file *file, const lab_published_source *from, locus_error *error) {
    if (from->bytes == file->bytes)
        return LOCUS_OK;
    return lab_fail_file(error, from->path, "is %s: it has %zu bytes, and %zu as published",
                         from->bytes < file->bytes ? "truncated" : "altered", from->bytes, file->bytes);
}

/* Reads the file to its end, into the digest and, if there is one, the output. */
static locus_status pass_bytes(file_job *job, const lab_published_source *from, lab_digest *digest, FILE *output,
                               locus_error *error) {
    for (size_t left = from->bytes; left > 0;) {
        size_t now = left < BLOCK ? left : BLOCK;
        locus_status status = lab_published_read(from, job->block, now, error);
        if (status != LOCUS_OK)
            return status;
        lab_digest_add(digest, job->block, now);
        if (output != NULL && fwrite(job->block, 1, now, output) != now)
            return LOCUS_OK; /* the commit says why */
        left -= now;
        job->done += now;
        if (!lab_watch_tell(job->watch, job->phase, job->done, job->total))
            return lab_fail(error, LOCUS_ERROR_INTERRUPTED, NULL, "stopped while %s", job->phase);
    }
    return LOCUS_OK;
}

static locus_status check_sum(const lab_published_file *file, const lab_published_source *from, lab_digest *digest,
                              locus_error *error) {
    char sum[LAB_DIGEST_TEXT];
    locus_status status = lab_digest_close(digest, sum, error);
    if (status != LOCUS_OK || strcmp(sum, file->sha256) == 0)
        return status;
    return lab_fail_file(error, from->path, "is altered: its SHA-256 is %s, and %s as published", sum, file->sha256);
}

static locus_status check_file(file_job *job, const lab_published_file *file, const lab_published_source *from,
                               FILE *output, locus_error *error) {
    lab_digest digest = lab_digest_begin(LAB_DIGEST_SHA256);
    locus_status status = check_size(file, from, error);
    if (status == LOCUS_OK)
        status = pass_bytes(job, from, &digest, output, error);
    if (status == LOCUS_OK && (output == NULL || !ferror(output)))
        status = check_sum(file, from, &digest, error);
    lab_digest_discard(&digest);
    return status;
}

static locus_status copy_file(file_job *job, const lab_published_file *file, const lab_published_source *from,
                              locus_error *error) {
    lab_output output;
    char *path = lab_text_print("%s/%s", job->to, file->name);
    locus_status status = path != NULL ? lab_output_open(&output, path, error) : lab_fail_memory(error, "a file name");
    if (status == LOCUS_OK) {
        status = check_file(job, file, from, output.stream, error);
        if (status == LOCUS_OK)
            status = lab_output_commit(&output, error);
        lab_output_discard(&output);
    }
    free(path);
    return status;
}

static locus_status visit(void *context, size_t index, const lab_published_source *from, locus_error *error) {
    file_job *job = context;
    const lab_published_file *file = &job->set->files[index];
    return job->to != NULL ? copy_file(job, file, from, error) : check_file(job, file, from, NULL, error);
}

static locus_status run(file_job *job, const char *path, locus_error *error) {
    const lab_published_visitor visitor = {0, job->set->file_count, visit, job};
    for (size_t i = 0; i < job->set->file_count; i++)
        job->total += job->set->files[i].bytes;
    job->block = malloc(BLOCK);
    locus_status status = job->block != NULL ? lab_published_visit(job->set, path, &visitor, error)
                                             : lab_fail_memory(error, "a block of a file");
    free(job->block);
    return status;
}

locus_status lab_published_check(const lab_published_set *set, const char *path, const lab_watch *watch,
                                 locus_error *error) {
    file_job checking = {.set = set, .phase = "checking", .watch = watch};
    return run(&checking, path, error);
}

/* ---- folders of copies ---- */

static const char *file_name(const void *of, size_t index) {
    const lab_published_set *set = of;
    return index < set->file_count ? set->files[index].name : NULL;
}

/* Makes the folders above `to`, and removes what killed processes left there and in it. */
static locus_status clean(const lab_published_set *set, const char *to, locus_error *error) {
    const char *slash = strrchr(to, '/');
    char *parent = lab_folder_of(to);
    locus_status status =
        parent != NULL ? lab_directory_create(parent, error) : lab_fail_memory(error, "a folder's name");
    if (status == LOCUS_OK) {
        const lab_temporary_content copies = {file_name, set};
        lab_temporary_sweep(parent, slash != NULL ? slash + 1 : to, &copies);
        lab_temporary_sweep(to, "", &copies);
    }
    free(parent);
    return status;
}

static locus_status move_files(const lab_published_set *set, const char *from, const char *to, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; status == LOCUS_OK && i < set->file_count; i++) {
        char *old = lab_text_print("%s/%s", from, set->files[i].name);
        char *new = lab_text_print("%s/%s", to, set->files[i].name);
        if (old == NULL || new == NULL)
            status = lab_fail_memory(error, "a file name");
        else if (rename(old, new) != 0)
            status = lab_fail_system(error, "write", new, errno);
        free(old);
        free(new);
    }
    return status;
}

/* From where to where, by way of `folder`; `exists`: `to` is there. */
typedef struct way {
    const char *path, *folder, *to;
    bool exists;
} way;

/* `to` may have come into being meanwhile, by another process. */
static locus_status move_in(const lab_published_set *set, const way *by, locus_error *error) {
    if (!by->exists && rename(by->folder, by->to) == 0)
        return LOCUS_OK;
    return by->exists || errno == EEXIST || errno == ENOTEMPTY ? move_files(set, by->folder, by->to, error)
                                                               : lab_fail_system(error, "write", by->to, errno);
}

static locus_status take_by_way_of(const lab_published_set *set, const way *by, const lab_watch *watch,
                                   locus_error *error) {
    file_job copying = {.set = set, .to = by->folder, .phase = "unpacking", .watch = watch};
    locus_status status = run(&copying, by->path, error);
    if (status == LOCUS_OK)
        status = move_in(set, by, error);
    lab_temporary_remove(by->folder, &(lab_temporary_content){file_name, set});
    return status;
}

locus_status lab_published_check_target(const char *to, bool *exists, locus_error *error) {
    struct stat facts;
    *exists = stat(to, &facts) == 0;
    return *exists && !S_ISDIR(facts.st_mode) ? lab_fail_system(error, "write", to, ENOTDIR) : LOCUS_OK;
}

locus_status lab_published_take(const lab_published_set *set, const char *path, const char *to, const lab_watch *watch,
                                locus_error *error) {
    bool exists;
    locus_status status = lab_published_check_target(to, &exists, error);
    if (status == LOCUS_OK)
        status = clean(set, to, error);
    if (status != LOCUS_OK)
        return status;
    char *folder = NULL, *start = lab_text_print(exists ? "%s/" : "%s", to);
    const int held = start != NULL ? lab_temporary_folder(start, &folder) : -1;
    const int code = errno;
    if (held >= 0) {
        const way by = {path, folder, to, exists};
        status = take_by_way_of(set, &by, watch, error);
        close(held);
    } else {
        status = start != NULL ? lab_fail_system(error, "create the folder", to, code)
                               : lab_fail_memory(error, "a folder's name");
    }
    free(start);
    free(folder);
    return status;
}
