/* SPDX-License-Identifier: MIT */
/* `locus runs` with a word: with runs of the store (runs_edit.c); with files of runs and other stores (runs_file.c,
 * train/store/run_file.h, train/store/store_merge.h). Each returns the exit status. Importing opens the store itself,
 * and makes one. */
#ifndef CLI_RUNS_WORDS_H
#define CLI_RUNS_WORDS_H

#include "store_argument.h"

int cli_runs_rename(const cli_store *store, const cli_arguments *arguments);
int cli_runs_note(const cli_store *store, const cli_arguments *arguments);
int cli_runs_diff(const cli_store *store, const cli_arguments *arguments);
int cli_runs_delete(const cli_store *store, const cli_arguments *arguments);
int cli_runs_export(const cli_store *store, const cli_arguments *arguments);
int cli_runs_import(const cli_arguments *arguments);

#endif
