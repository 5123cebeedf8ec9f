/* SPDX-License-Identifier: MIT */
/* What was given of the options of trainings and of the kinds of tasks (task/task_option.h). */
#ifndef CLI_TASK_OPTIONS_H
#define CLI_TASK_OPTIONS_H

#include "options.h"
#include "train/configuration/train_config.h"

/* 2 after one line, if an option is given that the task has no use for; else 0. */
int cli_refuse_other_kinds(const cli_arguments *arguments, const lab_task *task);

/* "words, trees or problems": the kinds that take an option, by `takes`; "": none. */
typedef bool cli_kind_takes(const lab_task_class *class, const char *option);
enum { CLI_KINDS_TEXT = 160 };
const char *cli_list_kinds(cli_kind_takes *takes, const char *option, char text[CLI_KINDS_TEXT]);
/* One line that says whose the option is, which the task has no use for; 2. */
int cli_refuse_kind(const cli_arguments *arguments, const lab_task *task, const char *name, cli_kind_takes *takes);

/* Puts what is given of the class's own options, and of the shared ones that are not set by hand, into the
 * configuration. Returns whether a size differs from what was there. */
bool cli_put_options(const cli_arguments *arguments, lab_train_config *config);

/* Whether the command has such an option, and it was given. */
bool cli_was_given(const cli_arguments *arguments, const char *name);

#endif
