/* SPDX-License-Identifier: MIT */
/* The training loop.
 *
 * A step is a function of the checkpointed state alone: its batch follows from (seed, step), its dropout too, and sums
 * of metrics are part of the state. So a run that was killed and goes on from its last checkpoint writes the same
 * metrics and ends with the same parameters, bit for bit, as one that was not. Wall times and peak memory are the
 * exception. */
#include "train/train.h"

#include "io/clock.h"
#include "io/fail.h"
#include "train/machine.h"
#include "train/session.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static locus_status not_finite(const lab_session *session, uint64_t step, const char *what, locus_error *error) {
    return lab_fail(error, LOCUS_ERROR_NUMERIC, "rate",
                    "%s is not finite at step %" PRIu64
                    " (learning rate %.3g): lower --rate or set --clip; the last good"
                    " checkpoint is kept",
                    what, step, session->rate);
}

static bool watch(void *context, const char *phase, size_t done, size_t total) {
    lab_session *session = context;
    (void)done;
    (void)total;
    lab_session_progress(session, phase, false);
    return true; /* a development score is always finished: the loop stops after it */
}

/* ---- one step ---- */

/* What a step leaves, however it was computed. */
static void count_step(lab_session *session, const lab_shared_score *score) {
    lab_training_state *state = &session->state;
    session->loss = score->loss / (double)score->tokens;
    state->step++;
    state->record_steps++;
    state->record_tokens += score->tokens;
    state->record_loss += score->loss;
    state->record_norm += score->norm;
    state->tokens_seen += score->read_only + score->tokens;
}

static locus_status shared_step(lab_session *session, lab_shared_score *score, locus_error *error) {
    const lab_shared_step step = {.model = session->model,
                                  .feed = &session->feed,
                                  .optimizer = &session->optimizer,
                                  .seed = session->config.seed,
                                  .step = session->state.step,
                                  .rate = session->rate};
    const locus_status status = lab_sharing_step(&session->sharing, &step, score, error);
    if (status != LOCUS_ERROR_NUMERIC)
        return status;
    const bool loss = error != NULL && strcmp(error->argument, "loss") == 0;
    const bool gradient = error != NULL && strcmp(error->argument, "gradient") == 0;
    return not_finite(session, session->state.step + 1,
                      loss       ? "the loss"
                      : gradient ? "the gradient"
                                 : "an encoding's parameter",
                      error);
}

static locus_status whole_step(lab_session *session, lab_shared_score *sums, locus_error *error) {
    const lab_training_state *state = &session->state;
    const lab_batch *batch;
    lab_score score = {0};
    locus_status status = lab_feed_step(&session->feed, state->step, &batch, error);
    if (status != LOCUS_OK)
        return status;
    status = lab_model_train(session->model, batch, session->config.seed, (uint32_t)state->step, &score, error);
    if (status == LOCUS_ERROR_NUMERIC || (status == LOCUS_OK && !isfinite(score.loss)))
        return not_finite(session, state->step + 1, "the loss", error);
    if (status != LOCUS_OK)
        return status;
    *sums = (lab_shared_score){.loss = score.loss, .tokens = score.tokens, .read_only = score.read_only};
    status = lab_optimizer_step(&session->optimizer, session->rate, lab_model_values(session->model),
                                lab_model_gradients(session->model), &sums->norm, error);
    if (status == LOCUS_ERROR_NUMERIC)
        return not_finite(session, state->step + 1, "the gradient", error);
    if (status == LOCUS_OK)
        status = lab_model_update(session->model, error);
    return status == LOCUS_ERROR_NUMERIC ? not_finite(session, state->step + 1, "an encoding's parameter", error)
                                         : status;
}

static locus_status train_step(lab_session *session, const lab_schedule *schedule, locus_error *error) {
    const double began = lab_seconds();
    lab_shared_score score = {0};
    session->rate = lab_schedule_rate(schedule, session->state.step);
    const locus_status status =
        session->sharing.shards > 1 ? shared_step(session, &score, error) : whole_step(session, &score, error);
    if (status != LOCUS_OK)
        return status;
    count_step(session, &score);
    session->state.train_seconds += lab_seconds() - began;
    return LOCUS_OK;
}

/* ---- metrics ---- */

static locus_status add_metrics(lab_session *session, locus_error *error) {
    const lab_training_state *state = &session->state;
    const lab_measured metrics[] = {
        {"train.loss", state->record_loss / (double)state->record_tokens},
        {"train.gradient_norm", state->record_norm / (double)state->record_steps},
        {"train.rate", session->rate},
        {"dev.loss", session->dev_loss},
        {"dev.accuracy", session->dev_accuracy},
    };
    return lab_store_measured(session->store, session->run->id, state->step, metrics, sizeof metrics / sizeof *metrics,
                              error);
}

/* One transaction: a step's metrics are there if the run's row says so. Nobody waits for the disk: with these metrics a
 * loss of power takes the steps that they were measured at, all since the last checkpoint. */
static locus_status store_metrics(lab_session *session, locus_error *error) {
    locus_status status = lab_store_lasting(session->store, false, error);
    if (status == LOCUS_OK)
        status = lab_store_begin(session->store, error);
    if (status != LOCUS_OK)
        return status;
    status = add_metrics(session, error);
    if (status == LOCUS_OK)
        status = lab_session_save_row(session, LAB_RUN_STARTED, error);
    status = lab_store_end(session->store, status, error);
    const locus_status lasting = lab_store_lasting(session->store, true, status == LOCUS_OK ? error : NULL);
    return status == LOCUS_OK ? lasting : status;
}

