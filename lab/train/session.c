/* SPDX-License-Identifier: MIT */
/* Opening and closing a training: its row in the store, its parts. On several ranks all make parts, and the
 * first alone the rest. */
#include "train/session.h"

#include "io/clock.h"
#include "io/fail.h"
#include "io/file.h"
#include "model/pretrained/pretrained.h"
#include "train/feed/cut_paths.h"
#include "train/feed/train_data.h"
#include "train/machine.h"
#include "train/meeting.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_SECONDS 0.2

/* ---- parts ---- */

/* What the test set has that cannot be scored is said before the training: a file that is mended afterwards is another
 * one, with which the run cannot go on, and a table of positions does not grow. Other kinds show what they have in
 * their first step. */
static locus_status check_test_set(const lab_session *session, locus_error *error) {
    const lab_train_config *config = &session->config;
    if (!config->task->class->looks_ahead)
        return LOCUS_OK;
    const lab_train_set_request request = lab_train_set_ask(config, LAB_SET_TEST);
    lab_dataset test;
    locus_error local;
    locus_status status = lab_train_set(&test, config, &request, error);
    if (status != LOCUS_OK)
        return status;
    const size_t input = lab_longest(test.samples, test.input_offsets);
    const size_t target = lab_longest(test.samples, test.target_offsets) + (test.target_offsets != NULL); /* the end */
    const size_t longest = input > target ? input : target;
    lab_dataset_destroy(&test);
    status = lab_model_reaches(session->model, longest, &local);
    return status == LOCUS_OK
               ? LOCUS_OK
               : lab_fail(error, status, "encoding", "a test sample has %zu tokens: %s", longest, local.message);
}

/* What a step needs beside the model. */
static locus_status make_optimizer(lab_session *session, locus_error *error) {
    const lab_train_config *config = &session->config;
    const size_t elements = lab_model_elements(session->model), shards = lab_config_shards(config);
    size_t own = elements;
    locus_status status = LOCUS_OK;
    if (shards > 1) {
        status = lab_sharing_open(&session->sharing, session->ranks, shards, elements, error);
        own = session->sharing.count;
        lab_feed_part(&session->feed, (lab_cut){lab_ranks_rank(session->ranks), lab_ranks_count(session->ranks)});
    }
    if (status == LOCUS_OK)
        status = lab_optimizer_create(&session->optimizer, &config->optimizer, own, error);
    if (status == LOCUS_OK) {
        session->best = malloc((own + 1) * sizeof *session->best);
        status = session->best == NULL ? lab_fail_memory(error, "the best parameters") : LOCUS_OK;
    }
    return status;
}

static locus_status make_parts(lab_session *session, locus_error *error) {
    const lab_train_config *config = &session->config;
    const lab_train_set_request train = lab_train_set_ask(config, LAB_SET_TRAIN);
    const lab_train_set_request dev = lab_train_set_ask(config, LAB_SET_DEV);
    locus_status status = lab_train_set(&session->train, config, &train, error);
    if (status == LOCUS_OK)
        status = lab_train_set(&session->dev, config, &dev, error);
    if (status == LOCUS_OK)
        status = lab_feed_train(&session->feed, &session->train, config, error);
    if (status == LOCUS_OK)
        status = lab_model_create(&session->model, &config->model, config->seed, error);
    if (status == LOCUS_OK)
        status = lab_feed_check(&session->train, session->model, error);
    if (status == LOCUS_OK)
        status = check_test_set(session, error);
    return status == LOCUS_OK ? make_optimizer(session, error) : status;
}

/* ---- files ---- */

static locus_status make_paths(lab_session *session, locus_error *error) {
    const char *folder = session->request->folder, *name = session->request->name;
    locus_status status = lab_run_name_check(name == NULL ? "" : name, error);
    if (status != LOCUS_OK)
        return status;
    session->run_folder = lab_run_path(folder, name, NULL);
    session->last_path = lab_run_path(folder, name, "last.safetensors");
    session->best_path = lab_run_path(folder, name, "best.safetensors");
    session->state_path = lab_run_path(folder, name, LAB_RUN_STATE);
    session->lock_path = lab_run_path(folder, name, "lock");
    if (session->state_path == NULL || session->run_folder == NULL || session->last_path == NULL ||
        session->best_path == NULL || session->lock_path == NULL)
        status = lab_fail_memory(error, "the paths of a run");
    if (status == LOCUS_OK)
        status = lab_directory_create(session->run_folder, error);
    if (status == LOCUS_OK)
        status = lab_run_lock(session->lock_path, &session->lock, error);
    if (status == LOCUS_OK)
        lab_run_clean(folder, name);
    return status;
}

