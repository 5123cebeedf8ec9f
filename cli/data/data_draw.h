/* SPDX-License-Identifier: MIT */
#ifndef CLI_DATA_DRAW_H
#define CLI_DATA_DRAW_H

#include "options.h"
#include "train/configuration/train_config.h"

/* Draws, or reads, the set that is asked for: --n samples (of a file all, unless it is given) of --set with the task's
 * own options, which `config`, whose task is there, receives. A value of the user's that the generator refuses is bad
 * usage. The exit status. */
int cli_data_draw(lab_dataset *set, const cli_arguments *arguments, lab_train_config *config);

#endif
