/* SPDX-License-Identifier: MIT */
/* Final scores of images, all in set "test". The development set is the test set and was scored on the way, so that
 * nothing is scored again:
 *
 *   accuracy       the best of all epochs, reached first at best_step, with the loss there
 *   accuracy_half  the best up to half of the steps (published: epoch 150 of 300); absent if nothing was scored by then
 *   accuracy_last  after the last step */
#include "train/session.h"

#include <stdlib.h>

typedef struct curve {
    lab_metric *accuracy, *loss;
    size_t count; /* both have as many */
} curve;

static locus_status read_curve(lab_session *session, curve *read, locus_error *error) {
    size_t losses = 0;
    *read = (curve){0};
    locus_status status =
        lab_store_metrics(session->store, session->run->id, "dev.accuracy", &read->accuracy, &read->count, error);
    if (status == LOCUS_OK)
        status = lab_store_metrics(session->store, session->run->id, "dev.loss", &read->loss, &losses, error);
    read->count = losses < read->count ? losses : read->count;
    return status;
}

/* The first of the best among those up to a step; count: none. */
static size_t best_until(const curve *read, uint64_t step) {
    size_t best = read->count;
    for (size_t i = 0; i < read->count && read->accuracy[i].step <= step; i++)
        best = best == read->count || read->accuracy[i].value > read->accuracy[best].value ? i : best;
    return best;
}

static locus_status write_curve(lab_session *session, const curve *read, locus_error *error) {
    const uint64_t total = lab_config_steps(&session->config);
    const size_t best = best_until(read, total), half = best_until(read, total / 2);
    locus_status status = LOCUS_OK;
    if (best == read->count)
        return LOCUS_OK; /* cannot be: the last step is always scored */
    const struct {
        const char *name;
        double value;
        bool known;
    } values[] = {
        {"loss", read->loss[best].value, true},
        {"best_step", (double)read->accuracy[best].step, true},
        {"accuracy_last", read->accuracy[read->count - 1].value, true},
        {"accuracy_half", half < read->count ? read->accuracy[half].value : 0.0, half < read->count},
        {"accuracy", read->accuracy[best].value, true},
    };
    for (size_t i = 0; status == LOCUS_OK && i < sizeof values / sizeof *values; i++) {
        if (values[i].known) {
            status =
                lab_store_final_set(session->store, session->run->id, "test", values[i].name, values[i].value, error);
        }
    }
    return status;
}

locus_status lab_session_image_finals(lab_session *session, locus_error *error) {
    curve read;
    locus_status status = read_curve(session, &read, error);
    if (status == LOCUS_OK)
        status = lab_store_begin(session->store, error);
    if (status == LOCUS_OK) {
        status = write_curve(session, &read, error);
        if (status == LOCUS_OK)
            status = lab_store_commit(session->store, error);
        else
            lab_store_rollback(session->store);
    }
    free(read.accuracy);
    free(read.loss);
    return status;
}
