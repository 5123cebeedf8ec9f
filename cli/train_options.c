/* SPDX-License-Identifier: MIT */
#include "train_options.h"

#include "command.h"
#include "output.h"
#include "train/config.h"

#include <string.h>

/* ---- numbers over the budget's ---- */

typedef struct override {
    cli_arguments *arguments;
    bool changed; /* a value differs from the budget's */
} override;

static void put_size(override *o, const char *name, size_t *value) {
    if (cli_given_by_user(o->arguments, name)) {
        size_t given = (size_t)cli_integer(o->arguments, name);
        o->changed = o->changed || given != *value;
        *value = given;
    }
}

static void put_count(override *o, const char *name, uint64_t *value) {
    if (cli_given_by_user(o->arguments, name)) {
        uint64_t given = (uint64_t)cli_integer(o->arguments, name);
        o->changed = o->changed || given != *value;
        *value = given;
    }
}

static void put_real(override *o, const char *name, double *value) {
    if (cli_given_by_user(o->arguments, name)) {
        double given = cli_number(o->arguments, name);
        o->changed = o->changed || given < *value || given > *value;
        *value = given;
    }
}

/* As many heads of keys and values as of queries is what there is without the option. */
static void put_attention(override *o, lab_model_config *model) {
    const size_t heads =
        cli_given_by_user(o->arguments, "kv-heads") ? (size_t)cli_integer(o->arguments, "kv-heads") : 0;
    model->kv_heads = heads == model->heads ? 0 : heads;
    model->attention = (locus_attention_kind)cli_choice(o->arguments, "attention");
    o->changed = o->changed || model->kv_heads != 0 || model->attention != LOCUS_ATTENTION_SOFTMAX;
}

static void put_model(override *o, lab_train_config *config) {
    size_t layers = config->model.encoder_layers;
    put_size(o, "dim", &config->model.dim);
    put_size(o, "heads", &config->model.heads);
    put_attention(o, &config->model);
    put_size(o, "feed-forward", &config->model.feed_forward);
    put_size(o, "layers", &layers);
    put_real(o, "dropout", &config->model.dropout);
    if (cli_given_by_user(o->arguments, "layers")) {
        config->model.encoder_layers = layers;
        config->model.decoder_layers = config->model.architecture == LAB_IMAGE_CLASSIFIER ? 0 : layers;
    }
    if (cli_given_by_user(o->arguments, "dropout")) {
        config->model.attention_dropout = config->model.dropout;
    }
}

/* Another mean length keeps the deviation's share of it; another mean depth the deviation. */
static void put_lengths_of_words(override *o, lab_task_options *data) {
    double mean = data->length_mean;
    put_real(o, "length", &data->length_mean);
    data->length_deviation *= data->length_mean / mean;
    put_real(o, "length-deviation", &data->length_deviation);
}

/* The order names a task, not a size of the budget. */
static void put_trees(override *o, lab_task_options *data) {
    put_real(o, "depth", &data->depth_mean);
    put_real(o, "depth-deviation", &data->depth_deviation);
    put_size(o, "arity", &data->arity);
    data->order = (lab_order)cli_choice(o->arguments, "order");
}

/* The development set is the test set. */
static void put_images(override *o, lab_train_config *config) {
    config->data.path = cli_text(o->arguments, "data");
    config->dev_samples = config->test_samples;
    if (cli_given_by_user(o->arguments, "augment")) {
        const lab_augmentation given = cli_choice(o->arguments, "augment") == 0 ? LAB_AUGMENT_POLICY : LAB_AUGMENT_NONE;
        o->changed = o->changed || given != config->augment;
        config->augment = given;
    }
}

static void put_data(override *o, lab_train_config *config) {
    put_size(o, "train-samples", &config->train_samples);
    put_size(o, "dev-samples", &config->dev_samples);
    put_size(o, "test-samples", &config->test_samples);
    put_size(o, "greedy-samples", &config->greedy_samples);
    switch (lab_config_kind(config)) {
    case LAB_TASK_WORDS:
        put_lengths_of_words(o, &config->data);
        put_size(o, "symbols", &config->data.symbols);
        break;
    case LAB_TASK_TREES:
        put_trees(o, &config->data);
        put_size(o, "symbols", &config->data.symbols);
        break;
    case LAB_TASK_IMAGES:
        put_images(o, config);
        break;
    }
    config->data_seed = (uint64_t)cli_integer(o->arguments, "data-seed");
    lab_config_fill(config);
}

static void put_training(override *o, lab_train_config *config) {
    if (cli_given_by_user(o->arguments, "epochs")) {
        o->changed = o->changed || config->steps != 0;
        config->steps = 0;
    }
    if (cli_given_by_user(o->arguments, "steps")) {
        o->changed = o->changed || config->steps == 0;
        config->epochs = 0;
    }
    put_count(o, "epochs", &config->epochs);
    put_count(o, "steps", &config->steps);
    put_size(o, "batch", &config->batch);
    put_real(o, "rate", &config->rate_peak);
    put_real(o, "warmup", &config->warmup_share);
    put_real(o, "weight-decay", &config->optimizer.weight_decay);
    put_real(o, "clip", &config->optimizer.clip);
    put_count(o, "evaluate-every", &config->evaluate_every);
    bool changed = o->changed;
    put_count(o, "checkpoint-seconds", &config->checkpoint_seconds);
    o->changed = changed;
}

