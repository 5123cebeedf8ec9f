/* SPDX-License-Identifier: MIT */
/* Makes paths of names that have been checked; moves, cleans, copies and removes folders of runs. */
#include "train/store/run_folder.h"

#include "io/fail.h"
#include "io/file.h"
#include "io/printable.h"
#include "io/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_NAME = 200, TOKENIZER = 5 };
/* What scoring needs of the data comes first: a tokenizer's files, a vocabulary. */
static const char *const files[] = {
    "tokenizer.model", "tokenizer.vocab", "vocab.txt", "tokenizer_config.json", "vocabulary.json", LAB_RUN_LAST,
    LAB_RUN_BEST,      LAB_RUN_STATE,     "lock"};
enum { FILES = sizeof files / sizeof *files };

/* ---- names ---- */

bool lab_run_name_fits(const char *name) {
    const size_t length = strnlen(name, MOST_NAME + 1);
    return length > 0 && length <= MOST_NAME && name[0] != '.' && strchr(name, '/') == NULL && lab_is_printable(name);
}

locus_status lab_run_name_check(const char *name, locus_error *error) {
    return lab_run_name_fits(name) ? LOCUS_OK
                                   : lab_fail(error, LOCUS_ERROR_ARGUMENT, "name",
                                              "the name '%.60s' is no file name: " LAB_RUN_NAME_RULE, name);
}

static size_t print_path(char *path, size_t size, const char *folder, const char *name, const char *file) {
    return (size_t)snprintf(path, size, "%s/%s%s%s", folder, name, file == NULL ? "" : "/", file == NULL ? "" : file);
}

char *lab_run_path(const char *folder, const char *name, const char *file) {
    const size_t size = print_path(NULL, 0, folder, name, file) + 1;
    char *path = malloc(size);
    if (path != NULL)
        print_path(path, size, folder, name, file);
    return path;
}

/* ---- files ---- */

static bool is_folder(const char *path) {
    struct stat facts;
    return lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

/* As lab_run_path, without asking for memory. False: no file has so long a path. */
static bool put_path(char path[PATH_MAX], const char *folder, const char *name, const char *file) {
    return print_path(path, PATH_MAX, folder, name, file) < PATH_MAX;
}

bool lab_run_has_folder(const char *folder, const char *name) {
    char path[PATH_MAX];
    return lab_run_name_fits(name) && put_path(path, folder, name, NULL) && is_folder(path);
}

/* Without asking for memory: what was moved can be moved back where there is none. */
locus_status lab_run_move(const char *folder, const char *from, const char *to, locus_error *error) {
    char old[PATH_MAX], new[PATH_MAX];
    struct stat facts;
    if (!lab_run_name_fits(from))
        return LOCUS_OK;
    if (!put_path(old, folder, from, NULL))
        return LOCUS_OK;
    if (lstat(old, &facts) != 0)
        return errno == ENOENT || errno == ENOTDIR ? LOCUS_OK : lab_fail_system(error, "read", old, errno);
    if (!S_ISDIR(facts.st_mode))
        return LOCUS_OK;
    if (!put_path(new, folder, to, NULL))
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "name", "'%.60s' is too long for a path", to);
    if (lstat(new, &facts) == 0)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "name", "'%s' is there already: choose another name", new);
    return rename(old, new) == 0 ? LOCUS_OK : lab_fail_system(error, "rename", old, errno);
}

static void clean_file(const char *folder, const char *name, const char *file, bool whole) {
    char path[PATH_MAX];
    if (!put_path(path, folder, name, file))
        return;
    if (whole)
        unlink(path);
    lab_temporary_clean(path);
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
    char path[PATH_MAX];
    if (put_path(path, folder, name, NULL))
        rmdir(path);
}

void lab_run_remove_file(const char *folder, const char *name, const char *file) {
    if (lab_run_has_folder(folder, name))
        clean_file(folder, name, file, true);
}

/* ---- from one store to another ---- */

