/* SPDX-License-Identifier: MIT */
/* What the files of budgets share. */
#ifndef LAB_BUDGETS_H
#define LAB_BUDGETS_H

#include "train/config.h"

/* Fills all but what follows from the set-up. config->task and the task's published data are there. */
typedef void lab_budget_fill(lab_train_config *config);

/* A smaller training: what it has of everything that budgets vary. */
typedef struct lab_budget_size {
    size_t dim, heads, feed_forward;
    size_t layers; /* of the stacks that there are; 0: as published */
    size_t dev_samples, test_samples, greedy_samples, batch;
    uint64_t steps, evaluate_every;
    double rate;
} lab_budget_size;
void lab_budget_shrink(lab_train_config *config, const lab_budget_size *size);

/* AdamW, a checkpoint a minute, and a rate that rises and falls as in the published experiments. */
void lab_budget_training(lab_train_config *config);

/* budgets_tokens.c: problems, text, expressions, each for smoke, quick, paper. */
extern lab_budget_fill lab_problems_smoke, lab_problems_quick, lab_problems_paper;
extern lab_budget_fill lab_text_smoke, lab_text_quick, lab_text_paper;
extern lab_budget_fill lab_expressions_smoke, lab_expressions_quick, lab_expressions_paper;

#endif
