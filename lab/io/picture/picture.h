/* SPDX-License-Identifier: MIT */
/* Pictures as 8-bit RGB: PNG (of any kind), JPEG and portable any-maps (PPM and PGM, binary P6, P5 and plain P3, P2).
 * What a file is, is told by its first bytes, not by its name.
 *
 * Grey becomes three equal channels, palettes are looked up, 16 bits (and any-maps of another maxval) are rounded to 8;
 * what is transparent is laid on white, as a page shows it. Colour profiles and gamma
 * are not looked at: values are those in the file. */
#ifndef LAB_PICTURE_H
#define LAB_PICTURE_H

#include <locus/status.h>
#include <stddef.h>
#include <stdint.h>

#define LAB_PICTURE_MOST 16384 /* width, height */

typedef struct lab_picture {
    size_t width, height;
    uint8_t *rgb; /* [height, width, 3] */
} lab_picture;

/* IO, with one line that names the file, for what is no picture, cut, damaged or larger than LAB_PICTURE_MOST a side;
 * the picture is empty then. */
locus_status lab_picture_read(lab_picture *picture, const char *path, locus_error *error);
/* Memory for a picture of a size that has been checked; the check refuses sides of 0 and above LAB_PICTURE_MOST. */
locus_status lab_picture_check_size(size_t width, size_t height, const char *path, locus_error *error);
locus_status lab_picture_allocate(lab_picture *picture, size_t width, size_t height, locus_error *error);
void lab_picture_free(lab_picture *picture); /* accepts an empty one; empties it */

/* 8-bit RGB: a binary PPM where the name ends in .ppm, else a PNG; the file is whole or not there (io/file.h). */
locus_status lab_picture_write(const lab_picture *picture, const char *path, locus_error *error);

#endif
