/* SPDX-License-Identifier: MIT */
/* Finds the sequences of a step, reads them on all threads, and packs a slice of them or a rank's part. */
#include "train/feed/sequence_feed.h"

#include "io/fail.h"
#include "train/feed/shuffle.h"

#include <locus/parallel.h>
#include <stdlib.h>
#include <string.h>

struct lab_sequence_feed {
    const lab_sequences *sequences; /* the set's */
    lab_epochs epochs;              /* of 0 samples: endless */
    uint64_t *indices;              /* [most]: of the sequences of a batch */
    size_t *lengths, *offsets;
    int32_t *tokens; /* [most · length] */
    lab_batch batch;
};

locus_status lab_sequence_feed_create(lab_sequence_feed **feed, const lab_dataset *set, size_t most, uint64_t seed,
                                      locus_error *error) {
    *feed = NULL;
    if (most == 0 || set->sequences.read == NULL || set->sequences.length < 2) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "batch", "sequences of %zu tokens in batches of %zu give no batch",
                        set->sequences.length, most);
    }
    lab_sequence_feed *made = calloc(1, sizeof *made);
    if (made == NULL)
        return lab_fail_memory(error, "batches of sequences");
    made->sequences = &set->sequences;
    most = set->samples > 0 && set->samples < most ? set->samples : most;
    made->epochs = (lab_epochs){set->samples, most, seed, LAB_NO_EPOCH, calloc(set->samples + 1, sizeof(size_t))};
    made->indices = calloc(most, sizeof *made->indices);
    made->lengths = calloc(most, sizeof *made->lengths);
    made->offsets = calloc(most + 1, sizeof *made->offsets);
    made->tokens = calloc(most, set->sequences.length * sizeof *made->tokens);
    *feed = made;
    if (made->epochs.order == NULL || made->indices == NULL || made->lengths == NULL || made->offsets == NULL ||
        made->tokens == NULL) {
        lab_sequence_feed_destroy(feed);
        return lab_fail_memory(error, "batches of sequences");
    }
    return LOCUS_OK;
}

void lab_sequence_feed_destroy(lab_sequence_feed **feed) {
    lab_sequence_feed *old = *feed;
    if (old == NULL)
        return;
    free(old->epochs.order);
    free(old->indices);
    free(old->lengths);
    free(old->offsets);
    free(old->tokens);
    free(old);
    *feed = NULL;
}

static void read_task(void *context, size_t index, size_t worker) {
    (void)worker;
    lab_sequence_feed *feed = context;
    feed->lengths[index] =
        feed->sequences->read(feed->sequences, feed->indices[index], feed->tokens + index * feed->sequences->length);
}

/* Each sequence is read to a place of the greatest length, then they are moved together. */
static const lab_batch *pack(lab_sequence_feed *feed, size_t count) {
    locus_parallel_for(count, read_task, feed);
    for (size_t i = 0; i < count; i++) {
        const size_t from = i * feed->sequences->length, to = feed->offsets[i];
        if (from != to)
            memmove(feed->tokens + to, feed->tokens + from, feed->lengths[i] * sizeof *feed->tokens);
        feed->offsets[i + 1] = to + feed->lengths[i];
    }
    feed->batch = (lab_batch){.samples = count, .input_offsets = feed->offsets, .input = feed->tokens};
    return &feed->batch;
}

locus_status lab_sequence_feed_slice(lab_sequence_feed *feed, uint64_t first, size_t count, const lab_batch **batch,
                                     locus_error *error) {
    if (count == 0 || count > feed->epochs.most || (feed->epochs.samples > 0 && first + count > feed->epochs.samples)) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "count",
                        "sequences %llu to %llu are no slice of %zu sequences in batches of %zu",
                        (unsigned long long)first, (unsigned long long)(first + count), feed->epochs.samples,
                        feed->epochs.most);
    }
    for (size_t i = 0; i < count; i++)
        feed->indices[i] = first + i;
    *batch = pack(feed, count);
    return LOCUS_OK;
}

/* How many sequences step `step` has; which they are is in *first, or in the shuffled order from *first on. */
static size_t find_step(lab_sequence_feed *feed, uint64_t step, uint64_t *first) {
    size_t place;
    if (feed->epochs.samples == 0) {
        *first = step * feed->epochs.most;
        return feed->epochs.most;
    }
    const size_t count = lab_epochs_step(&feed->epochs, step, &place);
    *first = place;
    return count;
}

locus_status lab_sequence_feed_cut(lab_sequence_feed *feed, uint64_t step, lab_cut cut, const lab_batch **batch,
                                   locus_error *error) {
    (void)error;
    uint64_t first;
    const size_t all = find_step(feed, step, &first), count = lab_cut_samples(cut, all);
    first += lab_cut_first(cut, all);
    for (size_t i = 0; i < count; i++)
        feed->indices[i] = feed->epochs.samples == 0 ? first + i : feed->epochs.order[first + i];
    *batch = pack(feed, count);
    return LOCUS_OK;
}

locus_status lab_sequence_feed_step(lab_sequence_feed *feed, uint64_t step, const lab_batch **batch,
                                    locus_error *error) {
    return lab_sequence_feed_cut(feed, step, (lab_cut){0, 1}, batch, error);
}
