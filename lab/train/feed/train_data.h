/* SPDX-License-Identifier: MIT */
/* The sets that a training and its scores read, whatever the kind of task, and what a configuration takes from files:
 *
 *   words, trees, images   samples of the task
 *   problems, text         sequences for a decoder
 *   expressions            samples; with a pretrained encoder their text as word pieces, [CLS] … [SEP]
 *
 * A pretrained encoder's folder need not be there any more when a run is scored: a run's folder has a copy of the
 * tokenizer's files. */
#ifndef LAB_TRAIN_DATA_H
#define LAB_TRAIN_DATA_H

#include "train/configuration/train_config.h"

typedef struct lab_train_set_request {
    lab_set which;
    size_t samples;        /* 0: endless problems, all of a text, or all that a file has; of dev and test of a text at
                              most so many */
    size_t mean;           /* another size, by the class's axis of lengths; 0: the trained one */
    const char *tokenizer; /* the folder of what a run has kept: a pretrained encoder's tokenizer, a vocabulary;
                              NULL: config->pretrained, config->data.kept */
} lab_train_set_request;

/* How many samples of each set a configuration asks for. */
lab_train_set_request lab_train_set_ask(const lab_train_config *config, lab_set which);
locus_status lab_train_set(lab_dataset *set, const lab_train_config *config, const lab_train_set_request *request,
                           locus_error *error);

/* Samples as a pretrained encoder reads them, by the tokenizer in `folder`: those of the set or, where it is empty, of
 * the draw. */
locus_status lab_train_pieces(lab_dataset *set, const lab_draw *draw, const char *folder, locus_error *error);

/* Fills what follows from files: the vocabulary and digest of a text, the digest of files of expressions, and of a
 * pretrained encoder its digest, vocabulary and longest input; the digest of the parameters that it begins with. Does
 * nothing where it has been done, or where there are no files. */
locus_status lab_train_look(lab_train_config *config, locus_error *error);

/* Copies what scoring needs into a run's folder: a tokenizer's files, where the task or a pretrained encoder has one,
 * and what the class keeps. */
locus_status lab_train_keep(const lab_train_config *config, const char *folder, locus_error *error);
/* Parameters that a training begins with, `init_from`, mean what the vocabulary or tokenizer beside them says, if there
 * is one: ARGUMENT where these data give tokens or classes other numbers. */
locus_status lab_train_check_numbers(const lab_train_config *config, locus_error *error);

#endif
