/* SPDX-License-Identifier: MIT */
/* locus runs export, locus runs import: a store's finished runs as JSON, and back (train/store/run_file.h); another
 * store's runs into this one (train/store/store_merge.h). */
#ifndef CLI_RUNS_FILE_H
#define CLI_RUNS_FILE_H

#include "store_argument.h"

/* Each returns the exit status. Importing opens the store itself, and makes one. */
int cli_runs_export(const cli_store *store, const cli_arguments *arguments);
int cli_runs_import(const cli_arguments *arguments);

#endif
