/* SPDX-License-Identifier: MIT */
/* What `locus data` does with text: token files from it, and a look at them. */
#ifndef CLI_DATA_TEXT_H
#define CLI_DATA_TEXT_H

#include "options.h"
#include "task/task.h"

/* Rows of `data make`'s table of options. It also reads --output (default data/text: don't require it), --json,
 * --quiet. */
#define CLI_DATA_TEXT_OPTIONS \
    {"train-text", 0, CLI_TEXT, "FILE", NULL, "text: the text to train on, UTF-8", 0, 0}, \
        {"dev-text", 0, CLI_TEXT, "FILE", NULL, "text: the text to choose by (5 % of --train-text)", 0, 0}, \
        {"test-text", 0, CLI_TEXT, "FILE", NULL, "text: the text to score on (5 % of --train-text)", 0, 0}, \
        {"vocabulary", 0,  CLI_INTEGER, "N", NULL, "text: pieces of a SentencePiece model (none: tokens are bytes)", \
         257,          1e6}, \
    { \
        "model", 0, CLI_TEXT, "FILE", NULL, "text: a SentencePiece model that is there already", 0, 0 \
    }

/* data make text. The exit status. */
int cli_data_make_text(cli_arguments *arguments, const lab_task *task);

/* data inspect text: tokens, bytes and bytes per token of each set, the first of --set as pieces (--show lines).
 * Reads --data (default data/text), --set, --show, --json. The exit status. */
int cli_data_inspect_text(cli_arguments *arguments, const lab_task *task);

#endif
