/* SPDX-License-Identifier: MIT */
/* A picture file as a model of images reads it. */
#ifndef LAB_PICTURE_INPUT_H
#define LAB_PICTURE_INPUT_H

#include "task/task.h"

/* planes [3, side, side]: red, green, blue. A PNG, JPEG, PPM or PGM; brought to that side where it `scales`, else IO
 * unless it has it. */
locus_status lab_picture_planes(const char *path, size_t side, bool scales, uint8_t *planes, locus_error *error);

/* A set of one sample, the picture of that path, of the first class. To be destroyed after a failure, too. */
locus_status lab_picture_input(lab_dataset *set, const lab_task *task, const lab_task_options *options,
                               const char *path, locus_error *error);

#endif
