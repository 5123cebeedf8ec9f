/* SPDX-License-Identifier: MIT */
/* locus generate of decoders: goes on with prompts, and answers problems of the test set. */
#ifndef CLI_GENERATE_DECODER_H
#define CLI_GENERATE_DECODER_H

#include "options.h"
#include "store_argument.h"

#define CLI_DECODER_OPTIONS \
    {"prompt", 'p', CLI_TEXT, "TEXT", NULL, "decoders: what to go on with; -: standard input", 0, 0}, \
        {"prompts", 0, CLI_TEXT, "FILE", NULL, "decoders: many prompts, one to a line, decoded together", 0, 0}, \
        {"tokens", 0, CLI_INTEGER, "N", NULL, "decoders: most tokens that are added to a prompt", 1, 1e7}, \
        {"temperature", \
         0, \
         CLI_NUMBER, \
         "T", \
         NULL, \
         "decoders: logits are divided by it; 0: the likeliest token (problems: 0, text: 0.8)", \
         0, \
         1e6}, \
        {"top-k", 0, CLI_INTEGER, "K", "0", "decoders: draw from the K likeliest tokens; 0: from all", 0, 1e9}, \
        {"top-p", 0,    CLI_NUMBER, \
         "P",     NULL, "decoders: draw from the fewest tokens that sum to probability P (text: 0.95)", \
         0,       1}, \
    { \
        "seed", 's', CLI_INTEGER, "S", "0", "decoders: of what is drawn", 0, 9007199254740991.0 \
    }

/* 2 after one line if an option is given that the task's kind has no use for; else 0. */
int cli_generate_refuse(const cli_arguments *arguments, const lab_task *task);

/* The run is of problems or text, and not loaded yet. The exit status. */
int cli_generate_decoder(const cli_arguments *arguments, cli_trained *trained);

#endif
