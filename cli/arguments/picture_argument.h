/* SPDX-License-Identifier: MIT */
/* --output of commands that draw: the file's name is its format. */
#ifndef CLI_PICTURE_ARGUMENT_H
#define CLI_PICTURE_ARGUMENT_H

#include "options.h"

/* Refuses a missing --output and a name that ends in neither .svg nor .png; /dev/… is left to the drawing. */
int cli_need_picture(const cli_arguments *arguments);

#endif
