/* SPDX-License-Identifier: MIT */
/* locus eval: scores of a trained run's best parameters on its test set, or on sets of other lengths or depths; classes
 * of pictures. What test sets of other lengths score is kept with the run. */
#include "command.h"
#include "io/json.h"
#include "model/architecture.h"
#include "output.h"
#include "report/tables/score_columns.h"
#include "samples/picture_classes.h"
#include "store_argument.h"
#include "task_options.h"
#include "train/checkpoint.h"
#include "train/configuration/config.h"
#include "train/outcome.h"
#include "train_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct result {
    char set[32];
    lab_outcome outcome;
} result;

/* One set; `mean` 0 is the trained one, else a mean length or depth. */
static int evaluate(cli_arguments *arguments, const lab_train_config *config, lab_model *model, size_t mean,
                    result *out) {
    static const char *const names[] = {"test", "dev", "train"};
    static const lab_set sets[] = {LAB_SET_TEST, LAB_SET_DEV, LAB_SET_TRAIN};
    const size_t which = cli_choice(arguments, "set");
    lab_outcome_request request = {.set = lab_train_set_ask(config, sets[which]),
                                   .greedy_samples = config->greedy_samples};
    request.set.mean = mean;
    request.set.tokenizer = config->pretrained;
    if (config->task->class->keep != NULL && config->data.path == NULL)
        request.set.samples = 0; /* another file is read whole */
    if (cli_given_by_user(arguments, "n"))
        request.set.samples = (size_t)cli_integer(arguments, "n");
    if (cli_given_by_user(arguments, "greedy-samples"))
        request.greedy_samples = (size_t)cli_integer(arguments, "greedy-samples");
    if (request.set.samples == 0 && config->task->class->endless)
        return cli_usage_error("-n: the training set of %s has no end; say how many sequences", config->task->name);
    if (mean == 0)
        snprintf(out->set, sizeof out->set, "%s", names[which]);
    else
        snprintf(out->set, sizeof out->set, "%s:%zu", names[which], mean);
    return cli_done(lab_outcome_make(&out->outcome, model, config, &request, &cli_fault));
}

static double value_of(const void *outcome, const char *name) {
    lab_outcome_value values[LAB_OUTCOME_VALUES];
    const size_t count = lab_outcome_values(outcome, values);
    for (size_t i = 0; i < count; i++)
        if (strcmp(values[i].name, name) == 0)
            return values[i].value;
    return (double)NAN;
}

static void add_json(cJSON *list, const result *r) {
    lab_outcome_value values[LAB_OUTCOME_VALUES];
    const size_t count = lab_outcome_values(&r->outcome, values);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "set", r->set);
    cJSON_AddNumberToObject(object, "samples", (double)r->outcome.score.samples);
    cJSON_AddNumberToObject(object, "tokens", (double)r->outcome.score.tokens);
    for (size_t i = 0; i < count; i++)
        cJSON_AddNumberToObject(object, values[i].name, values[i].value);
    lab_json_put(list, NULL, object);
}

static int print_json(const lab_run *trained, const result *results, size_t count) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "run", trained->name);
    cJSON_AddStringToObject(root, "task", trained->task);
    cJSON_AddStringToObject(root, "encoding", trained->encoding);
    cJSON *list = cJSON_AddArrayToObject(root, "sets");
    for (size_t i = 0; i < count; i++)
        add_json(list, &results[i]);
    return cli_json_print(root);
}

static int print(const lab_run *trained, const result *results, size_t count) {
    static const char *const first[] = {"set", ">samples"};
    const lab_task_class *class = lab_task_find(trained->task)->class;
    cli_say("%s (%s)\n", trained->name, lab_run_state_name(trained->state));
    lab_table *table = lab_score_table(first, 2, class, LAB_SCORE_SET);
    lab_table_title(table, "%s", trained->name);
    for (size_t i = 0; i < count; i++) {
        lab_table_cell(table, "%s", results[i].set);
        lab_table_number(table, (double)results[i].outcome.score.samples, "%zu", results[i].outcome.score.samples);
        lab_score_cells(table, class, LAB_SCORE_SET, value_of, &results[i].outcome);
    }
    cli_table_print(table);
    return 0;
}

/* Once, however many sets there are. */
static void tell_cut(const result *results, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (results[i].outcome.note[0] != '\0') {
            cli_note("%s: %s", results[i].set, results[i].outcome.note);
            return;
        }
    }
}

/* Only whole test sets, decoded as far as the run's own, stand beside its other scores; no file that was named in place
 * of the run's own data. */
static bool is_kept(const cli_arguments *arguments, const lab_run *trained, const lab_train_config *config) {
    return trained->state == LAB_RUN_DONE && cli_choice(arguments, "set") == 0 && !cli_given_by_user(arguments, "n") &&
           !cli_given_by_user(arguments, "greedy-samples") &&
           (config->task->class->keep == NULL || config->data.path != NULL);
}

