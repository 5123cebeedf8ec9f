/* SPDX-License-Identifier: MIT */
/* Scores of the best parameters on the test sets, and loading them again. Images: final_images.c.
 *
 * Set "test" has the trained mean length of words or mean depth of trees, "test:200" another; "depth:5" and
 * "nodes:17-32" hold what trees of "test" score whose input is of that depth or size, of expressions "length:65-128";
 * "dev" holds what the development curve says: loss and accuracy at the best step, best_step, and steps_to_90 and
 * steps_to_99, the first evaluated step whose accuracy reached that (absent: never). An encoding that cannot take a
 * length leaves a note in the run's message instead of scores. What the scores are called: outcome.h. */
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

bool lab_session_lacks_finals(lab_session *session) {
    lab_final *finals;
    size_t count;
    if (lab_store_finals(session->store, session->run->id, &finals, &count, NULL) != LOCUS_OK)
        return true; /* the failure is met again, and told, where they are written */
    bool lacks = false;
    for (size_t i = 0; i <= session->config.test_length_count; i++) {
        char set[32];
        set_name(set, i == 0 ? 0 : session->config.test_lengths[i - 1]);
        lacks = lacks || (!has_final(finals, count, set) && !is_noted(session, set));
    }
    free(finals);
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

/* A group of trees: shares of its tokens and samples, and how many these are. */
static locus_status write_group(lab_session *session, const lab_tree_group *group, locus_error *error) {
    const struct {
        const char *name;
        double value;
        bool known;
    } values[] = {
        {"accuracy", (double)group->correct / (double)group->tokens, true},
        {"exact", (double)group->exact / (double)group->samples, true},
        {"samples", (double)group->samples, true},
        {"greedy_exact", (double)group->greedy / (double)group->decoded, group->decoded > 0},
    };
    locus_status status = LOCUS_OK;
    for (size_t i = 0; status == LOCUS_OK && i < sizeof values / sizeof *values; i++) {
        if (values[i].known) {
            status = lab_store_final_set(session->store, session->run->id, group->set, values[i].name, values[i].value,
                                         error);
        }
    }
    return status;
}

/* The development curve in numbers. */
static locus_status write_curve(lab_session *session, locus_error *error) {
    static const struct {
        const char *name;
        double accuracy;
    } marks[] = {{"steps_to_90", 0.90}, {"steps_to_99", 0.99}};
    lab_metric *curve;
    size_t count;
    int64_t run = session->run->id;
    locus_status status = lab_store_metrics(session->store, run, "dev.accuracy", &curve, &count, error);
    for (size_t m = 0; status == LOCUS_OK && m < sizeof marks / sizeof *marks; m++) {
        size_t i = 0;
        while (i < count && !(curve[i].value >= marks[m].accuracy))
            i++;
        if (i < count)
            status = lab_store_final_set(session->store, run, "dev", marks[m].name, (double)curve[i].step, error);
    }
    for (size_t i = 0; status == LOCUS_OK && i < count; i++)
        if (curve[i].step == session->state.best_step)
            status = lab_store_final_set(session->store, run, "dev", "accuracy", curve[i].value, error);
    if (status == LOCUS_OK)
        status = lab_store_final_set(session->store, run, "dev", "loss", session->state.best_measure, error);
    if (status == LOCUS_OK)
        status = lab_store_final_set(session->store, run, "dev", "best_step", (double)session->state.best_step, error);
    free(curve);
    return status;
}

static locus_status write_all(lab_session *session, const char *set, const lab_outcome *result, locus_error *error) {
    locus_status status = write_set(session->store, session->run->id, set, result, error);
    for (size_t i = 0; status == LOCUS_OK && i < result->group_count; i++)
        status = write_group(session, &result->groups[i], error);
    if (status == LOCUS_OK && strcmp(set, "test") == 0)
        status = write_curve(session, error);
    return status;
}

/* All scores of a set in one transaction. */
static locus_status store_set(lab_session *session, const char *set, const lab_outcome *result, locus_error *error) {
    locus_status status = lab_store_begin(session->store, error);
    if (status != LOCUS_OK)
        return status;
    status = write_all(session, set, result, error);
    if (status == LOCUS_OK)
        return lab_store_commit(session->store, error);
    lab_store_rollback(session->store);
    return status;
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
    } else if (status == LOCUS_ERROR_POSITION && mean != 0) {
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
    status = write_set(store, run->id, set, outcome, error);
    if (status == LOCUS_OK)
        return lab_store_commit(store, error);
    lab_store_rollback(store);
    return status;
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

locus_status lab_session_finals(lab_session *session, locus_error *error) {
    if (session->config.task->class->develops_on_test)
        return session->leads ? lab_session_image_finals(session, error) : LOCUS_OK;
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
