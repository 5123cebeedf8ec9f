/* SPDX-License-Identifier: MIT */
/* The table that the options of `locus reproduce` ask for. */
#ifndef CLI_REPRODUCE_REQUEST_H
#define CLI_REPRODUCE_REQUEST_H

#include "options.h"
#include "report/reproduction/reproduction.h"

/* Fills `table`; what it takes from files is looked up in `recorded` instead, if that is not NULL. 0, or the exit
 * status after one line. */
int cli_reproduce_request(const cli_arguments *arguments, lab_store *recorded, lab_reproduction *table);

#endif
