/* SPDX-License-Identifier: MIT */
/* One training while it runs, on one rank or on each of several: shared by session.c (opening),
 * session_row.c, session_files.c, train.c (the loop) and final.c (scores). */
#ifndef LAB_SESSION_H
#define LAB_SESSION_H

#include "train/checkpoint.h"
#include "train/configuration/config.h"
#include "train/feed/batch.h"
#include "train/feed/feed.h"
#include "train/request.h"
#include "train/sharing.h"

typedef struct lab_session {
    lab_store *store; /* rank 0's; others have none */
    const lab_train_request *request;
    lab_ranks *ranks;        /* the request's; NULL: alone, or rank 0 goes on alone */
    bool leads;              /* rank 0: has the store, the run's files and what becomes of them */
    lab_train_config config; /* the request's with the encoding's canonical text */
    char encoding[LAB_SPEC_SIZE];
    lab_run *run; /* the caller's */
    char *run_folder, *last_path, *best_path, *state_path, *lock_path;
    int lock;

    lab_dataset train, dev;
    lab_feed feed;
    lab_model *model;
    lab_sharing sharing;     /* open if a batch has shards */
    lab_optimizer optimizer; /* of all parameters, or of the rank's slice of them */
    lab_training_state state;
    float *best;     /* parameters of the best step: as many as the optimiser has */
    bool best_dirty; /* not yet in best.safetensors */

    double began, base_wall; /* clock when this process began, wall seconds before it */
    uint64_t first_step;
    double checkpointed, shown; /* clocks of the last checkpoint and of the last progress */
    double loss, dev_loss, dev_accuracy, rate;
    bool made_row;    /* there was none before */
    bool ready, stop; /* the state is that of the run; the caller asked to stop, */
    bool queue_again; /* since a scheduler did */
} lab_session;

/* Copies the request, takes the lock, finds the row; makes data, model and optimiser, unless the run is done: it comes
 * back as it is; then makes the row, if there was none. What cannot be made leaves no row. */
locus_status lab_session_open(lab_session *session, lab_store *store, const lab_train_request *request, lab_run *run,
                              locus_error *error);
/* Reads the last checkpoint, if there is one, or keeps in the run's folder what scoring will need; all ranks have the
 * same then. Called by: */
locus_status lab_session_read(lab_session *session, locus_error *error);
/* Goes on from there: cuts the metrics back to it. */
locus_status lab_session_prepare(lab_session *session, locus_error *error);
/* Takes a row that this session made, and its folder, away again: nothing was trained. */
void lab_session_forget(lab_session *session);
void lab_session_close(lab_session *session);

/* Writes both files and the row; a part of it is done by every rank. */
locus_status lab_session_checkpoint(lab_session *session, locus_error *error);
/* The best parameters alone, where a training fails before its next checkpoint; likewise. */
locus_status lab_session_write_best(lab_session *session, locus_error *error);
/* What ranks have slices of as large as the optimiser's, together, on all. */
locus_status lab_session_whole(const lab_session *session, const float *slice, float *whole, locus_error *error);
/* What a new row says; and of where the run goes on, which may be elsewhere. */
locus_status lab_session_tell_parent(lab_session *session, locus_error *error); /* to the store, if it has one */
locus_status lab_session_fill_row(lab_session *session, locus_error *error);
locus_status lab_session_fill_place(lab_session *session, locus_error *error);
/* Puts the state's numbers into the row and the row into the store. Like the next one, of rank 0. */
locus_status lab_session_save_row(lab_session *session, lab_run_state state, locus_error *error);
/* Replaces the row's message, or adds to it. */
locus_status lab_session_message(lab_session *session, const char *text, bool add, locus_error *error);
/* Tells the caller, a few times a second at most; sets session->stop if it wants to. */
void lab_session_progress(lab_session *session, const char *phase, bool always);

/* Whether a test set that the configuration names has neither scores nor a note that it cannot have any. */
bool lab_session_lacks_finals(lab_session *session);
/* Scores on the test sets that have none yet, with the parameters that the model holds now; of images the test set was
 * scored on the way, and the curve says it all. */
locus_status lab_session_finals(lab_session *session, locus_error *error);

#endif
