/* SPDX-License-Identifier: MIT */
/* locus eval: scores of a trained run's best parameters on its test set, or on sets of other lengths or depths; classes
 * of pictures. Nothing is recorded. */
#include "command.h"
#include "eval_pictures.h"
#include "output.h"
#include "store_argument.h"
#include "task/tree_random.h"
#include "train/config.h"
#include "train/cut_paths.h"
#include "train_options.h"

#include <stdlib.h>
#include <string.h>

typedef struct result {
    char set[32];
    lab_score score;
    double greedy, chance;
    char note[256]; /* of paths that the encoding cuts */
    bool has_greedy, cut;
} result;

/* One set; `mean` 0 is the trained one, else a mean length or depth. */
static int evaluate(cli_arguments *arguments, const lab_train_config *config, lab_model *model, size_t mean,
                    result *out) {
    static const char *const names[] = {"test", "dev", "train"};
    static const lab_set sets[] = {LAB_SET_TEST, LAB_SET_DEV, LAB_SET_TRAIN};
    const size_t samples[] = {config->test_samples, config->dev_samples, config->train_samples};
    size_t which = cli_choice(arguments, "set");
    lab_task_options options = mean == 0 ? config->data : lab_config_data(config, mean);
    const lab_draw draw = {lab_task_find(config->task), &options, sets[which],
                           cli_given_by_user(arguments, "n") ? (size_t)cli_integer(arguments, "n") : samples[which],
                           config->data_seed};
    const lab_scoring how = {.task = draw.task,
                             .options = &options,
                             .batch = config->batch,
                             .greedy_samples = cli_given_by_user(arguments, "greedy-samples")
                                                   ? (size_t)cli_integer(arguments, "greedy-samples")
                                                   : config->greedy_samples};
    lab_dataset set;
    locus_error error;
    *out = (result){.has_greedy = how.greedy_samples > 0};
    if (mean == 0) {
        snprintf(out->set, sizeof out->set, "%s", names[which]);
    } else {
        snprintf(out->set, sizeof out->set, "%s:%zu", names[which], mean);
    }
    if (lab_dataset_generate(&set, &draw, &error) != LOCUS_OK) {
        return cli_error(&error);
    }
    out->chance = lab_dataset_chance(&set, config->model.vocabulary);
    out->cut = lab_cut_paths_note(config, &set, out->note, sizeof out->note);
    locus_status status =
        lab_train_score(model, &set, &how, &out->score, out->has_greedy ? &out->greedy : NULL, &error);
    lab_dataset_destroy(&set);
    return status == LOCUS_OK ? 0 : cli_error(&error);
}

static void add_row(cli_table *table, const result *r, bool images) {
    const lab_score *score = &r->score;
    cli_table_cell(table, "%s", r->set);
    cli_table_cell(table, "%zu", score->samples);
    cli_table_cell(table, "%.2f %%", 100.0 * (double)score->correct / (double)score->tokens);
    if (!images) {
        cli_table_cell(table, "%.2f %%", 100.0 * (double)score->exact / (double)score->samples);
    }
    if (r->has_greedy) {
        cli_table_cell(table, "%.2f %%", 100.0 * r->greedy);
    } else if (!images) {
        cli_table_cell(table, "–");
    }
    cli_table_cell(table, "%.4f", score->loss / (double)score->tokens);
    cli_table_cell(table, "%.2f %%", 100.0 * r->chance);
}

static void add_json(cJSON *list, const result *r, bool images) {
    const lab_score *score = &r->score;
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "set", r->set);
    cJSON_AddNumberToObject(object, "samples", (double)score->samples);
    cJSON_AddNumberToObject(object, "tokens", (double)score->tokens);
    cJSON_AddNumberToObject(object, "accuracy", (double)score->correct / (double)score->tokens);
    if (!images) {
        cJSON_AddNumberToObject(object, "exact", (double)score->exact / (double)score->samples);
    }
    if (r->has_greedy) {
        cJSON_AddNumberToObject(object, "greedy_exact", r->greedy);
    }
    cJSON_AddNumberToObject(object, "loss", score->loss / (double)score->tokens);
    cJSON_AddNumberToObject(object, "chance", r->chance);
    cJSON_AddItemToArray(list, object);
}

static int print(const lab_run *trained, const result *results, size_t count, bool json) {
    static const char *const heads[] = {"set", ">samples", ">accuracy", ">exact", ">greedy exact", ">loss", ">chance"};
    static const char *const image_heads[] = {"set", ">samples", ">accuracy", ">loss", ">chance"};
    const bool images = lab_task_find(trained->task)->kind == LAB_TASK_IMAGES;
    if (json) {
        cJSON *root = cJSON_CreateObject();
        cJSON_AddStringToObject(root, "run", trained->name);
        cJSON_AddStringToObject(root, "task", trained->task);
        cJSON_AddStringToObject(root, "encoding", trained->encoding);
        cJSON *list = cJSON_AddArrayToObject(root, "sets");
        for (size_t i = 0; i < count; i++) {
            add_json(list, &results[i], images);
        }
        return cli_json_print(root);
    }
    printf("%s (%s)\n", trained->name, lab_run_state_name(trained->state));
    cli_table *table = images ? cli_table_create(image_heads, sizeof image_heads / sizeof *image_heads)
                              : cli_table_create(heads, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < count; i++) {
        add_row(table, &results[i], images);
    }
    cli_table_print(table, stdout);
    cli_table_free(table);
    return 0;
}

