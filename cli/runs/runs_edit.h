/* SPDX-License-Identifier: MIT */
/* `locus runs` with a word that names runs: rename, note, diff, delete. Each returns the exit status. */
#ifndef CLI_RUNS_EDIT_H
#define CLI_RUNS_EDIT_H

#include "store_argument.h"

int cli_runs_rename(const cli_store *store, const cli_arguments *arguments);
int cli_runs_note(const cli_store *store, const cli_arguments *arguments);
int cli_runs_diff(const cli_store *store, const cli_arguments *arguments);
int cli_runs_delete(const cli_store *store, const cli_arguments *arguments);

#endif
