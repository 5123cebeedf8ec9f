/* SPDX-License-Identifier: MIT */
#include "train_options.h"

#include "output.h"
#include "task/listops.h"
#include "train/config.h"
#include "train/train_data.h"

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
static void put_shared_heads(override *o, lab_model_config *model) {
    const size_t heads =
        cli_given_by_user(o->arguments, "kv-heads") ? (size_t)cli_integer(o->arguments, "kv-heads") : 0;
    model->kv_heads = heads == model->heads ? 0 : heads;
    o->changed = o->changed || model->kv_heads != 0;
}

static int put_attention(override *o, lab_model_config *model) {
    locus_error error = {.offset = -1};
    const char *text = cli_text(o->arguments, "attention");
    if (text && lab_model_attention(model, text, &error) != LOCUS_OK)
        return cli_error_in(text, &error);
    o->changed = o->changed || *model->attention != '\0';
    return 0;
}

static void put_named(override *o, const char *name, unsigned *value) {
    if (cli_given_by_user(o->arguments, name)) {
        const unsigned given = (unsigned)cli_choice(o->arguments, name);
        o->changed = o->changed || given != *value;
        *value = given;
    }
}

/* Enums, which options name in an order of their own. */
static void put_parts(override *o, lab_model_config *model) {
    unsigned norm = model->norm, own = model->output == LAB_OUTPUT_OWN ? 0 : 1, pool = model->pool;
    put_named(o, "norm", &norm);
    put_named(o, "output", &own);
    put_named(o, "pool", &pool);
    model->norm = (lab_norm_place)norm;
    model->output = model->architecture != LAB_DECODER || own == 1 ? LAB_OUTPUT_TIED : LAB_OUTPUT_OWN;
    model->pool = (lab_pool)pool;
}

/* No parts of a budget, like the embedding's initialisation. */
static void put_scales(const cli_arguments *arguments, lab_model_config *model) {
    model->position_scale = (lab_position_scale)cli_choice(arguments, "position-scale");
    model->logit_scale = (lab_logit_scale)cli_choice(arguments, "logit-scale");
}

static void put_model(override *o, lab_train_config *config) {
    const bool decoder = config->model.encoder_layers == 0;
    size_t layers = decoder ? config->model.decoder_layers : config->model.encoder_layers;
    put_size(o, "dim", &config->model.dim);
    put_size(o, "heads", &config->model.heads);
    put_shared_heads(o, &config->model);
    put_size(o, "feed-forward", &config->model.feed_forward);
    put_size(o, "layers", &layers);
    put_real(o, "dropout", &config->model.dropout);
    if (cli_given_by_user(o->arguments, "layers")) {
        config->model.encoder_layers = config->model.encoder_layers > 0 ? layers : 0;
        config->model.decoder_layers = config->model.decoder_layers > 0 ? layers : 0;
    }
    if (cli_given_by_user(o->arguments, "dropout"))
        config->model.attention_dropout = config->model.dropout;
    put_parts(o, &config->model);
}

/* Another mean length keeps the deviation's share of it; another mean depth the deviation. */
static void put_lengths_of_words(override *o, lab_task_options *data) {
    double mean = data->length_mean;
    put_real(o, "length", &data->length_mean);
    data->length_deviation *= data->length_mean / mean;
    put_real(o, "length-deviation", &data->length_deviation);
}

