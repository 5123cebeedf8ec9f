/* SPDX-License-Identifier: MIT */
/* Fetches a published set: download to <to>.part, check, unpack, and only then remove the .part.
 *
 *   .part from before ─→ download the rest ─→ right? ─→ unpack ─→ done
 *                              ↑                │ no, and it was a continuation
 *                              └── from nothing ┘
 *
 * The public archive is checked by its sum. Another one (a mirror's, compressed otherwise) by the sums of its files. */
#include "io/published/published_set.h"

#include "io/digest.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/published/download.h"
#include "io/text_stream.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK ((size_t)1 << 16)

static locus_status sum_file(const char *path, lab_digest *digest, const lab_watch *watch, locus_error *error) {
    lab_input input;
    unsigned char block[BLOCK];
    locus_status status = lab_input_open(&input, path, error);
    uint64_t total = status == LOCUS_OK ? input.bytes_left : 0, done = 0;
    for (size_t got = 1; status == LOCUS_OK && got > 0;) {
        got = fread(block, 1, sizeof block, input.stream);
        lab_digest_add(digest, block, got);
        done += got;
        if (ferror(input.stream))
            status = lab_fail_system(error, "read", path, errno);
        else if (!lab_watch_tell(watch, "checking", done, total))
            status = lab_fail(error, LOCUS_ERROR_INTERRUPTED, NULL, "stopped; '%s' keeps what has come", path);
    }
    lab_input_close(&input);
    return status;
}

/* *right: the file has the archive's published sum; else `error` says what it has. */
static locus_status check_archive(const lab_published_set *set, const char *path, const lab_watch *watch, bool *right,
                                  locus_error *error) {
    char sum[LAB_DIGEST_TEXT];
    lab_digest digest = lab_digest_begin(LAB_DIGEST_MD5);
    locus_status status = sum_file(path, &digest, watch, error);
    if (status == LOCUS_OK)
        status = lab_digest_close(&digest, sum, error);
    lab_digest_discard(&digest);
    *right = status == LOCUS_OK && strcmp(sum, set->archive_md5) == 0;
    if (status == LOCUS_OK && !*right)
        lab_fail(error, LOCUS_ERROR_IO, NULL, "its MD5 is %s, and %s as published", sum, set->archive_md5);
    return status;
}

/* *right: the archive's files have their published sums; else `error` says which has not. */
static locus_status check_content(const lab_published_set *set, const char *path, const lab_watch *watch, bool *right,
                                  locus_error *error) {
    locus_status status = lab_published_check(set, path, watch, error);
    *right = status == LOCUS_OK;
    return status == LOCUS_ERROR_IO ? LOCUS_OK : status;
}

static bool is_public_archive(const lab_published_set *set, const char *url) {
    const char *slash = strrchr(url, '/');
    return slash != NULL && strcmp(slash + 1, set->archive) == 0;
}

static bool has_bytes(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && facts.st_size > 0;
}

/* Downloads until the file is right, at most twice; what is wrong does not stay. */
static locus_status get_archive(const lab_published_set *set, const char *url, const char *part, const lab_watch *watch,
                                locus_error *error) {
    for (;;) {
        locus_error wrong = {.status = LOCUS_OK};
        bool continued = has_bytes(part), right;
        locus_status status = lab_download(url, part, watch, error);
        if (status != LOCUS_OK) {
            if (!has_bytes(part))
                unlink(part);
            return status;
        }
        status = is_public_archive(set, url) ? check_archive(set, part, watch, &right, &wrong)
                                             : check_content(set, part, watch, &right, &wrong);
        if (status != LOCUS_OK || right)
            return status == LOCUS_OK ? LOCUS_OK : lab_fail(error, status, NULL, "%s", wrong.message);
        if (unlink(part) != 0)
            return lab_fail_system(error, "remove", part, errno);
        if (!continued) {
            return lab_fail(error, LOCUS_ERROR_IO, "url", "what came from %s is not %s and was thrown away: %s", url,
                            set->name, wrong.message);
        }
    }
}

/* Folders above `to`. */
static locus_status create_parents(const char *to, locus_error *error) {
    char *parent = lab_folder_of(to);
    const locus_status status =
        parent != NULL ? lab_directory_create(parent, error) : lab_fail_memory(error, "a folder's name");
    free(parent);
    return status;
}

locus_status lab_published_fetch(const lab_published_set *set, const char *url, const char *to, const lab_watch *watch,
                                 locus_error *error) {
    char *part = lab_text_print("%s.part", to);
    if (part == NULL)
        return lab_fail_memory(error, "a file name");
    bool exists; /* what cannot be unpacked need not be downloaded */
    locus_status status = lab_published_check_target(to, &exists, error);
    if (status == LOCUS_OK)
        status = create_parents(to, error);
    if (status == LOCUS_OK)
        status = get_archive(set, url, part, watch, error);
    if (status == LOCUS_OK)
        status = lab_published_take(set, part, to, watch, error);
    if (status == LOCUS_OK)
        unlink(part);
    free(part);
    return status;
}
