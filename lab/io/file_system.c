/* SPDX-License-Identifier: MIT */
/* See file_system.h. The numbers are those that Linux gives in statfs.f_type (include/uapi/linux/magic.h; Lustre's and
 * GPFS's from their own sources). */
#include "io/file_system.h"

#include "io/folder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __linux__
#include <sys/statfs.h>

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
