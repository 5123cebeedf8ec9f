/* SPDX-License-Identifier: MIT */
/* See scratch_folder.h. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/scratch_folder.h"

static char folder[512];

int scratch_create(void **state) {
    const char *parent = getenv("TMPDIR");
    (void)state;
    snprintf(folder, sizeof folder, "%s/locus-test-XXXXXX", parent && *parent ? parent : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static void remove_below(const char *path) {
    DIR *entries = opendir(path);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char inner[1024];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(inner, sizeof inner, "%.500s/%s", path, entry->d_name);
        if (unlink(inner) != 0)
            remove_below(inner);
    }
    if (entries)
        closedir(entries);
    rmdir(path);
}

int scratch_remove(void **state) {
    (void)state;
    remove_below(folder);
    return 0;
}

const char *scratch_path(const char *name) {
    static char paths[8][1024];
    static size_t next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof *paths, "%s/%s", folder, name);
    return path;
}

size_t scratch_count(void) {
    size_t count = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(entries);
    return count;
}

void scratch_write(const char *name, const void *data, size_t bytes) {
    FILE *file = fopen(scratch_path(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}