static locus_status remove_file(const char *path, locus_error *error) {
    return unlink(path) == 0 || errno == ENOENT ? LOCUS_OK : lab_fail_system(error, "remove", path, errno);
}

/* Finds the row of exactly this name; *found tells whether there is one. */
static locus_status find_row(lab_session *session, bool *found, locus_error *error) {
    lab_run row;
    const locus_status status = lab_store_run_named(session->store, session->request->name, &row, error);
    *found = row.name != NULL;
    if (*found) {
        lab_run_free(session->run);
        *session->run = row;
    }
    return status;
}

static locus_status check_same(const lab_session *session, locus_error *error) {
    lab_train_config stored;
    locus_status status = lab_config_parse(&stored, session->run->config, session->run, "the run store", error);
    if (status != LOCUS_OK)
        return status;
    const char *difference = lab_config_difference(&stored, &session->config);
    if (difference != NULL && strcmp(difference, "digest") == 0) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "name",
                        "the run '%s' was made with other data (their files have another digest): choose another "
                        "--name or --data, or --restart",
                        session->run->name);
    }
    return difference == NULL ? LOCUS_OK
                              : lab_fail(error, LOCUS_ERROR_ARGUMENT, "name",
                                         "the run '%s' exists with another %s: choose another --name, or --restart",
                                         session->run->name, difference);
}

/* Throws away what there is of the run. */
static locus_status drop_old(lab_session *session, bool found, locus_error *error) {
    locus_status status = LOCUS_OK;
    if (found) {
        status = lab_store_run_delete(session->store, session->run->id, error);
        lab_run_free(session->run);
    }
    if (status == LOCUS_OK)
        status = remove_file(session->last_path, error);
    if (status == LOCUS_OK)
        status = remove_file(session->best_path, error);
    if (status == LOCUS_OK)
        status = remove_file(session->state_path, error);
    if (status == LOCUS_OK)
        lab_run_remove_tokenizer(session->request->folder, session->request->name);
    return status;
}

static locus_status make_row(lab_session *session, locus_error *error) {
    locus_status status = lab_session_fill_row(session, error);
    if (status == LOCUS_OK)
        status = lab_session_fill_place(session, error);
    if (status == LOCUS_OK)
        status = lab_store_run_insert(session->store, session->run, error);
    session->made_row = status == LOCUS_OK;
    return status == LOCUS_OK ? lab_session_tell_parent(session, error) : status;
}

/* The folder and the lock of a run that was not to be; a folder that holds anything else stays. */
static void remove_folder(lab_session *session) {
    unlink(session->lock_path);
    rmdir(session->run_folder);
}

/* Whether it has no steps yet, but for those of the run that it goes on from. */
static bool begins(const lab_session *session) {
    return session->leads && (session->request->restart || access(session->last_path, F_OK) != 0);
}

/* All that a run has which goes on from another one. */
static locus_status load_parent(lab_session *session, locus_error *error) {
    const lab_train_parent *parent = session->request->parent;
    const lab_checkpoint checkpoint = {session->model, session->optimizer.first, session->optimizer.second,
                                       &session->state, session->best};
    locus_error local;
    if (parent == NULL || session->ranks != NULL) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "continue",
                        parent == NULL ? "the training goes on from another run: name it"
                                       : "a training on several ranks does not go on from another run");
    }
    const locus_status status = lab_checkpoint_read(&checkpoint, parent->config, parent->state, &local);
    return status == LOCUS_OK
               ? LOCUS_OK
               : lab_fail(error, status, "continue", "'%s' cannot be gone on with: %s", parent->name, local.message);
}

