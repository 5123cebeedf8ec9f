/* SPDX-License-Identifier: MIT */
/* See picture_input.h. Own pictures are brought to the side that those of the training were brought to. */
#include "task/images/picture_input.h"

#include "io/fail.h"
#include "io/picture/picture.h"
#include "io/picture/picture_scale.h"
#include "task/images/augment.h"
#include "task/images/cifar10.h"
#include "task/images/picture_options.h"

#include <stdlib.h>

locus_status lab_picture_planes(const char *path, size_t side, bool scales, uint8_t *planes, locus_error *error) {
    lab_picture picture;
    locus_status status = lab_picture_read(&picture, path, error);
    if (status != LOCUS_OK)
        return status;
    if (!scales && (picture.width != side || picture.height != side)) {
        status = lab_fail(error, LOCUS_ERROR_IO, NULL,
                          "'%s' is %zu×%zu pixels: scale or cut it to the %zu×%zu that the model was trained on", path,
                          picture.width, picture.height, side, side);
    }
    if (status == LOCUS_OK)
        status = lab_picture_scale(&picture, side, planes, error);
    lab_picture_free(&picture);
    return status;
}

locus_status lab_picture_input(lab_dataset *set, const lab_task *task, const lab_task_options *options,
                               const char *path, locus_error *error) {
    const bool scales = task->class_names == NULL;
    const size_t side = scales ? LAB_PICTURES(options)->side : LAB_CIFAR10_SIDE;
    *set = (lab_dataset){.samples = 1, .images = {.count = 1, .channels = LAB_IMAGE_CHANNELS, .side = side}};
    set->images.pixels = malloc(LAB_IMAGE_CHANNELS * side * side);
    set->images.labels = calloc(1, sizeof *set->images.labels);
    return set->images.pixels == NULL || set->images.labels == NULL
               ? lab_fail_memory(error, "a picture")
               : lab_picture_planes(path, side, scales, set->images.pixels, error);
}
