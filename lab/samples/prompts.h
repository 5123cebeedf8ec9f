/* SPDX-License-Identifier: MIT */
/* Prompts of a decoder, from the command line, a file or the test set, as tokens; and its tokens as text, as they come.
 *
 * Problems are written with one character for each token. Texts are written with the tokenizer whose files lie in the
 * run's folder. */
#ifndef CLI_GENERATE_PROMPTS_H
#define CLI_GENERATE_PROMPTS_H

#include "options.h"
#include "text/tokenizer.h"
#include "train/train.h"

enum { CLI_PIECE = 256 }; /* bytes that a token is at most */

typedef struct cli_writing {
    const lab_task *task;
    lab_task_options options; /* of the run's data */
    size_t vocabulary;
    lab_tokenizer *tokenizer; /* NULL: task->characters */
} cli_writing;

/* `folder`: of the run. 0, or 1 after one line on standard error. */
int cli_writing_open(cli_writing *writing, const lab_train_config *config, const char *folder);
void cli_writing_close(cli_writing *writing);

/* Packed: tokens of prompt p are offsets[p] … offsets[p + 1] − 1, one or more. */
typedef struct cli_prompts {
    size_t count;
    char **texts; /* [count] */
    size_t *offsets;
    int32_t *tokens;
    lab_dataset drawn; /* problems of the test set, with their answers; samples 0: prompts were given */
} cli_prompts;

/* --prompt TEXT, "-" for standard input, whose last line end is dropped; or --prompts FILE, one to a line. 0; 1 or 2
 * after one line on standard error. */
int cli_prompts_read(cli_prompts *prompts, const cli_arguments *arguments, const cli_writing *writing);
/* The first -n problems of the test set. */
int cli_prompts_draw(cli_prompts *prompts, const cli_arguments *arguments, const lab_train_config *config);
void cli_prompts_free(cli_prompts *prompts);

/* What is written behind a prompt. A character whose bytes come as several tokens is given once it is complete. */
typedef struct cli_writer {
    const cli_writing *writing;
    lab_detokenizer detokenizer;
} cli_writer;
cli_writer cli_writer_begin(const cli_writing *writing, const int32_t *prompt, size_t count);
size_t cli_writer_add(cli_writer *writer, int32_t token, char text[CLI_PIECE]); /* bytes, no final 0 */
size_t cli_writer_end(cli_writer *writer, char text[CLI_PIECE]);                /* what is pending */

#endif
