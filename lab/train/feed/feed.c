/* SPDX-License-Identifier: MIT */
/* Opens the reader that a kind of task wants, and hands each call to it. */
#include "train/feed/feed.h"

#include "io/fail.h"
#include "model/architecture.h"

#include <string.h>

/* What a set holds, and what the model that reads it is called. */
static lab_architecture reader_of(const lab_dataset *set) {
    return set->images.pixels != NULL    ? LAB_IMAGE_CLASSIFIER
           : set->sequences.read != NULL ? LAB_DECODER
           : set->labels != NULL         ? LAB_TEXT_CLASSIFIER
                                         : LAB_ENCODER_DECODER;
}

locus_status lab_feed_check(const lab_dataset *set, const lab_model *model, locus_error *error) {
    const lab_model_config *config = lab_model_get_config(model);
    const lab_images *images = &set->images;
    const lab_architecture holds = reader_of(set);
    if (holds != config->architecture) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "model",
                        "the model reads %s, but the set holds %s: choose another task, or %s",
                        lab_architecture_of(config)->reads, lab_architecture_at(holds)->reads,
                        lab_architecture_at(holds)->phrase);
    }
    if (holds != LAB_IMAGE_CLASSIFIER ||
        (images->side == config->image_side && images->channels == config->image_channels))
        return LOCUS_OK;
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, "image_side",
                    "the set's images have side %zu and %zu channels, but the model reads side %zu and %zu channels",
                    images->side, images->channels, config->image_side, config->image_channels);
}

static locus_status open_feed(lab_feed *feed, const lab_dataset *set, size_t most, uint64_t seed, bool augment,
                              locus_error *error) {
    memset(feed, 0, sizeof *feed);
    switch (reader_of(set)) {
    case LAB_IMAGE_CLASSIFIER:
        return lab_image_feed_create(&feed->images, &set->images, most, seed, augment, error);
    case LAB_DECODER:
        return lab_sequence_feed_create(&feed->sequences, set, most, seed, error);
    case LAB_ENCODER_DECODER:
    case LAB_TEXT_CLASSIFIER:
        break;
    }
    return lab_batcher_create(&feed->batcher, set, most, seed, error);
}

locus_status lab_feed_train(lab_feed *feed, const lab_dataset *set, const lab_train_config *config,
                            locus_error *error) {
    return open_feed(feed, set, config->batch, config->seed, config->augment == LAB_AUGMENT_POLICY, error);
}

locus_status lab_feed_score(lab_feed *feed, const lab_dataset *set, size_t most, locus_error *error) {
    return open_feed(feed, set, most, 0, false, error);
}

void lab_feed_close(lab_feed *feed) {
    lab_image_feed_destroy(&feed->images);
    lab_sequence_feed_destroy(&feed->sequences);
    lab_batcher_destroy(&feed->batcher);
}

locus_status lab_feed_step(lab_feed *feed, uint64_t step, const lab_batch **batch, locus_error *error) {
    return feed->images != NULL      ? lab_image_feed_step(feed->images, step, batch, error)
           : feed->sequences != NULL ? lab_sequence_feed_step(feed->sequences, step, batch, error)
                                     : lab_batcher_step(&feed->batcher, step, batch, error);
}

void lab_feed_part(lab_feed *feed, lab_cut part) {
    if (feed->images != NULL)
        lab_image_feed_part(feed->images, part);
}

locus_status lab_feed_cut(lab_feed *feed, uint64_t step, lab_cut cut, const lab_batch **batch, locus_error *error) {
    return feed->images != NULL      ? lab_image_feed_cut(feed->images, step, cut, batch, error)
           : feed->sequences != NULL ? lab_sequence_feed_cut(feed->sequences, step, cut, batch, error)
                                     : lab_batcher_cut(&feed->batcher, step, cut, batch, error);
}

locus_status lab_feed_slice(lab_feed *feed, size_t first, size_t count, const lab_batch **batch, locus_error *error) {
    return feed->images != NULL      ? lab_image_feed_slice(feed->images, first, count, batch, error)
           : feed->sequences != NULL ? lab_sequence_feed_slice(feed->sequences, first, count, batch, error)
                                     : lab_batcher_slice(&feed->batcher, first, count, batch, error);
}
