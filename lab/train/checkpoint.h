/* SPDX-License-Identifier: MIT */
/* The files of a run, each whole or not there:
 *   last.safetensors  everything that a resume needs; removed once the run is done, or kept as state.safetensors
 *     <parameters of the model>, optimizer.first, optimizer.second [elements], best [elements] if there is one,
 *     state.integers, state.reals; metadata: format, config
 *   best.safetensors  the parameters of the best step; metadata: format, config, step, dev_loss (of images dev_error)
 *   lock              held by the process that trains the run
 *   tokenizer.model … copies of a tokenizer's files, where the task or a pretrained encoder has one */
#ifndef LAB_CHECKPOINT_H
#define LAB_CHECKPOINT_H

#include "io/safetensors.h"
#include "train/configuration/train_config.h"
#include "train/store/run_folder.h"
#include "train/store/store.h"

/* What a training carries from step to step besides parameters and moments. */
typedef struct lab_training_state {
    uint64_t step;         /* steps taken */
    uint64_t best_step;    /* 0: none yet */
    uint64_t tokens_seen;  /* input and predicted tokens, no padding */
    uint64_t record_steps; /* since the last record of metrics … */
    uint64_t record_tokens;
    int64_t peak_bytes;
    double record_loss, record_norm; /* … sums */
    double best_measure; /* of the best step, the smaller the better: development loss; of images the share not right */
    double wall_seconds, train_seconds; /* all of it; in training steps alone */
} lab_training_state;

typedef struct lab_checkpoint {
    lab_model *model;
    float *first, *second; /* the optimiser's moments, [elements] */
    lab_training_state *state;
    float *best; /* [elements]; meaningful if state->best_step > 0 */
} lab_checkpoint;

/* Of moments and best parameters that are NULL `source` brings "optimizer.first", "optimizer.second" and, if there is
 * one, "best", in this order. */
locus_status lab_checkpoint_write(const lab_checkpoint *checkpoint, const lab_train_config *config,
                                  lab_array_source source, const char *path, locus_error *error);

/* Fills all four, or fails with a clear line that names the file: damaged, of another configuration, of other shapes.
 * The texts of `config` are compared too. */
locus_status lab_checkpoint_read(const lab_checkpoint *checkpoint, const lab_train_config *config, const char *path,
                                 locus_error *error);

/* The best parameters alone. */
locus_status lab_best_write(const lab_checkpoint *checkpoint, const lab_train_config *config, const char *path,
                            locus_error *error);
/* IO for a run that was imported, where a path to its best parameters leads nowhere. */
locus_status lab_best_expected(const lab_run *run, const char *path, locus_error *error);
/* The parameters of this very model from any .safetensors, a checkpoint's or somebody else's: names and shapes must be
 * the model's. */
locus_status lab_init_read(lab_model *model, const char *path, locus_error *error);
locus_status lab_best_read(lab_model *model, const char *path, locus_error *error);

#endif
