/* SPDX-License-Identifier: MIT */
/* What `locus data` does with tasks whose samples are images. */
#ifndef CLI_DATA_IMAGES_H
#define CLI_DATA_IMAGES_H

#include "io/published/published_set.h"
#include "options.h"
#include "task/task.h"

/* The published set that a task reads; NULL: it needs none. */
const lab_published_set *cli_data_published(const char *task);

/* data inspect: how many images of each class, means and deviations of the channels, whether the files are as
 * published, the classes of the first --show images of --set. Reads --data and --json. The exit status: 1, after one
 * line on standard error, if files were altered. */
int cli_data_inspect_images(cli_arguments *arguments, const lab_task *task);

/* data make: writes image --image of --set as a PNG to --output. Reads --data. The exit status. */
int cli_data_make_image(cli_arguments *arguments, const lab_task *task);

#endif
