/* SPDX-License-Identifier: MIT */
/* Opens the feed that the architecture which reads a set asks for, and hands each call to it. */
#include "train/feed/feed.h"

#include "io/fail.h"
#include "model/architecture.h"

#include <string.h>

locus_status lab_feed_check(const lab_dataset *set, const lab_model *model, locus_error *error) {
    const lab_model_config *config = lab_model_get_config(model);
    const lab_architecture *own = config->architecture, *other = lab_architecture_for(set);
    if (own->holds(set))
        return own->check != NULL ? own->check(config, set, error) : LOCUS_OK;
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, "model",
                    "the model reads %s, but the set holds %s: choose another task%s%s", own->reads,
                    other != NULL ? other->reads : "nothing", other != NULL ? ", or " : "",
                    other != NULL ? other->phrase : "");
}

static locus_status open_feed(lab_feed *feed, const lab_feed_request *request, locus_error *error) {
    const lab_architecture *reader = lab_architecture_for(request->set);
    memset(feed, 0, sizeof *feed);
    return reader != NULL && reader->feed != NULL
               ? reader->feed(feed, request, error)
               : lab_batcher_create(&feed->batcher, request->set, request->most, request->seed, error);
}

locus_status lab_feed_train(lab_feed *feed, const lab_dataset *set, const lab_train_config *config,
                            locus_error *error) {
    const lab_feed_request request = {set, config->batch, config->seed, config->augment == LAB_AUGMENT_POLICY};
    return open_feed(feed, &request, error);
}

locus_status lab_feed_score(lab_feed *feed, const lab_dataset *set, size_t most, locus_error *error) {
    return open_feed(feed, &(lab_feed_request){.set = set, .most = most}, error);
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
