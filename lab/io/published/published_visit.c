/* SPDX-License-Identifier: MIT */
/* Finds the files of a published set in a folder or an archive, and reads both in the same way. */
#include "io/published/published_set.h"

#include "io/fail.h"
#include "io/file.h"
#include "io/published/archive.h"
#include "io/text_stream.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_folder(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

/* ---- where the files are ---- */

static locus_status holds_any(const lab_published_set *set, const char *folder, bool *found, locus_error *error) {
    *found = false;
    for (size_t i = 0; i < set->file_count && !*found; i++) {
        struct stat facts;
        char *path = lab_text_print("%s/%s", folder, set->files[i].name);
        if (path == NULL)
            return lab_fail_memory(error, "a file name");
        *found = stat(path, &facts) == 0;
        free(path);
    }
    return LOCUS_OK;
}

locus_status lab_published_locate(const lab_published_set *set, const char *path, char **folder, locus_error *error) {
    char *const candidates[] = {strdup(path), lab_text_print("%s/%s", path, set->inner)};
    const bool named = candidates[0] != NULL && candidates[1] != NULL;
    locus_status status = named ? LOCUS_OK : lab_fail_memory(error, "a file name");
    *folder = NULL;
    for (size_t i = 0; i < 2; i++) {
        bool found = false;
        if (status == LOCUS_OK && *folder == NULL)
            status = holds_any(set, candidates[i], &found, error);
        if (found)
            *folder = candidates[i];
        else
            free(candidates[i]);
    }
    return status;
}

/* ---- one file ---- */

locus_status lab_published_read(const lab_published_source *from, void *target, size_t bytes, locus_error *error) {
    return from->input != NULL ? lab_input_read(from->input, target, bytes, error)
                               : lab_archive_read(from->archive, target, bytes, error);
}

static locus_status visit_file(const char *path, size_t index, const lab_published_visitor *visitor,
                               locus_error *error) {
    lab_input input;
    locus_status status = lab_input_open(&input, path, error);
    if (status == LOCUS_OK) {
        const lab_published_source from = {path, input.bytes_left, &input, NULL};
        status = input.bytes_left != SIZE_MAX ? visitor->visit(visitor->context, index, &from, error)
                                              : lab_fail_file(error, path, "is no regular file");
    }
    lab_input_close(&input);
    return status;
}

/* ---- folders ---- */

static locus_status visit_folder(const lab_published_set *set, const char *folder, const lab_published_visitor *visitor,
                                 locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; status == LOCUS_OK && i < visitor->count; i++) {
        char *path = lab_text_print("%s/%s", folder, set->files[visitor->first + i].name);
        status = path != NULL ? visit_file(path, i, visitor, error) : lab_fail_memory(error, "a file name");
        free(path);
    }
    return status;
}

/* ---- archives ---- */

static size_t find_file(const lab_published_set *set, const lab_published_visitor *visitor, const char *name) {
    size_t i = 0;
    while (i < visitor->count && strcmp(set->files[visitor->first + i].name, name) != 0)
        i++;
    return i;
}

static locus_status visit_member(lab_archive *archive, const char *path, const lab_member *member, size_t index,
                                 const lab_published_visitor *visitor, locus_error *error) {
    char *name = lab_text_print("%s/%s", path, member->name);
    if (name == NULL)
        return lab_fail_memory(error, "a file name");
    const lab_published_source from = {name, member->bytes, NULL, archive};
    locus_status status = visitor->visit(visitor->context, index, &from, error);
    free(name);
    return status;
}

static locus_status fail_missing_member(const lab_published_set *set, const char *path, size_t first, uint64_t met,
                                        locus_error *error) {
    size_t missing = 0;
    while ((met >> missing & 1) != 0)
        missing++;
    return lab_fail_file(error, path, "holds no %s, so it is no archive of %s", set->files[first + missing].name,
                         set->name);
}

/* Reads on until all files have been met. */
static locus_status visit_members(const lab_published_set *set, lab_archive *archive, const char *path,
                                  const lab_published_visitor *visitor, locus_error *error) {
    uint64_t met = 0; /* bit i: file i */
    const uint64_t all = ((uint64_t)1 << visitor->count) - 1;
    locus_status status = LOCUS_OK;
    while (status == LOCUS_OK && met != all) {
        lab_member member;
        status = lab_archive_next(archive, &member, error);
        if (status != LOCUS_OK)
            return status;
        if (member.name == NULL)
            return fail_missing_member(set, path, visitor->first, met, error);
        size_t i = find_file(set, visitor, member.name);
        if (i == visitor->count)
            continue;
        if ((met >> i & 1) != 0)
            return lab_fail_file(error, path, "holds %s twice", member.name);
        status = visit_member(archive, path, &member, i, visitor, error);
        met |= (uint64_t)1 << i;
    }
    return status;
}

static locus_status visit_archive(const lab_published_set *set, const char *path, const lab_published_visitor *visitor,
                                  locus_error *error) {
    lab_archive *archive;
    locus_status status = lab_archive_open(&archive, path, error);
    if (status == LOCUS_OK)
        status = visit_members(set, archive, path, visitor, error);
    lab_archive_close(&archive);
    return status;
}

locus_status lab_published_visit(const lab_published_set *set, const char *path, const lab_published_visitor *visitor,
                                 locus_error *error) {
    if (!is_folder(path))
        return visit_archive(set, path, visitor, error);
    char *folder;
    locus_status status = lab_published_locate(set, path, &folder, error);
    if (status == LOCUS_OK) {
        status = folder != NULL ? visit_folder(set, folder, visitor, error)
                                : lab_fail_file(error, path, "holds no %s, neither itself nor in a folder %s",
                                                set->files[visitor->first].name, set->inner);
    }
    free(folder);
    return status;
}
