/* SPDX-License-Identifier: MIT */
/* What a training or a scoring takes its batches from, whatever the kind of task: packed words, trees and expressions
 * (batch.h), packed sequences (sequence_feed.h), or images, which a worker thread augments ahead (image_feed.h) and
 * scoring only normalises. */
#ifndef LAB_FEED_H
#define LAB_FEED_H

#include "train/configuration/train_config.h"
#include "train/feed/batch.h"
#include "train/feed/image_feed.h"
#include "train/feed/sequence_feed.h"

typedef struct lab_feed {
    lab_batcher batcher;          /* words, trees, expressions */
    lab_image_feed *images;       /* NULL unless the set is of images */
    lab_sequence_feed *sequences; /* NULL unless the set has sequences */
} lab_feed;

/* What an architecture opens its feed with: at most `most` samples at a time. */
typedef struct lab_feed_request {
    const lab_dataset *set; /* borrowed */
    size_t most;
    uint64_t seed;
    bool augment;
} lab_feed_request;

/* ARGUMENT unless the model reads what the set holds: pairs, images of its size, sequences, labelled tokens. A batch
 * doesn't say how large its images are, so this comes before any is read. */
locus_status lab_feed_check(const lab_dataset *set, const lab_model *model, locus_error *error);

/* For training: shuffled, augmented if the configuration says so. The set is borrowed. */
locus_status lab_feed_train(lab_feed *feed, const lab_dataset *set, const lab_train_config *config, locus_error *error);
/* For scoring, at most `most` samples at a time. */
locus_status lab_feed_score(lab_feed *feed, const lab_dataset *set, size_t most, locus_error *error);
void lab_feed_close(lab_feed *feed); /* accepts one that is all 0, and leaves that */

/* The batch of training step `step`: a function of (seed, step) only. Valid until the next call. */
locus_status lab_feed_step(lab_feed *feed, uint64_t step, const lab_batch **batch, locus_error *error);
/* Training takes parts of batches only, and all of them lie within this one: what lies without is not made. */
void lab_feed_part(lab_feed *feed, lab_cut part);
/* A part of the batch of step `step`; it may have no samples. */
locus_status lab_feed_cut(lab_feed *feed, uint64_t step, lab_cut cut, const lab_batch **batch, locus_error *error);
/* Samples first … first + count − 1 in the set's own order. */
locus_status lab_feed_slice(lab_feed *feed, size_t first, size_t count, const lab_batch **batch, locus_error *error);

#endif
