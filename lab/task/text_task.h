/* SPDX-License-Identifier: MIT */
/* The task `text`: what a folder of token files (text/token_file.h) says about itself. */
#ifndef LAB_TEXT_TASK_H
#define LAB_TEXT_TASK_H

#include "task/task.h"

#define LAB_TEXT_FOLDER "data/text" /* where it is looked for if nothing is said */

typedef struct lab_text_options {
    size_t symbols;  /* the token files' vocabulary */
    size_t sequence; /* tokens of a window, all but the last of which are read */
} lab_text_options;
#define LAB_TEXT(options) LAB_OF_KIND(lab_text_options, options)

lab_draw_function lab_text_open; /* windows of a set */

/* Sets options->path (borrowed), symbols (the vocabulary) and digest (of all three sets; never 0) to what lies in the
 * folder, before anything is made of the options. IO, one line that says how to make it: there is nothing; files are
 * damaged, or don't belong together. */
locus_status lab_text_describe(const char *folder, lab_task_options *options, locus_error *error);

#endif
