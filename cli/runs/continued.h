/* SPDX-License-Identifier: MIT */
/* locus train --continue RUN: the configuration of a run that goes on from another one. */
#ifndef CLI_CONTINUED_H
#define CLI_CONTINUED_H

#include "options.h"
#include "store_argument.h"
#include "train/train.h"

typedef struct cli_continued {
    lab_run run; /* the parent */
    lab_train_config config;
    char *folder, *state;
    lab_train_parent parent;
} cli_continued;

/* Fills the parent and the configuration of the new run, which borrows from it. 0; 1 or 2 after one line. */
int cli_continued_open(cli_continued *from, lab_train_config *config, cli_arguments *arguments, const cli_store *store);
void cli_continued_close(cli_continued *from);

#endif
