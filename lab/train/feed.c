/* SPDX-License-Identifier: MIT */
#include "train/feed.h"

#include <string.h>

static locus_status open_feed(lab_feed *feed, const lab_dataset *set, size_t most, uint64_t seed, bool augment,
                              locus_error *error) {
    memset(feed, 0, sizeof *feed);
    return set->images.pixels != NULL ? lab_image_feed_create(&feed->images, &set->images, most, seed, augment, error)
                                      : lab_batcher_create(&feed->batcher, set, most, seed, error);
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
    lab_batcher_destroy(&feed->batcher);
}

locus_status lab_feed_step(lab_feed *feed, uint64_t step, const lab_batch **batch, locus_error *error) {
    return feed->images != NULL ? lab_image_feed_step(feed->images, step, batch, error)
                                : lab_batcher_step(&feed->batcher, step, batch, error);
}

locus_status lab_feed_slice(lab_feed *feed, size_t first, size_t count, const lab_batch **batch, locus_error *error) {
    return feed->images != NULL ? lab_image_feed_slice(feed->images, first, count, batch, error)
                                : lab_batcher_slice(&feed->batcher, first, count, batch, error);
}
