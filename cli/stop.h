/* SPDX-License-Identifier: MIT */
/* Ctrl-C and a polite kill (SIGINT, SIGTERM; SIGUSR1, which mpirun passes on) as a question that is asked between
 * steps; the second one ends the program.
 *
 * The computing threads never run a signal handler, on purpose: matrix kernels of oneDNN 2.6 keep data far below the
 * stack pointer, where a handler's frame is put, and a signal in the middle of a product destroys it (seen as a
 * corrupted heap). Here signals are blocked and asked for; a thread that some library started on its own may take one
 * instead. */
#ifndef CLI_STOP_H
#define CLI_STOP_H

#include <stdbool.h>
#include <stdint.h>

void cli_stop_catch(void); /* from now on signals wait to be asked for; children inherit it */
bool cli_stop_asked(void); /* one has come; stays true */
/* Whether it was a scheduler's: SIGTERM or SIGUSR1, not Ctrl-C. */
bool cli_stop_queues_again(void);
/* With what a training that was stopped exits: 75 (EX_TEMPFAIL of sysexits.h: to be queued again), by Ctrl-C 1. */
enum { CLI_QUEUE_AGAIN = 75 };
int cli_stop_status(void);
void cli_stop_release(void); /* signals end the program again */

/* For locus_execution.cancelled: on the thread that caught the signals, whether one has come; others leave the asking
 * to it. 0 where none are caught. */
int32_t cli_stop_cancels(void *unused);

#endif
