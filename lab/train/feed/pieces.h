/* SPDX-License-Identifier: MIT */
/* Samples as a pretrained encoder reads them: their text as word pieces between [CLS] and [SEP], cut at its end. */
#ifndef LAB_PIECES_H
#define LAB_PIECES_H

#include "task/task_class.h"
#include "text/tokenizer.h"

/* Replaces a set's inputs by the pieces of what its class writes; pieces are nodes of no tree. At most
 * draw->options->most_pieces of a sample, [CLS] and [SEP] included. */
locus_status lab_pieces_make(lab_dataset *set, const lab_tokenizer *tokenizer, const lab_draw *draw,
                             locus_error *error);

/* IO, naming `folder`, unless it is a vocabulary of word pieces that has all that the class's samples are always
 * written with: what it lacks would be [UNK] in every sample. */
locus_status lab_pieces_check(const lab_tokenizer *tokenizer, const lab_task_class *class, const char *folder,
                              locus_error *error);

#endif
