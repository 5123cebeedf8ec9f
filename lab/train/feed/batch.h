/* SPDX-License-Identifier: MIT */
/* Batches of a set of words, trees or expressions: shuffled for training, in order for scoring. Packed, without
 * padding: tokens end to end, and of trees each token's parent and branch, which count within a sample and so are
 * copied as they are. A set may have targets, labels, both or neither. */
#ifndef LAB_BATCH_H
#define LAB_BATCH_H

#include "model/model.h"
#include "task/task.h"
#include "train/feed/cut.h"
#include "train/feed/shuffle.h"

typedef struct lab_batcher {
    const lab_dataset *set;                 /* borrowed */
    lab_epochs epochs;                      /* LAB_NO_EPOCH: the set's own order */
    size_t *input_offsets, *target_offsets; /* [most + 1] */
    int32_t *labels;                        /* [most] */
    struct lab_deal *deal;                  /* how the last batch was dealt to parts; NULL: none was */
    struct lab_packed {
        int32_t *tokens, *parents, *branches; /* the last two NULL of words */
        size_t room;
    } input, target;
    lab_batch batch;
} lab_batcher;

locus_status lab_batcher_create(lab_batcher *batcher, const lab_dataset *set, size_t most, uint64_t seed,
                                locus_error *error);
void lab_batcher_destroy(lab_batcher *batcher);

/* The batch of training step `step`, counted from 0: a function of (seed, step) only, so that a resumed training goes
 * on in the middle of an epoch. Valid until the next call. */
locus_status lab_batcher_step(lab_batcher *batcher, uint64_t step, const lab_batch **batch, locus_error *error);

/* A part of it. Parts have as many samples as a cut says, and about as many tokens each: the longest sample is dealt
 * first, each to the part that has the fewest tokens and room. Within a part samples stand in the batch's order. A
 * function of the batch and of the number of parts only. */
locus_status lab_batcher_cut(lab_batcher *batcher, uint64_t step, lab_cut cut, const lab_batch **batch,
                             locus_error *error);

/* Samples first … first + count − 1 in the set's own order. */
locus_status lab_batcher_slice(lab_batcher *batcher, size_t first, size_t count, const lab_batch **batch,
                               locus_error *error);

#endif
