/* SPDX-License-Identifier: MIT */
/* Opening and closing a training: its row in the store, its files, its parts. */
#include "train/session.h"

#include "io/fail.h"
#include "io/file.h"
#include "model/pretrained/pretrained.h"
#include "train/feed/cut_paths.h"
#include "train/feed/train_data.h"
#include "train/machine.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_SECONDS 0.2

/* ---- the row ---- */

static bool set_text(char **text, const char *value) {
    char *copy = strdup(value == NULL ? "" : value);
    if (copy == NULL)
        return false;
    free(*text);
    *text = copy;
    return true;
}

locus_status lab_session_message(lab_session *session, const char *text, bool add, locus_error *error) {
    const char *old = add && session->run->message != NULL ? session->run->message : "";
    size_t size = strlen(old) + strlen(text) + 3;
    char *joined = malloc(size);
    if (joined == NULL)
        return lab_fail_memory(error, "a run's message");
    snprintf(joined, size, "%s%s%s", old, *old != '\0' && *text != '\0' ? "; " : "", text);
    free(session->run->message);
    session->run->message = joined;
    return LOCUS_OK;
}

static locus_status fill_row(lab_session *session, locus_error *error) {
    const lab_train_config *config = &session->config;
    lab_run *run = session->run;
    char started[21];
    lab_store_time(started);
    char *json = lab_config_json(config);
    bool good = json != NULL && set_text(&run->name, session->request->name) &&
                set_text(&run->task, config->task->name) && set_text(&run->encoding, config->encoding) &&
                set_text(&run->setup, lab_setup_name(config->setup)) &&
                set_text(&run->embedding_init, lab_embedding_init_name(config->model.embedding_init)) &&
                set_text(&run->budget, config->budget) && set_text(&run->config, json) &&
                set_text(&run->command, session->request->command) && set_text(&run->started, started) &&
                set_text(&run->message, "") && set_text(&run->ended, "") && set_text(&run->note, "");
    cJSON_free(json);
    run->seed = config->seed;
    run->data_seed = config->data_seed;
    run->steps_total = lab_config_steps(config);
    return good ? LOCUS_OK : lab_fail_memory(error, "a run's record");
}

static bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* This program's version, behind those of the programs that made the steps so far. */
static bool add_version(lab_session *session) {
    char version[96];
    const char *before = session->run->version != NULL ? session->run->version : "";
    lab_version_text(version, sizeof version);
    if (session->state.step == 0 || *before == '\0')
        return set_text(&session->run->version, version);
    if (ends_with(before, version))
        return true;
    const size_t size = strlen(before) + strlen(version) + 8;
    char *both = malloc(size);
    if (both != NULL)
        snprintf(both, size, "%s, then %s", before, version);
    const bool good = both != NULL && set_text(&session->run->version, both);
    free(both);
    return good;
}

/* What may differ when the run goes on elsewhere. */
static locus_status fill_place(lab_session *session, locus_error *error) {
    char machine[256];
    lab_machine_text(machine, sizeof machine);
    bool good = set_text(&session->run->machine, machine) && add_version(session) &&
                set_text(&session->run->message, "") && set_text(&session->run->ended, "");
    return good ? LOCUS_OK : lab_fail_memory(error, "a run's record");
}

locus_status lab_session_save_row(lab_session *session, lab_run_state state, locus_error *error) {
    lab_run *run = session->run;
    char ended[21] = "";
    if (state != LAB_RUN_STARTED)
        lab_store_time(ended);
    if (!set_text(&run->ended, ended))
        return lab_fail_memory(error, "a run's record");
    run->state = state;
    run->steps_done = session->state.step;
    run->tokens_seen = session->state.tokens_seen;
    run->wall_seconds = session->state.wall_seconds = session->base_wall + lab_seconds() - session->began;
    run->tokens_per_second =
        session->state.train_seconds > 0.0 ? (double)session->state.tokens_seen / session->state.train_seconds : 0.0;
    run->peak_bytes = session->state.peak_bytes;
    return lab_store_run_update(session->store, run, error);
}

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
    if (status == LOCUS_OK) {
        status =
            lab_optimizer_create(&session->optimizer, &config->optimizer, lab_model_elements(session->model), error);
    }
    if (status == LOCUS_OK) {
        session->best = malloc(lab_model_elements(session->model) * sizeof *session->best);
        status = session->best == NULL ? lab_fail_memory(error, "the best parameters") : LOCUS_OK;
    }
    return status;
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
    session->lock_path = lab_run_path(folder, name, "lock");
    if (session->run_folder == NULL || session->last_path == NULL || session->best_path == NULL ||
        session->lock_path == NULL)
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
    locus_error local;
    lab_run row;
    *found = false;
    locus_status status = lab_store_run_find(session->store, session->request->name, &row, &local);
    if (status == LOCUS_ERROR_ARGUMENT)
        return LOCUS_OK;
    if (status != LOCUS_OK) {
        if (error != NULL)
            *error = local;
        return status;
    }
    *found = strcmp(row.name, session->request->name) == 0;
    if (*found) {
        lab_run_free(session->run);
        *session->run = row;
    } else {
        lab_run_free(&row); /* the number of another run */
    }
    return LOCUS_OK;
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
        lab_run_remove_tokenizer(session->request->folder, session->request->name);
    return status;
}

static locus_status make_row(lab_session *session, locus_error *error) {
    locus_status status = fill_row(session, error);
    if (status == LOCUS_OK)
        status = fill_place(session, error);
    if (status == LOCUS_OK)
        status = lab_store_run_insert(session->store, session->run, error);
    session->made_row = status == LOCUS_OK;
    return status;
}

