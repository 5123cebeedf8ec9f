/* SPDX-License-Identifier: MIT */
/* --store: the run store, and the folder of checkpoints, which is the one that the store lies in. */
#ifndef CLI_STORE_ARGUMENT_H
#define CLI_STORE_ARGUMENT_H

#include "options.h"
#include "train/train.h"

#include <cjson/cJSON.h>

#define CLI_STORE_OPTION \
    { "store", 0, CLI_TEXT, "FILE", "runs/locus.db", "the run store; checkpoints are written beside it", 0, 0 }

typedef struct cli_store {
    lab_store *store;
    char *folder;
} cli_store;

/* Opens --store; without `make` it must be there, and is read even where it may not be written. 0, or 1 after one line
 * on standard error. */
int cli_store_open(cli_store *store, const cli_arguments *arguments, bool make);
void cli_store_close(cli_store *store);

/* Finds the run that an operand names: by name, number, or a unique beginning of a name. */
int cli_store_find(const cli_store *store, const char *operand, lab_run *run);

/* Everything that the store knows of a run, with its final scores. NULL: an error, which was told. */
cJSON *cli_run_json(const cli_store *store, const lab_run *run);

#endif
