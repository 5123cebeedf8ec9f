/* SPDX-License-Identifier: MIT */
/* What `locus data inspect` says of a set of (input, target) pairs: words, trees, problems. */
#ifndef CLI_DATA_PORTRAIT_H
#define CLI_DATA_PORTRAIT_H

#include "options.h"
#include "task/own/pairs.h"

typedef struct cli_data_subject {
    const char *name; /* as the user wrote it: a task's, or a file's */
    const lab_dataset *set;
    const lab_task *task;            /* of problems, also of those from a file; else NULL or any */
    const lab_task_options *options; /* NULL: it is a file */
    const lab_pair_facts *own;       /* of own pairs; else NULL */
} cli_data_subject;

/* Lengths, depths of trees, vocabulary, chance rate, and the first --show samples, or all but these with --json. The
 * exit status. */
int cli_data_describe(const cli_data_subject *subject, const cli_arguments *arguments);

#endif
