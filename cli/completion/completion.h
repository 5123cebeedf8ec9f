/* SPDX-License-Identifier: MIT */
/* What may stand next on a command line, and the man page: both made from the commands' tables (a list that ends with
 * NULL), on standard output. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include "options.h"

/* `words` are those behind "locus", the last one as far as it was typed (it may begin with the quote that is open). The
 * first line says of what kind the word is: "words", and the others are candidates, each with a tab and what it means;
 * "files" or "folders", which a shell completes itself. Runs come from the store of the line; what cannot be read
 * has no names. */
void cli_completion_words(const cli_command *const *commands, char *const *words, size_t count);

void cli_completion_man(const cli_command *const *commands);

#endif
