/* SPDX-License-Identifier: MIT */
/* The sample whose attention is drawn, as a batch, with what its tokens are called. */
#ifndef LAB_ATTENTION_INPUT_H
#define LAB_ATTENTION_INPUT_H

#include "train/feed/batch.h"
#include "train/train.h"

/* More tokens than these would be lines nobody can read. */
enum { LAB_ATTENTION_MOST_TOKENS = 96 };

typedef struct lab_attention_input {
    lab_dataset set; /* what holds the tokens */
    lab_batcher batcher;
    size_t offsets[2]; /* of decoders */
    int32_t *tokens;
    lab_batch batch;             /* of one sample; borrowed from the others */
    lab_token_name *read, *made; /* what an encoder, or a decoder alone, reads; what a decoder behind one does */
    size_t read_count, made_count;
} lab_attention_input;

/* From a text (NULL: sample `number` of the test set, from 1). `folder` is the run's. ARGUMENT: what cannot be read,
 * has more tokens than can be drawn, or is of a kind whose tokens have no names. */
locus_status lab_attention_input_make(lab_attention_input *input, const lab_train_config *config, const char *folder,
                                      const char *text, size_t number, locus_error *error);
void lab_attention_input_free(lab_attention_input *input);

#endif
