/* SPDX-License-Identifier: MIT */
/* A summary of runs as tables for the terminal: for each section one of scores and one of costs. */
#ifndef CLI_COMPARISON_TABLE_H
#define CLI_COMPARISON_TABLE_H

#include "report/tables/summary.h"

void cli_comparison_print(const lab_summary *summary);

#endif
