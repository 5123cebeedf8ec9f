/* SPDX-License-Identifier: MIT */
/* Packed batches. The last one of an epoch may be smaller. */
#include "train/feed/batch.h"

#include "io/fail.h"
#include "io/grow.h"

#include <stdlib.h>
#include <string.h>

typedef struct dealt_sample {
    size_t place, tokens, part; /* place: in the batch */
} dealt_sample;

struct lab_deal {
    uint64_t step;
    size_t parts, room;    /* room: parts that there is memory for */
    dealt_sample *samples; /* [most] */
    size_t *order;         /* [most]: the batch's samples, part by part */
    size_t *tokens, *left; /* [room]: of each part; samples that it has room for */
};

locus_status lab_batcher_create(lab_batcher *batcher, const lab_dataset *set, size_t most, uint64_t seed,
                                locus_error *error) {
    memset(batcher, 0, sizeof *batcher);
    batcher->set = set;
    most = most < set->samples ? most : set->samples;
    batcher->epochs = (lab_epochs){set->samples, most, seed, LAB_NO_EPOCH, malloc((set->samples + 1) * sizeof(size_t))};
    batcher->input_offsets = malloc((most + 1) * sizeof *batcher->input_offsets);
    batcher->target_offsets = malloc((most + 1) * sizeof *batcher->target_offsets);
    batcher->labels = malloc((most + 1) * sizeof *batcher->labels);
    if (batcher->epochs.order == NULL || batcher->input_offsets == NULL || batcher->target_offsets == NULL ||
        batcher->labels == NULL) {
        lab_batcher_destroy(batcher);
        return lab_fail_memory(error, "a batch");
    }
    for (size_t i = 0; i < set->samples; i++)
        batcher->epochs.order[i] = i;
    return LOCUS_OK;
}

static void release(struct lab_packed *side) {
    free(side->tokens);
    free(side->parents);
    free(side->branches);
}

static void deal_destroy(struct lab_deal **deal) {
    if (*deal == NULL)
        return;
    free((*deal)->samples);
    free((*deal)->order);
    free((*deal)->tokens);
    free((*deal)->left);
    free(*deal);
    *deal = NULL;
}

void lab_batcher_destroy(lab_batcher *batcher) {
    deal_destroy(&batcher->deal);
    free(batcher->epochs.order);
    free(batcher->input_offsets);
    free(batcher->target_offsets);
    free(batcher->labels);
    release(&batcher->input);
    release(&batcher->target);
    memset(batcher, 0, sizeof *batcher);
}

static bool reserve(struct lab_packed *side, size_t needed, bool trees) {
    if (needed <= side->room)
        return true;
    const size_t room = needed + needed / 8;
    const bool good = lab_enlarge(&side->tokens, room) &&
                      (!trees || (lab_enlarge(&side->parents, room) && lab_enlarge(&side->branches, room)));
    side->room = good ? room : side->room;
    return good;
}

/* One side of a set: what its samples read, or what they are to write. */
typedef struct part {
    const size_t *offsets;
    const int32_t *tokens;
    const lab_tree_nodes *nodes;
} part;

static void copy(int32_t *to, const int32_t *from, size_t count) {
    memcpy(to, from, count * sizeof *to);
}

/* Lays the samples order[0 … count) of one side end to end. */
static bool pack_side(struct lab_packed *side, size_t *offsets, const part *from, const size_t *order, size_t count) {
    const bool trees = from->nodes->parents != NULL;
    offsets[0] = 0;
    for (size_t i = 0; i < count; i++)
        offsets[i + 1] = offsets[i] + from->offsets[order[i] + 1] - from->offsets[order[i]];
    if (!reserve(side, offsets[count] + 1, trees))
        return false;
    for (size_t i = 0; i < count; i++) {
        const size_t start = from->offsets[order[i]], tokens = offsets[i + 1] - offsets[i];
        copy(side->tokens + offsets[i], from->tokens + start, tokens);
        if (trees) {
            copy(side->parents + offsets[i], from->nodes->parents + start, tokens);
            copy(side->branches + offsets[i], from->nodes->branches + start, tokens);
        }
    }
    return true;
}

static locus_status pack(lab_batcher *batcher, const size_t *order, size_t count, const lab_batch **batch,
                         locus_error *error) {
    const lab_dataset *set = batcher->set;
    const part input = {set->input_offsets, set->input, &set->input_tree};
    const part target = {set->target_offsets, set->target, &set->target_tree};
    const bool targets = set->target_offsets != NULL;
    if (!pack_side(&batcher->input, batcher->input_offsets, &input, order, count) ||
        (targets && !pack_side(&batcher->target, batcher->target_offsets, &target, order, count)))
        return lab_fail_memory(error, "a batch");
    for (size_t i = 0; set->labels != NULL && i < count; i++)
        batcher->labels[i] = set->labels[order[i]];
    batcher->batch = (lab_batch){.samples = count,
                                 .input_offsets = batcher->input_offsets,
                                 .target_offsets = targets ? batcher->target_offsets : NULL,
                                 .input = batcher->input.tokens,
                                 .target = batcher->target.tokens,
                                 .labels = set->labels != NULL ? batcher->labels : NULL,
                                 .input_tree = {batcher->input.parents, batcher->input.branches},
                                 .target_tree = {batcher->target.parents, batcher->target.branches}};
    *batch = &batcher->batch;
    return LOCUS_OK;
}

