/* SPDX-License-Identifier: MIT */
/* The sample whose attention is drawn, as a batch, with what its tokens are called. */
#ifndef LAB_ATTENTION_INPUT_H
#define LAB_ATTENTION_INPUT_H

#include "train/feed/feed.h"
#include "train/train.h"

/* More tokens than these would be lines nobody can read; more places of a picture, which are drawn smaller, a picture
 * that nothing shows. */
enum { LAB_ATTENTION_MOST_TOKENS = 96, LAB_ATTENTION_MOST_PLACES = 400 };

typedef struct lab_attention_input {
    lab_dataset set; /* what holds the tokens */
    lab_feed feed;
    size_t offsets[2]; /* of decoders */
    int32_t *tokens;
    lab_batch batch;             /* of one sample; borrowed from the others */
    lab_token_name *read, *made; /* what an encoder, or a decoder alone, reads; what a decoder behind one does */
    size_t read_count, made_count;
    size_t grid; /* of a picture: places along a side; else 0 */
} lab_attention_input;

typedef struct lab_attention_request {
    const lab_train_config *config;
    lab_model *model;   /* which decodes the target of an input that has none */
    const char *folder; /* the run's */
    const char *text;   /* of pictures a file's path; NULL: */
    size_t number;      /* this sample of the test set, from 1 */
} lab_attention_request;

/* ARGUMENT: what cannot be read, or has more tokens than can be drawn. */
locus_status lab_attention_input_make(lab_attention_input *input, const lab_attention_request *request,
                                      locus_error *error);
void lab_attention_input_free(lab_attention_input *input);

#endif
