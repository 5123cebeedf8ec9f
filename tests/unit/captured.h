/* SPDX-License-Identifier: MIT */
/* What the program writes to standard output or standard error, as text. */
#ifndef TESTS_CAPTURED_H
#define TESTS_CAPTURED_H

/* From here on what is written to the descriptor goes to a file. */
void capture(int descriptor);

/* All that was, up to 20,000 bytes; the descriptor is what it was before. Stays as it is until it is called again. */
char *captured(void);

#endif
