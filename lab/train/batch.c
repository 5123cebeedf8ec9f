/* SPDX-License-Identifier: MIT */
/* Batches. An epoch's order is a Fisher–Yates shuffle from numbers keyed by (seed, epoch); its last batch may be
 * smaller. */
#include "train/batch.h"

#include "io/fail.h"

#include <stdlib.h>
#include <string.h>

#define PURPOSE_SHUFFLE (LOCUS_RANDOM_USER + 0x2000u)
#define OWN_ORDER UINT64_MAX

locus_status lab_batcher_create(lab_batcher *batcher, const lab_dataset *set, size_t most, uint64_t seed,
                                locus_error *error) {
    memset(batcher, 0, sizeof *batcher);
    batcher->set = set;
    batcher->most = most < set->samples ? most : set->samples;
    batcher->seed = seed;
    batcher->epoch = OWN_ORDER;
    batcher->order = malloc((set->samples + 1) * sizeof *batcher->order);
    batcher->input_offsets = malloc((batcher->most + 1) * sizeof *batcher->input_offsets);
    batcher->target_offsets = malloc((batcher->most + 1) * sizeof *batcher->target_offsets);
    if (batcher->order == NULL || batcher->input_offsets == NULL || batcher->target_offsets == NULL) {
        lab_batcher_destroy(batcher);
        return lab_fail_memory(error, "a batch");
    }
    for (size_t i = 0; i < set->samples; i++) {
        batcher->order[i] = i;
    }
    return LOCUS_OK;
}

void lab_batcher_destroy(lab_batcher *batcher) {
    free(batcher->order);
    free(batcher->input_offsets);
    free(batcher->target_offsets);
    free(batcher->input);
    free(batcher->target);
    memset(batcher, 0, sizeof *batcher);
}

static void shuffle(lab_batcher *batcher, uint64_t epoch) {
    locus_random random = {batcher->seed, PURPOSE_SHUFFLE, (uint32_t)epoch};
    for (size_t i = 0; i < batcher->set->samples; i++) {
        batcher->order[i] = i;
    }
    for (size_t i = batcher->set->samples; i > 1; i--) {
        size_t j = (size_t)locus_random_below(&random, i, i), kept = batcher->order[i - 1];
        batcher->order[i - 1] = batcher->order[j];
        batcher->order[j] = kept;
    }
    batcher->epoch = epoch;
}

static bool reserve(int32_t **tokens, size_t *room, size_t needed) {
    if (needed <= *room) {
        return true;
    }
    int32_t *grown = realloc(*tokens, (needed + needed / 8) * sizeof *grown);
    if (grown != NULL) {
        *tokens = grown;
        *room = needed + needed / 8;
    }
    return grown != NULL;
}

/* Lays the samples order[0 … count) end to end. */
static locus_status pack(lab_batcher *batcher, const size_t *order, size_t count, const lab_batch **batch,
                         locus_error *error) {
    const lab_dataset *set = batcher->set;
    batcher->input_offsets[0] = batcher->target_offsets[0] = 0;
    for (size_t i = 0; i < count; i++) {
        size_t s = order[i];
        batcher->input_offsets[i + 1] = batcher->input_offsets[i] + set->input_offsets[s + 1] - set->input_offsets[s];
        batcher->target_offsets[i + 1] =
            batcher->target_offsets[i] + set->target_offsets[s + 1] - set->target_offsets[s];
    }
    if (!reserve(&batcher->input, &batcher->input_room, batcher->input_offsets[count] + 1) ||
        !reserve(&batcher->target, &batcher->target_room, batcher->target_offsets[count] + 1)) {
        return lab_fail_memory(error, "a batch");
    }
    for (size_t i = 0; i < count; i++) {
        size_t s = order[i];
        memcpy(batcher->input + batcher->input_offsets[i], set->input + set->input_offsets[s],
               (batcher->input_offsets[i + 1] - batcher->input_offsets[i]) * sizeof *batcher->input);
        memcpy(batcher->target + batcher->target_offsets[i], set->target + set->target_offsets[s],
               (batcher->target_offsets[i + 1] - batcher->target_offsets[i]) * sizeof *batcher->target);
    }
    lab_batch packed = {.samples = count,
                        .input_offsets = batcher->input_offsets,
                        .target_offsets = batcher->target_offsets,
                        .input = batcher->input,
                        .target = batcher->target};
    batcher->batch = packed;
    *batch = &batcher->batch;
    return LOCUS_OK;
}

locus_status lab_batcher_step(lab_batcher *batcher, uint64_t step, const lab_batch **batch, locus_error *error) {
    size_t samples = batcher->set->samples;
    uint64_t each = (samples + batcher->most - 1) / batcher->most, epoch = step / each;
    if (batcher->epoch != epoch) {
        shuffle(batcher, epoch);
    }
    size_t first = (size_t)(step % each) * batcher->most;
    size_t count = samples - first < batcher->most ? samples - first : batcher->most;
    return pack(batcher, batcher->order + first, count, batch, error);
}

locus_status lab_batcher_slice(lab_batcher *batcher, size_t first, size_t count, const lab_batch **batch,
                               locus_error *error) {
    if (batcher->epoch != OWN_ORDER) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "batcher", "a batcher that has been shuffled gives no slices");
    }
    return pack(batcher, batcher->order + first, count, batch, error);
}
