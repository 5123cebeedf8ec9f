/* SPDX-License-Identifier: MIT */
/* locus data make, inspect: samples of the tasks, and what a set looks like. Words, trees and problems are JSON lines
 * (data_lines.h); images, text and expressions are in files of their own. */
#include "command.h"
#include "data_draw.h"
#include "data_expressions.h"
#include "data_images.h"
#include "data_labelled.h"
#include "data_lines.h"
#include "data_pictures.h"
#include "data_portrait.h"
#include "data_text.h"
#include "output.h"
#include "task_options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- options of a set ---- */

static const lab_task *find_task(const char *name) {
    const lab_task *task = lab_task_find(name);
    if (task == NULL)
        cli_usage_error("unknown task '%s'; did you mean '%s'?", name, lab_task_nearest(name));
    return task;
}

/* What draws and shows a set of a task. */
typedef int task_function(cli_arguments *arguments, const lab_task *task);

static task_function make_none, make_pairs, inspect_pairs, inspect_own_pairs;

/* Kinds whose sets are no JSON lines of pairs, and options of `data make` that are theirs alone. */
static const struct data_kind {
    const char *name;
    task_function *make, *inspect;
    const char *own[6];
} data_kinds[] = {
    {"images", cli_data_make_image, cli_data_inspect_images, {"image"}},
    {"text",
     cli_data_make_text,
     cli_data_inspect_text,
     {"train-text", "dev-text", "test-text", "vocabulary", "model", "json"}},
    {"expressions", cli_data_make_expressions, cli_data_inspect_expressions, {NULL}},
    {"labelled sequences", make_none, cli_data_inspect_labelled, {NULL}},
    {"own pictures", cli_data_make_image, cli_data_inspect_pictures, {"image"}},
    {"own pairs", make_none, inspect_own_pairs, {NULL}},
    {NULL, make_pairs, inspect_pairs, {NULL}}, /* all others */
};

static const struct data_kind *kind_of(const lab_task *task) {
    const struct data_kind *kind = data_kinds;
    while (kind->name != NULL && strcmp(kind->name, task->class->name) != 0)
        kind++;
    return kind;
}

static bool is_own(const struct data_kind *kind, const char *option) {
    for (size_t i = 0; i < sizeof kind->own / sizeof *kind->own && kind->own[i] != NULL; i++)
        if (strcmp(kind->own[i], option) == 0)
            return true;
    return false;
}

/* 0, or 2 where an option belongs to other tasks. */
static int refuse_strangers(const cli_arguments *arguments, const lab_task *task) {
    static const char *const of_drawing[] = {"n", "seed"};
    const bool makes = arguments->command == &cli_command_data_make;
    const struct data_kind *own = kind_of(task), *kind = data_kinds;
    for (; makes && kind->name != NULL; kind++)
        for (size_t i = 0; kind != own && i < sizeof kind->own / sizeof *kind->own && kind->own[i] != NULL; i++)
            if (cli_given_by_user(arguments, kind->own[i]) && !is_own(own, kind->own[i]))
                return cli_usage_error("--%s is for %s; %s is of %s", kind->own[i], kind->name, task->name,
                                       task->class->name);
    for (size_t i = 0; task->class->read && i < sizeof of_drawing / sizeof *of_drawing; i++)
        if (cli_given_by_user(arguments, of_drawing[i]))
            return cli_usage_error("--%s is for what is drawn; %s is read", of_drawing[i], task->name);
    return cli_refuse_other_kinds(arguments, task);
}

/* ---- make ---- */

/* Own samples: nothing is drawn. */
static int make_none(cli_arguments *arguments, const lab_task *task) {
    (void)arguments;
    return cli_usage_error("data make: %s reads samples of your own, there is nothing to draw", task->name);
}

static int make_pairs(cli_arguments *arguments, const lab_task *task) {
    lab_train_config config = {.task = task};
    lab_dataset set;
    int status = cli_require(arguments, "output");
    if (status == 0 && task->solved && cli_given_by_user(arguments, "sequence"))
        return cli_usage_error("--sequence: %s is written problem by problem; data inspect counts sequences",
                               task->name);
    status = status ? status : cli_data_draw(&set, arguments, &config);
    if (status != 0)
        return status;
    const char *path = cli_text(arguments, "output");
    status = cli_data_write(&set, task, path);
    if (status == 0 && strcmp(path, "-") != 0)
        cli_note("%zu samples of %s in %s", set.samples, task->name, path);
    lab_dataset_destroy(&set);
    return status;
}

static int run_make(cli_arguments *arguments) {
    const lab_task *task = find_task(arguments->operands[0]);
    int status = task == NULL ? 2 : refuse_strangers(arguments, task);
    return status ? status : kind_of(task)->make(arguments, task);
}

/* ---- inspect ---- */

static int inspect_pairs(cli_arguments *arguments, const lab_task *task) {
    lab_train_config config = {.task = task};
    lab_dataset set;
    int status = cli_data_draw(&set, arguments, &config);
    if (status == 0) {
        const cli_data_subject subject = {arguments->operands[0], &set, task, &config.data, NULL};
        status = cli_data_describe(&subject, arguments);
        lab_dataset_destroy(&set);
    }
    return status;
}

