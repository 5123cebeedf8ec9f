/* SPDX-License-Identifier: MIT */
/* The options of trainings and of the kinds of tasks (task/task_option.h), as rows of commands' tables. */
#ifndef CLI_TASK_TABLE_H
#define CLI_TASK_TABLE_H

#include "cli_option.h"

#include <stddef.h>

size_t cli_task_option_count(unsigned use);
const cli_option *cli_task_option_at(unsigned use, size_t index); /* below the count */

#endif