static locus_status record(lab_session *session, locus_error *error) {
    const locus_status status = session->leads ? store_metrics(session, error) : LOCUS_OK;
    if (status != LOCUS_OK)
        return status;
    session->state.record_steps = session->state.record_tokens = 0;
    session->state.record_loss = session->state.record_norm = 0.0;
    return status;
}

static locus_status evaluate(lab_session *session, locus_error *error) {
    const lab_scoring how = {
        .batch = session->config.batch, .look = watch, .context = session, .phase = "dev", .ranks = session->ranks};
    lab_score score = {0};
    locus_status status = lab_train_score(session->model, &session->dev, &how, &score, NULL, error);
    if (status == LOCUS_ERROR_NUMERIC)
        return not_finite(session, session->state.step, "the development loss", error);
    if (status != LOCUS_OK)
        return status;
    session->dev_loss = score.loss / (double)score.tokens;
    session->dev_accuracy = (double)score.correct / (double)score.tokens;
    const bool error_rate = session->config.task->class->develops_on_test;
    const double measure = error_rate ? 1.0 - session->dev_accuracy : session->dev_loss;
    if (session->state.best_step == 0 || measure < session->state.best_measure) {
        session->state.best_measure = measure;
        session->state.best_step = session->state.step;
        session->best_dirty = true;
        memcpy(session->best, lab_model_values(session->model) + session->sharing.first,
               session->optimizer.elements * sizeof *session->best);
    }
    return record(session, error);
}

/* ---- the loop ---- */

/* Development scores since the best one. The state says it: a training that goes on ends where it would have. */
static bool out_of_patience(const lab_session *session, uint64_t every) {
    const uint64_t scored = session->state.step / every, best = session->state.best_step / every;
    return session->config.patience > 0 && session->state.best_step > 0 && scored - best >= session->config.patience;
}

enum { VOTE_STOP = 1, VOTE_QUEUE_AGAIN = 2, VOTE_CHECKPOINT = 4 };

/* What all ranks do after a step: rank 0's clock says when a checkpoint is due, a stop may come from any. */
static locus_status vote(lab_session *session, locus_status status, bool *checkpoint, locus_error *error) {
    const double since = lab_seconds() - session->checkpointed;
    const bool due = session->leads && since >= (double)session->config.checkpoint_seconds;
    lab_vote said = {.flags = (session->stop ? VOTE_STOP : 0u) | (session->queue_again ? VOTE_QUEUE_AGAIN : 0u) |
                              (due ? VOTE_CHECKPOINT : 0u)};
    status = lab_ranks_agree(session->ranks, status, &said, error);
    session->stop = (said.flags & VOTE_STOP) != 0;
    session->queue_again = (said.flags & VOTE_QUEUE_AGAIN) != 0;
    *checkpoint = (said.flags & VOTE_CHECKPOINT) != 0;
    return status;
}

static locus_status loop(lab_session *session, locus_error *error) {
    lab_schedule schedule = lab_config_schedule(&session->config);
    uint64_t total = lab_config_steps(&session->config), every = lab_config_evaluate_every(&session->config);
    bool checkpoint;
    lab_session_progress(session, "train", true);
    locus_status status = vote(session, LOCUS_OK, &checkpoint, error);
    while (status == LOCUS_OK && session->state.step < total && !session->stop && !out_of_patience(session, every)) {
        status = train_step(session, &schedule, error);
        if (status == LOCUS_OK && (session->state.step % every == 0 || session->state.step == total))
            status = evaluate(session, error);
        if (status == LOCUS_OK)
            lab_session_progress(session, "train", session->state.step == total);
        status = vote(session, status, &checkpoint, error);
        if (status == LOCUS_OK && session->state.step < total && checkpoint)
            status = lab_session_checkpoint(session, error);
    }
    if (status == LOCUS_OK)
        status = lab_session_checkpoint(session, error);
    if (status == LOCUS_OK && session->stop) {
        status = lab_fail(error, LOCUS_ERROR_INTERRUPTED, session->queue_again ? LAB_QUEUE_AGAIN : "",
                          "stopped after step %" PRIu64 " of %" PRIu64, session->state.step, total);
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
    if (session->ready && failed && session->best_dirty)
        session->best_dirty = lab_session_write_best(session, NULL) != LOCUS_OK;
    if (!session->leads)
        return;
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
    drop_status(lab_session_message(session, error->message, false, NULL));
    drop_status(lab_session_save_row(session, failed ? LAB_RUN_FAILED : LAB_RUN_STOPPED, NULL));
}

/* The last checkpoint of a training that is done: kept where somebody asked for it, else best.safetensors is all that a
 * finished run is asked for. */
static locus_status settle_last(lab_session *session, locus_error *error) {
    if (access(session->last_path, F_OK) != 0)
        return LOCUS_OK;
    if (session->request->keep_state && rename(session->last_path, session->state_path) != 0)
        return lab_fail_system(error, "rename", session->last_path, errno);
    unlink(session->last_path);
    return LOCUS_OK;
}

static locus_status finish(lab_session *session, locus_error *error) {
    locus_status status = lab_session_whole(session, session->best, lab_model_values(session->model), error);
    if (status == LOCUS_OK)
        status = lab_model_update(session->model, error);
    status = lab_ranks_agree(session->ranks, status, NULL, error);
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
    status = lab_ranks_agree(session->ranks, status, NULL, error);
    return status == LOCUS_OK && session->leads ? settle_last(session, error) : status;
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
    if (status == LOCUS_OK && run->state == LAB_RUN_DONE && session.leads) {
        status = settle_last(&session, &local); /* there only if the process was killed before it could do so */
        if (status == LOCUS_OK && lab_session_lacks_finals(&session))
            status = extend(&session, &local);
    } else if (status == LOCUS_OK && run->state != LAB_RUN_DONE) {
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