static int inspect_own_pairs(cli_arguments *arguments, const lab_task *task) {
    lab_train_config config = {.task = task};
    lab_pair_facts facts;
    lab_dataset set;
    locus_error error;
    int status = cli_require(arguments, "data");
    (void)cli_put_options(arguments, &config);
    if (status == 0 && lab_pairs_look(&config.data, 0, &facts, &error) != LOCUS_OK)
        return cli_error(&error);
    status = status ? status : cli_data_draw(&set, arguments, &config);
    if (status != 0)
        return status;
    config.data.pairs.symbols = facts.vocabulary;
    const cli_data_subject subject = {cli_text(arguments, "data"), &set, task, &config.data, &facts};
    status = cli_data_describe(&subject, arguments);
    lab_dataset_destroy(&set);
    return status;
}

static int inspect_task(cli_arguments *arguments) {
    const lab_task *task = find_task(arguments->operands[0]);
    int status = task == NULL ? 2 : refuse_strangers(arguments, task);
    return status ? status : kind_of(task)->inspect(arguments, task);
}

static int inspect_file(cli_arguments *arguments) {
    cli_data_subject subject = {.name = arguments->operands[0]};
    lab_dataset set;
    struct stat found;
    if (stat(subject.name, &found) == 0 && S_ISDIR(found.st_mode))
        return cli_failure("'%s' is a folder: locus data inspect TASK --data %s", subject.name, subject.name);
    if (cli_data_is_expressions(subject.name))
        return cli_data_inspect_expression_file(arguments, subject.name);
    int status = cli_data_read(&set, &subject.task, subject.name);
    if (status == 0) {
        subject.set = &set;
        status = cli_data_describe(&subject, arguments);
        lab_dataset_destroy(&set);
    }
    return status;
}

/* An operand that looks like a file is one: it has a dot or a slash. */
static int run_inspect(cli_arguments *arguments) {
    return strpbrk(arguments->operands[0], "./") != NULL ? inspect_file(arguments) : inspect_task(arguments);
}

/* ---- the commands ---- */

#define SET_OPTIONS \
    {"set", 0, CLI_CHOICE, "train|dev|test", NULL, "which set", 0, 0}, \
        {"n", 'n', CLI_INTEGER, "N", "1000", "number of samples", 1, 4294967295.0}, { \
        "seed", 's', CLI_INTEGER, "S", "0", "seed of the data; training uses 0", 0, 9007199254740991.0 \
    }

static const cli_option make_options[] = {
    SET_OPTIONS,
    CLI_DATA_TEXT_OPTIONS,
    {"image", 0, CLI_INTEGER, "I", "0", "images: which one of the set, counted from 0", 0, 4294967295.0},
    {"output", 'o', CLI_TEXT, "FILE", NULL,
     "the .jsonl to write, - for standard output; listops: or a .tsv; images: the .png; text: the folder (data/text)",
     0, 0},
};

static const cli_option inspect_options[] = {
    SET_OPTIONS,
    {"show", 0, CLI_INTEGER, "N", "3", "samples to print", 0, 1e6},
};

const cli_command cli_command_data_make = {
    .name = "data make",
    .summary = "writes samples of a task, or token files of a text",
    .operands = "TASK",
    .details =
        "Words: copy, reverse, repeat. Trees: tree-copy, tree-reorder, tree-c3, tree-ops. A line of JSON holds input\n"
        "and target (token ids without start and end tokens), the same as text, trees as (op left right), and for\n"
        "trees the paths of the tokens. Problems in characters: addition, substring-index, substring-search; input is\n"
        "the prompt, target the rest. Sample i of a set depends on the options, the seed, the set and i only;\n"
        "the trees are the same in either order. Expressions: listops, as JSON lines or as the .tsv of Long Range\n"
        "Arena. Images: cifar10 and own images, one as a PNG. Text: text, which makes token files of UTF-8 files.",
    .examples = "locus data make copy --set test -n 100 --length 24 -o copy.jsonl\n"
                "locus data make tree-ops --order depth --set test -n 5 -o ops.jsonl\n"
                "locus data make addition --digits 3 --set test -n 3 -o -\n"
                "locus data make listops --set test -n 100 -o basic_test.tsv\n"
                "locus data make text --train-text book.txt --vocabulary 8000 -o data/book\n"
                "locus data make cifar10 --set test --image 3 -o plane.png\n",
    .shared = CLI_QUIET | CLI_JSON,
    CLI_OPTIONS(make_options),
    .tasks = CLI_USE_DATA,
    .run = run_make,
};

const cli_command cli_command_data_inspect = {
    .name = "data inspect",
    .summary = "shows samples and statistics of a task or of a file",
    .operands = "TASK|FILE",
    .details =
        "Lengths, depths of trees, vocabulary, and the chance rate: the share of the most common target token,\n"
        "or class. Images: classes, means and deviations of the channels, and whether the files are as "
        "published.\n"
        "Files: what data make has written, and the .tsv of Long Range Arena. Own data (pairs, classify, images): "
        "their\nsets, and how many samples these share.",
    .examples = "locus data inspect reverse --length 24\nlocus data inspect tree-c3 --depth 3\n"
                "locus data inspect substring-search --show 1\n"
                "locus data inspect copy.jsonl --json\nlocus data inspect cifar10\n"
                "locus data inspect pairs --data pairs.jsonl --tokens words\n"
                "locus data inspect images --data animals --side 32\n",
    .shared = CLI_JSON | CLI_FORMAT,
    CLI_OPTIONS(inspect_options),
    .tasks = CLI_USE_DATA,
    .run = run_inspect,
};
