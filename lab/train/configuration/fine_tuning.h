/* SPDX-License-Identifier: MIT */
/* Trainings that begin from a pretrained encoder. */
#ifndef LAB_FINE_TUNING_H
#define LAB_FINE_TUNING_H

#include "train/configuration/train_config.h"

/* Turns a configuration of a kind that classifies text into the published fine-tuning of the pretrained encoder in
 * `folder` (borrowed): fine_tuning.c says how. */
locus_status lab_train_config_pretrained(lab_train_config *config, const char *folder, locus_error *error);
/* The text of its encoding: the checkpoint's own positions, and `spec` ("none": nothing) on top. */
locus_status lab_train_pretrained_encoding(const char *folder, const char *spec, char *text, size_t size,
                                           locus_error *error);

#endif
