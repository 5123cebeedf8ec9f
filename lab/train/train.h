/* SPDX-License-Identifier: MIT */
/* The training loop: batches, development-set selection, checkpoints, resume, final scores, all recorded in the
 * store. The parameters of the best development loss are kept; but of images the development set is the test set, as in
 * the published experiments, and those of the best accuracy are kept. */
#ifndef LAB_TRAIN_H
#define LAB_TRAIN_H

#include "train/configuration/budgets.h"
#include "train/configuration/config.h"
#include "train/configuration/fine_tuning.h"
#include "train/outcome.h"
#include "train/request.h"
#include "train/score.h"
#include "train/store/store.h"

/* Trains, or goes on with, the run `name` below `folder` (checkpoints at folder/name/). A run that is done is not
 * trained again: its record is returned. `run` receives the final record. INTERRUPTED if progress asked to stop;
 * NUMERIC if the loss was not finite (the last good checkpoint is kept). */
locus_status lab_train(lab_store *store, const lab_train_request *request, lab_run *run, locus_error *error);

/* The name of this training in the store: lab_train_name, or the one that an earlier version gave it, where the store
 * has it by that. `store` NULL: lab_train_name. IO or MEMORY of the store. */
locus_status lab_train_kept_name(lab_store *store, const lab_train_config *config, char *name, size_t size,
                                 locus_error *error);

/* Loads the best model of a finished or stopped run, for eval and generate. The texts of `config` belong to `run`. */
locus_status lab_train_load(const lab_run *run, const char *folder, lab_train_config *config, lab_model **model,
                            locus_error *error);

/* Keeps what the best model scored on its test set of another size with the run, as "test:200", in one transaction;
 * scores of that set that were there are replaced. */
locus_status lab_train_store(lab_store *store, const lab_run *run, size_t size, const lab_outcome *outcome,
                             locus_error *error);

#endif
