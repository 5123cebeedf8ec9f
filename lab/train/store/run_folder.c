/* SPDX-License-Identifier: MIT */
#include "train/store/run_folder.h"

#include "io/fail.h"
#include "io/printable.h"
#include "io/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_NAME = 200, TOKENIZER = 5 };
/* What scoring needs of the data comes first: a tokenizer's files, a vocabulary. */
static const char *const files[] = {"tokenizer.model", "tokenizer.vocab",  "vocab.txt",        "tokenizer_config.json",
                                    "vocabulary.json", "last.safetensors", "best.safetensors", "lock"};
enum { FILES = sizeof files / sizeof *files };

/* ---- names ---- */

bool lab_run_name_fits(const char *name) {
    const size_t length = strnlen(name, MOST_NAME + 1);
    bool fits = length > 0 && length <= MOST_NAME && name[0] != '.';
    for (size_t at = 0; fits && at < length;) {
        fits = name[at] != '/';
        bool shown;
        at += lab_printable_at(name + at, length - at, &shown);
        fits = fits && shown;
    }
    return fits;
}

locus_status lab_run_name_check(const char *name, locus_error *error) {
    return lab_run_name_fits(name)
               ? LOCUS_OK
               : lab_fail(error, LOCUS_ERROR_ARGUMENT, "name",
                          "the name '%.60s' is no file name: use letters, digits, dots and dashes", name);
}

char *lab_run_path(const char *folder, const char *name, const char *file) {
    const size_t size = strlen(folder) + strlen(name) + (file == NULL ? 0 : strlen(file)) + 3;
    char *path = malloc(size);
    if (path != NULL)
        snprintf(path, size, "%s/%s%s%s", folder, name, file == NULL ? "" : "/", file == NULL ? "" : file);
    return path;
}

/* ---- files ---- */

bool lab_run_has_folder(const char *folder, const char *name) {
    struct stat facts;
    char *path = lab_run_name_fits(name) ? lab_run_path(folder, name, NULL) : NULL;
    const bool own = path != NULL && lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
    free(path);
    return own;
}

locus_status lab_run_move(const char *folder, const char *from, const char *to, locus_error *error) {
    struct stat facts;
    if (!lab_run_has_folder(folder, from))
        return LOCUS_OK;
    char *old = lab_run_path(folder, from, NULL), *new = lab_run_path(folder, to, NULL);
    locus_status status = LOCUS_OK;
    if (old == NULL || new == NULL)
        status = lab_fail_memory(error, "a path");
    else if (lstat(new, &facts) == 0)
        status = lab_fail(error, LOCUS_ERROR_ARGUMENT, "name", "'%s' is there already: choose another name", new);
    else if (rename(old, new) != 0)
        status = lab_fail_system(error, "rename", old, errno);
    free(old);
    free(new);
    return status;
}

static void clean_file(const char *folder, const char *name, const char *file, bool whole) {
    char *path = lab_run_path(folder, name, file);
    if (path != NULL && whole)
        unlink(path);
    if (path != NULL)
        lab_temporary_clean(path);
    free(path);
}

void lab_run_remove_tokenizer(const char *folder, const char *name) {
    for (size_t i = 0; i < TOKENIZER && lab_run_has_folder(folder, name); i++)
        clean_file(folder, name, files[i], true);
}

void lab_run_clean(const char *folder, const char *name) {
    for (size_t i = 0; i < FILES && lab_run_has_folder(folder, name); i++)
        clean_file(folder, name, files[i], false);
}

void lab_run_remove(const char *folder, const char *name) {
    if (!lab_run_has_folder(folder, name))
        return;
    for (size_t i = 0; i < FILES; i++)
        clean_file(folder, name, files[i], true);
    char *path = lab_run_path(folder, name, NULL);
    if (path != NULL)
        rmdir(path);
    free(path);
}

locus_status lab_run_lock(const char *path, int *descriptor, locus_error *error) {
    *descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (*descriptor < 0)
        return lab_fail_system(error, "write", path, errno);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(*descriptor, F_SETLK, &lock) == 0)
        return LOCUS_OK;
    struct flock holder = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    bool known = fcntl(*descriptor, F_GETLK, &holder) == 0 && holder.l_type != F_UNLCK;
    close(*descriptor);
    *descriptor = -1;
    return lab_fail(error, LOCUS_ERROR_IO, "name", "process %ld is training this run already (lock '%s')",
                    known ? (long)holder.l_pid : 0L, path);
}
