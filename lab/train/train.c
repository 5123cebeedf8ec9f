/* SPDX-License-Identifier: MIT */
/* The training loop.
 *
 * A step is a function of the checkpointed state alone: its batch follows from (seed, step), its dropout too, and sums
 * of metrics are part of the state. So a run that was killed and goes on from its last checkpoint writes the same
 * metrics and ends with the same parameters, bit for bit, as one that was not. Wall times and peak memory are the
 * exception. */
#include "train/train.h"

#include "io/fail.h"
#include "model/architecture.h"
#include "train/machine.h"
#include "train/session.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static locus_status not_finite(const lab_session *session, const char *what, locus_error *error) {
    return lab_fail(error, LOCUS_ERROR_NUMERIC, "rate",
                    "%s is not finite at step %" PRIu64
                    " (learning rate %.3g): lower --rate or set --clip; the last good"
                    " checkpoint is kept",
                    what, session->state.step + 1, session->rate);
}

static bool watch(void *context, const char *phase, size_t done, size_t total) {
    lab_session *session = context;
    (void)done;
    (void)total;
    lab_session_progress(session, phase, false);
    return true; /* a development score is always finished: the loop stops after it */
}

/* ---- one step ---- */

static locus_status train_step(lab_session *session, const lab_schedule *schedule, locus_error *error) {
    lab_training_state *state = &session->state;
    const lab_architecture_class *class = lab_architecture_of(&session->config.model);
    double began = lab_seconds(), norm = 0.0;
    const lab_batch *batch;
    lab_score score = {0};
    locus_status status = lab_feed_step(&session->feed, state->step, &batch, error);
    if (status != LOCUS_OK)
        return status;
    session->rate = lab_schedule_rate(schedule, state->step);
    status = lab_model_train(session->model, batch, session->config.seed, (uint32_t)state->step, &score, error);
    if (status == LOCUS_ERROR_NUMERIC || (status == LOCUS_OK && !isfinite(score.loss)))
        return not_finite(session, "the loss", error);
    if (status != LOCUS_OK)
        return status;
    status = lab_optimizer_step(&session->optimizer, session->rate, lab_model_values(session->model),
                                lab_model_gradients(session->model), &norm, error);
    if (status == LOCUS_ERROR_NUMERIC)
        return not_finite(session, "the gradient", error);
    if (status == LOCUS_OK)
        status = lab_model_update(session->model, error);
    if (status != LOCUS_OK)
        return status == LOCUS_ERROR_NUMERIC ? not_finite(session, "an encoding's parameter", error) : status;
    session->loss = score.loss / (double)score.tokens;
    state->step++;
    state->record_steps++;
    state->record_tokens += score.tokens;
    state->record_loss += score.loss;
    state->record_norm += norm;
    state->tokens_seen += class->read_only(&session->config.model, batch) + score.tokens;
    state->train_seconds += lab_seconds() - began;
    return LOCUS_OK;
}

/* ---- metrics ---- */

static locus_status add_metrics(lab_session *session, locus_error *error) {
    const lab_training_state *state = &session->state;
    const struct {
        const char *name;
        double value;
    } metrics[] = {
        {"train.loss", state->record_loss / (double)state->record_tokens},
        {"train.gradient_norm", state->record_norm / (double)state->record_steps},
        {"train.rate", session->rate},
        {"dev.loss", session->dev_loss},
        {"dev.accuracy", session->dev_accuracy},
    };
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        locus_status status = lab_store_metric_add(session->store, session->run->id, metrics[i].name, state->step,
                                                   metrics[i].value, error);
        if (status != LOCUS_OK)
            return status;
    }
    return LOCUS_OK;
}

/* One transaction: the metrics of a step are all there or none. */
static locus_status record(lab_session *session, locus_error *error) {
    locus_status status = lab_store_begin(session->store, error);
    if (status == LOCUS_OK)
        status = add_metrics(session, error);
    if (status == LOCUS_OK)
        status = lab_session_save_row(session, LAB_RUN_STARTED, error);
    if (status != LOCUS_OK) {
        lab_store_rollback(session->store);
        return status;
    }
    status = lab_store_commit(session->store, error);
    session->state.record_steps = session->state.record_tokens = 0;
    session->state.record_loss = session->state.record_norm = 0.0;
    return status;
}

static locus_status evaluate(lab_session *session, locus_error *error) {
    const lab_scoring how = {.batch = session->config.batch, .look = watch, .context = session, .phase = "dev"};
    lab_score score = {0};
    locus_status status = lab_train_score(session->model, &session->dev, &how, &score, NULL, error);
    if (status != LOCUS_OK)
        return status;
    session->dev_loss = score.loss / (double)score.tokens;
    session->dev_accuracy = (double)score.correct / (double)score.tokens;
    if (!isfinite(session->dev_loss))
        return not_finite(session, "the development loss", error);
    const bool error_rate = session->config.task->class->develops_on_test;
    const double measure = error_rate ? 1.0 - session->dev_accuracy : session->dev_loss;
    if (session->state.best_step == 0 || measure < session->state.best_measure) {
        session->state.best_measure = measure;
        session->state.best_step = session->state.step;
        session->best_dirty = true;
        memcpy(session->best, lab_model_values(session->model),
               lab_model_elements(session->model) * sizeof *session->best);
    }
    return record(session, error);
}

