/* SPDX-License-Identifier: MIT */
/* See folder.h. */
#include "io/folder.h"

#include "io/fail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *lab_folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    const size_t length = slash ? (size_t)(slash - path) + 1 : 0; /* with the last '/' */
    return length == 0 ? strdup(".") : strndup(path, length > 1 ? length - 1 : 1);
}

bool lab_name_ends(const char *name, const char *end) {
    const size_t length = strlen(name), tail = strlen(end);
    return length >= tail && strcmp(name + length - tail, end) == 0;
}

static locus_status create_one(const char *path, locus_error *error) {
    struct stat facts;
    if (mkdir(path, 0777) == 0)
        return LOCUS_OK;
    int code = errno;
    if (stat(path, &facts) != 0)
        return lab_fail_system(error, "create the folder", path, code);
    return S_ISDIR(facts.st_mode) ? LOCUS_OK : lab_fail_system(error, "create the folder", path, ENOTDIR);
}

locus_status lab_directory_create(const char *path, locus_error *error) {
    char *prefix = strdup(path);
    if (!prefix)
        return lab_fail_memory(error, "a folder's name");
    locus_status status = LOCUS_OK;
    for (char *slash = prefix; status == LOCUS_OK && slash;) {
        slash = *slash ? strchr(slash + 1, '/') : NULL;
        if (slash)
            *slash = '\0';
        status = create_one(prefix, error);
        if (slash)
            *slash = '/';
    }
    free(prefix);
    return status;
}