/* The order names a task, and paths are part of the set-up: neither is a size of the budget. */
static void put_trees(override *o, lab_train_config *config) {
    lab_task_options *data = &config->data;
    put_real(o, "depth", &data->depth_mean);
    put_real(o, "depth-deviation", &data->depth_deviation);
    put_size(o, "arity", &data->arity);
    data->order = (lab_order)cli_choice(o->arguments, "order");
    if (cli_given_by_user(o->arguments, "tree-paths"))
        config->model.tree_paths = (lab_tree_paths)cli_choice(o->arguments, "tree-paths");
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

/* Of a problem: fixed lengths stay fixed. */
static void put_problems(override *o, lab_task_options *data) {
    put_size(o, "sequence", &data->sequence);
    put_size(o, "digits", &data->digits);
    put_size(o, "symbols", &data->symbols);
    put_real(o, "length", &data->length_mean);
    put_real(o, "length-deviation", &data->length_deviation);
}

/* What is asked is another task, no size. A preset's samples are those of the published size. */
static void put_expressions(override *o, lab_train_config *config) {
    lab_task_options *data = &config->data;
    if (cli_given_by_user(o->arguments, "preset")) {
        const lab_task_options before = *data;
        const lab_listops_preset *preset = &lab_listops_presets[cli_choice(o->arguments, "preset")];
        lab_listops_preset_apply(preset, data);
        o->changed = o->changed || before.expression_depth != data->expression_depth || before.arity != data->arity ||
                     before.shortest != data->shortest || before.longest != data->longest;
        if (strcmp(config->budget, "paper") == 0 && !cli_given_by_user(o->arguments, "train-samples") &&
            config->pretrained == NULL)
            config->train_samples = preset->samples[LAB_SET_TRAIN];
    }
    put_size(o, "expression-depth", &data->expression_depth);
    put_size(o, "arguments", &data->arity);
    put_size(o, "shortest", &data->shortest);
    put_size(o, "longest", &data->longest);
    if (config->pretrained != NULL)
        put_size(o, "sequence", &data->sequence);
    data->asked = (lab_asked)cli_choice(o->arguments, "target");
    data->path = cli_text(o->arguments, "data");
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
        put_trees(o, config);
        put_size(o, "symbols", &config->data.symbols);
        break;
    case LAB_TASK_IMAGES:
        put_images(o, config);
        break;
    case LAB_TASK_PROBLEMS:
        put_problems(o, &config->data);
        break;
    case LAB_TASK_TEXT:
        put_size(o, "sequence", &config->data.sequence);
        config->data.path = cli_text(o->arguments, "data");
        break;
    case LAB_TASK_EXPRESSIONS:
        put_expressions(o, config);
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
    put_count(o, "patience", &config->patience);
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
    if (status != 0)
        return status;
    if (count > LAB_MAX_TEST_LENGTHS)
        return cli_usage_error("--%s: %zu are given, at most %d can be", option, count, LAB_MAX_TEST_LENGTHS);
    for (size_t i = 0; i < count; i++)
        config->test_lengths[config->test_length_count++] = (size_t)means[i];
    return 0;
}

/* ---- all together ---- */

/* The option that a field of the data comes from. */
static const char *option_of(const lab_task *task, const char *argument) {
    static const char *const names[][2] = {{"arity", "arguments"}, {"depth", "expression-depth"}};
    for (size_t i = 0; task->kind == LAB_TASK_EXPRESSIONS && i < 2; i++)
        if (strcmp(argument, names[i][0]) == 0)
            return names[i][1];
    return argument;
}

typedef locus_status draw_function(lab_dataset *set, const lab_draw *draw, locus_error *error);

static int try_draw(const lab_draw *draw, draw_function *function) {
    lab_dataset none;
    locus_error error;
    const locus_status status = function(&none, draw, &error);
    if (status == LOCUS_OK) {
        lab_dataset_destroy(&none);
        return 0;
    }
    return status == LOCUS_ERROR_ARGUMENT
               ? cli_usage_error("--%s: %s", option_of(draw->task, error.argument), error.message)
               : cli_error(&error);
}

/* What the task cannot draw from is bad usage; nothing is drawn. */
static int check_data(const lab_task *task, const lab_task_options *data) {
    const lab_draw draw = {.task = task, .options = data};
    if (task->kind == LAB_TASK_IMAGES || (task->kind == LAB_TASK_EXPRESSIONS && data->path != NULL))
        return 0; /* they are read, not drawn */
    const int status = task->open_sequences != NULL ? try_draw(&draw, lab_dataset_sequences) : 0;
    return status != 0 || task->generate == NULL ? status : try_draw(&draw, lab_dataset_generate);
}

/* Pieces of a pretrained encoder are no options of what is drawn. */
static int check_draws(const lab_task *task, const lab_train_config *config) {
    lab_task_options data = config->data;
    if (config->pretrained_digest != 0)
        data.symbols = data.sequence = 0;
    return check_data(task, &data);
}

static int check_model(const lab_train_config *config) {
    if (config->model.dim % config->model.heads != 0) {
        return cli_usage_error("--heads: dimension %zu is not divisible by %zu heads", config->model.dim,
                               config->model.heads);
    }
    if (config->model.kv_heads != 0 && config->model.heads % config->model.kv_heads != 0) {
        return cli_usage_error("--kv-heads: %zu heads cannot share %zu key and value heads: it must divide them",
                               config->model.heads, config->model.kv_heads);
    }
    if (config->model.logit_scale != LAB_LOGITS_AS_THEY_ARE && config->model.output == LAB_OUTPUT_OWN)
        return cli_usage_error("--logit-scale: an output with weights of its own is not scaled; add --output tied");
    if (config->train_samples == 0 && config->steps == 0)
        return cli_usage_error(
            "--epochs: sequences that are drawn without end have no epochs; give --steps, or --train-samples");
    return 0;
}

/* The budget's sizes, before options change them. */
static int begin(lab_train_config *config, const cli_arguments *arguments, const lab_task *task) {
    static const char *const budgets[] = {"smoke", "quick", "paper"};
    const char *pretrained = cli_text(arguments, "pretrained");
    locus_error error;
    locus_status status = lab_train_config_budget(config, task, budgets[cli_choice(arguments, "budget")],
                                                  (lab_setup)cli_choice(arguments, "setup"), &error);
    if (status == LOCUS_OK && pretrained != NULL)
        status = lab_train_config_pretrained(config, pretrained, &error);
    return status == LOCUS_OK ? 0 : cli_error(&error);
}

int cli_train_config(lab_train_config *config, cli_arguments *arguments, const char *name) {
    const lab_task *task = lab_task_find(name);
    override o = {arguments, false};
    locus_error error;
    if (task == NULL)
        return cli_usage_error("unknown task '%s'; did you mean '%s'?", name, lab_task_nearest(name));
    int status = cli_refuse_other_kinds(arguments, task);
    status = status ? status : cli_refuse_pretrained(arguments, task);
    if (status == 0 && cli_given_by_user(arguments, "steps") && cli_given_by_user(arguments, "epochs"))
        return cli_usage_error("--steps and --epochs say the same: give one of them");
    status = status ? status : begin(config, arguments, task);
    if (status != 0)
        return status;
    status = put_attention(&o, &config->model);
    if (status != 0)
        return status;
    put_model(&o, config);
    put_scales(arguments, &config->model);
    put_data(&o, config);
    put_training(&o, config);
    if (o.changed)
        config->budget = "custom";
    status = check_model(config);
    if (status == 0 && lab_train_look(config, &error) != LOCUS_OK)
        return cli_error(&error);
    status = status ? status : check_draws(task, config);
    return status ? status : put_test_sets(arguments, config);
}

void cli_train_embedding(lab_train_config *config, lab_embedding_init init) {
    if (config->pretrained == NULL)
        config->model.embedding_init = init;
}

int cli_train_encoding(lab_train_config *config, const char *encoding, char *text, size_t size) {
    locus_error error;
    const locus_status status = config->pretrained != NULL
                                    ? lab_train_pretrained_encoding(config->pretrained, encoding, text, size, &error)
                                    : lab_train_encoding(encoding, config, text, size, &error);
    if (status != LOCUS_OK)
        return cli_error_in(encoding, &error);
    config->encoding = config->model.encoding = text;
    lab_config_settle(config);
    return 0;
}

int cli_train_resume(const cli_arguments *arguments, const char *before) {
    static const char word[] = " --restart";
    const char *line = arguments->command_line, *at = strstr(line, word);
    if (at == NULL)
        return cli_failure("%sto go on: %s", before, line);
    return cli_failure("%sto go on: %.*s%s", before, (int)(at - line), line, at + sizeof word - 1);
}
