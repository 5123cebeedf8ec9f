/* SPDX-License-Identifier: MIT */
/* A reproduced table on the terminal. */
#ifndef CLI_REPRODUCE_TABLE_H
#define CLI_REPRODUCE_TABLE_H

#include "report/reproduction/reproduction_report.h"

void cli_reproduce_print(const lab_reproduction_view *view);

#endif
