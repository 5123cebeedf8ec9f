/* SPDX-License-Identifier: MIT */
/* The budgets of decoders and of the classifier of expressions. docs/budgets.md explains them. */
#include "task/listops.h"
#include "train/budgets.h"

static void no_dropout(lab_train_config *config) {
    config->model.dropout = config->model.attention_dropout = 0.0;
}

/* ---- problems: an endless training set, so that nothing can be learned by heart ---- */

/* The third task of RoPER has a smaller model, and nothing to solve: its score is the loss. */
static bool is_search(const lab_train_config *config) {
    return !lab_task_find(config->task)->solved;
}

static void search_paper(lab_train_config *config) {
    const lab_budget_size published = {.dim = 128,
                                       .heads = 4,
                                       .feed_forward = 512,
                                       .layers = 3,
                                       .dev_samples = 64,
                                       .test_samples = 256,
                                       .batch = 16,
                                       .steps = 65000,
                                       .evaluate_every = 1000,
                                       .rate = 1e-3};
    lab_budget_shrink(config, &published);
    config->model.norm = LAB_NORM_BEFORE;
    config->data.sequence = 513;
}

void lab_problems_paper(lab_train_config *config) {
    lab_budget_training(config);
    config->model = lab_model_decoder_default();
    config->data.sequence = 641;
    config->dev_samples = 64;
    config->test_samples = 128;
    config->greedy_samples = 128;
    config->batch = 32;
    config->steps = 5000;
    config->evaluate_every = 250;
    config->warmup_share = 0.1;
    if (is_search(config))
        search_paper(config);
}

static void problems_small(lab_train_config *config, const lab_budget_size *size, size_t sequence) {
    lab_problems_paper(config);
    lab_budget_shrink(config, size);
    config->data.sequence = sequence;
    config->greedy_samples = is_search(config) ? 0 : size->greedy_samples;
    no_dropout(config);
}

void lab_problems_quick(lab_train_config *config) {
    const lab_budget_size size = {.dim = 128,
                                  .heads = 4,
                                  .feed_forward = 512,
                                  .layers = 3,
                                  .dev_samples = 32,
                                  .test_samples = 128,
                                  .greedy_samples = 128,
                                  .batch = 16,
                                  .steps = 1500,
                                  .evaluate_every = 100,
                                  .rate = 1e-3};
    problems_small(config, &size, 321);
    config->data.digits = config->data.digits > 0 ? 6 : 0;
    if (is_search(config)) {
        config->data.sequence = 193;
        config->data.length_mean = 8.0;
        config->steps = 2000;
        config->rate_peak = 2e-3;
    }
}

void lab_problems_smoke(lab_train_config *config) {
    const lab_budget_size size = {.dim = 64,
                                  .heads = 4,
                                  .feed_forward = 256,
                                  .layers = 2,
                                  .dev_samples = 16,
                                  .test_samples = 32,
                                  .greedy_samples = 32,
                                  .batch = 16,
                                  .steps = 1500,
                                  .evaluate_every = 100,
                                  .rate = 2e-3};
    problems_small(config, &size, 129);
    config->data.digits = config->data.digits > 0 ? 2 : 0;
    config->data.length_mean = config->data.length_mean > 0.0 ? 6.0 : 0.0;
    config->data.length_deviation = 0.0;
}

/* ---- text: the training set is read whole, window by window in a shuffled order ---- */

void lab_text_paper(lab_train_config *config) {
    lab_budget_training(config);
    config->model = lab_model_decoder_default();
    config->data.sequence = 513;
    config->dev_samples = 128;
    config->batch = 32;
    config->steps = 20000;
    config->evaluate_every = 500;
}

void lab_text_quick(lab_train_config *config) {
    const lab_budget_size size = {.dim = 192,
                                  .heads = 6,
                                  .feed_forward = 768,
                                  .layers = 4,
                                  .dev_samples = 64,
                                  .batch = 16,
                                  .steps = 1000,
                                  .evaluate_every = 100,
                                  .rate = 1e-3};
    lab_text_paper(config);
    lab_budget_shrink(config, &size);
    config->data.sequence = 257;
}

void lab_text_smoke(lab_train_config *config) {
    const lab_budget_size size = {.dim = 64,
                                  .heads = 4,
                                  .feed_forward = 256,
                                  .layers = 2,
                                  .dev_samples = 32,
                                  .batch = 16,
                                  .steps = 250,
                                  .evaluate_every = 50,
                                  .rate = 2e-3};
    lab_text_paper(config);
    lab_budget_shrink(config, &size);
    config->data.sequence = 129;
    no_dropout(config);
}

/* ---- expressions ---- */

static void put_samples(lab_train_config *config, const size_t samples[3]) {
    config->train_samples = samples[LAB_SET_TRAIN];
    config->dev_samples = samples[LAB_SET_DEV];
    config->test_samples = samples[LAB_SET_TEST];
}

void lab_expressions_paper(lab_train_config *config) {
    lab_budget_training(config);
    config->model = lab_model_classifier_default();
    lab_listops_preset_apply(&lab_listops_presets[0], &config->data);
    put_samples(config, lab_listops_presets[0].samples);
    config->batch = 32;
    config->epochs = 3;
    config->evaluate_every = 500;
    config->rate_peak = 3e-4;
}

static void put_expressions(lab_train_config *config, size_t depth, size_t arguments, size_t longest) {
    config->data.expression_depth = depth;
    config->data.arity = arguments;
    config->data.shortest = 9;
    config->data.longest = longest;
}

void lab_expressions_quick(lab_train_config *config) {
    const lab_budget_size size = {.dim = 128,
                                  .heads = 4,
                                  .feed_forward = 256,
                                  .layers = 4,
                                  .dev_samples = 1000,
                                  .test_samples = 2000,
                                  .batch = 32,
                                  .steps = 5000,
                                  .evaluate_every = 250,
                                  .rate = 1e-3};
    lab_expressions_paper(config);
    lab_budget_shrink(config, &size);
    config->epochs = 0;
    put_expressions(config, 5, 5, 101);
}

void lab_expressions_smoke(lab_train_config *config) {
    const lab_budget_size size = {.dim = 64,
                                  .heads = 4,
                                  .feed_forward = 128,
                                  .layers = 2,
                                  .dev_samples = 256,
                                  .test_samples = 512,
                                  .batch = 32,
                                  .steps = 3000,
                                  .evaluate_every = 200,
                                  .rate = 2e-3};
    lab_expressions_paper(config);
    lab_budget_shrink(config, &size);
    config->epochs = 0;
    config->train_samples = 16000;
    put_expressions(config, 4, 4, 41);
}