/* What a training begins with: the run that it goes on from, or a pretrained encoder, or what --init-from names. */
static locus_status load_beginning(lab_session *session, locus_error *error) {
    const lab_train_config *config = &session->config;
    locus_status status = LOCUS_OK;
    if (!begins(session))
        return LOCUS_OK;
    if (config->continued_at > 0)
        return load_parent(session, error);
    if (config->pretrained_digest != 0) {
        status = config->pretrained != NULL
                     ? lab_pretrained_load(session->model, config->pretrained, error)
                     : lab_fail(error, LOCUS_ERROR_ARGUMENT, "pretrained",
                                "the training begins from a pretrained encoder: --pretrained names its folder");
    }
    if (status == LOCUS_OK && session->leads && config->init_digest != 0 && config->init_from != NULL)
        status = lab_train_check_numbers(config, error);
    if (status == LOCUS_OK && config->init_digest != 0) {
        status = config->init_from != NULL
                     ? lab_init_read(session->model, config->init_from, error)
                     : lab_fail(error, LOCUS_ERROR_ARGUMENT, "init-from",
                                "the training begins from parameters of a file: --init-from names it");
    }
    return status;
}

/* Whether there is a row, and whether the run can go on with it. A checkpoint without a row has lost its metrics: it is
 * not continued in silence. */
static locus_status look_for_row(lab_session *session, bool *found, locus_error *error) {
    const bool restart = session->request->restart;
    *found = false;
    locus_status status = make_paths(session, error);
    if (status == LOCUS_OK)
        status = find_row(session, found, error);
    if (status == LOCUS_OK && *found && !restart)
        status = check_same(session, error);
    if (status == LOCUS_OK && !*found && !restart && access(session->last_path, F_OK) == 0) {
        return lab_fail(error, LOCUS_ERROR_IO, "store",
                        "'%s' belongs to no run of this store: name the store that it was made with, or --restart",
                        session->last_path);
    }
    if (status != LOCUS_OK && !*found && session->lock >= 0)
        remove_folder(session);
    return status;
}

enum { VOTE_DONE = 1 };

/* Rank 0 looks; if the run is done, it goes on alone. */
static locus_status settle_row(lab_session *session, bool *found, locus_error *error) {
    lab_vote vote = {0};
    *found = false;
    locus_status status = session->leads ? look_for_row(session, found, error) : LOCUS_OK;
    const bool done = status == LOCUS_OK && *found && !session->request->restart && session->run->state == LAB_RUN_DONE;
    vote.flags = done ? VOTE_DONE : 0;
    status = lab_ranks_agree(session->ranks, status, &vote, error);
    if (status == LOCUS_OK && (vote.flags & VOTE_DONE) != 0) {
        session->run->state = LAB_RUN_DONE;
        session->ranks = NULL;
    }
    return status;
}

/* Finds the run's row or makes one. What the task or the model refuses is refused before a row is made, or an old one
 * thrown away. */
static locus_status open_row(lab_session *session, locus_error *error) {
    const bool restart = session->request->restart;
    bool found;
    locus_status status = settle_row(session, &found, error);
    if (status != LOCUS_OK || (session->run->state == LAB_RUN_DONE && !restart))
        return status;
    status = make_parts(session, error);
    status = status == LOCUS_OK ? load_beginning(session, error) : status;
    status = lab_ranks_agree(session->ranks, status, NULL, error);
    if (status != LOCUS_OK && session->leads && !found)
        remove_folder(session);
    if (status != LOCUS_OK)
        return status;
    if (session->leads && (!found || restart)) {
        status = restart ? drop_old(session, found, error) : LOCUS_OK;
        status = status == LOCUS_OK ? make_row(session, error) : status;
    }
    return lab_ranks_agree(session->ranks, status, NULL, error);
}

/* The ranks have the same; what one refuses is refused by all. */
static locus_status meet(lab_session *session, locus_status status, locus_error *error) {
    return session->ranks == NULL ? status : lab_meeting(session->ranks, status, &session->config, error);
}

locus_status lab_session_open(lab_session *session, lab_store *store, const lab_train_request *request, lab_run *run,
                              locus_error *error) {
    memset(session, 0, sizeof *session);
    memset(run, 0, sizeof *run);
    session->store = store;
    session->request = request;
    session->run = run;
    session->ranks = request->ranks;
    session->leads = lab_ranks_rank(request->ranks) == 0;
    session->lock = -1;
    session->config = request->config;
    session->dev_loss = session->dev_accuracy = session->loss = (double)NAN;
    session->began = session->checkpointed = lab_seconds();
    locus_status status = lab_train_encoding(request->config.encoding, &request->config, session->encoding,
                                             sizeof session->encoding, error);
    session->config.encoding = session->config.model.encoding = session->encoding;
    if (status == LOCUS_OK)
        status = lab_config_settle(&session->config, error);
    if (status == LOCUS_OK)
        status = lab_train_look(&session->config, error);
    if (status == LOCUS_OK)
        status = lab_config_check(&session->config, error);
    status = meet(session, status, error);
    return status == LOCUS_OK ? open_row(session, error) : status;
}

