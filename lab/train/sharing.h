/* SPDX-License-Identifier: MIT */
/* One training step over fixed shards, on one rank or on many: the same bits for every number of ranks.
 *
 *   a batch        is dealt to V shards (feed/cut.h); of R ranks, rank r computes shards r V/R … (r + 1) V/R − 1
 *   gradients      of sums of losses, not of means, are added up as a binary tree over shards, nearest neighbours
 *                  first, the lower levels here, the upper ones over ranks (ranks/ranks.h): one tree for every R
 *   the mean       is over what the whole batch predicts: gradients are multiplied by 1 / its number in the optimiser
 *   their norm     is summed by fixed pieces of the parameters, piece by piece in order
 *   the optimiser  of a rank has the pieces of its share: it updates these, then all gather what the others have */
#ifndef LAB_SHARING_H
#define LAB_SHARING_H

#include "model/model.h"
#include "ranks/ranks.h"
#include "train/feed/feed.h"
#include "train/optimizer.h"

enum { LAB_SHARE_LEVELS = 11 }; /* of a tree of LAB_MOST_SHARDS */

typedef struct lab_sharing {
    lab_ranks *ranks; /* NULL: alone */
    size_t shards, first_shard, own_shards;
    size_t elements, piece, pieces; /* of the parameters */
    lab_share own;                  /* the rank's pieces */
    size_t first, count;            /* the elements of these */
    float *sums[LAB_SHARE_LEVELS]; /* [elements]: of 2^level shards that wait for their neighbours; NULL: no room yet */
    double losses[LAB_SHARE_LEVELS];
    double *squares; /* [pieces] */
} lab_sharing;

/* Needs a power of two of shards, and of ranks, no more than shards. */
locus_status lab_sharing_open(lab_sharing *sharing, lab_ranks *ranks, size_t shards, size_t elements,
                              locus_error *error);
void lab_sharing_close(lab_sharing *sharing);

typedef struct lab_shared_step {
    lab_model *model;
    lab_feed *feed;
    lab_optimizer *optimizer; /* of sharing->count elements */
    uint64_t seed, step;
    double rate;
} lab_shared_step;

typedef struct lab_shared_score {
    double loss, norm;        /* of the whole batch: summed; of the mean's gradient */
    size_t tokens, read_only; /* predicted; read beside these */
} lab_shared_score;

/* Computes, updates and gathers; all ranks get the same score, and fail alike: NUMERIC with the argument "loss" or
 * "gradient" if that is not finite, or with an encoding's own. */
locus_status lab_sharing_step(lab_sharing *sharing, const lab_shared_step *step, lab_shared_score *score,
                              locus_error *error);

/* Puts a rank's slice [count] of all elements where it belongs in `whole` [elements], and there the others' beside it.
 * */
locus_status lab_sharing_gather(const lab_sharing *sharing, const float *slice, float *whole, locus_error *error);
/* Sends `whole` from rank 0 to all, which keep their slice. */
locus_status lab_sharing_deal(const lab_sharing *sharing, float *whole, float *slice, locus_error *error);

#endif
