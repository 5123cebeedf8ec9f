/* SPDX-License-Identifier: MIT */
/* Scores of the best parameters on the test sets, and loading them again.
 *
 * Set "test" has the trained mean length of words or mean depth of trees, "test:200" another; "depth:5" and
 * "nodes:17-32" hold what trees of "test" score whose input is of that depth or size, of expressions "length:65-128";
 * "dev" holds what the development curve says: loss and accuracy at the best step, best_step, and steps_to_90 and
 * steps_to_99, the first evaluated step whose accuracy reached that (absent: never). An encoding that cannot take a
 * length leaves a note in the run's message instead of scores. What the scores are called: outcome.h.
 *
 * Of images all scores are in set "test". The development set is the test set and was scored on the way, so nothing is
 * scored again:
 *
 *   accuracy       the best of all epochs, reached first at best_step, with the loss there
 *   accuracy_half  the best up to half of the steps (published: epoch 150 of 300); absent if nothing was scored by then
 *   accuracy_last  after the last step */
#include "io/fail.h"
#include "train/outcome.h"
#include "train/session.h"
#include "train/train.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set_name(char text[32], size_t length) {
    if (length == 0)
        snprintf(text, 32, "test");
    else
        snprintf(text, 32, "test:%zu", length);
}

static bool has_final(const lab_final *finals, size_t count, const char *set) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(finals[i].set, set) == 0 && strcmp(finals[i].name, "accuracy") == 0)
            return true;
    return false;
}

/* Noted as impossible in an earlier attempt: "test:200: …". */
static bool is_noted(const lab_session *session, const char *set) {
    char start[36];
    snprintf(start, sizeof start, "%s: ", set);
    return session->run->message != NULL && strstr(session->run->message, start) != NULL;
}

/* Which sets have no scores yet: the first is "test", then those of other lengths. */
typedef struct wanted_sets {
    bool wanted[1 + LAB_MAX_TEST_LENGTHS];
} wanted_sets;

static size_t set_length(const lab_session *session, size_t i) {
    return i == 0 ? 0 : session->config.test_lengths[i - 1];
}

static locus_status find_wanted(lab_session *session, wanted_sets *sets, locus_error *error) {
    lab_final *finals;
    size_t count;
    const locus_status status = lab_store_finals(session->store, session->run->id, &finals, &count, error);
    for (size_t i = 0; status == LOCUS_OK && i <= session->config.test_length_count; i++) {
        char set[32];
        set_name(set, set_length(session, i));
        sets->wanted[i] = !has_final(finals, count, set) && !is_noted(session, set);
    }
    free(finals);
    return status;
}

bool lab_session_lacks_finals(lab_session *session) {
    wanted_sets sets = {{false}};
    if (find_wanted(session, &sets, NULL) != LOCUS_OK)
        return true; /* the failure is met again, and told, where they are written */
    bool lacks = false;
    for (size_t i = 0; i < sizeof sets.wanted / sizeof *sets.wanted; i++)
        lacks = lacks || sets.wanted[i];
    return lacks;
}

static bool watch(void *context, const char *phase, size_t done, size_t total) {
    lab_session *session = context;
    lab_session_progress(session, phase, false);
    return !session->stop || done == total;
}

static locus_status score_set(lab_session *session, size_t mean, lab_outcome *outcome, locus_error *error) {
    const lab_train_config *config = &session->config;
    lab_outcome_request request = {.set = lab_train_set_ask(config, LAB_SET_TEST),
                                   .greedy_samples = config->greedy_samples,
                                   .groups = mean == 0,
                                   .look = watch,
                                   .context = session};
    request.set.mean = mean;
    request.set.tokenizer = session->run_folder; /* rank 0 has one; others read what the training does */
    request.ranks = session->ranks;
    return lab_outcome_make(outcome, session->model, config, &request, error);
}

/* What guessing scores is stored where it belongs to the score. */
static locus_status write_set(lab_store *store, int64_t run, const char *set, const lab_outcome *outcome,
                              locus_error *error) {
    lab_outcome_value values[LAB_OUTCOME_VALUES];
    const size_t count = lab_outcome_values(outcome, values);
    const bool guesses = outcome->task->class->stores_chance;
    locus_status status = LOCUS_OK;
    for (size_t i = 0; status == LOCUS_OK && i < count; i++)
        if (guesses || strcmp(values[i].name, "chance") != 0)
            status = lab_store_final_set(store, run, set, values[i].name, values[i].value, error);
    return status;
}

