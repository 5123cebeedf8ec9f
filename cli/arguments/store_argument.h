/* SPDX-License-Identifier: MIT */
/* --store: the run store, and the folder of checkpoints, which is the one that the store lies in. */
#ifndef CLI_STORE_ARGUMENT_H
#define CLI_STORE_ARGUMENT_H

#include "options.h"
#include "report/tables/summary.h"
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

/* A trained run that the first operand names. Of a task that this version has; then with the configuration and the
 * model of its best parameters, and the folder that it keeps things in. 0, or the exit status after one line; close it
 * in any case. */
typedef struct cli_trained {
    cli_store store;
    lab_run run;
    const lab_task *task;
    lab_train_config config;
    lab_model *model;
    char *folder;
} cli_trained;
int cli_trained_open(cli_trained *trained, const cli_arguments *arguments);
int cli_trained_load(cli_trained *trained);
void cli_trained_close(cli_trained *trained);

/* A summary as tables, or as JSON that names the page which was written of it, if one was. The exit status. */
int cli_summary_print(const lab_summary *summary, const char *page);

#endif
