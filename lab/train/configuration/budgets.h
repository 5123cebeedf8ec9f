/* SPDX-License-Identifier: MIT */
/* Budgets: every size of a training, published and smaller. A kind's class has its own three (lab/kinds);
 * docs/budgets.md explains them. The numbers are part of the names of runs. */
#ifndef LAB_BUDGETS_H
#define LAB_BUDGETS_H

#include "train/configuration/train_config.h"

/* Sizes of a budget for a task. paper: as published; quick and smoke: smaller. */
locus_status lab_train_config_budget(lab_train_config *config, const lab_task *task, const char *budget,
                                     lab_setup setup, locus_error *error);

/* ---- what classes make theirs of ---- */

/* A smaller training: what it has of everything that budgets vary. */
typedef struct lab_budget_size {
    size_t dim, heads, feed_forward;
    size_t layers; /* of the stacks that there are; 0: as published */
    size_t dev_samples, test_samples, greedy_samples, batch;
    uint64_t steps, evaluate_every;
    double rate;
} lab_budget_size;
#define LAB_SIZES(d, h, f, l) .dim = d, .heads = h, .feed_forward = f, .layers = l
#define LAB_SCORED(dev, test, greedy) .dev_samples = dev, .test_samples = test, .greedy_samples = greedy
#define LAB_STEPS(b, s, every, r) .batch = b, .steps = s, .evaluate_every = every, .rate = r
void lab_budget_shrink(lab_train_config *config, const lab_budget_size *size);

/* The architecture's published sizes, AdamW, a checkpoint a minute, and a rate that rises and falls as in the published
 * experiments. */
void lab_budget_training(lab_train_config *config);

/* The encoder-decoder of Tables 1 and 2 with its training, at budget paper. */
void lab_budget_pairs(lab_train_config *config);

/* No dropout of any kind. */
void lab_budget_no_dropout(lab_train_config *config);

/* What set-up code has in all three published tables: LayerNorm after each block, a warm-up of 5 epochs of 400. */
lab_budget_fill lab_budget_tables_code;

#endif
