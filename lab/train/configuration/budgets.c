/* SPDX-License-Identifier: MIT */
/* Budgets' common parts, and the configuration that a task, a budget and a set-up give. */
#include "train/configuration/budgets.h"

#include "io/fail.h"
#include "model/architecture.h"
#include "train/configuration/config.h"

#include <string.h>

void lab_budget_training(lab_train_config *config) {
    config->model = config->task->class->architecture->defaults;
    config->checkpoint_seconds = 60;
    config->optimizer = lab_optimizer_default();
    config->rate_initial = 1e-7;
    config->rate_peak = 5e-4;
    config->rate_final = 1e-9;
    config->warmup_share = 0.05;
}

void lab_budget_shrink(lab_train_config *config, const lab_budget_size *size) {
    lab_model_config *model = &config->model;
    model->dim = size->dim;
    model->heads = size->heads;
    model->feed_forward = size->feed_forward;
    if (size->layers > 0) {
        model->encoder_layers = model->encoder_layers > 0 ? size->layers : 0;
        model->decoder_layers = model->decoder_layers > 0 ? size->layers : 0;
    }
    config->dev_samples = size->dev_samples;
    config->test_samples = size->test_samples;
    config->greedy_samples = size->greedy_samples;
    config->batch = size->batch;
    config->steps = size->steps;
    config->evaluate_every = size->evaluate_every;
    config->rate_peak = size->rate;
}

void lab_budget_pairs(lab_train_config *config) {
    lab_budget_training(config);
    config->train_samples = 6000;
    config->dev_samples = 2000;
    config->test_samples = 2000;
    config->greedy_samples = 2000;
    config->batch = 64;
    config->epochs = 400;
}

void lab_budget_no_dropout(lab_train_config *config) {
    config->model.dropout = config->model.attention_dropout = 0.0;
}

void lab_budget_tables_code(lab_train_config *config) {
    config->model.norm = LAB_NORM_AFTER;
    config->warmup_share = 5.0 / 400.0;
}

/* docs/budgets.md, "Set-ups": they differ in what dropout acts on, in rotary frequencies (lab_train_encoding), and in
 * what the class says. */
static void apply_setup(lab_train_config *config, lab_setup setup) {
    const bool code = setup == LAB_SETUP_CODE;
    config->setup = setup;
    config->model.attention_dropout_on = code ? LOCUS_DROPOUT_LOGITS : LOCUS_DROPOUT_WEIGHTS;
    if (code && config->task->class->as_code != NULL)
        config->task->class->as_code(config);
}

locus_status lab_train_config_budget(lab_train_config *config, const lab_task *task, const char *budget,
                                     lab_setup setup, locus_error *error) {
    static const char *const names[] = {"smoke", "quick", "paper"};
    memset(config, 0, sizeof *config);
    config->task = task;
    config->data = lab_task_default(task);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(budget, names[i]) == 0) {
            task->class->budgets[i](config);
            apply_setup(config, setup);
            config->encoding = config->model.encoding;
            config->budget = names[i];
            config->numerics = LAB_NUMERICS;
            lab_config_fill(config);
            return LOCUS_OK;
        }
    }
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, "budget", "unknown budget '%s': there are smoke, quick and paper",
                    budget);
}