/* ---- parts ---- */

static locus_status deal_reserve(lab_batcher *batcher, size_t parts, locus_error *error) {
    struct lab_deal *deal = batcher->deal;
    if (deal != NULL && deal->room >= parts)
        return LOCUS_OK;
    deal_destroy(&batcher->deal);
    deal = batcher->deal = calloc(1, sizeof *deal);
    if (deal == NULL)
        return lab_fail_memory(error, "a batch's parts");
    *deal = (struct lab_deal){.room = parts,
                              .samples = malloc((batcher->epochs.most + 1) * sizeof *deal->samples),
                              .order = malloc((batcher->epochs.most + 1) * sizeof *deal->order),
                              .tokens = malloc(parts * sizeof *deal->tokens),
                              .left = malloc(parts * sizeof *deal->left)};
    if (deal->samples != NULL && deal->order != NULL && deal->tokens != NULL && deal->left != NULL)
        return LOCUS_OK;
    deal_destroy(&batcher->deal);
    return lab_fail_memory(error, "a batch's parts");
}

static int longest_first(const void *a, const void *b) {
    const dealt_sample *x = a, *y = b;
    return x->tokens != y->tokens ? (x->tokens < y->tokens) - (x->tokens > y->tokens)
                                  : (x->place > y->place) - (x->place < y->place);
}

static int by_part(const void *a, const void *b) {
    const dealt_sample *x = a, *y = b;
    return x->part != y->part ? (x->part > y->part) - (x->part < y->part)
                              : (x->place > y->place) - (x->place < y->place);
}

static size_t tokens_of(const lab_dataset *set, size_t sample) {
    const size_t *target = set->target_offsets;
    return set->input_offsets[sample + 1] - set->input_offsets[sample] +
           (target != NULL ? target[sample + 1] - target[sample] : 0);
}

/* Each to the part that has the fewest tokens so far, of those with room. */
static void deal_samples(struct lab_deal *deal, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t least = deal->parts;
        for (size_t p = 0; p < deal->parts; p++)
            if (deal->left[p] > 0 && (least == deal->parts || deal->tokens[p] < deal->tokens[least]))
                least = p;
        deal->samples[i].part = least;
        deal->tokens[least] += deal->samples[i].tokens;
        deal->left[least]--;
    }
}

static locus_status deal_batch(lab_batcher *batcher, uint64_t step, size_t parts, const size_t *order, size_t count,
                               locus_error *error) {
    const locus_status status = deal_reserve(batcher, parts, error);
    struct lab_deal *deal = batcher->deal;
    if (status != LOCUS_OK || (deal->parts == parts && deal->step == step))
        return status;
    deal->parts = parts;
    deal->step = step;
    for (size_t p = 0; p < parts; p++) {
        deal->tokens[p] = 0;
        deal->left[p] = lab_cut_samples((lab_cut){p, parts}, count);
    }
    for (size_t i = 0; i < count; i++)
        deal->samples[i] = (dealt_sample){i, tokens_of(batcher->set, order[i]), 0};
    qsort(deal->samples, count, sizeof *deal->samples, longest_first);
    deal_samples(deal, count);
    qsort(deal->samples, count, sizeof *deal->samples, by_part);
    for (size_t i = 0; i < count; i++)
        deal->order[i] = order[deal->samples[i].place];
    return LOCUS_OK;
}

locus_status lab_batcher_cut(lab_batcher *batcher, uint64_t step, lab_cut cut, const lab_batch **batch,
                             locus_error *error) {
    size_t first;
    const size_t count = lab_epochs_step(&batcher->epochs, step, &first);
    const size_t *order = batcher->epochs.order + first;
    if (cut.count > 1) {
        const locus_status status = deal_batch(batcher, step, cut.count, order, count, error);
        if (status != LOCUS_OK)
            return status;
        order = batcher->deal->order;
    }
    return pack(batcher, order + lab_cut_first(cut, count), lab_cut_samples(cut, count), batch, error);
}

locus_status lab_batcher_step(lab_batcher *batcher, uint64_t step, const lab_batch **batch, locus_error *error) {
    return lab_batcher_cut(batcher, step, (lab_cut){0, 1}, batch, error);
}

locus_status lab_batcher_slice(lab_batcher *batcher, size_t first, size_t count, const lab_batch **batch,
                               locus_error *error) {
    if (batcher->epochs.epoch != LAB_NO_EPOCH)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "batcher", "a batcher that has been shuffled gives no slices");
    return pack(batcher, batcher->epochs.order + first, count, batch, error);
}