/* A store that may only be read keeps nothing: the scores have been told. */
static void keep(const cli_store *store, const lab_run *trained, const int64_t *sizes, const result *results,
                 size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (lab_train_store(store->store, trained, (size_t)sizes[i], &results[i].outcome, &cli_fault) != LOCUS_OK) {
            cli_note("the scores are not kept: %s", cli_fault.message);
            return;
        }
    }
}

/* The sizes that are asked for; none: the trained one. */
static int read_sizes(cli_arguments *arguments, const lab_train_config *config, const int64_t **sizes, size_t *count) {
    const lab_task_class *class = config->task->class;
    if (class->lengths == NULL)
        return 0;
    const char *option = class->lengths->option;
    const int status = cli_sizes(arguments, class, option, sizes, count);
    if (status == 0 && *count > 0 && (config->data.digest != 0 || cli_given_by_user(arguments, "data")) && !class->read)
        return cli_usage_error("--%s: these %s are read from files: none of other sizes can be drawn", option,
                               class->name);
    return status;
}

/* The run's own test set, or the lengths or depths that are asked for. */
static int score_sets(cli_arguments *arguments, const cli_store *store, const lab_run *trained,
                      const lab_train_config *config, lab_model *model) {
    const int64_t *means = NULL;
    size_t count = 0;
    int status = read_sizes(arguments, config, &means, &count);
    if (status != 0)
        return status;
    const size_t sets = count == 0 ? 1 : count;
    result *results = calloc(sets, sizeof *results);
    status = results == NULL ? cli_failure("out of memory") : 0;
    for (size_t i = 0; status == 0 && i < sets; i++)
        status = evaluate(arguments, config, model, count == 0 ? 0 : (size_t)means[i], &results[i]);
    if (status == 0)
        tell_cut(results, sets);
    if (status == 0)
        status = cli_flag(arguments, "json") ? print_json(trained, results, sets) : print(trained, results, sets);
    if (status == 0 && count > 0 && is_kept(arguments, trained, config))
        keep(store, trained, means, results, count);
    for (size_t i = 0; results != NULL && i < sets; i++)
        lab_outcome_free(&results[i].outcome);
    free(results);
    return status;
}

/* ---- pictures ---- */

static void add_picture(cJSON *list, const lab_picture_classes *of, size_t picture, const char *path) {
    size_t best[LAB_PICTURE_SHOWN] = {0}, count = lab_picture_best(of, picture, best);
    cJSON *object = cJSON_CreateObject(), *top = NULL;
    cJSON_AddStringToObject(object, "picture", path);
    cJSON_AddStringToObject(object, "class", of->names[best[0]]);
    top = cJSON_AddArrayToObject(object, "classes");
    for (size_t k = 0; k < count; k++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "class", of->names[best[k]]);
        cJSON_AddNumberToObject(item, "probability", (double)of->probabilities[picture * of->classes + best[k]]);
        lab_json_put(top, NULL, item);
    }
    lab_json_put(list, NULL, object);
}

static void put_picture(lab_table *table, const lab_picture_classes *of, size_t picture, const char *path) {
    size_t best[LAB_PICTURE_SHOWN] = {0}, count = lab_picture_best(of, picture, best);
    lab_table_cell(table, "%s", path);
    for (size_t k = 0; k < LAB_PICTURE_SHOWN; k++)
        if (k < count)
            lab_table_cell(table, "%s %.1f %%", of->names[best[k]],
                           100.0 * (double)of->probabilities[picture * of->classes + best[k]]);
        else
            lab_table_cell(table, "–");
}

/* Nothing is printed unless all could be read. */
static int name_pictures(const cli_arguments *arguments, const cli_trained *trained) {
    static const char *const heads[] = {"picture", "class", "or", "or"};
    char *const *paths = arguments->operands + 1;
    const size_t count = arguments->operand_count - 1;
    const bool json = cli_flag(arguments, "json");
    cJSON *list = json ? cJSON_CreateArray() : NULL;
    lab_table *table = json ? NULL : lab_table_create(heads, 1 + LAB_PICTURE_SHOWN);
    lab_picture_classes of;
    int status = cli_done(lab_picture_classes_make(&of, trained->model, &trained->config, paths, count, &cli_fault));
    for (size_t i = 0; status == 0 && i < count; i++)
        if (json)
            add_picture(list, &of, i, paths[i]);
        else
            put_picture(table, &of, i, paths[i]);
    lab_picture_classes_free(&of);
    if (status == 0 && json)
        return cli_json_print(list);
    if (status == 0)
        cli_table_print(table);
    else
        lab_table_free(table);
    cJSON_Delete(status != 0 ? list : NULL);
    return status;
}

