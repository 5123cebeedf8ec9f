/* SPDX-License-Identifier: MIT */
/* See picture_folder.h. */
#include "task/images/picture_folder.h"

#include "io/fail.h"
#include "io/grow.h"
#include "io/text_stream.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- names of a folder ---- */

/* In the order of their bytes. */
typedef struct names {
    struct dirent **entries;
    int count;
} names;

static void names_free(names *of) {
    for (int i = 0; i < of->count; i++)
        free(of->entries[i]);
    free(of->entries);
}

static int by_bytes(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_shown(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static locus_status read_names(names *into, const char *path, locus_error *error) {
    *into = (names){0};
    const int count = scandir(path, &into->entries, is_shown, by_bytes);
    into->count = count > 0 ? count : 0;
    if (count >= 0)
        return LOCUS_OK;
    return errno == ENOMEM ? lab_fail_memory(error, "names of files") : lab_fail_system(error, "read", path, errno);
}

/* ---- files of a class ---- */

static void trace(lab_picture_files *files, const void *bytes, size_t count) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++)
        // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): bytes of a text or of integers
        files->trace = (files->trace ^ at[i]) * 0x100000001b3u;
}

/* Takes over `path`. */
static locus_status add_file(lab_picture_files *files, char *path, const struct stat *found, size_t class, lab_set set,
                             locus_error *error) {
    if (!LAB_GROW(files->files, files->count, files->room, 256)) {
        free(path);
        return lab_fail_memory(error, "names of files");
    }
    files->files[files->count++] = (lab_picture_file){path, class, set};
    const uint64_t facts[] = {(uint64_t)found->st_size, (uint64_t)found->st_ino, (uint64_t)found->st_mtim.tv_sec,
                              (uint64_t)found->st_mtim.tv_nsec, (uint64_t)set};
    trace(files, path, strlen(path) + 1);
    trace(files, facts, sizeof facts);
    return LOCUS_OK;
}

static locus_status read_class(lab_picture_files *files, const char *folder, size_t class, lab_set set,
                               locus_error *error) {
    names within;
    locus_status status = read_names(&within, folder, error);
    for (int i = 0; status == LOCUS_OK && i < within.count; i++) {
        struct stat found;
        char *path = lab_text_print("%s/%s", folder, within.entries[i]->d_name);
        if (path == NULL)
            status = lab_fail_memory(error, "names of files");
        else if (stat(path, &found) != 0)
            status = lab_fail_system(error, "read", path, errno);
        else if (!S_ISREG(found.st_mode))
            status = lab_fail_file(error, path, "is no file: the folder of a class holds pictures alone");
        else {
            status = add_file(files, path, &found, class, set, error);
            path = NULL;
        }
        free(path);
    }
    if (status == LOCUS_OK && within.count == 0)
        status = lab_fail_file(error, folder, "has no picture in it");
    names_free(&within);
    return status;
}

/* ---- classes ---- */

/* Its number; `learns`: a new one gets the next. SIZE_MAX: there is none. */
static locus_status class_of(lab_word_index *classes, bool learns, const char *folder, const char *name, size_t *class,
                             locus_error *error) {
    *class = lab_word_find(classes, name, strlen(name));
    if (*class != SIZE_MAX)
        return LOCUS_OK;
    if (!learns)
        return lab_fail(error, LOCUS_ERROR_IO, "data", "'%s/%s': the training set has no class '%s'", folder, name,
                        name);
    if (classes->count == LAB_PICTURE_MOST_CLASSES)
        return lab_fail_file(error, folder, "has more than %d folders of classes", LAB_PICTURE_MOST_CLASSES);
    *class = lab_word_add(classes, name, strlen(name));
    return *class == SIZE_MAX ? lab_fail_memory(error, "names of classes") : LOCUS_OK;
}

static locus_status read_entry(lab_picture_files *files, lab_word_index *classes, bool learns, const char *folder,
                               const char *name, lab_set set, locus_error *error) {
    struct stat found;
    size_t class;
    locus_status status = LOCUS_OK;
    char *path = lab_text_print("%s/%s", folder, name);
    if (path == NULL)
        return lab_fail_memory(error, "names of files");
    if (stat(path, &found) != 0)
        status = lab_fail_system(error, "read", path, errno);
    else if (S_ISDIR(found.st_mode)) {
        status = class_of(classes, learns, folder, name, &class, error);
        status = status == LOCUS_OK ? read_class(files, path, class, set, error) : status;
    }
    free(path);
    return status;
}

locus_status lab_picture_files_read(lab_picture_files *files, lab_word_index *classes, const char *folder, lab_set set,
                                    locus_error *error) {
    const bool learns = classes->count == 0;
    const size_t before = files->count;
    names within;
    struct stat found;
    if (stat(folder, &found) == 0 && !S_ISDIR(found.st_mode))
        return lab_fail_file(error, folder, "is no folder: pictures are in a folder with one folder for each class");
    locus_status status = read_names(&within, folder, error);
    if (status != LOCUS_OK)
        return status;
    for (int i = 0; status == LOCUS_OK && i < within.count; i++)
        status = read_entry(files, classes, learns, folder, within.entries[i]->d_name, set, error);
    names_free(&within);
    if (status == LOCUS_OK && files->count == before)
        status = lab_fail_file(error, folder, "has no folders with pictures: one for each class is needed");
    if (status == LOCUS_OK && classes->count < 2)
        status = lab_fail_file(error, folder, "has one class alone, '%s': there is nothing to tell apart",
                               classes->words[0]);
    return status;
}

void lab_picture_files_free(lab_picture_files *files) {
    for (size_t i = 0; i < files->count; i++)
        free(files->files[i].path);
    free(files->files);
    *files = (lab_picture_files){0};
}
