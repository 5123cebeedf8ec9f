/* SPDX-License-Identifier: MIT */
/* The budgets: every size of a training of words, trees or images, published and smaller. docs/budgets.md explains
 * them. The numbers of words are those of the first version: they are part of the names of runs. */
#include "io/fail.h"
#include "train/config.h"

#include <string.h>

/* ---- words ---- */

static void words_paper(lab_train_config *config) {
    config->model = lab_model_default();
    config->train_samples = 6000;
    config->dev_samples = 2000;
    config->test_samples = 2000;
    config->greedy_samples = 2000;
    config->batch = 64;
    config->epochs = 400;
    config->evaluate_every = 0;
    config->checkpoint_seconds = 60;
    config->optimizer = lab_optimizer_default();
    config->rate_initial = 1e-7;
    config->rate_peak = 5e-4;
    config->rate_final = 1e-9;
    config->warmup_share = 0.05;
}

static void words_quick(lab_train_config *config) {
    words_paper(config);
    config->model.dim = 64;
    config->model.heads = 4;
    config->model.feed_forward = 256;
    config->data.length_mean = 20.0;
    config->data.length_deviation = 2.0;
    config->train_samples = 6000;
    config->dev_samples = 256;
    config->test_samples = 512;
    config->greedy_samples = 128;
    config->batch = 32;
    config->steps = 2500;
    config->evaluate_every = 50;
    config->rate_peak = 2e-3;
}

static void words_smoke(lab_train_config *config) {
    words_paper(config);
    config->model.dim = 64;
    config->model.heads = 4;
    config->model.feed_forward = 256;
    config->data.length_mean = 16.0;
    config->data.length_deviation = 1.6;
    config->dev_samples = 128;
    config->test_samples = 256;
    config->greedy_samples = 128;
    config->batch = 32;
    config->steps = 1500;
    config->evaluate_every = 25;
    config->rate_peak = 2e-3;
}

/* ---- trees: as words, but for the model of the small budgets ---- */

static void trees_quick(lab_train_config *config) {
    words_paper(config);
    config->model.dim = 128;
    config->model.heads = 4;
    config->model.feed_forward = 512;
    config->data.depth_mean = 5.0;
    config->dev_samples = 256;
    config->test_samples = 1000;
    config->greedy_samples = 128;
    config->batch = 32;
    config->epochs = 0;
    config->steps = 1500;
    config->evaluate_every = 50;
    config->rate_peak = 2e-3;
}

static void trees_smoke(lab_train_config *config) {
    words_paper(config);
    config->model.dim = 64;
    config->model.heads = 4;
    config->model.feed_forward = 256;
    config->data.depth_mean = 4.0;
    config->dev_samples = 128;
    config->test_samples = 256;
    config->greedy_samples = 128;
    config->batch = 32;
    config->epochs = 0;
    config->steps = 600;
    config->evaluate_every = 25;
    config->rate_peak = 2e-3;
}

/* ---- images: the test set is looked at after every epoch, as published ---- */

static void images_paper(lab_train_config *config) {
    config->model = lab_model_image_default();
    config->model.dropout = 0.0;
    config->model.attention_dropout = 0.1;
    config->model.stochastic_depth = 0.1;
    config->model.label_smoothing = 0.1;
    config->augment = LAB_AUGMENT_POLICY;
    config->train_samples = 50000;
    config->dev_samples = config->test_samples = 10000;
    config->batch = 128;
    config->epochs = 300;
    config->checkpoint_seconds = 60;
    config->optimizer = lab_optimizer_default();
    config->optimizer.weight_decay = 3e-2;
    config->rate_initial = 1e-7;
    config->rate_peak = 5e-4;
    config->rate_final = 1e-9;
    config->warmup_share = 0.05;
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

/* docs/budgets.md, "Set-ups": the set-ups differ in where LayerNorm stands, what dropout acts on, what stochastic depth
 * does with what it leaves; the warm-up too, 5 % of the steps against 5 epochs of 400. */
static void apply_setup(lab_train_config *config, lab_setup setup) {
    config->setup = setup;
    config->model.norm = setup == LAB_SETUP_CODE ? LAB_NORM_AFTER : LAB_NORM_BEFORE;
    config->model.attention_dropout_on = setup == LAB_SETUP_CODE ? LOCUS_DROPOUT_LOGITS : LOCUS_DROPOUT_WEIGHTS;
    if (setup == LAB_SETUP_CODE) {
        config->warmup_share = 5.0 / 400.0;
    }
    if (setup == LAB_SETUP_CODE && config->model.stochastic_depth > 0.0) {
        config->model.survivors = LAB_SURVIVORS_AS_THEY_ARE;
    }
}

locus_status lab_train_config_budget(lab_train_config *config, const lab_task *task, const char *budget,
                                     lab_setup setup, locus_error *error) {
    static const struct {
        const char *name;
        void (*fill[3])(lab_train_config *config); /* by kind of task */
    } budgets[] = {
        {"smoke", {words_smoke, trees_smoke, images_smoke}},
        {"quick", {words_quick, trees_quick, images_quick}},
        {"paper", {words_paper, words_paper, images_paper}},
    };
    _Static_assert(LAB_TASK_WORDS == 0 && LAB_TASK_TREES == 1 && LAB_TASK_IMAGES == 2, "the order of the table above");
    memset(config, 0, sizeof *config);
    config->task = task->name;
    config->data = lab_task_default(task);
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        if (strcmp(budget, budgets[i].name) == 0) {
            budgets[i].fill[task->kind](config);
            apply_setup(config, setup);
            config->encoding = config->model.encoding;
            config->budget = budgets[i].name;
            lab_config_fill(config);
            return LOCUS_OK;
        }
    }
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, "budget", "unknown budget '%s': there are smoke, quick and paper",
                    budget);
}
