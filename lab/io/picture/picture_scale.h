/* SPDX-License-Identifier: MIT */
/* Pictures brought to a square: areas are averaged where it is smaller, values interpolated where it is larger. */
#ifndef LAB_PICTURE_SCALE_H
#define LAB_PICTURE_SCALE_H

#include "io/picture/picture.h"

/* planes [3, side, side] = the whole picture, each side brought to `side` by itself: what is no square is squeezed. */
locus_status lab_picture_scale(const lab_picture *picture, size_t side, uint8_t *planes, locus_error *error);

#endif
