/* SPDX-License-Identifier: MIT */
/* A training's configuration as JSON, the one description that rows, checkpoints and names are made from. */
#ifndef LAB_CONFIG_H
#define LAB_CONFIG_H

#include "train/train.h"

/* One flat object; NULL: out of memory. Release with cJSON_free. */
char *lab_config_json(const lab_train_config *config);

/* Reads what lab_config_json wrote. The texts of `config` (task, encoding, budget) are taken from `run`, whose columns
 * repeat them. `place` names the source in messages. */
locus_status lab_config_parse(lab_train_config *config, const char *json, const lab_run *run, const char *place,
                              locus_error *error);

/* FNV-1a over everything that decides the trained parameters and scores: not the further test lengths, which can be
 * added later, nor how often checkpoints are written. */
uint64_t lab_config_hash(const lab_train_config *config);

/* The first such field in which two configurations differ, or NULL. */
const char *lab_config_difference(const lab_train_config *a, const lab_train_config *b);

/* Whether task, encoding and budget in `json` are those of `config`. */
bool lab_config_same_texts(const lab_train_config *config, const char *json);

/* Refuses what cannot be trained, naming the option. */
locus_status lab_config_check(const lab_train_config *config, locus_error *error);

/* Steps of an epoch, of the whole training, between evaluations, and the schedule that follows from them. */
uint64_t lab_config_epoch_steps(const lab_train_config *config);
uint64_t lab_config_steps(const lab_train_config *config);
uint64_t lab_config_evaluate_every(const lab_train_config *config);
lab_schedule lab_config_schedule(const lab_train_config *config);

/* Data of another mean length of words, whose deviation is scaled with it, or of another mean depth of trees, whose
 * deviation stays. */
lab_task_options lab_config_data(const lab_train_config *config, size_t mean);

lab_task_kind lab_config_kind(const lab_train_config *config); /* words if the task is unknown */
/* What stands beside a task's name, since it is no size: of trees the order, of expressions what is asked; else "". */
const char *lab_config_variant(const lab_train_config *config);
/* Tokens of an image: the places of the grid after the convolution and the pooling. */
size_t lab_config_image_tokens(const lab_model_config *model);

const char *lab_setup_name(lab_setup setup);
const char *lab_embedding_init_name(lab_embedding_init init);
const char *lab_position_scale_name(lab_position_scale scale);
const char *lab_logit_scale_name(lab_logit_scale scale);
const char *lab_order_name(lab_order order);
const char *lab_tree_paths_name(lab_tree_paths paths);
const char *lab_asked_name(lab_asked asked);

/* What follows from the task and its options: the model's vocabulary, trees and classes. With a pretrained encoder the
 * vocabulary is that of its pieces, data.symbols. Nothing if the task is unknown. */
void lab_config_fill(lab_train_config *config);

/* What follows from the encoding's text: one that adds nothing to tokens has no position scale, so that with and
 * without are one training. */
void lab_config_settle(lab_train_config *config);

#endif