static locus_status copy_stream(lab_input *from, lab_output *to, locus_error *error) {
    enum { PIECE = 1 << 20 };
    char *piece = malloc(PIECE);
    locus_status status = piece != NULL ? LOCUS_OK : lab_fail_memory(error, "a copy of a file");
    for (size_t left = from->bytes_left; status == LOCUS_OK && left > 0;) {
        const size_t bytes = left < PIECE ? left : PIECE;
        status = lab_input_read(from, piece, bytes, error);
        if (status == LOCUS_OK && fwrite(piece, 1, bytes, to->stream) < bytes)
            break; /* the commit says why */
        left -= bytes;
    }
    free(piece);
    return status == LOCUS_OK ? lab_output_commit(to, error) : status;
}

static locus_status copy_file(const char *from, const char *to, locus_error *error) {
    lab_input input;
    lab_output output;
    locus_status status = lab_input_open(&input, from, error);
    if (status != LOCUS_OK)
        return status;
    status = lab_output_open(&output, to, error);
    status = status == LOCUS_OK ? copy_stream(&input, &output, error) : status;
    lab_output_discard(&output);
    lab_input_close(&input);
    return status;
}

/* Whether there is such a thing; what cannot be looked at is a failure, not missing. */
static locus_status look(const char *path, mode_t type, bool *there, locus_error *error) {
    struct stat facts;
    const int code = lstat(path, &facts) == 0 ? 0 : errno;
    *there = code == 0 && (facts.st_mode & (mode_t)S_IFMT) == type;
    return code == 0 || code == ENOENT || code == ENOTDIR ? LOCUS_OK : lab_fail_system(error, "read", path, code);
}

/* *there: the copy is there now, or was. */
static locus_status bring(const lab_run_copy *copy, const char *file, bool *there, locus_error *error) {
    char *from = lab_run_path(copy->from_folder, copy->from, file), *to = lab_run_path(copy->to_folder, copy->to, file);
    bool source = false;
    locus_status status = from != NULL && to != NULL ? LOCUS_OK : lab_fail_memory(error, "a path");
    *there = status == LOCUS_OK && access(to, F_OK) == 0;
    if (status == LOCUS_OK && (copy->anew || !*there))
        status = look(from, S_IFREG, &source, error);
    if (status == LOCUS_OK && source) {
        status = copy_file(from, to, error);
        *there = status == LOCUS_OK;
    }
    free(from);
    free(to);
    return status;
}

locus_status lab_run_copy_files(const lab_run_copy *copy, bool *whole, locus_error *error) {
    const char *needed = copy->finished ? LAB_RUN_BEST : LAB_RUN_LAST;
    char *from = lab_run_path(copy->from_folder, copy->from, NULL), *to = lab_run_path(copy->to_folder, copy->to, NULL);
    bool there = false;
    locus_status status =
        from == NULL || to == NULL ? lab_fail_memory(error, "a path") : look(from, S_IFDIR, &there, error);
    status = there ? lab_directory_create(to, error) : status;
    *whole = false;
    for (size_t i = 0; status == LOCUS_OK && there && i < FILES - 1; i++) { /* but for the lock */
        bool brought;
        if (copy->finished && strcmp(files[i], LAB_RUN_LAST) == 0)
            continue;
        status = bring(copy, files[i], &brought, error);
        *whole = *whole || (brought && strcmp(files[i], needed) == 0);
    }
    free(from);
    free(to);
    return status;
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

locus_status lab_run_hold(const char *folder, const char *name, int *descriptor, locus_error *error) {
    char *own = lab_run_path(folder, name, NULL), *lock = lab_run_path(folder, name, "lock");
    *descriptor = -1;
    const locus_status status = own == NULL || lock == NULL ? lab_fail_memory(error, "a path")
                                : is_folder(own)            ? lab_run_lock(lock, descriptor, error)
                                                            : LOCUS_OK;
    free(own);
    free(lock);
    return status;
}
