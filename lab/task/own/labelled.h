/* SPDX-License-Identifier: MIT */
/* Labelled sequences of one's own, from files with a sample to a line:
 *
 *   .tsv    text <tab> label
 *   other   JSON: {"input_text": "…", "label": "…"}, or {"input": [ids], "label": 3}
 *
 * Whatever is wrong with a line is told with its number; empty ones of .tsv, and at the end, are skipped. Text is cut
 * into words, characters or bytes. Tokens are numbered: 0 the start token, with which each sample begins, 1 what the
 * vocabulary lacks, then the vocabulary in the order in which the training set shows it (bytes: all 256; ids: id i is
 * token 2 + i). Classes are the labels of the training set in that order.
 *
 * Development and test set are files of their own, or a tenth of the first file each, drawn by the data's seed. What
 * was trained keeps its vocabulary beside it (`vocabulary.json`), so that other files can be scored. */
#ifndef LAB_LABELLED_H
#define LAB_LABELLED_H

#include "task/own/own_sets.h"
#include "task/own/own_text.h"
#include "task/task_class.h"

/* What follows is 0 until the files have been looked at. */
typedef struct lab_labelled_options {
    lab_token_kind tokens;
    size_t symbols, classes; /* of the training set */
} lab_labelled_options;
#define LAB_LABELLED(options) LAB_OF_KIND(lab_labelled_options, options)

lab_draw_function lab_labelled_generate;

/* What the three files say. IO: a file that can't be read, or a line that is none; ARGUMENT: too few samples for three
 * sets. */
locus_status lab_labelled_look(const lab_task_options *options, uint64_t seed, lab_class_facts *facts,
                               locus_error *error);

/* Writes the vocabulary of the training set into a folder. */
locus_status lab_labelled_keep(const lab_task_options *options, uint64_t seed, const char *folder, locus_error *error);

/* One sample from its text, or its ids between blanks, by the vocabulary that a run has kept (options->kept); its label
 * is the first one. And what its tokens are called. */
locus_status lab_labelled_sample(lab_dataset *set, const lab_task *task, const lab_task_options *options,
                                 const char *text, locus_error *error);
locus_status lab_labelled_names(lab_token_name *names, const lab_task *task, const lab_task_options *options,
                                const int32_t *tokens, size_t count, locus_error *error);

#endif
