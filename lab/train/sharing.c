/* SPDX-License-Identifier: MIT */
/* See sharing.h. */
#include "train/sharing.h"

#include "io/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pieces of parameters: enough for as many ranks as there can be shards, and the same for every number of ranks. */
enum { PIECES = LAB_MOST_SHARDS, PIECE_ROUND = 16 };

locus_status lab_sharing_open(lab_sharing *sharing, lab_ranks *ranks, size_t shards, size_t elements,
                              locus_error *error) {
    const size_t count = lab_ranks_count(ranks), rank = lab_ranks_rank(ranks), least = (elements + PIECES - 1) / PIECES;
    *sharing = (lab_sharing){.ranks = ranks, .shards = shards, .own_shards = shards / count, .elements = elements};
    sharing->first_shard = rank * sharing->own_shards;
    sharing->piece = (least + PIECE_ROUND - 1) / PIECE_ROUND * PIECE_ROUND;
    sharing->pieces = (elements + sharing->piece - 1) / sharing->piece;
    sharing->own = lab_ranks_share(ranks, sharing->pieces);
    const size_t end = sharing->own.end * sharing->piece;
    sharing->first = sharing->own.first * sharing->piece;
    sharing->first = sharing->first < elements ? sharing->first : elements;
    sharing->count = (end < elements ? end : elements) - sharing->first;
    sharing->squares = calloc(sharing->pieces + 1, sizeof *sharing->squares);
    return sharing->squares == NULL ? lab_fail_memory(error, "a training's shards") : LOCUS_OK;
}

void lab_sharing_close(lab_sharing *sharing) {
    for (size_t i = 0; i < LAB_SHARE_LEVELS; i++)
        free(sharing->sums[i]);
    free(sharing->squares);
    memset(sharing, 0, sizeof *sharing);
}

static bool shared(const lab_sharing *sharing) {
    return lab_ranks_count(sharing->ranks) > 1;
}

/* Alone, memory is kept: taking it back costs a little time. */
static locus_status return_gradients(const lab_sharing *sharing, lab_model *model, locus_error *error) {
    return shared(sharing) ? lab_model_gradients_return(model, error) : LOCUS_OK;
}

/* ---- the shards of a rank ---- */

static locus_status shard_compute(const lab_sharing *sharing, const lab_shared_step *step, size_t shard,
                                  lab_vote *total, locus_error *error) {
    const lab_shard_key key = {step->seed, (uint32_t)step->step, (uint32_t)shard, shared(sharing)};
    const lab_batch *batch;
    lab_score score = {0};
    locus_status status = lab_feed_cut(step->feed, step->step, (lab_cut){shard, sharing->shards}, &batch, error);
    if (status == LOCUS_OK && batch->samples == 0) /* an epoch's last batch may have fewer samples than shards */
        memset(lab_model_gradients(step->model), 0, sharing->elements * sizeof(float));
    else if (status == LOCUS_OK)
        status = lab_model_train_shard(step->model, batch, &key, &score, error);
    if (status != LOCUS_OK)
        return status;
    total->sum = score.loss;
    total->counts[0] += score.tokens;
    total->counts[1] += score.read_only;
    return LOCUS_OK;
}

/* As a binary counter: what waits at a level is added to what came behind it, which then belongs to the next. */
static size_t add_waiting(const lab_sharing *sharing, float *gradients, size_t index, double *loss) {
    size_t level = 0;
    for (; index >> level & 1; level++) {
        lab_numbers_add(gradients, sharing->sums[level], sharing->elements);
        *loss += sharing->losses[level];
    }
    return level;
}

static locus_status keep_waiting(lab_sharing *sharing, size_t level, const float *gradients, double loss,
                                 locus_error *error) {
    if (sharing->sums[level] == NULL)
        sharing->sums[level] = malloc(sharing->elements * sizeof(float));
    if (sharing->sums[level] == NULL)
        return lab_fail_memory(error, "the gradients of a shard");
    memcpy(sharing->sums[level], gradients, sharing->elements * sizeof(float));
    sharing->losses[level] = loss;
    return LOCUS_OK;
}