/* Test sets of other mean lengths, of trees of other mean depths. */
static int put_test_sets(cli_arguments *arguments, lab_train_config *config) {
    const bool trees = lab_config_kind(config) == LAB_TASK_TREES;
    const char *option = trees ? "test-depths" : "test-lengths";
    const int64_t *means;
    size_t count;
    int status = cli_list_integers(arguments, option, 1, trees ? LAB_TREE_MOST_DEPTH : 1000000, &means, &count);
    if (status != 0) {
        return status;
    }
    if (count > LAB_MAX_TEST_LENGTHS) {
        return cli_usage_error("--%s: %zu are given, at most %d can be", option, count, LAB_MAX_TEST_LENGTHS);
    }
    for (size_t i = 0; i < count; i++) {
        config->test_lengths[config->test_length_count++] = (size_t)means[i];
    }
    return 0;
}

/* ---- options of one kind of task ---- */

static bool has_option(const cli_command *command, const char *name) {
    const cli_option *option;
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++) {
        if (strcmp(option->name, name) == 0) {
            return true;
        }
    }
    return false;
}

int cli_refuse_other_kinds(const cli_arguments *arguments, const lab_task *task) {
    enum { WORDS = 1 << LAB_TASK_WORDS, TREES = 1 << LAB_TASK_TREES, IMAGES = 1 << LAB_TASK_IMAGES };
    static const struct {
        const char *name;
        unsigned kinds;
        const char *instead; /* what one of the other kinds has in its place */
        unsigned instead_kind;
    } options[] = {
        {"length", WORDS, "depth", TREES},
        {"length-deviation", WORDS, "depth-deviation", TREES},
        {"lengths", WORDS, "depths", TREES},
        {"test-lengths", WORDS, "test-depths", TREES},
        {"symbols", WORDS | TREES, NULL, 0},
        {"order", TREES, NULL, 0},
        {"depth", TREES, "length", WORDS},
        {"depth-deviation", TREES, "length-deviation", WORDS},
        {"depths", TREES, "lengths", WORDS},
        {"test-depths", TREES, "test-lengths", WORDS},
        {"arity", TREES, NULL, 0},
        {"data", IMAGES, NULL, 0},
        {"augment", IMAGES, NULL, 0},
        {"dev-samples", WORDS | TREES, "test-samples", IMAGES},
        {"greedy-samples", WORDS | TREES, NULL, 0},
        {"embedding-init", WORDS | TREES, NULL, 0},
    };
    static const char *const whose[] = {
        [WORDS] = "words", [TREES] = "trees", [IMAGES] = "images", [WORDS | TREES] = "words and trees"};
    const unsigned kind = 1u << task->kind;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if ((options[i].kinds & kind) != 0 || !has_option(arguments->command, options[i].name) ||
            !cli_given_by_user(arguments, options[i].name)) {
            continue;
        }
        return options[i].instead_kind == kind
                   ? cli_usage_error("--%s is for %s; %s has --%s", options[i].name, whose[options[i].kinds],
                                     task->name, options[i].instead)
                   : cli_usage_error("--%s is for %s; %s is of %s", options[i].name, whose[options[i].kinds],
                                     task->name, whose[kind]);
    }
    return 0;
}

/* ---- all together ---- */

/* What the task cannot draw from is bad usage; nothing is drawn. */
static int check_data(const lab_task *task, const lab_task_options *data) {
    const lab_draw draw = {.task = task, .options = data};
    lab_dataset none;
    locus_error error;
    if (task->kind == LAB_TASK_IMAGES) {
        return 0; /* they are read, not drawn */
    }
    const locus_status status = lab_dataset_generate(&none, &draw, &error);
    if (status == LOCUS_OK) {
        lab_dataset_destroy(&none);
        return 0;
    }
    return cli_usage_error("--%s: %s", error.argument, error.message);
}

int cli_train_config(lab_train_config *config, cli_arguments *arguments, const char *name) {
    static const char *const budgets[] = {"smoke", "quick", "paper"};
    const lab_task *task = lab_task_find(name);
    override o = {arguments, false};
    locus_error error;
    if (task == NULL) {
        return cli_usage_error("unknown task '%s'; did you mean '%s'?", name, lab_task_nearest(name));
    }
    int status = cli_refuse_other_kinds(arguments, task);
    if (status != 0) {
        return status;
    }
    if (cli_given_by_user(arguments, "steps") && cli_given_by_user(arguments, "epochs")) {
        return cli_usage_error("--steps and --epochs say the same: give one of them");
    }
    if (lab_train_config_budget(config, task, budgets[cli_choice(arguments, "budget")],
                                (lab_setup)cli_choice(arguments, "setup"), &error) != LOCUS_OK) {
        return cli_error(&error);
    }
    put_model(&o, config);
    put_data(&o, config);
    put_training(&o, config);
    if (config->model.dim % config->model.heads != 0) {
        return cli_usage_error("--heads: dimension %zu is not divisible by %zu heads", config->model.dim,
                               config->model.heads);
    }
    if (config->model.kv_heads != 0 && config->model.heads % config->model.kv_heads != 0) {
        return cli_usage_error("--kv-heads: %zu heads cannot share %zu key and value heads: it must divide them",
                               config->model.heads, config->model.kv_heads);
    }
    if (o.changed) {
        config->budget = "custom";
    }
    status = check_data(task, &config->data);
    return status ? status : put_test_sets(arguments, config);
}

int cli_train_encoding(lab_train_config *config, const char *encoding, char *text, size_t size) {
    locus_error error;
    if (lab_train_encoding(encoding, config->setup, text, size, &error) != LOCUS_OK) {
        return cli_error_in(encoding, &error);
    }
    config->encoding = config->model.encoding = text;
    return 0;
}

int cli_train_resume(const cli_arguments *arguments, const char *before) {
    static const char word[] = " --restart";
    const char *line = arguments->command_line, *at = strstr(line, word);
    if (at == NULL) {
        return cli_failure("%sto go on: %s", before, line);
    }
    return cli_failure("%sto go on: %.*s%s", before, (int)(at - line), line, at + sizeof word - 1);
}
