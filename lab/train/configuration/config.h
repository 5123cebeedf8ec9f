/* SPDX-License-Identifier: MIT */
/* A training's configuration as JSON, the one description that rows, checkpoints and names are made from. */
#ifndef LAB_CONFIG_H
#define LAB_CONFIG_H

#include "train/configuration/config_options.h"
#include "train/configuration/train_config.h"
#include "train/store/store.h"

/* One flat object; NULL: out of memory. Release with cJSON_free. */
char *lab_config_json(const lab_train_config *config);

/* Reads what lab_config_json wrote. Task, encoding and budget are those of `run`, whose columns repeat them and whose
 * texts are borrowed. `place` names the source in messages. IO for a task that this version does not have, too. */
locus_status lab_config_parse(lab_train_config *config, const char *json, const lab_run *run, const char *place,
                              locus_error *error);

/* The kind's own options, as far as the object says them; what it doesn't say, or can't be read, stays as it is. */
void lab_config_read_data(lab_train_config *config, const struct cJSON *json);

/* FNV-1a over everything that decides the trained parameters and scores: not the further test lengths, which can be
 * added later, nor how often checkpoints are written. */
uint64_t lab_config_hash(const lab_train_config *config);
/* As earlier versions made it, without the names of LAB_OPTION_CALLED: `kv_heads` 2 and `shards` 2 have the same. Runs
 * that go on from others have recorded it. */
uint64_t lab_config_older_hash(const lab_train_config *config);

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
size_t lab_config_shards(const lab_train_config *config); /* 1 or more */
lab_schedule lab_config_schedule(const lab_train_config *config);

/* Data of another mean size, by the class's axis of lengths. */
lab_task_options lab_config_data(const lab_train_config *config, size_t mean);

/* What stands beside a task's name, since it is no size: of trees the order, of expressions what is asked; else "". */
const char *lab_config_variant(const lab_train_config *config);
/* In which order output trees are written; breadth where there are none. */
lab_order lab_config_order(const lab_train_config *config);
/* Makes it that variant; none of its names: nothing changes. */
void lab_config_set_variant(lab_train_config *config, const char *variant);
/* Whether greedy decoding is scored. */
bool lab_config_decodes(const lab_train_config *config);

/* What follows from the task and its options: the model's vocabulary, trees and classes. With a pretrained encoder the
 * vocabulary is that of its pieces, and tokens are nodes of no tree. */
void lab_config_fill(lab_train_config *config);

/* What follows from the encoding's text: one that adds nothing to tokens has no position scale, so that with and
 * without are one training. MEMORY; an encoding that cannot be parsed settles nothing. */
locus_status lab_config_settle(lab_train_config *config, locus_error *error);

/* The canonical text of a spec, or of a pattern over layers, as a training of this configuration uses it: with set-up
 * code, rotary frequencies are learned; a learned table begins with the deviation of the tokens, and the text says
 * which. SPEC with an offset into `spec` if it cannot be parsed; at most LAB_SPEC_SIZE bytes. */
locus_status lab_train_encoding(const char *spec, const lab_train_config *config, char *text, size_t size,
                                locus_error *error);

/* *least: the least value of a whole-number option over all terms `name` of a pattern over layers, defaults included;
 * SIZE_MAX if there is no such term, or the pattern cannot be parsed. MEMORY. */
locus_status lab_spec_least(const char *pattern, const char *name, const char *option, size_t *least,
                            locus_error *error);

/* The standard name of a run: task-encoding-…-s<seed>, safe as a file name, with a short hash of the configuration. */
void lab_train_name(const lab_train_config *config, char *name, size_t size);
/* As earlier versions called it: by lab_config_older_hash. */
void lab_train_older_name(const lab_train_config *config, char *name, size_t size);

#endif
