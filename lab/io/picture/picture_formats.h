/* SPDX-License-Identifier: MIT */
/* What the readers and writers of picture formats share. A reader may leave memory in the picture when it fails. */
#ifndef LAB_PICTURE_FORMATS_H
#define LAB_PICTURE_FORMATS_H

#include "io/picture/picture.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct lab_picture_bytes {
    const char *path; /* for messages */
    const unsigned char *data;
    size_t count; /* at least 2, beginning as the format does */
} lab_picture_bytes;

locus_status lab_picture_read_png(lab_picture *picture, const lab_picture_bytes *bytes, locus_error *error);
locus_status lab_picture_read_jpeg(lab_picture *picture, const lab_picture_bytes *bytes, locus_error *error);
locus_status lab_picture_read_anymap(lab_picture *picture, const lab_picture_bytes *bytes, locus_error *error);

/* A file that begins as a picture does, whole; *data from malloc. And the picture in such bytes, empty after a
 * failure. Together they are lab_picture_read. */
locus_status lab_picture_load(const char *path, char **data, size_t *count, locus_error *error);
locus_status lab_picture_decode(lab_picture *picture, const lab_picture_bytes *bytes, locus_error *error);

/* To an open stream; its own errors (a full disk) show when it is closed. */
locus_status lab_picture_write_png(const lab_picture *picture, FILE *stream, const char *path, locus_error *error);
locus_status lab_picture_write_anymap(const lab_picture *picture, FILE *stream, const char *path, locus_error *error);

#endif
