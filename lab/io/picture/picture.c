/* SPDX-License-Identifier: MIT */
/* Pictures in memory; those of files are in picture_file.c. */
#include "io/picture/picture.h"

#include "io/fail.h"
#include <stdlib.h>

locus_status lab_picture_check_size(size_t width, size_t height, const char *path, locus_error *error) {
    if (width >= 1 && height >= 1 && width <= LAB_PICTURE_MOST && height <= LAB_PICTURE_MOST)
        return LOCUS_OK;
    return lab_fail_file(error, path, "has %zu×%zu pixels; a side may have 1 to %d", width, height, LAB_PICTURE_MOST);
}

locus_status lab_picture_allocate(lab_picture *picture, size_t width, size_t height, locus_error *error) {
    *picture = (lab_picture){width, height, malloc(width * height * 3)};
    return picture->rgb != NULL ? LOCUS_OK : lab_fail_memory(error, "a picture");
}

void lab_picture_free(lab_picture *picture) {
    free(picture->rgb);
    *picture = (lab_picture){0, 0, NULL};
}
