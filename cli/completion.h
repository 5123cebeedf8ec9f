/* SPDX-License-Identifier: MIT */
/* Shell completions and the man page, made from the commands' tables. Each writes to standard output. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include "command.h"

void cli_completion_bash(void);
void cli_completion_zsh(void);
void cli_completion_man(void);

/* What an option's value or an operand is, for completion. */
typedef enum cli_value_kind {
    CLI_VALUE_OTHER = 0,
    CLI_VALUE_FILE,
    CLI_VALUE_FOLDER,
    CLI_VALUE_ENCODING,
    CLI_VALUE_TASK,
    CLI_VALUE_ATTENTION,
    CLI_VALUE_WORDS /* "a|b|c" */
} cli_value_kind;

/* From the word that help shows, such as "FILE", "SPEC,…", "[a|b]". */
cli_value_kind cli_value_of(const char *word);

/* Calls `put` for every name of a kind; for CLI_VALUE_WORDS those of `word`. */
void cli_value_names(cli_value_kind kind, const char *word, void (*put)(const char *name));

#endif
