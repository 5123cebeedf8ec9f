/* SPDX-License-Identifier: MIT */
/* The runs of a table as JSON beside its Markdown file (train/store/run_file.h), and the Markdown file made of them
 * again. The file's head says what was asked for:
 *
 *   "table": {"arguments": ["table1", "--budget=quick"],   options that decide what the table shows
 *             "command": "locus reproduce …",              as it was typed
 *             "page_by": "0.1.0 (1a2b3c4)"}                the program that wrote the Markdown file */
#ifndef CLI_REPRODUCE_RECORD_H
#define CLI_REPRODUCE_RECORD_H

#include "options.h"
#include "report/reproduction/reproduction_report.h"

/* Writes the finished runs of a result. 0, or 1 after one line. */
int cli_record_write(lab_store *store, const cli_arguments *arguments, const lab_result *result, const char *path);

/* Prints the table, or it as JSON with the files that were written: Markdown, page and runs, or NULL. The exit
 * status. */
int cli_reproduce_show(const cli_arguments *arguments, const lab_reproduction_view *view, const char *const paths[3]);

/* locus reproduce --from: the exit status. */
int cli_reproduce_from(const cli_arguments *asked);

#endif
