/* SPDX-License-Identifier: MIT */
/* --positions P: a range 0:100 (without its end; ends may be negative), a list 0,5,7, a .npy of int32 or int64, or
 * a text file with one position to a line. Positions on other groups than `seq` (grid:4x6, paths, tuples) are
 * refused by name. */
#ifndef CLI_POSITIONS_ARGUMENT_H
#define CLI_POSITIONS_ARGUMENT_H

#include "options.h"
#include <locus/positions.h>

typedef struct cli_position_list {
    int64_t *values; /* from malloc */
    size_t count;    /* at least 1 */
} cli_position_list;

/* 0 and filled; else the exit status after one line on standard error. */
int cli_positions_read(cli_position_list *list, const cli_arguments *arguments, const char *option);
void cli_positions_free(cli_position_list *list);

/* The positions of one sequence that fills a buffer. */
int cli_positions_one_sequence(locus_positions **positions, const cli_position_list *list);

#endif
