/* SPDX-License-Identifier: MIT */
/* See train_options.h. */
#include "train_options.h"

#include "output.h"
#include "stop.h"
#include "task_options.h"
#include "train/configuration/config.h"
#include "train/feed/train_data.h"

#include <string.h>

/* ---- over the budget's numbers ---- */

/* As many heads of keys and values as of queries is what there is without the option. */
static bool put_shared_heads(const cli_arguments *arguments, lab_model_config *model) {
    const size_t heads = (size_t)cli_integer(arguments, "kv-heads");
    model->kv_heads = heads == model->heads ? 0 : heads;
    return model->kv_heads != 0;
}

static int put_attention(const cli_arguments *arguments, lab_model_config *model) {
    const char *text = cli_text(arguments, "attention");
    return text ? cli_done_in(text, lab_model_attention(model, text, &cli_fault)) : 0;
}

static bool put_layers(const cli_arguments *arguments, lab_model_config *model) {
    const size_t layers = (size_t)cli_integer(arguments, "layers");
    const size_t before = model->encoder_layers > 0 ? model->encoder_layers : model->decoder_layers;
    if (!cli_given_by_user(arguments, "layers"))
        return false;
    model->encoder_layers = model->encoder_layers > 0 ? layers : 0;
    model->decoder_layers = model->decoder_layers > 0 ? layers : 0;
    return layers != before;
}

/* Steps and epochs say the same: the one that is given takes the other's place. */
static bool choose_duration(const cli_arguments *arguments, lab_train_config *config) {
    const bool epochs = cli_given_by_user(arguments, "epochs"), steps = cli_given_by_user(arguments, "steps");
    const bool other = (epochs && config->steps != 0) || (steps && config->steps == 0);
    config->steps = epochs ? 0 : config->steps;
    config->epochs = steps ? 0 : config->epochs;
    return other;
}

static int put_all(const cli_arguments *arguments, lab_train_config *config) {
    int status = put_attention(arguments, &config->model);
    if (status != 0)
        return status;
    bool changed = *config->model.attention != '\0';
    changed = choose_duration(arguments, config) || changed;
    if (cli_given_by_user(arguments, "checkpoint-every-minutes"))
        config->checkpoint_seconds = 60 * (uint64_t)cli_integer(arguments, "checkpoint-every-minutes");
    changed = cli_put_options(arguments, config) || changed;
    config->shards = config->shards == 1 ? 0 : config->shards; /* as recorded */
    changed = put_shared_heads(arguments, &config->model) || changed;
    changed = put_layers(arguments, &config->model) || changed;
    if (cli_given_by_user(arguments, "dropout")) {
        changed = changed || config->model.attention_dropout != config->model.dropout;
        config->model.attention_dropout = config->model.dropout;
    }
    if (config->task->class->develops_on_test)
        config->dev_samples = config->test_samples;
    if (changed)
        config->budget = "custom";
    lab_config_fill(config);
    return 0;
}

int cli_sizes(cli_arguments *arguments, const lab_task_class *class, const char *option, const int64_t **sizes,
              size_t *count) {
    const int status = cli_list_integers(arguments, option, 1, (int64_t) class->lengths->most, sizes, count);
    return status == 0 && *count > LAB_MAX_TEST_LENGTHS
               ? cli_usage_error("--%s: %zu are given, at most %d can be", option, *count, LAB_MAX_TEST_LENGTHS)
               : status;
}

/* Test sets of other mean sizes. */
static int put_test_sets(cli_arguments *arguments, lab_train_config *config) {
    const lab_task_class *class = config->task->class;
    const int64_t *means;
    size_t count = 0;
    const int status = class->size != NULL ? cli_sizes(arguments, class, class->size->option, &means, &count) : 0;
    for (size_t i = 0; status == 0 && i < count; i++)
        config->test_lengths[config->test_length_count++] = (size_t)means[i];
    return status;
}

/* ---- all together ---- */

static int try_draw(const lab_draw *draw, lab_draw_function *function) {
    lab_dataset none;
    if (function(&none, draw, &cli_fault) != LOCUS_OK)
        return cli_refusal(&cli_fault);
    lab_dataset_destroy(&none);
    return 0;
}

/* What the task cannot draw from is bad usage; nothing is drawn, and of what is read only sequences are looked at. */
static int check_draws(const lab_train_config *config) {
    const lab_task *task = config->task;
    const lab_draw draw = {.task = task, .options = &config->data};
    const bool drawn = !task->class->read && config->data.path == NULL;
    int status = task->open_sequences != NULL ? try_draw(&draw, lab_dataset_sequences) : 0;
    if (status != 0 || task->generate == NULL || !drawn)
        return status;
    status = try_draw(&draw, lab_dataset_generate);
    for (size_t i = 0; status == 0 && i < config->test_length_count; i++) {
        const lab_task_options options = lab_config_data(config, config->test_lengths[i]);
        const lab_draw other = {.task = task, .options = &options};
        status = try_draw(&other, lab_dataset_generate);
    }
    return status;
}

