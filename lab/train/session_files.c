/* SPDX-License-Identifier: MIT */
/* A training's files: what it goes on from, and its checkpoints. On several ranks the first reads and writes them, and
 * sends or collects what the others have, slices of moments and of the best parameters, one of them after the other.
 * The room of the gradients, which mean nothing between steps, serves for whatever must be whole for a while. */
#include "train/session.h"

#include "io/clock.h"
#include "io/fail.h"
#include "train/feed/train_data.h"
#include "train/machine.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- slices ---- */

locus_status lab_session_whole(const lab_session *session, const float *slice, float *whole, locus_error *error) {
    if (session->ranks != NULL)
        return lab_sharing_gather(&session->sharing, slice, whole, error);
    memcpy(whole, slice, session->optimizer.elements * sizeof *whole);
    return LOCUS_OK;
}

/* ---- reading ---- */

/* Reads the last checkpoint, or keeps what scoring will need. */
static locus_status read_last(lab_session *session, float *first, float *second, float *best, locus_error *error) {
    const lab_checkpoint checkpoint = {session->model, first, second, &session->state, best};
    return access(session->last_path, F_OK) == 0
               ? lab_checkpoint_read(&checkpoint, &session->config, session->last_path, error)
               : lab_train_keep(&session->config, session->run_folder, error);
}

/* What rank 0 has read goes to all: state, parameters, and of the rest to each its slice. Others have room for one. */
static locus_status share_last(lab_session *session, float *first, float *best, locus_error *error) {
    const lab_sharing *sharing = &session->sharing;
    const size_t bytes = sharing->elements * sizeof(float);
    float *second = lab_model_gradients(session->model);
    locus_status status = lab_ranks_broadcast(session->ranks, &session->state, sizeof session->state, error);
    if (status == LOCUS_OK)
        status = lab_ranks_broadcast(session->ranks, lab_model_values(session->model), bytes, error);
    if (status == LOCUS_OK)
        status = lab_sharing_deal(sharing, second, session->optimizer.second, error);
    if (status == LOCUS_OK)
        status = lab_sharing_deal(sharing, first, session->optimizer.first, error);
    if (status == LOCUS_OK && session->state.best_step > 0)
        status = lab_sharing_deal(sharing, best, session->best, error);
    return status == LOCUS_OK ? lab_model_update(session->model, error) : status;
}

static locus_status prepare_shared(lab_session *session, locus_error *error) {
    float *room = lab_model_gradients(session->model), *first = room, *best = room;
    const size_t elements = session->sharing.elements;
    locus_status status = LOCUS_OK;
    memset(room, 0, elements * sizeof *room);
    if (session->leads) {
        first = calloc(elements + 1, sizeof *first);
        best = calloc(elements + 1, sizeof *best);
        status = first == NULL || best == NULL ? lab_fail_memory(error, "the optimiser's moments")
                                               : read_last(session, first, room, best, error);
    }
    status = lab_ranks_agree(session->ranks, status, NULL, error);
    if (status == LOCUS_OK)
        status = share_last(session, first, best, error);
    if (first != room)
        free(first);
    if (best != room)
        free(best);
    return lab_ranks_agree(session->ranks, status, NULL, error);
}

locus_status lab_session_read(lab_session *session, locus_error *error) {
    return session->ranks == NULL
               ? read_last(session, session->optimizer.first, session->optimizer.second, session->best, error)
               : prepare_shared(session, error);
}

/* ---- writing ---- */

/* What ranks have slices of, in a checkpoint's order; all gather each of them, whatever becomes of rank 0's file. */
typedef struct gathering {
    lab_session *session;
    const float *slices[3];
    size_t count, done;
} gathering;

static locus_status gather_next(gathering *all, locus_error *error) {
    const lab_session *session = all->session;
    return lab_session_whole(session, all->slices[all->done++], lab_model_gradients(session->model), error);
}

static locus_status bring(void *context, const lab_array *array, const void **data, locus_error *error) {
    gathering *all = context;
    (void)array;
    *data = lab_model_gradients(all->session->model);
    return gather_next(all, error);
}

/* `best` is what the last checkpoint's file needs: what the gathering brought last, or the training's own. */
static locus_status write_files(lab_session *session, const lab_checkpoint *checkpoint, lab_array_source source,
                                float *best, locus_error *error) {
    int64_t peak = lab_peak_bytes();
    session->state.peak_bytes = peak > session->state.peak_bytes ? peak : session->state.peak_bytes;
    session->state.wall_seconds = session->base_wall + lab_seconds() - session->began;
    /* metrics of its steps are on the disk before it is */
    locus_status status = lab_session_save_row(session, LAB_RUN_STARTED, error);
    if (status == LOCUS_OK)
        status = lab_checkpoint_write(checkpoint, &session->config, source, session->last_path, error);
    if (status == LOCUS_OK && session->best_dirty) {
        const lab_checkpoint kept = {session->model, NULL, NULL, &session->state, best};
        status = lab_best_write(&kept, &session->config, session->best_path, error);
    }
    return status == LOCUS_OK ? lab_session_save_row(session, LAB_RUN_STARTED, error) : status;
}

/* What is gathered takes the gradients' memory; scores were the last to use that of activations. */
static void make_room(const lab_session *session) {
    if (lab_ranks_count(session->ranks) == 1)
        return;
    lab_model_activations_release(session->model);
    lab_model_gradients_release(session->model);
}

static locus_status checkpoint_alone(lab_session *session, locus_error *error) {
    const lab_checkpoint checkpoint = {session->model, session->optimizer.first, session->optimizer.second,
                                       &session->state, session->best};
    return write_files(session, &checkpoint, (lab_array_source){NULL, NULL}, session->best, error);
}

static locus_status checkpoint_shared(lab_session *session, locus_error *error) {
    const lab_checkpoint checkpoint = {session->model, NULL, NULL, &session->state, NULL};
    gathering all = {.session = session,
                     .slices = {session->optimizer.first, session->optimizer.second, session->best},
                     .count = session->state.best_step > 0 ? 3 : 2};
    locus_status status = LOCUS_OK;
    make_room(session);
    if (session->leads) {
        status = write_files(session, &checkpoint, (lab_array_source){bring, &all}, lab_model_gradients(session->model),
                             error);
    }
    while (all.done < all.count) {
        locus_error further;
        const locus_status came = gather_next(&all, status == LOCUS_OK ? error : &further);
        status = status == LOCUS_OK ? came : status;
    }
    return lab_ranks_agree(session->ranks, status, NULL, error);
}

locus_status lab_session_checkpoint(lab_session *session, locus_error *error) {
    const locus_status status =
        session->ranks == NULL ? checkpoint_alone(session, error) : checkpoint_shared(session, error);
    session->best_dirty = session->best_dirty && status != LOCUS_OK;
    session->checkpointed = lab_seconds();
    return status;
}

locus_status lab_session_write_best(lab_session *session, locus_error *error) {
    float *best = lab_model_gradients(session->model);
    const lab_checkpoint kept = {session->model, NULL, NULL, &session->state, best};
    make_room(session);
    locus_status status = lab_session_whole(session, session->best, best, error);
    if (status == LOCUS_OK && session->leads)
        status = lab_best_write(&kept, &session->config, session->best_path, error);
    return status;
}
