/* SPDX-License-Identifier: MIT */
/* The ranks of a job that mpirun or srun started: rank 0 speaks, has the store and the exit status; others follow. */
#ifndef CLI_JOB_RANKS_H
#define CLI_JOB_RANKS_H

#include "ranks/ranks.h"

/* Before anything is said: whether this process is a rank, and which. */
void cli_ranks_look(void);
size_t cli_ranks_count(void);  /* 1: it is none */
uint64_t cli_ranks_sent(void); /* bytes, to the other ranks */
bool cli_ranks_follow(void);   /* a rank other than 0 */

/* Meets the others, for a command that shares its work. 0, or the exit status after one line. */
int cli_ranks_open(void);
/* For lab_train_request.ranks, which meets them again: NULL if there are no others. */
lab_ranks *cli_ranks_take(void);
/* Leaves; the exit status, given the command's. A rank whose command failed before it took the others says so to them.
 * */
int cli_ranks_close(int status);

#endif
