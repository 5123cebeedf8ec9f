/* SPDX-License-Identifier: MIT */
/* The options that trainings of all kinds of tasks share, and what all options of a configuration have in common. Their
 * order is that in which stores hash them: options that later versions brought stand behind those of before. */
#ifndef LAB_CONFIG_OPTIONS_H
#define LAB_CONFIG_OPTIONS_H

#include "train/configuration/train_config.h"

/* Of the kind's class; where it has none of that field, what versions before wrote all the same. */
#define LAB_OPTION_OF_KIND ((size_t)-1)
/* Lies nowhere by itself: the command line puts it where it belongs. */
#define LAB_OPTION_NOWHERE ((size_t)-2)

extern const lab_option lab_config_options[];
extern const size_t lab_config_option_count;

/* All recorded fields of a configuration of this class, in order, one after the other; NULL past the end. A field that
 * only stands there because the first version wrote it for all kinds has LAB_OPTION_OF_KIND and the value 0. */
const lab_option *lab_config_field(const lab_task_class *class, size_t index);

enum { LAB_FIELD_SIZE = LAB_SPEC_SIZE }; /* bytes of a value's text */
/* A field's value as text, the same for equal values. */
/* A number of the configuration by its field in stores; 0: its kind has no such field. */
double lab_config_number(const lab_train_config *config, const char *field);
void lab_option_text(const lab_option *option, const lab_train_config *config, char *text, size_t size);
/* Whether this value is not written. */
bool lab_option_is_silent(const lab_option *option, const char *text);

/* Names of an enumeration's values, each list ends with NULL. */
extern const char *const lab_order_names[], *const lab_tree_paths_names[], *const lab_augmentation_names[];

const char *lab_setup_name(lab_setup setup);
const char *lab_embedding_init_name(lab_embedding_init init);
const char *lab_position_scale_name(lab_position_scale scale);
const char *lab_logit_scale_name(lab_logit_scale scale);
const char *lab_precision_name(lab_precision precision);
const char *lab_order_name(lab_order order);
const char *lab_tree_paths_name(lab_tree_paths paths);

#endif
