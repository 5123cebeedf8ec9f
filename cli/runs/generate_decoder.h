/* SPDX-License-Identifier: MIT */
/* locus generate of decoders: goes on with prompts, and answers problems of the test set. */
#ifndef CLI_GENERATE_DECODER_H
#define CLI_GENERATE_DECODER_H

#include "options.h"
#include "store_argument.h"

/* 2 after one line if an option is given that the task's kind has no use for; else 0. */
int cli_generate_refuse(const cli_arguments *arguments, const lab_task *task);

/* The run is of problems or text, and not loaded yet. The exit status. */
int cli_generate_decoder(const cli_arguments *arguments, cli_trained *trained);

#endif
