/* SPDX-License-Identifier: MIT */
/* The runs of another store, taken into this one: a table whose trainings were dealt to many machines, each with a
 * store of its own, comes together so.
 *
 * A run is the training that its configuration describes, seed included (lab_config_hash), whatever it is called. Of
 * one that both stores have
 *
 *   every score and every point of a curve that both have must be equal; otherwise nothing of the file is taken;
 *   the finished one is kept, of two that are finished the one that was there, with the scores that it lacked;
 *   of two that are not finished the one with more steps is kept.
 *
 * A run that is not finished is only taken together with its checkpoint, which it goes on from. */
#ifndef LAB_STORE_MERGE_H
#define LAB_STORE_MERGE_H

#include "train/store/store.h"

typedef struct lab_merge_request {
    const char *path;   /* the other store, which is only read */
    const char *folder; /* this store's, of checkpoints */
    bool checkpoints;   /* the files of runs are copied, too; those of runs that were there where they lack */
} lab_merge_request;

typedef struct lab_merge_result {
    size_t added, replaced, known; /* runs that are new; that take the place of less of the same; that bring nothing */
    size_t unfinished;             /* left out, since their checkpoints were not asked for */
    size_t bare;                   /* taken with their checkpoint, but there is none */
} lab_merge_result;

/* Whether a file begins as a store does. */
bool lab_store_is_one(const char *path);

/* One transaction, for which others may have to wait if the store had no runs before (lab_store_fill): after a
 * failure, or a kill, the store has all of the file's runs or none. Files are copied after it: after a failure there
 * the runs are in the store, and the same call again copies what is missing. ARGUMENT for a conflict, naming both runs;
 * IO for a file that is no store, a full disk, or a run that somebody trains. */
locus_status lab_store_merge(lab_store *store, const lab_merge_request *request, lab_merge_result *result,
                             locus_error *error);

#endif
