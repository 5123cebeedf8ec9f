/* SPDX-License-Identifier: MIT */
/* A configuration from the options that decide a training; shared by `train` and `compare`. */
#ifndef CLI_TRAIN_OPTIONS_H
#define CLI_TRAIN_OPTIONS_H

#include "options.h"
#include "train/train.h"

/* The names of all tasks are put behind the help of an option whose value is called so (usage.c). */
#define CLI_TASK_VALUE "TASK"
#define CLI_TASKS_VALUE "TASK,TASK,…"

/* Reads a training's options (LAB_OPTION_TRAINED) over the values that the budget has for the task. A size that differs
 * from the budget's makes the budget "custom". Encoding, seed and embedding initialisation are the command's own.
 * 0; 1 or 2 after one line on standard error. */
int cli_train_config(lab_train_config *config, cli_arguments *arguments, const char *task);

/* The sizes that an option lists, as the class's axis of lengths has them: 0; 2 after one line. */
int cli_sizes(cli_arguments *arguments, const lab_task_class *class, const char *option, const int64_t **sizes,
              size_t *count);

/* Sets it, unless a pretrained encoder has embeddings of its own. */
void cli_train_embedding(lab_train_config *config, lab_embedding_init init);

/* Checks the encoding's text; `text` receives its canonical form, which `config` then points to. */
int cli_train_encoding(lab_train_config *config, const char *encoding, char *text, size_t size);

/* One line, `before` and the command that goes on: the same, without --restart. The exit status of a stop (stop.h). */
int cli_train_resume(const cli_arguments *arguments, const char *before);

#endif
