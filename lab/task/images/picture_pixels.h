/* SPDX-License-Identifier: MIT */
/* The pixels of many picture files, decoded once in a process (own_pictures.h). */
#ifndef LAB_PICTURE_PIXELS_H
#define LAB_PICTURE_PIXELS_H

#include "io/watch.h"
#include "task/images/picture_folder.h"

#define LAB_PICTURES_MOST_BYTES ((size_t)4 << 30) /* of one process */

/* Held until it is released. */
typedef struct lab_picture_pixels {
    const uint8_t *bytes; /* [files, 3, side, side] */
    const uint64_t *sums; /* [files]: the beginning of each file's SHA-256 */
    struct lab_picture_store *store;
} lab_picture_pixels;

locus_status lab_picture_pixels_get(lab_picture_pixels *pixels, const lab_picture_files *files, size_t side,
                                    locus_error *error);
void lab_picture_pixels_release(lab_picture_pixels *pixels);

/* Whom to tell how many of the files are decoded, of how many; NULL: nobody. For the whole process, borrowed. */
void lab_picture_pixels_listen(const lab_watch *watch);
/* Gives back the memory of what was decoded. */
void lab_picture_pixels_forget(void);

#endif
