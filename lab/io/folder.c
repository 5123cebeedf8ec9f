/* SPDX-License-Identifier: MIT */
/* See folder.h. */
#include "io/folder.h"

#include "io/fail.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/statfs.h>
#endif

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

/* ---- shared file systems ---- */

#ifdef __linux__
/* The numbers are those that Linux gives in statfs.f_type (include/uapi/linux/magic.h; Lustre's and GPFS's from their
 * own sources). */
static const char *name_of(uint32_t type) {
    static const struct {
        uint32_t type;
        const char *name;
    } shared[] = {{0x6969, "NFS"},     {0x0BD00BD0, "Lustre"}, {0x47504653, "GPFS"},
                  {0xFF534D42, "SMB"}, {0xFE534D42, "SMB"},    {0x517B, "SMB"}};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (shared[i].type == type)
            return shared[i].name;
    return NULL;
}

/* The nearest that is there of the path, its folder, that folder's … */
const char *lab_file_system_shared(const char *path) {
    struct statfs facts;
    const bool there = statfs(path, &facts) == 0;
    char *folder = there ? NULL : lab_folder_of(path);
    const char *name = there                                         ? name_of((uint32_t)facts.f_type)
                       : folder == NULL || strcmp(folder, path) == 0 ? NULL
                                                                     : lab_file_system_shared(folder);
    free(folder);
    return name;
}
#else
const char *lab_file_system_shared(const char *path) {
    (void)path;
    return NULL;
}
#endif
