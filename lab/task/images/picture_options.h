/* SPDX-License-Identifier: MIT */
/* The options of tasks on pictures (kinds/images.c, kinds/own_images.c). */
#ifndef LAB_PICTURE_OPTIONS_H
#define LAB_PICTURE_OPTIONS_H

#include "task/task.h"

typedef struct lab_picture_options {
    size_t side; /* that pictures are brought to; 0: they are as they are */
    size_t classes;
} lab_picture_options;
#define LAB_PICTURES(options) LAB_OF_KIND(lab_picture_options, options)

#endif
