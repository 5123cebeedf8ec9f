/* SPDX-License-Identifier: MIT */
/* --output of commands that draw: the file's name is its format. */
#ifndef CLI_PICTURE_ARGUMENT_H
#define CLI_PICTURE_ARGUMENT_H

#include "options.h"

/* Refuses a missing --output and a name that says no format (svg_file.h). */
int cli_need_picture(const cli_arguments *arguments);

#endif
