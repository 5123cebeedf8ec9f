/* SPDX-License-Identifier: MIT */
/* What `locus data inspect` says of labelled pictures of one's own (task/images/own_pictures.h). */
#ifndef CLI_DATA_PICTURES_H
#define CLI_DATA_PICTURES_H

#include "options.h"
#include "task/task.h"

/* Pictures of each set by class, how many sets share, the first --show files of --set. The exit status. */
int cli_data_inspect_pictures(cli_arguments *arguments, const lab_task *task);

#endif