/* Once, however many sets there are. */
static void tell_cut(const result *results, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (results[i].cut) {
            cli_note("%s: %s", results[i].set, results[i].note);
            return;
        }
    }
}

/* The run's own test set, or the lengths or depths that are asked for. */
static int score_sets(cli_arguments *arguments, const lab_run *trained, const lab_train_config *config,
                      lab_model *model) {
    const bool trees = lab_config_kind(config) == LAB_TASK_TREES;
    const int64_t *means = NULL;
    size_t count = 0;
    int status = cli_list_integers(arguments, trees ? "depths" : "lengths", 1, trees ? LAB_TREE_MOST_DEPTH : 1000000,
                                   &means, &count);
    if (status != 0) {
        return status;
    }
    const size_t sets = count == 0 ? 1 : count;
    result *results = calloc(sets, sizeof *results);
    status = results == NULL ? cli_failure("out of memory") : 0;
    for (size_t i = 0; status == 0 && i < sets; i++) {
        status = evaluate(arguments, config, model, count == 0 ? 0 : (size_t)means[i], &results[i]);
    }
    if (status == 0) {
        tell_cut(results, sets);
    }
    status = status ? status : print(trained, results, sets, cli_flag(arguments, "json"));
    free(results);
    return status;
}

/* What is asked must fit the run's kind. */
static int check(const cli_arguments *arguments, const lab_run *trained) {
    const lab_task *task = lab_task_find(trained->task);
    if (task == NULL) {
        return cli_failure("the run '%s' is of the task '%s', which this version does not have", trained->name,
                           trained->task);
    }
    if (arguments->operand_count > 1 && task->kind != LAB_TASK_IMAGES) {
        return cli_usage_error("'%s': pictures are for runs of images, '%s' is of %s", arguments->operands[1],
                               trained->name, task->name);
    }
    static const char *const of_sets[] = {"data", "set", "n"};
    for (size_t i = 0; arguments->operand_count > 1 && i < sizeof of_sets / sizeof *of_sets; i++) {
        if (cli_given_by_user(arguments, of_sets[i])) {
            return cli_usage_error("--%s is for a set of images: with pictures, leave it out", of_sets[i]);
        }
    }
    return cli_refuse_other_kinds(arguments, task);
}

static int score(cli_arguments *arguments, const cli_store *store, const lab_run *trained) {
    const cli_pictures pictures = {arguments->operands + 1, arguments->operand_count - 1};
    lab_train_config config;
    lab_model *model;
    locus_error error;
    int status = check(arguments, trained);
    if (status != 0) {
        return status;
    }
    if (lab_train_load(trained, store->folder, &config, &model, &error) != LOCUS_OK) {
        return cli_error(&error);
    }
    config.data.path = cli_text(arguments, "data");
    status = pictures.count > 0 ? cli_eval_pictures(model, &config, &pictures, cli_flag(arguments, "json"))
                                : score_sets(arguments, trained, &config, model);
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
    {"lengths", 'l', CLI_LIST, "L,L,…", NULL, "words: sets of these mean lengths instead of the trained one", 0, 0},
    {"depths", 0, CLI_LIST, "D,D,…", NULL, "trees: sets of these mean depths instead of the trained one", 0, 0},
    {"data", 0, CLI_TEXT, "PATH", NULL, "images: their folder or archive (data/cifar10)", 0, 0},
    {"set", 0, CLI_CHOICE, "test|dev|train", NULL, "which set", 0, 0},
    {"n", 'n', CLI_INTEGER, "N", NULL, "number of samples (as the run's)", 1, 1e9},
    {"greedy-samples", 0, CLI_INTEGER, "N", NULL, "samples that are decoded greedily (as the run's)", 0, 1e9},
    CLI_STORE_OPTION,
};

const cli_command cli_command_eval = {
    .name = "eval",
    .summary = "scores a trained model on its test set, on other lengths or depths, or names what pictures show",
    .operands = "RUN [PICTURE…]",
    .details = "RUN is a name, a unique beginning of one, or a number of 'locus runs'. Accuracy and exact are "
               "teacher-forced,\n"
               "greedy exact is autoregressive decoding; chance is the share of the most common target token or "
               "class.\n\n"
               "With pictures (PNG, PPM or PGM, of the size that the model was trained on) a run of images names the "
               "three most probable classes of each.",
    .examples = "locus eval copy-rope-smoke-s0 --lengths 16,32,64\n"
                "locus eval tree-copy-depth-rope --depths 5,7\n"
                "locus eval cifar10-algebraic frog.png\n",
    .shared = CLI_JSON | CLI_QUIET | CLI_THREADS,
    CLI_OPTIONS(options),
    .run = run,
};