/* The model's gradients are the sum over the rank's shards then. */
static locus_status shards_compute(lab_sharing *sharing, const lab_shared_step *step, lab_vote *total,
                                   locus_error *error) {
    float *gradients = lab_model_gradients(step->model);
    locus_status status = LOCUS_OK;
    for (size_t i = 0; status == LOCUS_OK && i < sharing->own_shards; i++) {
        total->place = sharing->first_shard + i + 1;
        status = shard_compute(sharing, step, sharing->first_shard + i, total, error);
        if (status != LOCUS_OK)
            break;
        const size_t level = add_waiting(sharing, gradients, i, &total->sum);
        if (i + 1 == sharing->own_shards)
            break;
        status = keep_waiting(sharing, level, gradients, total->sum, error);
        if (status == LOCUS_OK)
            status = return_gradients(sharing, step->model, error);
    }
    return status;
}

/* ---- all ranks ---- */

static locus_status norm_find(const lab_sharing *sharing, const float *gradients, double *norm, locus_error *error) {
    const lab_pieces pieces = {sharing->elements, sharing->piece, sharing->own.first, sharing->own.end};
    const size_t bytes = sharing->pieces * sizeof *sharing->squares;
    double total = 0.0;
    lab_square_sums(&pieces, gradients, sharing->squares);
    const locus_status status =
        lab_ranks_gather(sharing->ranks, sharing->squares, bytes, sizeof *sharing->squares, error);
    for (size_t i = 0; i < sharing->pieces; i++)
        total += sharing->squares[i];
    *norm = sqrt(total);
    return status;
}

static locus_status update(const lab_sharing *sharing, const lab_shared_step *step, lab_shared_score *score,
                           locus_error *error) {
    float *values = lab_model_values(step->model), *gradients = lab_model_gradients(step->model);
    const double scale = 1.0 / (double)score->tokens;
    locus_status status = lab_ranks_fold(sharing->ranks, gradients, sharing->elements, sharing->piece, error);
    if (status == LOCUS_OK)
        status = norm_find(sharing, gradients, &score->norm, error);
    score->norm *= scale;
    if (status == LOCUS_OK) {
        status = lab_optimizer_update(step->optimizer, step->rate, scale, score->norm, values + sharing->first,
                                      gradients + sharing->first, error);
    }
    return status == LOCUS_OK ? lab_ranks_gather(sharing->ranks, values, sharing->elements * sizeof *values,
                                                 sharing->piece * sizeof *values, error)
                              : status;
}

locus_status lab_sharing_step(lab_sharing *sharing, const lab_shared_step *step, lab_shared_score *score,
                              locus_error *error) {
    lab_vote total = {0};
    locus_status status = shards_compute(sharing, step, &total, error);
    status = lab_ranks_agree(sharing->ranks, status, &total, error);
    if (status == LOCUS_OK && !isfinite(total.sum))
        status = lab_fail(error, LOCUS_ERROR_NUMERIC, "loss", "the loss is not finite");
    if (status != LOCUS_OK)
        return status;
    *score =
        (lab_shared_score){.loss = total.sum, .tokens = (size_t)total.counts[0], .read_only = (size_t)total.counts[1]};
    status = update(sharing, step, score, error);
    if (status == LOCUS_OK)
        status = lab_model_update(step->model, error);
    if (status == LOCUS_OK)
        status = return_gradients(sharing, step->model, error);
    return lab_ranks_agree(sharing->ranks, status, NULL, error);
}

/* ---- slices ---- */

locus_status lab_sharing_gather(const lab_sharing *sharing, const float *slice, float *whole, locus_error *error) {
    memcpy(whole + sharing->first, slice, sharing->count * sizeof *whole);
    return lab_ranks_gather(sharing->ranks, whole, sharing->elements * sizeof *whole, sharing->piece * sizeof *whole,
                            error);
}

locus_status lab_sharing_deal(const lab_sharing *sharing, float *whole, float *slice, locus_error *error) {
    const locus_status status = lab_ranks_broadcast(sharing->ranks, whole, sharing->elements * sizeof *whole, error);
    memcpy(slice, whole + sharing->first, sharing->count * sizeof *slice);
    return status;
}
