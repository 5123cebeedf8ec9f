/* SPDX-License-Identifier: MIT */
/* Scores of a model on a data set, batch by batch in the set's own order. */
#include "train/score.h"

#include "io/fail.h"
#include "train/batch.h"

#include <stdlib.h>
#include <string.h>

static bool stopped(const lab_watch *watch, const char *phase, size_t done, size_t total) {
    return watch != NULL && !watch->look(watch->context, phase, done, total);
}

static locus_status interrupted(locus_error *error) {
    return lab_fail(error, LOCUS_ERROR_INTERRUPTED, "", "stopped as asked");
}

locus_status lab_score_forced(lab_model *model, const lab_dataset *set, size_t batch, const lab_watch *watch,
                              const char *phase, lab_score *score, locus_error *error) {
    memset(score, 0, sizeof *score);
    lab_batcher batcher;
    locus_status status = lab_batcher_create(&batcher, set, batch, 0, error);
    for (size_t first = 0; status == LOCUS_OK && first < set->samples; first += batcher.most) {
        size_t count = set->samples - first < batcher.most ? set->samples - first : batcher.most;
        const lab_batch *packed;
        lab_score part = {0};
        status = lab_batcher_slice(&batcher, first, count, &packed, error);
        if (status == LOCUS_OK) {
            status = lab_model_evaluate(model, packed, &part, error);
        }
        score->loss += part.loss;
        score->tokens += part.tokens;
        score->correct += part.correct;
        score->exact += part.exact;
        score->samples += part.samples;
        if (status == LOCUS_OK && stopped(watch, phase, first + count, set->samples)) {
            status = interrupted(error);
        }
    }
    lab_batcher_destroy(&batcher);
    return status;
}

/* Room for one batch of generated tokens. */
typedef struct decoded {
    size_t *limits, *offsets, *lengths;
    int32_t *tokens;
} decoded;

static void release(decoded *room) {
    free(room->limits);
    free(room->offsets);
    free(room->lengths);
    free(room->tokens);
}

static bool prepare(decoded *room, const lab_dataset *set, size_t most) {
    size_t longest = 0;
    for (size_t i = 0; i < set->samples; i++) {
        size_t length = set->target_offsets[i + 1] - set->target_offsets[i];
        longest = length > longest ? length : longest;
    }
    room->limits = malloc(most * sizeof *room->limits);
    room->offsets = malloc((most + 1) * sizeof *room->offsets);
    room->lengths = malloc(most * sizeof *room->lengths);
    room->tokens = malloc(most * (longest + 1) * sizeof *room->tokens);
    return room->limits != NULL && room->offsets != NULL && room->lengths != NULL && room->tokens != NULL;
}

/* A sample may get as many tokens as its target and the end token: one that is not over by then is wrong. */
static locus_status decode(lab_model *model, const lab_batch *batch, decoded *room, size_t *right, locus_error *error) {
    for (size_t s = 0; s < batch->samples; s++) {
        room->limits[s] = batch->target_offsets[s + 1] - batch->target_offsets[s] + 1;
    }
    lab_generation generation = {
        .limits = room->limits, .output = room->tokens, .output_offsets = room->offsets, .lengths = room->lengths};
    locus_status status = lab_model_generate(model, batch, &generation, error);
    for (size_t s = 0; status == LOCUS_OK && s < batch->samples; s++) {
        size_t length = batch->target_offsets[s + 1] - batch->target_offsets[s];
        *right += room->lengths[s] == length &&
                  memcmp(room->tokens + room->offsets[s], batch->target + batch->target_offsets[s],
                         length * sizeof *room->tokens) == 0;
    }
    return status;
}

locus_status lab_score_greedy(lab_model *model, const lab_dataset *set, size_t batch, size_t samples,
                              const lab_watch *watch, double *exact, locus_error *error) {
    size_t total = samples < set->samples ? samples : set->samples, right = 0;
    decoded room = {0};
    lab_batcher batcher;
    locus_status status = lab_batcher_create(&batcher, set, batch, 0, error);
    if (status == LOCUS_OK && !prepare(&room, set, batcher.most)) {
        status = lab_fail_memory(error, "greedy decoding");
    }
    for (size_t first = 0; status == LOCUS_OK && first < total; first += batcher.most) {
        size_t count = total - first < batcher.most ? total - first : batcher.most;
        const lab_batch *packed;
        status = lab_batcher_slice(&batcher, first, count, &packed, error);
        if (status == LOCUS_OK) {
            status = decode(model, packed, &room, &right, error);
        }
        if (status == LOCUS_OK && stopped(watch, "greedy", first + count, total)) {
            status = interrupted(error);
        }
    }
    release(&room);
    lab_batcher_destroy(&batcher);
    *exact = total == 0 ? 0.0 : (double)right / (double)total;
    return status;
}

locus_status lab_train_score(lab_model *model, const lab_dataset *set, size_t batch, size_t greedy_samples,
                             lab_score *score, double *greedy, locus_error *error) {
    locus_status status = lab_score_forced(model, set, batch, NULL, "test", score, error);
    if (status == LOCUS_OK && greedy != NULL) {
        status = lab_score_greedy(model, set, batch, greedy_samples, NULL, greedy, error);
    }
    return status;
}
