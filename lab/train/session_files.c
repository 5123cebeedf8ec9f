/* SPDX-License-Identifier: MIT */
/* A training's files: what it goes on from, and its checkpoints. On several ranks the first reads and writes them, and
 * sends or collects what the others have, slices of moments; the room of the gradients, which mean nothing between
 * steps, serves for one of the moments. */
#include "train/session.h"

#include "io/fail.h"
#include "train/feed/train_data.h"
#include "train/machine.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- reading ---- */

/* Reads the last checkpoint, or keeps what scoring will need. */
static locus_status read_last(lab_session *session, float *first, float *second, locus_error *error) {
    const lab_checkpoint checkpoint = {session->model, first, second, &session->state, session->best};
    return access(session->last_path, F_OK) == 0
               ? lab_checkpoint_read(&checkpoint, &session->config, session->last_path, error)
               : lab_train_keep(&session->config, session->run_folder, error);
}

/* What rank 0 has read goes to all: state, parameters, and of moments to each its slice. */
static locus_status share_last(lab_session *session, float *first, float *second, locus_error *error) {
    const lab_sharing *sharing = &session->sharing;
    const size_t bytes = sharing->elements * sizeof(float);
    locus_status status = lab_ranks_broadcast(session->ranks, &session->state, sizeof session->state, error);
    if (status == LOCUS_OK)
        status = lab_ranks_broadcast(session->ranks, lab_model_values(session->model), bytes, error);
    if (status == LOCUS_OK)
        status = lab_sharing_deal(sharing, first, session->optimizer.first, error);
    if (status == LOCUS_OK)
        status = lab_sharing_deal(sharing, second, session->optimizer.second, error);
    return status == LOCUS_OK ? lab_model_update(session->model, error) : status;
}

static locus_status prepare_shared(lab_session *session, locus_error *error) {
    float *first = calloc(session->sharing.elements + 1, sizeof *first);
    float *second = lab_model_gradients(session->model);
    locus_status status = first == NULL ? lab_fail_memory(error, "the optimiser's moments") : LOCUS_OK;
    memset(second, 0, session->sharing.elements * sizeof *second);
    if (status == LOCUS_OK && session->leads)
        status = read_last(session, first, second, error);
    status = lab_ranks_agree(session->ranks, status, NULL, error);
    if (status == LOCUS_OK)
        status = share_last(session, first, second, error);
    free(first);
    return lab_ranks_agree(session->ranks, status, NULL, error);
}

locus_status lab_session_read(lab_session *session, locus_error *error) {
    return session->ranks == NULL ? read_last(session, session->optimizer.first, session->optimizer.second, error)
                                  : prepare_shared(session, error);
}

/* ---- writing ---- */

static locus_status write_files(lab_session *session, float *first, float *second, locus_error *error) {
    const lab_checkpoint checkpoint = {session->model, first, second, &session->state, session->best};
    int64_t peak = lab_peak_bytes();
    session->state.peak_bytes = peak > session->state.peak_bytes ? peak : session->state.peak_bytes;
    session->state.wall_seconds = session->base_wall + lab_seconds() - session->began;
    locus_status status = lab_checkpoint_write(&checkpoint, &session->config, session->last_path, error);
    if (status == LOCUS_OK && session->best_dirty) {
        status = lab_best_write(&checkpoint, &session->config, session->best_path, error);
        session->best_dirty = status != LOCUS_OK;
    }
    return status == LOCUS_OK ? lab_session_save_row(session, LAB_RUN_STARTED, error) : status;
}

/* Rank 0 needs room of its own for one of the moments. */
static locus_status checkpoint_shared(lab_session *session, locus_error *error) {
    const lab_sharing *sharing = &session->sharing;
    float *second = lab_model_gradients(session->model);
    float *first = session->leads ? malloc((sharing->elements + 1) * sizeof *first) : NULL;
    locus_status own = session->leads && first == NULL ? lab_fail_memory(error, "a checkpoint") : LOCUS_OK;
    locus_status status = lab_ranks_agree(session->ranks, own, NULL, error);
    if (status == LOCUS_OK)
        status = lab_sharing_gather(sharing, session->optimizer.first, second, error);
    if (status == LOCUS_OK && first != NULL)
        memcpy(first, second, sharing->elements * sizeof *first);
    if (status == LOCUS_OK)
        status = lab_sharing_gather(sharing, session->optimizer.second, second, error);
    if (status == LOCUS_OK && session->leads)
        status = write_files(session, first, second, error);
    free(first);
    return lab_ranks_agree(session->ranks, status, NULL, error);
}

locus_status lab_session_checkpoint(lab_session *session, locus_error *error) {
    const locus_status status = session->ranks == NULL
                                    ? write_files(session, session->optimizer.first, session->optimizer.second, error)
                                    : checkpoint_shared(session, error);
    session->checkpointed = lab_seconds();
    return status;
}