/* ---- the loop ---- */

/* Development scores since the best one. The state says it: a training that goes on ends where it would have. */
static bool out_of_patience(const lab_session *session, uint64_t every) {
    const uint64_t scored = session->state.step / every, best = session->state.best_step / every;
    return session->config.patience > 0 && session->state.best_step > 0 && scored - best >= session->config.patience;
}

static locus_status loop(lab_session *session, locus_error *error) {
    lab_schedule schedule = lab_config_schedule(&session->config);
    uint64_t total = lab_config_steps(&session->config), every = lab_config_evaluate_every(&session->config);
    locus_status status = LOCUS_OK;
    lab_session_progress(session, "train", true);
    while (status == LOCUS_OK && session->state.step < total && !session->stop && !out_of_patience(session, every)) {
        status = train_step(session, &schedule, error);
        if (status == LOCUS_OK && (session->state.step % every == 0 || session->state.step == total))
            status = evaluate(session, error);
        if (status == LOCUS_OK)
            lab_session_progress(session, "train", session->state.step == total);
        double since = lab_seconds() - session->checkpointed;
        if (status == LOCUS_OK && session->state.step < total && since >= (double)session->config.checkpoint_seconds)
            status = lab_session_checkpoint(session, error);
    }
    if (status == LOCUS_OK)
        status = lab_session_checkpoint(session, error);
    if (status == LOCUS_OK && session->stop) {
        status = lab_fail(error, LOCUS_ERROR_INTERRUPTED, "", "stopped after step %" PRIu64 " of %" PRIu64,
                          session->state.step, total);
    }
    return status;
}

static void drop_status(locus_status status) {
    (void)status;
}

/* What the row says of a training that ended early; the first failure is the one that is reported. A run that was
 * refused before its first step, as by an encoding that has no position for a token, leaves nothing. */
static void close_row(lab_session *session, locus_status status, const locus_error *error) {
    bool failed = status != LOCUS_ERROR_INTERRUPTED && status != LOCUS_ERROR_IO && status != LOCUS_ERROR_MEMORY;
    if (failed && status != LOCUS_ERROR_NUMERIC && session->made_row && session->state.step == 0) {
        lab_session_forget(session);
        return;
    }
    if (!session->ready) { /* nothing was trained: the row's numbers stand */
        if (failed)
            session->run->state = LAB_RUN_FAILED;
        drop_status(lab_session_message(session, error->message, false, NULL));
        drop_status(lab_store_run_update(session->store, session->run, NULL));
        return;
    }
    if (failed && session->best_dirty) {
        const lab_checkpoint checkpoint = {session->model, &session->optimizer, &session->state, session->best};
        session->best_dirty = lab_best_write(&checkpoint, &session->config, session->best_path, NULL) != LOCUS_OK;
    }
    drop_status(lab_session_message(session, error->message, false, NULL));
    drop_status(lab_session_save_row(session, failed ? LAB_RUN_FAILED : LAB_RUN_STOPPED, NULL));
}

static locus_status finish(lab_session *session, locus_error *error) {
    memcpy(lab_model_values(session->model), session->best, lab_model_elements(session->model) * sizeof *session->best);
    locus_status status = lab_model_update(session->model, error);
    if (status == LOCUS_OK)
        status = lab_session_finals(session, error);
    if (status == LOCUS_OK && session->state.step < lab_config_steps(&session->config)) {
        char note[128];
        snprintf(note, sizeof note, "ended early: %" PRIu64 " development scores in a row were no better",
                 session->config.patience);
        status = lab_session_message(session, note, true, error);
    }
    if (status == LOCUS_OK)
        status = lab_session_save_row(session, LAB_RUN_DONE, error);
    if (status == LOCUS_OK)
        unlink(session->last_path); /* best.safetensors is all that a finished run is asked for */
    return status;
}

/* A run that is done may be asked for further test lengths. */
static locus_status extend(lab_session *session, locus_error *error) {
    locus_status status = lab_best_expected(session->run, session->best_path, error);
    if (status == LOCUS_OK)
        status = lab_model_create(&session->model, &session->config.model, session->config.seed, error);
    if (status == LOCUS_OK)
        status = lab_best_read(session->model, session->best_path, error);
    if (status == LOCUS_OK)
        status = lab_session_finals(session, error);
    return status == LOCUS_OK ? lab_store_run_update(session->store, session->run, error) : status;
}

locus_status lab_train(lab_store *store, const lab_train_request *request, lab_run *run, locus_error *error) {
    lab_session session;
    locus_error local;
    memset(&local, 0, sizeof local);
    locus_status status = lab_session_open(&session, store, request, run, &local);
    if (status == LOCUS_OK && run->state == LAB_RUN_DONE) {
        unlink(session.last_path); /* there only if the process was killed before it could remove it */
        status = lab_session_lacks_finals(&session) ? extend(&session, &local) : LOCUS_OK;
    } else if (status == LOCUS_OK) {
        status = lab_session_prepare(&session, &local);
        if (status == LOCUS_OK)
            status = loop(&session, &local);
        if (status == LOCUS_OK)
            status = finish(&session, &local);
        if (status != LOCUS_OK)
            close_row(&session, status, &local);
    }
    lab_session_close(&session);
    if (status != LOCUS_OK && error != NULL)
        *error = local;
    return status;
}
