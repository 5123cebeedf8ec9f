/* SPDX-License-Identifier: MIT */
/* What `locus data` does with labelled sequences of one's own (task/own/labelled.h). */
#ifndef CLI_DATA_LABELLED_H
#define CLI_DATA_LABELLED_H

#include "options.h"
#include "task/task.h"

/* Samples of each set, lengths, vocabulary, labels, and how many samples sets share. The exit status. */
int cli_data_inspect_labelled(cli_arguments *arguments, const lab_task *task);

#endif
