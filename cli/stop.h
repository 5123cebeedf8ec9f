/* SPDX-License-Identifier: MIT */
/* Ctrl-C and a polite kill (SIGINT, SIGTERM) as a question that is asked between steps; the second one ends the
 * program.
 *
 * The computing threads never run a signal handler, on purpose: matrix kernels of oneDNN 2.6 keep data far below the
 * stack pointer, where a handler's frame is put, and a signal in the middle of a product destroys it (seen as a
 * corrupted heap). Here signals are blocked and asked for; a thread that some library started on its own may take one
 * instead. */
#ifndef CLI_STOP_H
#define CLI_STOP_H

#include <stdbool.h>

void cli_stop_catch(void);   /* from now on signals wait to be asked for; children inherit it */
bool cli_stop_asked(void);   /* one has come; stays true */
void cli_stop_release(void); /* signals end the program again */

#endif
