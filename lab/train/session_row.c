/* SPDX-License-Identifier: MIT */
/* A training's row in the store, which rank 0 has. */
#include "train/session.h"

#include "io/clock.h"
#include "io/fail.h"
#include "io/folder.h"
#include "train/machine.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ISO 8601 in UTC, now. */
static void print_time(char text[21]) {
    const time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts) == NULL || strftime(text, 21, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        text[0] = '\0';
}

static bool set_text(char **text, const char *value) {
    char *copy = strdup(value == NULL ? "" : value);
    if (copy == NULL)
        return false;
    free(*text);
    *text = copy;
    return true;
}

locus_status lab_session_message(lab_session *session, const char *text, bool add, locus_error *error) {
    if (!session->leads)
        return LOCUS_OK;
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

locus_status lab_session_fill_row(lab_session *session, locus_error *error) {
    const lab_train_config *config = &session->config;
    lab_run *run = session->run;
    char started[21];
    print_time(started);
    char *json = lab_config_json(config);
    bool good = json != NULL && set_text(&run->name, session->request->name) &&
                set_text(&run->task, config->task->name) && set_text(&run->encoding, config->encoding) &&
                set_text(&run->setup, lab_setup_name(config->setup)) &&
                set_text(&run->embedding_init, lab_embedding_init_name(config->model.embedding_init)) &&
                set_text(&run->budget, config->budget) && set_text(&run->config, json) &&
                set_text(&run->command, session->request->command) && set_text(&run->started, started) &&
                set_text(&run->message, "") && set_text(&run->ended, "") && set_text(&run->note, "") &&
                set_text(&run->parent, "");
    cJSON_free(json);
    run->seed = config->seed;
    run->data_seed = config->data_seed;
    run->steps_total = lab_config_steps(config);
    return good ? LOCUS_OK : lab_fail_memory(error, "a run's record");
}

locus_status lab_session_tell_parent(lab_session *session, locus_error *error) {
    const lab_train_parent *parent = session->request->parent;
    if (parent == NULL)
        return LOCUS_OK;
    return set_text(&session->run->parent, parent->name)
               ? lab_store_run_parent(session->store, session->run->id, parent->name, error)
               : lab_fail_memory(error, "a run's record");
}

/* This program's version, behind those of the programs that made the steps so far. */
static bool add_version(lab_session *session) {
    char version[96];
    const char *before = session->run->version != NULL ? session->run->version : "";
    lab_version_text(version, sizeof version);
    if (session->state.step == 0 || *before == '\0')
        return set_text(&session->run->version, version);
    if (lab_name_ends(before, version))
        return true;
    const size_t size = strlen(before) + strlen(version) + 8;
    char *both = malloc(size);
    if (both != NULL)
        snprintf(both, size, "%s, then %s", before, version);
    const bool good = both != NULL && set_text(&session->run->version, both);
    free(both);
    return good;
}

locus_status lab_session_fill_place(lab_session *session, locus_error *error) {
    char machine[256];
    lab_machine_text(machine, sizeof machine);
    const size_t ranks = lab_ranks_count(session->ranks), used = strlen(machine);
    if (ranks > 1)
        snprintf(machine + used, sizeof machine - used, ", %zu ranks", ranks);
    bool good = set_text(&session->run->machine, machine) && add_version(session) &&
                set_text(&session->run->message, "") && set_text(&session->run->ended, "");
    return good ? LOCUS_OK : lab_fail_memory(error, "a run's record");
}

locus_status lab_session_save_row(lab_session *session, lab_run_state state, locus_error *error) {
    lab_run *run = session->run;
    char ended[21] = "";
    if (!session->leads)
        return LOCUS_OK;
    if (state != LAB_RUN_STARTED)
        print_time(ended);
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
