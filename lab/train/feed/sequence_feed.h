/* SPDX-License-Identifier: MIT */
/* Batches of sequences for a decoder, packed: input only, of which the model reads all but the last token and predicts
 * all but the first.
 *
 *   endless (a set of 0 samples)   step s reads sequences s·B … s·B + B − 1: every one once
 *   N samples                      an epoch's sequences in the order of lab_shuffle_epoch, its last batch smaller
 *
 * A batch is a function of (sequences, seed, step) only. */
#ifndef LAB_SEQUENCE_FEED_H
#define LAB_SEQUENCE_FEED_H

#include "model/model.h"
#include "task/task.h"
#include "train/feed/cut.h"

typedef struct lab_sequence_feed lab_sequence_feed;

/* Batches of at most `most` sequences. The set is borrowed. */
locus_status lab_sequence_feed_create(lab_sequence_feed **feed, const lab_dataset *set, size_t most, uint64_t seed,
                                      locus_error *error);
void lab_sequence_feed_destroy(lab_sequence_feed **feed); /* NULL is accepted */

/* The batch of training step `step`, counted from 0. Valid until the next call of the feed, like the next one's. */
locus_status lab_sequence_feed_step(lab_sequence_feed *feed, uint64_t step, const lab_batch **batch,
                                    locus_error *error);
/* A part of it: the others' sequences are not made. */
locus_status lab_sequence_feed_cut(lab_sequence_feed *feed, uint64_t step, lab_cut cut, const lab_batch **batch,
                                   locus_error *error);
/* Sequences first … first + count − 1 in the set's own order, count ≤ most. */
locus_status lab_sequence_feed_slice(lab_sequence_feed *feed, uint64_t first, size_t count, const lab_batch **batch,
                                     locus_error *error);

#endif
