/* SPDX-License-Identifier: MIT */
/* Scores of a model on a data set, batch by batch in the set's own order. */
#include "train/score.h"

#include "io/fail.h"
#include "task/growth.h"
#include "train/feed/feed.h"

#include <stdlib.h>
#include <string.h>

static locus_status look(const lab_scoring *how, const char *phase, size_t done, size_t total, locus_error *error) {
    return how->look == NULL || how->look(how->context, phase, done, total)
               ? LOCUS_OK
               : lab_fail(error, LOCUS_ERROR_INTERRUPTED, "", "stopped as asked");
}

/* ---- teacher-forced ---- */

static locus_status score_batch(lab_model *model, lab_feed *feed, const lab_dataset *set, const lab_scoring *how,
                                size_t index, lab_score *part, locus_error *error) {
    const size_t first = index * how->batch, left = set->samples - first;
    const size_t count = left < how->batch ? left : how->batch;
    const lab_batch *batch;
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): where there was no memory, ranks agree that it failed
    *part = (lab_score){.sample_correct = how->sample_correct == NULL ? NULL : how->sample_correct + first};
    locus_status status = lab_feed_slice(feed, first, count, &batch, error);
    if (status == LOCUS_OK)
        status = lab_model_evaluate(model, batch, part, error);
    return status == LOCUS_OK ? look(how, how->phase, first + count, set->samples, error) : status;
}

/* Each rank scores the batches of its share; they are summed in the set's order, on all. */
static locus_status score_parts(lab_model *model, const lab_dataset *set, const lab_scoring *how, lab_score *parts,
                                locus_error *error) {
    const size_t batches = (set->samples + how->batch - 1) / how->batch;
    const lab_share own = lab_ranks_share(how->ranks, batches);
    lab_vote vote = {0};
    lab_feed feed;
    locus_status status = lab_feed_score(&feed, set, how->batch, error);
    if (status == LOCUS_OK)
        status = lab_feed_check(set, model, error);
    for (size_t i = own.first; status == LOCUS_OK && i < own.end; i++) {
        vote.place = i + 1;
        status = score_batch(model, &feed, set, how, i, &parts[i], error);
    }
    lab_feed_close(&feed);
    status = lab_ranks_agree(how->ranks, status, &vote, error);
    if (status == LOCUS_OK)
        status = lab_ranks_gather(how->ranks, parts, batches * sizeof *parts, sizeof *parts, error);
    if (status == LOCUS_OK && how->sample_correct != NULL) {
        const size_t each = sizeof *how->sample_correct;
        status = lab_ranks_gather(how->ranks, how->sample_correct, set->samples * each, how->batch * each, error);
    }
    return status;
}

static locus_status score_forced(lab_model *model, const lab_dataset *set, const lab_scoring *how, lab_score *score,
                                 locus_error *error) {
    const size_t batches = (set->samples + how->batch - 1) / how->batch;
    lab_score *parts = calloc(batches + 1, sizeof *parts);
    memset(score, 0, sizeof *score);
    locus_status status = parts == NULL ? lab_fail_memory(error, "scores") : LOCUS_OK;
    status = lab_ranks_agree(how->ranks, status, NULL, error);
    if (status == LOCUS_OK)
        status = score_parts(model, set, how, parts, error);
    for (size_t i = 0; status == LOCUS_OK && i < batches; i++) {
        score->loss += parts[i].loss; // NOLINT(clang-analyzer-core.NullDereference): as above
        score->tokens += parts[i].tokens;
        score->correct += parts[i].correct;
        score->exact += parts[i].exact;
        score->samples += parts[i].samples;
    }
    free(parts);
    return status;
}

/* ---- greedy ---- */

enum { PROBLEMS_AT_ONCE = 128 };

/* Room for one batch of generated tokens. */
typedef struct decoded {
    size_t *limits, *offsets, *lengths, *solved;
    int32_t *tokens;
    const int32_t *children; /* the set's */
} decoded;

static void release(decoded *room) {
    free(room->limits);
    free(room->offsets);
    free(room->lengths);
    free(room->solved);
    free(room->tokens);
}

static bool prepare(decoded *room, const lab_dataset *set, size_t most) {
    const size_t longest = lab_longest(set->samples, set->target_offsets);
    room->children = set->children;
    room->limits = malloc(most * sizeof *room->limits);
    room->offsets = malloc((most + 1) * sizeof *room->offsets);
    room->lengths = malloc(most * sizeof *room->lengths);
    room->solved = malloc(most * sizeof *room->solved);
    room->tokens = malloc(most * (longest + 1) * sizeof *room->tokens);
    return room->limits != NULL && room->offsets != NULL && room->lengths != NULL && room->solved != NULL &&
           room->tokens != NULL;
}

/* A problem is given up at its first wrong character. */
typedef struct solver {
    const lab_batch *batch;
    size_t *lengths; /* of what each sample got so far */
} solver;

static bool solve(void *context, size_t sample, int32_t token, int32_t *parent, int32_t *branch) {
    solver *s = context;
    const size_t first = s->batch->target_offsets[sample], at = s->lengths[sample]++;
    (void)parent;
    (void)branch;
    return token == s->batch->target[first + at] && first + at + 1 < s->batch->target_offsets[sample + 1];
}

