/* SPDX-License-Identifier: MIT */
/* Expressions as a pretrained encoder reads them: their text, round brackets and all, as word pieces between [CLS] and
 * [SEP], cut at its end. */
#ifndef LAB_PIECES_H
#define LAB_PIECES_H

#include "task/task.h"
#include "text/tokenizer.h"

/* Replaces a set's inputs; pieces are nodes of no tree. At most `most` of a sample, [CLS] and [SEP] included. */
locus_status lab_pieces_make(lab_dataset *set, const lab_tokenizer *tokenizer, size_t most, locus_error *error);

/* IO, naming `folder`, unless it is a vocabulary of word pieces that has all that expressions are written with: what it
 * lacks would be [UNK] in every sample. */
locus_status lab_pieces_check(const lab_tokenizer *tokenizer, const char *folder, locus_error *error);

#endif
