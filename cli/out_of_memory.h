/* SPDX-License-Identifier: MIT */
/* What becomes of the program when a C++ library finds no memory. */
#ifndef CLI_OUT_OF_MEMORY_H
#define CLI_OUT_OF_MEMORY_H

/* From here on that ends the program with one line and status 1, instead of a terminate() without a word of locus. */
void cli_memory_watch(void);

#endif