/* ---- going on ---- */

/* Told once for a run: trees that are deeper than what the encoding keeps of a path. */
static locus_status note_cut_paths(lab_session *session, locus_error *error) {
    char note[256];
    return lab_cut_paths_note(&session->config, &session->train, note, sizeof note)
               ? lab_session_message(session, note, true, error)
               : LOCUS_OK;
}

/* The curves of the run that it goes on from are the beginning of its own. */
static locus_status take_curves(const lab_session *session, locus_error *error) {
    const lab_train_parent *parent = session->request->parent;
    return parent == NULL || session->state.step > session->config.continued_at
               ? LOCUS_OK
               : lab_store_metrics_copy(session->store, parent->run, session->run->id, session->state.step, error);
}

/* The row as it is when a training begins or goes on. */
static locus_status begin_row(lab_session *session, locus_error *error) {
    locus_status status = take_curves(session, error);
    if (status == LOCUS_OK)
        status = lab_store_metrics_cut(session->store, session->run->id, session->state.step, error);
    if (status == LOCUS_OK)
        status = lab_session_fill_place(session, error);
    if (status == LOCUS_OK)
        status = note_cut_paths(session, error);
    return status == LOCUS_OK ? lab_session_save_row(session, LAB_RUN_STARTED, error) : status;
}

locus_status lab_session_prepare(lab_session *session, locus_error *error) {
    session->run->parameters = (int64_t)lab_model_elements(session->model);
    locus_status status = lab_session_read(session, error);
    if (status != LOCUS_OK)
        return status;
    session->ready = true;
    session->optimizer.step = session->state.step;
    session->base_wall = session->state.wall_seconds;
    session->first_step = session->state.step;
    session->best_dirty = session->state.best_step > 0; /* the file may be older, or newer by a kill */
    status = session->leads ? begin_row(session, error) : LOCUS_OK;
    return lab_ranks_agree(session->ranks, status, NULL, error);
}

void lab_session_forget(lab_session *session) {
    if (session->made_row && lab_store_run_delete(session->store, session->run->id, NULL) == LOCUS_OK) {
        session->run->id = 0;
        lab_run_remove(session->request->folder, session->request->name);
    }
}

void lab_session_close(lab_session *session) {
    lab_dataset_destroy(&session->train);
    lab_dataset_destroy(&session->dev);
    lab_feed_close(&session->feed);
    lab_model_destroy(&session->model);
    lab_optimizer_destroy(&session->optimizer);
    lab_sharing_close(&session->sharing);
    free(session->best);
    free(session->run_folder);
    free(session->last_path);
    free(session->best_path);
    free(session->state_path);
    free(session->lock_path);
    if (session->lock >= 0)
        close(session->lock);
    memset(session, 0, sizeof *session);
    session->lock = -1;
}

/* ---- on the way ---- */

void lab_session_progress(lab_session *session, const char *phase, bool always) {
    const bool by_epochs = session->config.task->class->develops_on_test;
    double now = lab_seconds(), spent = now - session->began;
    if (session->request->progress == NULL ||
        (!always && !session->request->every_step && now - session->shown < PROGRESS_SECONDS))
        return;
    session->shown = now;
    uint64_t total = lab_config_steps(&session->config), done = session->state.step - session->first_step;
    lab_progress progress = {
        .phase = phase,
        .step = session->state.step,
        .steps = total,
        .epoch_steps = by_epochs ? lab_config_epoch_steps(&session->config) : 0,
        .loss = session->loss,
        .dev_loss = session->dev_loss,
        .dev_accuracy = session->dev_accuracy,
        .rate = session->rate,
        .tokens_per_second = session->state.train_seconds > 0.0
                                 ? (double)session->state.tokens_seen / session->state.train_seconds
                                 : 0.0,
        .seconds_left = done > 0 ? spent / (double)done * (double)(total - session->state.step) : (double)NAN,
    };
    session->stop = !session->request->progress(session->request->context, &progress) || session->stop;
    session->queue_again = session->stop && session->request->queue_again != NULL && session->request->queue_again();
}
