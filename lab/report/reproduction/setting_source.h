/* SPDX-License-Identifier: MIT */
/* Where the settings of budget paper come from. Papers are silent on many of them, and no revision of their code fits
 * them in everything: a number is only called a paper's if the paper has it. */
#ifndef LAB_SETTING_SOURCE_H
#define LAB_SETTING_SOURCE_H

#include "train/train.h"

/* Whose a field of a task's configuration is at budget paper, the field by its name in JSON ("feed_forward", "steps"):
 *
 *   paper             the text or an appendix of the publication
 *   code of 2024      its authors' public code of that year, where the paper is silent
 *   Long Range Arena  the benchmark's own model
 *   inferred          nobody has it, but it follows from what they have: steps from epochs and batches, and the depths
 *                     of tree-ops from those of the other tasks of trees
 *   ours              none of these
 *
 * Fields that are not listed are ours. */
const char *lab_setting_source(const lab_task *task, lab_setup setup, const char *field);

/* Listed fields of a kind in set-up paper, one after the other; NULL past the end. */
const char *lab_setting_at(const lab_task_class *class, size_t index);

#endif
