/* SPDX-License-Identifier: MIT */
/* The budgets: every size of a training, published and smaller; here those of words, trees and images. docs/budgets.md
 * explains them. The numbers of words are those of the first version: they are part of the names of runs. */
#include "train/budgets.h"
#include "io/fail.h"

#include <string.h>

/* ---- what they share ---- */

void lab_budget_training(lab_train_config *config) {
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

/* ---- words ---- */

static void words_paper(lab_train_config *config) {
    lab_budget_training(config);
    config->model = lab_model_default();
    config->train_samples = 6000;
    config->dev_samples = 2000;
    config->test_samples = 2000;
    config->greedy_samples = 2000;
    config->batch = 64;
    config->epochs = 400;
}

static void words_small(lab_train_config *config, const lab_budget_size *size, double length) {
    words_paper(config);
    lab_budget_shrink(config, size);
    config->data.length_mean = length;
    config->data.length_deviation = length / 10.0;
}

static void words_quick(lab_train_config *config) {
    const lab_budget_size size = {.dim = 64,
                                  .heads = 4,
                                  .feed_forward = 256,
                                  .dev_samples = 256,
                                  .test_samples = 512,
                                  .greedy_samples = 128,
                                  .batch = 32,
                                  .steps = 2500,
                                  .evaluate_every = 50,
                                  .rate = 2e-3};
    words_small(config, &size, 20.0);
}

static void words_smoke(lab_train_config *config) {
    const lab_budget_size size = {.dim = 64,
                                  .heads = 4,
                                  .feed_forward = 256,
                                  .dev_samples = 128,
                                  .test_samples = 256,
                                  .greedy_samples = 128,
                                  .batch = 32,
                                  .steps = 1500,
                                  .evaluate_every = 25,
                                  .rate = 2e-3};
    words_small(config, &size, 16.0);
}

/* ---- trees: as words, but for the model of the small budgets ---- */

static void trees_small(lab_train_config *config, const lab_budget_size *size, double depth) {
    words_paper(config);
    lab_budget_shrink(config, size);
    config->epochs = 0;
    config->data.depth_mean = depth;
}

static void trees_quick(lab_train_config *config) {
    const lab_budget_size size = {.dim = 128,
                                  .heads = 4,
                                  .feed_forward = 512,
                                  .dev_samples = 256,
                                  .test_samples = 1000,
                                  .greedy_samples = 128,
                                  .batch = 32,
                                  .steps = 1500,
                                  .evaluate_every = 50,
                                  .rate = 2e-3};
    trees_small(config, &size, 5.0);
}

static void trees_smoke(lab_train_config *config) {
    const lab_budget_size size = {.dim = 64,
                                  .heads = 4,
                                  .feed_forward = 256,
                                  .dev_samples = 128,
                                  .test_samples = 256,
                                  .greedy_samples = 128,
                                  .batch = 32,
                                  .steps = 600,
                                  .evaluate_every = 25,
                                  .rate = 2e-3};
    trees_small(config, &size, 4.0);
}

/* ---- images: the test set is looked at after every epoch, as published ---- */

static void images_paper(lab_train_config *config) {
    lab_budget_training(config);
    config->model = lab_model_image_default();
    config->augment = LAB_AUGMENT_POLICY;
    config->train_samples = 50000;
    config->dev_samples = config->test_samples = 10000;
    config->batch = 128;
    config->epochs = 300;
    config->optimizer.weight_decay = 3e-2;
}

static void images_quick(lab_train_config *config) {
    images_paper(config);
    config->epochs = 5;
}

static void images_smoke(lab_train_config *config) {
    images_paper(config);
    config->model.dim = 64;
    config->model.feed_forward = 128;
    config->model.encoder_layers = 2;
    config->train_samples = 2000;
    config->dev_samples = config->test_samples = 1000;
    config->batch = 32;
    config->epochs = 6;
    config->rate_peak = 2e-3;
}

/* ---- */

/* docs/budgets.md, "Set-ups": the set-ups differ in what dropout acts on, and (lab_train_encoding) in rotary
 * frequencies; for the kinds of the published tables also in where LayerNorm stands, what stochastic depth does with
 * what it leaves, the paths of trees, and the warm-up, 5 % of the steps against 5 epochs of 400. */
static void apply_setup(lab_train_config *config, lab_task_kind kind, lab_setup setup) {
    const bool code = setup == LAB_SETUP_CODE;
    config->setup = setup;
    config->model.attention_dropout_on = code ? LOCUS_DROPOUT_LOGITS : LOCUS_DROPOUT_WEIGHTS;
    if (kind > LAB_TASK_IMAGES)
        return;
    config->model.norm = code ? LAB_NORM_AFTER : LAB_NORM_BEFORE;
    if (code)
        config->warmup_share = 5.0 / 400.0;
    if (code && kind == LAB_TASK_TREES)
        config->model.tree_paths = LAB_PATHS_CODE;
    if (code && config->model.stochastic_depth > 0.0)
        config->model.survivors = LAB_SURVIVORS_AS_THEY_ARE;
}

locus_status lab_train_config_budget(lab_train_config *config, const lab_task *task, const char *budget,
                                     lab_setup setup, locus_error *error) {
    static const struct {
        const char *name;
        lab_budget_fill *fill[LAB_TASK_KINDS]; /* by kind of task */
    } budgets[] = {
        {"smoke", {words_smoke, trees_smoke, images_smoke, lab_problems_smoke, lab_text_smoke, lab_expressions_smoke}},
        {"quick", {words_quick, trees_quick, images_quick, lab_problems_quick, lab_text_quick, lab_expressions_quick}},
        {"paper", {words_paper, words_paper, images_paper, lab_problems_paper, lab_text_paper, lab_expressions_paper}},
    };
    _Static_assert(LAB_TASK_IMAGES == 2 && LAB_TASK_EXPRESSIONS == 5, "the order of the table above");
    memset(config, 0, sizeof *config);
    config->task = task->name;
    config->data = lab_task_default(task);
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        if (strcmp(budget, budgets[i].name) == 0) {
            budgets[i].fill[task->kind](config);
            apply_setup(config, task->kind, setup);
            config->encoding = config->model.encoding;
            config->budget = budgets[i].name;
            config->numerics = LAB_NUMERICS;
            lab_config_fill(config);
            return LOCUS_OK;
        }
    }
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, "budget", "unknown budget '%s': there are smoke, quick and paper",
                    budget);
}