/* One that is not known is not written. */
typedef struct score_value {
    const char *name;
    double value;
    bool known;
} score_value;

static locus_status write_values(lab_session *session, const char *set, const score_value *values, size_t count,
                                 locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; status == LOCUS_OK && i < count; i++)
        if (values[i].known)
            status = lab_store_final_set(session->store, session->run->id, set, values[i].name, values[i].value, error);
    return status;
}

/* A group of trees: shares of its tokens and samples, and how many these are. */
static locus_status write_group(lab_session *session, const lab_tree_group *group, locus_error *error) {
    const score_value values[] = {
        {"accuracy", (double)group->correct / (double)group->tokens, true},
        {"exact", (double)group->exact / (double)group->samples, true},
        {"samples", (double)group->samples, true},
        {"greedy_exact", (double)group->greedy / (double)group->decoded, group->decoded > 0},
    };
    return write_values(session, group->set, values, sizeof values / sizeof *values, error);
}

/* The first step at which a curve is that high. */
static score_value first_step(const char *name, const lab_metric *curve, size_t count, double height) {
    size_t i = 0;
    while (i < count && !(curve[i].value >= height))
        i++;
    return (score_value){name, i < count ? (double)curve[i].step : 0.0, i < count};
}

/* The development curve in numbers. */
static locus_status write_curve(lab_session *session, locus_error *error) {
    const lab_training_state *state = &session->state;
    lab_metric *curve;
    size_t count, best = 0;
    locus_status status = lab_store_metrics(session->store, session->run->id, "dev.accuracy", &curve, &count, error);
    if (status != LOCUS_OK)
        return status;
    while (best < count && curve[best].step != state->best_step)
        best++;
    const score_value values[] = {
        first_step("steps_to_90", curve, count, 0.90),
        first_step("steps_to_99", curve, count, 0.99),
        {"accuracy", best < count ? curve[best].value : 0.0, best < count},
        {"loss", state->best_measure, true},
        {"best_step", (double)state->best_step, true},
    };
    status = write_values(session, "dev", values, sizeof values / sizeof *values, error);
    free(curve);
    return status;
}

/* All scores of a set in one transaction. */
static locus_status store_set(lab_session *session, const char *set, const lab_outcome *result, locus_error *error) {
    locus_status status = lab_store_begin(session->store, error);
    if (status != LOCUS_OK)
        return status;
    status = write_set(session->store, session->run->id, set, result, error);
    for (size_t i = 0; status == LOCUS_OK && i < result->group_count; i++)
        status = write_group(session, &result->groups[i], error);
    if (status == LOCUS_OK && strcmp(set, "test") == 0)
        status = write_curve(session, error);
    return lab_store_end(session->store, status, error);
}

/* The rank that was asked to stop is one of many, and all are told the same: whether a scheduler asked. */
static locus_status agree_on_set(lab_session *session, locus_status status, locus_error *error) {
    lab_vote vote = {.flags = session->queue_again ? 1 : 0};
    status = lab_ranks_agree(session->ranks, status, &vote, error);
    return status == LOCUS_ERROR_INTERRUPTED && vote.flags != 0
               ? lab_fail(error, status, LAB_QUEUE_AGAIN, "stopped while scores were made, after all steps")
               : status;
}

static locus_status final_set(lab_session *session, size_t mean, locus_error *error) {
    char set[32];
    lab_outcome result = {0};
    set_name(set, mean);
    locus_error local = {0};
    locus_status status = score_set(session, mean, &result, &local);
    if (status == LOCUS_OK) {
        status = session->leads ? store_set(session, set, &result, &local) : LOCUS_OK;
    } else if (mean != 0 && (status == LOCUS_ERROR_POSITION || status == LOCUS_ERROR_ARGUMENT ||
                             status == LOCUS_ERROR_UNSUPPORTED)) { /* the training is none the worse for it */
        char note[sizeof local.message + sizeof set + 2];
        snprintf(note, sizeof note, "%s: %s", set, local.message);
        status = lab_session_message(session, note, true, &local);
    }
    lab_outcome_free(&result);
    status = agree_on_set(session, status, &local);
    if (status != LOCUS_OK && error != NULL)
        *error = local;
    return status;
}