static int check_model(const cli_arguments *arguments, const lab_train_config *config) {
    if (config->schedule == LAB_SCHEDULE_CONSTANT && cli_given_by_user(arguments, "warmup") && config->warmup_share > 0)
        cli_note("--warmup: a constant rate does not rise");
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
    const size_t shards = lab_config_shards(config);
    if ((shards & (shards - 1)) != 0)
        return cli_usage_error("--shards: a power of two is needed, not %zu", shards);
    if (shards > config->batch)
        return cli_usage_error("--shards: a batch of %zu samples cannot be dealt to %zu shards", config->batch, shards);
    if (config->train_samples == 0 && config->steps == 0 && config->task->class->keep == NULL)
        return cli_usage_error(
            "--epochs: sequences that are drawn without end have no epochs; give --steps, or --train-samples");
    return 0;
}

/* What is to be known of the data before anything is trained on them. */
static void tell(const lab_train_config *config) {
    char text[300];
    if (config->task->class->tell != NULL && config->task->class->tell(config, text, sizeof text))
        cli_note("%s: %s", config->task->name, text);
}

/* The budget's sizes, before options change them. */
static int begin(lab_train_config *config, const cli_arguments *arguments, const lab_task *task) {
    const char *pretrained = cli_text(arguments, "pretrained");
    locus_status status = lab_train_config_budget(config, task, cli_text(arguments, "budget"),
                                                  (lab_setup)cli_choice(arguments, "setup"), &cli_fault);
    if (status == LOCUS_OK && pretrained != NULL)
        status = lab_train_config_pretrained(config, pretrained, &cli_fault);
    return cli_done(status);
}

/* What a pretrained encoder decides itself, and what is an option of it alone. */
static int refuse_pretrained(const cli_arguments *arguments, const lab_task *task) {
    static const char *const names[] = {"dim",           "heads",   "kv-heads", "attention",      "layers",
                                        "feed-forward",  "dropout", "norm",     "embedding-init", "setup",
                                        "position-scale"};
    const bool given = cli_given_by_user(arguments, "pretrained");
    for (size_t i = 0; given && i < sizeof names / sizeof *names; i++)
        if (cli_given_by_user(arguments, names[i]))
            return cli_usage_error("--%s: the pretrained encoder says it itself; leave it out", names[i]);
    if (task->class->classifies_text && cli_given_by_user(arguments, "sequence") && !given)
        return cli_usage_error("--sequence is for --pretrained, which cuts word pieces; other encoders read %s whole",
                               task->class->name);
    return 0;
}

int cli_train_config(lab_train_config *config, cli_arguments *arguments, const char *name) {
    const lab_task *task = lab_task_find(name);
    if (task == NULL)
        return cli_usage_error("unknown task '%s'; did you mean '%s'?", name, lab_task_nearest(name));
    int status = cli_refuse_other_kinds(arguments, task);
    status = status ? status : refuse_pretrained(arguments, task);
    if (status == 0 && cli_given_by_user(arguments, "steps") && cli_given_by_user(arguments, "epochs"))
        return cli_usage_error("--steps and --epochs say the same: give one of them");
    if (status == 0 && cli_given_by_user(arguments, "checkpoint-seconds") &&
        cli_given_by_user(arguments, "checkpoint-every-minutes"))
        return cli_usage_error("--checkpoint-seconds and --checkpoint-every-minutes say the same: give one of them");
    status = status ? status : begin(config, arguments, task);
    status = status ? status : put_all(arguments, config);
    status = status ? status : check_model(arguments, config);
    if (status == 0 && lab_train_look(config, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    status = status ? status : put_test_sets(arguments, config);
    status = status ? status : check_draws(config);
    if (status == 0)
        tell(config);
    return status;
}

void cli_train_embedding(lab_train_config *config, lab_embedding_init init) {
    if (config->pretrained == NULL)
        config->model.embedding_init = init;
}

int cli_train_encoding(lab_train_config *config, const char *encoding, char *text, size_t size) {
    const locus_status status =
        config->pretrained != NULL ? lab_train_pretrained_encoding(config->pretrained, encoding, text, size, &cli_fault)
                                   : lab_train_encoding(encoding, config, text, size, &cli_fault);
    if (status != LOCUS_OK)
        return cli_error_in(encoding, &cli_fault);
    config->encoding = config->model.encoding = text;
    return cli_done(lab_config_settle(config, &cli_fault));
}

int cli_train_resume(const cli_arguments *arguments, const char *before) {
    static const char word[] = " --restart";
    const char *line = arguments->command_line, *at = strstr(line, word);
    if (at == NULL)
        cli_failure("%sto go on: %s", before, line);
    else
        cli_failure("%sto go on: %.*s%s", before, (int)(at - line), line, at + sizeof word - 1);
    return cli_stop_status();
}