/* What is asked must fit the run's kind. */
static int check(const cli_arguments *arguments, const cli_trained *trained) {
    const lab_task *task = trained->task;
    if (arguments->operand_count > 1 && task->class->makes != LAB_MAKES_PICTURES) {
        return cli_usage_error("'%s': pictures are for runs of images, '%s' is of %s", arguments->operands[1],
                               trained->run.name, task->name);
    }
    const char *const of_sets[] = {"data", "set", "n",
                                   task->class->lengths != NULL ? task->class->lengths->option : "n"};
    for (size_t i = 0; arguments->operand_count > 1 && i < sizeof of_sets / sizeof *of_sets; i++)
        if (cli_given_by_user(arguments, of_sets[i]))
            return cli_usage_error("--%s is for a set of images: with pictures, leave it out", of_sets[i]);
    return cli_refuse_other_kinds(arguments, task);
}

/* What a run was trained on may lie elsewhere; a pretrained encoder's vocabulary lies in its own folder. */
static int point_to_data(lab_train_config *config, const cli_arguments *arguments, const char *folder) {
    (void)cli_put_options(arguments, config);
    config->data.kept = folder;
    config->pretrained = config->pretrained_digest != 0 ? folder : NULL;
    const lab_task_class *class = config->task->class;
    const bool files = !class->read && config->data.digest != 0; /* it might have been drawn */
    return !files || config->data.path != NULL
               ? 0
               : cli_usage_error("the run read its %s from files: --data says where they are", class->name);
}

static int score(cli_arguments *arguments, cli_trained *trained) {
    int status = check(arguments, trained);
    status = status ? status : cli_trained_load(trained);
    status = status ? status : point_to_data(&trained->config, arguments, trained->folder);
    if (status != 0)
        return status;
    return arguments->operand_count > 1
               ? name_pictures(arguments, trained)
               : score_sets(arguments, &trained->store, &trained->run, &trained->config, trained->model);
}

static int run(cli_arguments *arguments) {
    cli_trained trained;
    int status = cli_trained_open(&trained, arguments);
    status = status ? status : score(arguments, &trained);
    cli_trained_close(&trained);
    return status;
}

static const cli_option options[] = {
    CLI_ROW_CHOICE("set", "test|dev|train", "which set"),
    {"n", 'n', CLI_INTEGER, "N", NULL, "number of samples (as the run's)", 1, 1e9},
    {"greedy-samples", 0, CLI_INTEGER, "N", NULL, "samples that are decoded greedily (as the run's)", 0, 1e9},
    CLI_STORE_OPTION,
};

const cli_command cli_command_eval = {
    .name = "eval",
    .summary = "scores a trained model on its test set, on other lengths or depths, or names what pictures show",
    .operands = "RUN [PICTURE…]",
    .details =
        "RUN is a name, a unique beginning of one, or a number of 'locus runs'. Accuracy and exact are "
        "teacher-forced,\ngreedy exact is autoregressive decoding; chance is the share of the most common target "
        "token or class.\n\n"
        "Problems: the share that greedy decoding solves to the letter. Text: perplexity exp(loss) and bits per byte, "
        "of the whole set\nunless -n says how many sequences of it. Expressions: chance is one of the classes, "
        "majority the share of the most common.\n\n"
        "--lengths scores test sets of other sizes: words and trees (--depths) of another mean, a text in windows of "
        "so many tokens,\nsums of numbers of just so many digits, strings of so many letters, expressions of so many "
        "tokens at most, of own pairs\nand labelled sequences the test samples whose input has so many tokens, or more "
        "than half of that. --sides brings test pictures\nto other sides, which the model reads with more or fewer "
        "places. A finished run\nkeeps these scores ('locus plot lengths' draws them), unless -n, "
        "--greedy-samples, --set change what is scored.\n\n"
        "With pictures (PNG, JPEG, PPM or PGM) a run of images names the three most probable classes of each; those "
        "for cifar10\nhave the size that the model was trained on, own pictures any.\n\n"
        "Own data: --data with the --dev and --test of the training, or --test alone with another file or folder.",
    .examples = "locus eval copy-rope-smoke-s0 --lengths 16,32,64\n"
                "locus eval tree-copy-depth-rope --depths 5,7\n"
                "locus eval text-rope --data data/book --lengths 64,128,256,512\n"
                "locus eval pairs-rope --data pairs.jsonl --lengths 8,16,32\n"
                "locus eval cifar10-algebraic --sides 32,48,64\n"
                "locus eval cifar10-algebraic frog.png\n"
                "locus eval pairs-rope --test others.jsonl\n",
    .shared = CLI_JSON | CLI_FORMAT | CLI_QUIET | CLI_THREADS,
    CLI_OPTIONS(options),
    .tasks = LAB_OPTION_EVAL | LAB_OPTION_SCORED,
    .run = run,
};