locus_status lab_train_store(lab_store *store, const lab_run *run, size_t size, const lab_outcome *outcome,
                             locus_error *error) {
    char set[32];
    set_name(set, size);
    locus_status status = lab_store_begin(store, error);
    if (status != LOCUS_OK)
        return status;
    return lab_store_end(store, write_set(store, run->id, set, outcome, error), error);
}

/* ---- images ---- */

typedef struct image_curve {
    lab_metric *accuracy, *loss;
    size_t count; /* both have as many */
} image_curve;

static locus_status read_image_curve(lab_session *session, image_curve *read, locus_error *error) {
    size_t losses = 0;
    *read = (image_curve){0};
    locus_status status =
        lab_store_metrics(session->store, session->run->id, "dev.accuracy", &read->accuracy, &read->count, error);
    if (status == LOCUS_OK)
        status = lab_store_metrics(session->store, session->run->id, "dev.loss", &read->loss, &losses, error);
    read->count = losses < read->count ? losses : read->count;
    return status;
}

/* The first of the best among those up to a step; count: none. */
static size_t best_until(const image_curve *read, uint64_t step) {
    size_t best = read->count;
    for (size_t i = 0; i < read->count && read->accuracy[i].step <= step; i++)
        best = best == read->count || read->accuracy[i].value > read->accuracy[best].value ? i : best;
    return best;
}

static locus_status write_image_curve(lab_session *session, const image_curve *read, locus_error *error) {
    const uint64_t total = lab_config_steps(&session->config);
    const size_t best = best_until(read, total), half = best_until(read, total / 2);
    if (best == read->count)
        return LOCUS_OK; /* cannot be: the last step is always scored */
    const score_value values[] = {
        {"loss", read->loss[best].value, true},
        {"best_step", (double)read->accuracy[best].step, true},
        {"accuracy_last", read->accuracy[read->count - 1].value, true},
        {"accuracy_half", half < read->count ? read->accuracy[half].value : 0.0, half < read->count},
        {"accuracy", read->accuracy[best].value, true},
    };
    return write_values(session, "test", values, sizeof values / sizeof *values, error);
}

static locus_status image_finals(lab_session *session, locus_error *error) {
    image_curve read;
    locus_status status = read_image_curve(session, &read, error);
    if (status == LOCUS_OK)
        status = lab_store_begin(session->store, error);
    if (status == LOCUS_OK)
        status = lab_store_end(session->store, write_image_curve(session, &read, error), error);
    free(read.accuracy);
    free(read.loss);
    return status;
}

/* ---- all of a training ---- */

locus_status lab_session_finals(lab_session *session, locus_error *error) {
    if (session->config.task->class->develops_on_test)
        return session->leads ? image_finals(session, error) : LOCUS_OK;
    wanted_sets sets = {{false}};
    locus_status status = session->leads ? find_wanted(session, &sets, error) : LOCUS_OK;
    status = lab_ranks_agree(session->ranks, status, NULL, error);
    if (status == LOCUS_OK)
        status = lab_ranks_broadcast(session->ranks, &sets, sizeof sets, error);
    for (size_t i = 0; status == LOCUS_OK && i <= session->config.test_length_count; i++)
        if (sets.wanted[i])
            status = final_set(session, set_length(session, i), error);
    return status;
}

locus_status lab_train_load(const lab_run *run, const char *folder, lab_train_config *config, lab_model **model,
                            locus_error *error) {
    *model = NULL;
    locus_status status = lab_run_name_check(run->name, error);
    if (status == LOCUS_OK)
        status = lab_config_parse(config, run->config, run, "the run store", error);
    if (status != LOCUS_OK)
        return status;
    char *path = lab_run_path(folder, run->name, "best.safetensors");
    if (path == NULL)
        return lab_fail_memory(error, "a path");
    status = lab_best_expected(run, path, error);
    if (status == LOCUS_OK)
        status = lab_model_create(model, &config->model, config->seed, error);
    if (status == LOCUS_OK)
        status = lab_best_read(*model, path, error);
    if (status != LOCUS_OK)
        lab_model_destroy(model);
    free(path);
    return status;
}
