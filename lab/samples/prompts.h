/* SPDX-License-Identifier: MIT */
/* Prompts of a decoder, from the command line, a file or the test set, as tokens; and its tokens as text, as they come.
 *
 * Problems are written with one character for each token. Texts are written with the tokenizer whose files lie in the
 * run's folder. */
#ifndef LAB_PROMPTS_H
#define LAB_PROMPTS_H

#include "text/tokenizer.h"
#include "train/train.h"

enum { LAB_PIECE = 256 }; /* bytes that a token is at most */

typedef struct lab_writing {
    const lab_task *task;
    lab_task_options options; /* of the run's data */
    size_t vocabulary;
    lab_tokenizer *tokenizer; /* NULL: task->characters */
} lab_writing;

/* `folder`: of the run. Close it in any case. */
locus_status lab_writing_open(lab_writing *writing, const lab_train_config *config, const char *folder,
                              locus_error *error);
void lab_writing_close(lab_writing *writing);

/* Packed: tokens of prompt p are offsets[p] … offsets[p + 1] − 1, one or more. */
typedef struct lab_prompts {
    size_t count;
    char **texts; /* [count] */
    size_t *offsets;
    int32_t *tokens;
    lab_dataset drawn; /* problems of the test set, with their answers; samples 0: prompts were given */
} lab_prompts;

/* Each fills an empty list: a text; all of standard input, whose last line end is dropped; a file's lines; the first
 * problems of the test set. */
locus_status lab_prompts_typed(lab_prompts *prompts, const lab_writing *writing, const char *text, locus_error *error);
locus_status lab_prompts_piped(lab_prompts *prompts, const lab_writing *writing, locus_error *error);
locus_status lab_prompts_lines(lab_prompts *prompts, const lab_writing *writing, const char *path, locus_error *error);
locus_status lab_prompts_draw(lab_prompts *prompts, const lab_train_config *config, size_t count, locus_error *error);
void lab_prompts_free(lab_prompts *prompts);

/* What is written behind a prompt. A character whose bytes come as several tokens is given once it is complete. */
typedef struct lab_writer {
    const lab_writing *writing;
    lab_detokenizer detokenizer;
} lab_writer;
lab_writer lab_writer_begin(const lab_writing *writing, const int32_t *prompt, size_t count);
size_t lab_writer_add(lab_writer *writer, int32_t token, char text[LAB_PIECE]); /* bytes, no final 0 */
size_t lab_writer_end(lab_writer *writer, char text[LAB_PIECE]);                /* what is pending */

#endif
