/* SPDX-License-Identifier: MIT */
/* Batches of images: augmented in shuffled order for training, as they are and in order for scoring; always normalised.
 * While one batch is in use, a thread of the feed's own prepares the one that comes next, so that a training never
 * waits; a batch that was not foreseen (the first, a jump) is made when it is asked for. Bits depend on (images, seed,
 * step) only. If the system gives no thread, every batch is made when it is asked for. */
#ifndef LAB_IMAGE_FEED_H
#define LAB_IMAGE_FEED_H

#include "model/model.h"
#include "task/task.h"
#include "train/feed/cut.h"

typedef struct lab_image_feed lab_image_feed;

/* Batches of at most `batch` images. `images` is borrowed: at least one image, of three channels. `augment`: training
 * batches are augmented (task/images/augment.h); slices never are. */
locus_status lab_image_feed_create(lab_image_feed **feed, const lab_images *images, size_t batch, uint64_t seed,
                                   bool augment, locus_error *error);
/* At any moment: waits for the image that is being made, not for the batch. NULL is accepted. */
void lab_image_feed_destroy(lab_image_feed **feed);

/* The batch of training step `step`, counted from 0, in the order of lab_shuffle_epoch; an epoch's last batch may be
 * smaller. Valid until the next call of the feed. For one thread at a time, like the next one. */
locus_status lab_image_feed_step(lab_image_feed *feed, uint64_t step, const lab_batch **batch, locus_error *error);

/* From now on only this part of each training batch is made, of which lab_image_feed_cut gives parts. */
void lab_image_feed_part(lab_image_feed *feed, lab_cut part);
/* A part of the batch of step `step`, which lies within what is made. It stays valid as long as the step's other parts
 * are asked for. */
locus_status lab_image_feed_cut(lab_image_feed *feed, uint64_t step, lab_cut cut, const lab_batch **batch,
                                locus_error *error);

/* Images first … first + count − 1 in the set's own order, count ≤ batch. Then the slice behind them is prepared. */
locus_status lab_image_feed_slice(lab_image_feed *feed, size_t first, size_t count, const lab_batch **batch,
                                  locus_error *error);

#endif
