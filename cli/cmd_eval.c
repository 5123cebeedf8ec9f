/* SPDX-License-Identifier: MIT */
/* locus eval: scores of a trained run's best parameters on its test set, or on sets of other lengths. Nothing is
 * recorded. */
#include "command.h"
#include "output.h"
#include "store_argument.h"
#include "train/config.h"

#include <stdlib.h>
#include <string.h>

typedef struct result {
    char set[32];
    lab_score score;
    double greedy, chance;
    bool has_greedy;
} result;

/* One set; `length` 0 is the trained one. */
static int evaluate(cli_arguments *arguments, const lab_train_config *config, lab_model *model, size_t length,
                    result *out) {
    static const char *const names[] = {"test", "dev", "train"};
    static const lab_set sets[] = {LAB_SET_TEST, LAB_SET_DEV, LAB_SET_TRAIN};
    const size_t samples[] = {config->test_samples, config->dev_samples, config->train_samples};
    size_t which = cli_choice(arguments, "set");
    size_t count = cli_given_by_user(arguments, "n") ? (size_t)cli_integer(arguments, "n") : samples[which];
    size_t greedy = cli_given_by_user(arguments, "greedy-samples") ? (size_t)cli_integer(arguments, "greedy-samples")
                                                                   : config->greedy_samples;
    lab_task_options options = length == 0 ? config->data : lab_config_data(config, length);
    lab_dataset set;
    locus_error error;
    *out = (result){.has_greedy = greedy > 0};
    if (length == 0) {
        snprintf(out->set, sizeof out->set, "%s", names[which]);
    } else {
        snprintf(out->set, sizeof out->set, "%s:%zu", names[which], length);
    }
    const lab_draw draw = {lab_task_find(config->task), &options, sets[which], count, config->data_seed};
    if (lab_dataset_generate(&set, &draw, &error) != LOCUS_OK) {
        return cli_error(&error);
    }
    out->chance = lab_dataset_chance(&set, config->model.vocabulary);
    locus_status status =
        lab_train_score(model, &set, config->batch, greedy, &out->score, out->has_greedy ? &out->greedy : NULL, &error);
    lab_dataset_destroy(&set);
    return status == LOCUS_OK ? 0 : cli_error(&error);
}

static void add_row(cli_table *table, const result *r) {
    const lab_score *score = &r->score;
    cli_table_cell(table, "%s", r->set);
    cli_table_cell(table, "%zu", score->samples);
    cli_table_cell(table, "%.2f %%", 100.0 * (double)score->correct / (double)score->tokens);
    cli_table_cell(table, "%.2f %%", 100.0 * (double)score->exact / (double)score->samples);
    if (r->has_greedy) {
        cli_table_cell(table, "%.2f %%", 100.0 * r->greedy);
    } else {
        cli_table_cell(table, "–");
    }
    cli_table_cell(table, "%.4f", score->loss / (double)score->tokens);
    cli_table_cell(table, "%.2f %%", 100.0 * r->chance);
}

static void add_json(cJSON *list, const result *r) {
    const lab_score *score = &r->score;
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "set", r->set);
    cJSON_AddNumberToObject(object, "samples", (double)score->samples);
    cJSON_AddNumberToObject(object, "tokens", (double)score->tokens);
    cJSON_AddNumberToObject(object, "accuracy", (double)score->correct / (double)score->tokens);
    cJSON_AddNumberToObject(object, "exact", (double)score->exact / (double)score->samples);
    if (r->has_greedy) {
        cJSON_AddNumberToObject(object, "greedy_exact", r->greedy);
    }
    cJSON_AddNumberToObject(object, "loss", score->loss / (double)score->tokens);
    cJSON_AddNumberToObject(object, "chance", r->chance);
    cJSON_AddItemToArray(list, object);
}

static int print(const lab_run *trained, const result *results, size_t count, bool json) {
    static const char *const heads[] = {"set", ">samples", ">accuracy", ">exact", ">greedy exact", ">loss", ">chance"};
    if (json) {
        cJSON *root = cJSON_CreateObject();
        cJSON_AddStringToObject(root, "run", trained->name);
        cJSON_AddStringToObject(root, "task", trained->task);
        cJSON_AddStringToObject(root, "encoding", trained->encoding);
        cJSON *list = cJSON_AddArrayToObject(root, "sets");
        for (size_t i = 0; i < count; i++) {
            add_json(list, &results[i]);
        }
        return cli_json_print(root);
    }
    printf("%s (%s)\n", trained->name, lab_run_state_name(trained->state));
    cli_table *table = cli_table_create(heads, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < count; i++) {
        add_row(table, &results[i]);
    }
    cli_table_print(table, stdout);
    cli_table_free(table);
    return 0;
}

/* The run's own test set, or the lengths that are asked for. */
static int score(cli_arguments *arguments, const cli_store *store, const lab_run *trained) {
    const int64_t *lengths = NULL;
    size_t count = 0;
    lab_train_config config;
    lab_model *model;
    locus_error error;
    int status = cli_list_integers(arguments, "lengths", 1, 1000000, &lengths, &count);
    if (status != 0) {
        return status;
    }
    if (lab_train_load(trained, store->folder, &config, &model, &error) != LOCUS_OK) {
        return cli_error(&error);
    }
    size_t sets = count == 0 ? 1 : count;
    result *results = calloc(sets, sizeof *results);
    status = results == NULL ? cli_failure("out of memory") : 0;
    for (size_t i = 0; status == 0 && i < sets; i++) {
        status = evaluate(arguments, &config, model, count == 0 ? 0 : (size_t)lengths[i], &results[i]);
    }
    if (status == 0) {
        status = print(trained, results, sets, cli_flag(arguments, "json"));
    }
    free(results);
    lab_model_destroy(&model);
    return status;
}

static int run(cli_arguments *arguments) {
    cli_store store;
    lab_run trained;
    int status = cli_store_open(&store, arguments, false);
    if (status != 0) {
        return status;
    }
    status = cli_store_find(&store, arguments->operands[0], &trained);
    if (status == 0) {
        status = score(arguments, &store, &trained);
        lab_run_free(&trained);
    }
    cli_store_close(&store);
    return status;
}

static const cli_option options[] = {
    {"lengths", 'l', CLI_LIST, "L,L,…", NULL, "sets of these mean lengths instead of the trained one", 0, 0},
    {"set", 0, CLI_CHOICE, "test|dev|train", NULL, "which set", 0, 0},
    {"n", 'n', CLI_INTEGER, "N", NULL, "number of samples (as the run's)", 1, 1e9},
    {"greedy-samples", 0, CLI_INTEGER, "N", NULL, "samples that are decoded greedily (as the run's)", 0, 1e9},
    CLI_STORE_OPTION,
};

const cli_command cli_command_eval = {
    .name = "eval",
    .summary = "scores a trained model on its test set or on other lengths",
    .operands = "RUN",
    .details = "RUN is a name, a unique beginning of one, or a number of 'locus runs'. Accuracy and exact are "
               "teacher-forced,\n"
               "greedy exact is autoregressive decoding; chance is the share of the most common target token.",
    .examples = "locus eval copy-rope-smoke-s0 --lengths 16,32,64\n",
    .shared = CLI_JSON | CLI_THREADS,
    CLI_OPTIONS(options),
    .run = run,
};