static locus_status solve_problems(lab_model *model, const lab_batch *batch, lab_generation *generation, decoded *room,
                                   locus_error *error) {
    solver s = {batch, room->solved};
    const lab_growth growth = {solve, &s};
    memset(room->solved, 0, batch->samples * sizeof *room->solved);
    generation->growth = &growth;
    const locus_status status = lab_model_generate(model, batch, generation, error);
    generation->growth = NULL; /* it ends here */
    return status;
}

static locus_status generate(lab_model *model, const lab_batch *batch, const lab_scoring *how, decoded *room,
                             locus_error *error) {
    lab_generation generation = {
        .limits = room->limits, .output = room->tokens, .output_offsets = room->offsets, .lengths = room->lengths};
    if (how->problems != NULL)
        return solve_problems(model, batch, &generation, room, error);
    if (batch->target_tree.parents == NULL)
        return lab_model_generate(model, batch, &generation, error);
    const lab_grower_input input = {.task = how->task,
                                    .options = how->options,
                                    .table = room->children,
                                    .samples = batch->samples,
                                    .input_offsets = batch->input_offsets,
                                    .input = batch->input,
                                    .limits = room->limits};
    lab_grower *grower;
    locus_status status = lab_grower_create(&grower, &input, error);
    if (status == LOCUS_OK) {
        const lab_growth growth = {lab_grower_grow, grower};
        generation.growth = &growth;
        status = lab_model_generate(model, batch, &generation, error);
    }
    lab_grower_destroy(&grower);
    return status;
}

/* A sample may get as many tokens as its target, and of words the end token: one that is not over by then is wrong. The
 * right symbols in a row are the right tree, since symbols and input say how it grows. Problems end with a character of
 * their own, the target's last. `first`: the batch's first sample in the set. */
static locus_status greedy_batch(lab_model *model, const lab_batch *batch, const lab_scoring *how, size_t first,
                                 decoded *room, uint64_t *right, locus_error *error) {
    const size_t end = batch->target_tree.parents == NULL && how->problems == NULL;
    for (size_t s = 0; s < batch->samples; s++)
        room->limits[s] = batch->target_offsets[s + 1] - batch->target_offsets[s] + end;
    locus_status status = generate(model, batch, how, room, error);
    for (size_t s = 0; status == LOCUS_OK && s < batch->samples; s++) {
        const size_t length = batch->target_offsets[s + 1] - batch->target_offsets[s];
        const bool whole = room->lengths[s] == length &&
                           memcmp(room->tokens + room->offsets[s], batch->target + batch->target_offsets[s],
                                  length * sizeof *room->tokens) == 0;
        *right += whole;
        if (how->sample_greedy != NULL)
            how->sample_greedy[first + s] = whole;
    }
    return status;
}

/* A decoder takes many problems at once: it reads all its weights for each character, however many there are. */
static locus_status score_greedy(lab_model *model, const lab_dataset *scored, const lab_scoring *how, double *exact,
                                 locus_error *error) {
    const lab_dataset *set = how->problems != NULL ? how->problems : scored;
    const size_t total = how->greedy_samples < set->samples ? how->greedy_samples : set->samples;
    const size_t most = how->problems != NULL && how->batch < PROBLEMS_AT_ONCE ? PROBLEMS_AT_ONCE : how->batch;
    const lab_share own = lab_ranks_share(how->ranks, (total + most - 1) / most);
    lab_vote vote = {0};
    decoded room = {0};
    lab_feed feed;
    locus_status status = lab_feed_score(&feed, set, most, error);
    if (status == LOCUS_OK && !prepare(&room, set, most < set->samples ? most : set->samples))
        status = lab_fail_memory(error, "greedy decoding");
    for (size_t i = own.first; status == LOCUS_OK && i < own.end; i++) {
        const size_t first = i * most, count = total - first < most ? total - first : most;
        const lab_batch *batch;
        vote.place = i + 1;
        status = lab_feed_slice(&feed, first, count, &batch, error);
        if (status == LOCUS_OK)
            status = greedy_batch(model, batch, how, first, &room, &vote.counts[0], error);
        if (status == LOCUS_OK)
            status = look(how, "greedy", first + count, total, error);
    }
    release(&room);
    lab_feed_close(&feed);
    status = lab_ranks_agree(how->ranks, status, &vote, error);
    if (status == LOCUS_OK && how->sample_greedy != NULL)
        status = lab_ranks_gather(how->ranks, how->sample_greedy, total, most, error);
    *exact = total == 0 ? 0.0 : (double)vote.counts[0] / (double)total;
    return status;
}

locus_status lab_train_score(lab_model *model, const lab_dataset *set, const lab_scoring *how, lab_score *score,
                             double *greedy, locus_error *error) {
    if (lab_ranks_count(how->ranks) > 1)
        lab_model_activations_release(model); /* a step's: scores need fewer */
    const locus_status status = score_forced(model, set, how, score, error);
    return status == LOCUS_OK && greedy != NULL ? score_greedy(model, set, how, greedy, error) : status;
}