/* The folder and the lock of a run that was not to be; a folder that holds anything else stays. */
static void remove_folder(lab_session *session) {
    unlink(session->lock_path);
    rmdir(session->run_folder);
}

/* The weights that a training begins with. */
static locus_status load_pretrained(lab_session *session, locus_error *error) {
    const lab_train_config *config = &session->config;
    const bool begins = session->request->restart || access(session->last_path, F_OK) != 0;
    if (config->pretrained_digest == 0 || !begins)
        return LOCUS_OK;
    return config->pretrained != NULL
               ? lab_pretrained_load(session->model, config->pretrained, error)
               : lab_fail(error, LOCUS_ERROR_ARGUMENT, "pretrained",
                          "the training begins from a pretrained encoder: --pretrained names its folder");
}

/* The same, of parameters that --init-from names. */
static locus_status load_init(lab_session *session, locus_error *error) {
    const lab_train_config *config = &session->config;
    const bool begins = session->request->restart || access(session->last_path, F_OK) != 0;
    if (config->init_digest == 0 || !begins)
        return LOCUS_OK;
    return config->init_from != NULL ? lab_init_read(session->model, config->init_from, error)
                                     : lab_fail(error, LOCUS_ERROR_ARGUMENT, "init-from",
                                                "the training begins from parameters of a file: --init-from names it");
}

/* Finds the run's row or makes one. What the task or the model refuses is refused before a row is made, or an old one
 * thrown away. A checkpoint without a row has lost its metrics: it is not continued in silence. */
static locus_status open_row(lab_session *session, locus_error *error) {
    const bool restart = session->request->restart;
    bool found;
    locus_status status = find_row(session, &found, error);
    if (status == LOCUS_OK && found && !restart)
        status = check_same(session, error);
    if (status == LOCUS_OK && !found && !restart && access(session->last_path, F_OK) == 0) {
        return lab_fail(error, LOCUS_ERROR_IO, "store",
                        "'%s' belongs to no run of this store: name the store that it was made with, or --restart",
                        session->last_path);
    }
    if (status == LOCUS_OK && !(found && !restart && session->run->state == LAB_RUN_DONE)) {
        status = make_parts(session, error);
        status = status == LOCUS_OK ? load_pretrained(session, error) : status;
        status = status == LOCUS_OK ? load_init(session, error) : status;
    }
    if (status != LOCUS_OK && !found)
        remove_folder(session);
    if (status != LOCUS_OK || (found && !restart))
        return status;
    status = restart ? drop_old(session, found, error) : LOCUS_OK;
    return status == LOCUS_OK ? make_row(session, error) : status;
}

locus_status lab_session_open(lab_session *session, lab_store *store, const lab_train_request *request, lab_run *run,
                              locus_error *error) {
    memset(session, 0, sizeof *session);
    memset(run, 0, sizeof *run);
    session->store = store;
    session->request = request;
    session->run = run;
    session->lock = -1;
    session->config = request->config;
    session->dev_loss = session->dev_accuracy = session->loss = (double)NAN;
    session->began = session->checkpointed = lab_seconds();
    locus_status status = lab_train_encoding(request->config.encoding, &request->config, session->encoding,
                                             sizeof session->encoding, error);
    session->config.encoding = session->config.model.encoding = session->encoding;
    lab_config_settle(&session->config);
    if (status == LOCUS_OK)
        status = lab_train_look(&session->config, error);
    if (status == LOCUS_OK)
        status = lab_config_check(&session->config, error);
    if (status == LOCUS_OK)
        status = make_paths(session, error);
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

locus_status lab_session_prepare(lab_session *session, locus_error *error) {
    locus_status status = LOCUS_OK;
    session->run->parameters = (int64_t)lab_model_elements(session->model);
    const lab_checkpoint checkpoint = {session->model, &session->optimizer, &session->state, session->best};
    if (access(session->last_path, F_OK) == 0)
        status = lab_checkpoint_read(&checkpoint, &session->config, session->last_path, error);
    else
        status = lab_train_keep(&session->config, session->run_folder, error);
    if (status != LOCUS_OK)
        return status;
    session->ready = true;
    session->base_wall = session->state.wall_seconds;
    session->first_step = session->state.step;
    session->best_dirty = session->state.best_step > 0; /* the file may be older, or newer by a kill */
    status = lab_store_metrics_cut(session->store, session->run->id, session->state.step, error);
    if (status == LOCUS_OK)
        status = fill_place(session, error);
    if (status == LOCUS_OK)
        status = note_cut_paths(session, error);
    return status == LOCUS_OK ? lab_session_save_row(session, LAB_RUN_STARTED, error) : status;
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
    free(session->best);
    free(session->run_folder);
    free(session->last_path);
    free(session->best_path);
    free(session->lock_path);
    if (session->lock >= 0)
        close(session->lock);
    memset(session, 0, sizeof *session);
    session->lock = -1;
}

/* ---- on the way ---- */

locus_status lab_session_checkpoint(lab_session *session, locus_error *error) {
    const lab_checkpoint checkpoint = {session->model, &session->optimizer, &session->state, session->best};
    int64_t peak = lab_peak_bytes();
    session->state.peak_bytes = peak > session->state.peak_bytes ? peak : session->state.peak_bytes;
    session->state.wall_seconds = session->base_wall + lab_seconds() - session->began;
    locus_status status = lab_checkpoint_write(&checkpoint, &session->config, session->last_path, error);
    if (status == LOCUS_OK && session->best_dirty) {
        status = lab_best_write(&checkpoint, &session->config, session->best_path, error);
        session->best_dirty = status != LOCUS_OK;
    }
    session->checkpointed = lab_seconds();
    return status == LOCUS_OK ? lab_session_save_row(session, LAB_RUN_STARTED, error) : status;
}

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
}
