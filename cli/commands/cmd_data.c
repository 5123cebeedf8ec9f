/* SPDX-License-Identifier: MIT */
/* locus data make, inspect: samples of the tasks, and what a set looks like. Words, trees and problems are JSON lines
 * (data_lines.h); images, text and expressions are in files of their own. */
#include "command.h"
#include "data_expressions.h"
#include "data_images.h"
#include "data_lines.h"
#include "data_portrait.h"
#include "data_text.h"
#include "output.h"

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

/* Sorts of tasks, by the options that they take. */
enum {
    WORDS = 1,
    TREES = 2,
    IMAGES = 4,
    NUMBERS = 8,
    STRINGS = 16,
    SEQUENCES = 32,
    TEXT = 64,
    EXPRESSIONS = 128,
    ALL = 255,
    PAIRS = WORDS | TREES | NUMBERS | STRINGS | SEQUENCES,
    DRAWN = PAIRS | EXPRESSIONS
};

static const struct {
    unsigned sort;
    const char *plural;
} sorts[] = {{WORDS, "words"},     {TREES, "trees"},         {IMAGES, "images"}, {NUMBERS, "numbers"},
             {STRINGS, "strings"}, {SEQUENCES, "sequences"}, {TEXT, "text"},     {EXPRESSIONS, "expressions"}};

static unsigned sort_of(const lab_task *task) {
    static const unsigned by_kind[LAB_TASK_KINDS] = {[LAB_TASK_WORDS] = WORDS,
                                                     [LAB_TASK_TREES] = TREES,
                                                     [LAB_TASK_IMAGES] = IMAGES,
                                                     [LAB_TASK_TEXT] = TEXT,
                                                     [LAB_TASK_EXPRESSIONS] = EXPRESSIONS};
    if (task->kind != LAB_TASK_PROBLEMS)
        return by_kind[task->kind];
    return task->published.digits > 0 ? NUMBERS : strcmp(task->name, "substring-search") == 0 ? SEQUENCES : STRINGS;
}

static const char *plural_of(unsigned sort) {
    size_t i = 0;
    while (sorts[i].sort != sort)
        i++;
    return sorts[i].plural;
}

/* Which sorts of tasks take an option, in data make and in data inspect. What isn't listed is taken by all. */
static const struct option_use {
    const char *name;
    unsigned made, inspected;
} option_uses[] = {
    {"set", ALL & ~TEXT, ALL},
    {"n", DRAWN, DRAWN},
    {"seed", DRAWN, DRAWN},
    {"symbols", WORDS | TREES | STRINGS | SEQUENCES, WORDS | TREES | STRINGS | SEQUENCES},
    {"length", WORDS | STRINGS | SEQUENCES, WORDS | STRINGS | SEQUENCES},
    {"length-deviation", WORDS | STRINGS, WORDS | STRINGS},
    {"depth", TREES, TREES},
    {"depth-deviation", TREES, TREES},
    {"arity", TREES, TREES},
    {"order", TREES, TREES},
    {"digits", NUMBERS, NUMBERS},
    {"sequence", SEQUENCES, NUMBERS | STRINGS | SEQUENCES},
    {"target", EXPRESSIONS, EXPRESSIONS},
    {"preset", EXPRESSIONS, EXPRESSIONS},
    {"expression-depth", EXPRESSIONS, EXPRESSIONS},
    {"arguments", EXPRESSIONS, EXPRESSIONS},
    {"shortest", EXPRESSIONS, EXPRESSIONS},
    {"longest", EXPRESSIONS, EXPRESSIONS},
    {"data", IMAGES | EXPRESSIONS, IMAGES | TEXT | EXPRESSIONS},
    {"image", IMAGES, 0},
    {"train-text", TEXT, 0},
    {"dev-text", TEXT, 0},
    {"test-text", TEXT, 0},
    {"vocabulary", TEXT, 0},
    {"model", TEXT, 0},
    {"json", TEXT, ALL},
};

static bool takes(const cli_command *command, const char *option, unsigned sort) {
    for (size_t i = 0; i < sizeof option_uses / sizeof *option_uses; i++) {
        if (strcmp(option_uses[i].name, option) == 0) {
            unsigned uses = command == &cli_command_data_make ? option_uses[i].made : option_uses[i].inspected;
            return (uses & sort) != 0;
        }
    }
    return true;
}

/* "--set, --n and --seed": what the table says that a sort takes. */
static void list_taken(char *text, size_t size, const cli_command *command, unsigned sort) {
    const char *names[sizeof option_uses / sizeof *option_uses];
    size_t count = 0, used = 0;
    for (size_t i = 0; i < sizeof option_uses / sizeof *option_uses; i++)
        if (takes(command, option_uses[i].name, sort))
            names[count++] = option_uses[i].name;
    for (size_t i = 0; i < count && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s--%s",
                                 i == 0          ? ""
                                 : i + 1 < count ? ", "
                                                 : " and ",
                                 names[i]);
    }
}

/* 0, or 2 where an option belongs to other tasks. */
static int refuse_strangers(const cli_arguments *arguments, const lab_task *task) {
    const cli_option *option;
    const unsigned sort = sort_of(task);
    char taken[512] = "";
    for (size_t i = 0; (option = cli_option_at(arguments->command, i)) != NULL; i++) {
        if (cli_given_by_user(arguments, option->name) && !takes(arguments->command, option->name, sort)) {
            list_taken(taken, sizeof taken, arguments->command, sort);
            return cli_usage_error("--%s: %s is a task on %s: it takes %s", option->name, task->name, plural_of(sort),
                                   taken);
        }
    }
    return 0;
}

static void read_number(const cli_arguments *arguments, const char *name, double *value) {
    if (cli_given_by_user(arguments, name))
        *value = cli_number(arguments, name);
}

static void read_count(const cli_arguments *arguments, const char *name, size_t *value) {
    if (cli_given_by_user(arguments, name))
        *value = (size_t)cli_integer(arguments, name);
}

/* The task's own, and over them what is given. 0 or 2. */
static int read_options(const cli_arguments *arguments, const lab_task *task, lab_task_options *options) {
    *options = lab_task_default(task);
    const double mean = options->length_mean;
    read_count(arguments, "symbols", &options->symbols);
    read_number(arguments, "length", &options->length_mean);
    options->length_deviation *= mean > 0 ? options->length_mean / mean : 0;
    read_number(arguments, "length-deviation", &options->length_deviation);
    read_number(arguments, "depth", &options->depth_mean);
    read_number(arguments, "depth-deviation", &options->depth_deviation);
    read_count(arguments, "arity", &options->arity);
    read_count(arguments, "digits", &options->digits);
    read_count(arguments, "sequence", &options->sequence);
    options->order = (lab_order)cli_choice(arguments, "order");
    return options->length_deviation <= options->length_mean
               ? 0
               : cli_usage_error("--length-deviation: %g is more than the mean length %g", options->length_deviation,
                                 options->length_mean);
}

/* A value of the user's that the generator refuses is bad usage. */
static int generate(lab_dataset *set, cli_arguments *arguments, const lab_task *task, lab_task_options *options) {
    locus_error error;
    int status = read_options(arguments, task, options);
    if (status != 0)
        return status;
    const lab_draw draw = {task, options, (lab_set)cli_choice(arguments, "set"), (size_t)cli_integer(arguments, "n"),
                           (uint64_t)cli_integer(arguments, "seed")};
    locus_status made = lab_dataset_generate(set, &draw, &error);
    if (made == LOCUS_ERROR_ARGUMENT || made == LOCUS_ERROR_UNSUPPORTED)
        return cli_usage_error("--%s: %s", error.argument, error.message);
    return made == LOCUS_OK ? 0 : cli_error(&error);
}

/* ---- make ---- */

typedef int task_function(cli_arguments *arguments, const lab_task *task);

static int make_pairs(cli_arguments *arguments, const lab_task *task) {
    lab_task_options options;
    lab_dataset set;
    int status = cli_require(arguments, "output");
    status = status ? status : generate(&set, arguments, task, &options);
    if (status != 0)
        return status;
    const char *path = cli_text(arguments, "output");
    status = cli_data_write(&set, task, path);
    if (status == 0 && strcmp(path, "-") != 0)
        cli_note("%zu samples of %s in %s", set.samples, task->name, path);
    lab_dataset_destroy(&set);
    return status;
}

static int make_image(cli_arguments *arguments, const lab_task *task) {
    return cli_data_make_image(arguments, task);
}

static int make_text(cli_arguments *arguments, const lab_task *task) {
    (void)task;
    return cli_data_make_text(arguments);
}

static int run_make(cli_arguments *arguments) {
    static task_function *const makers[LAB_TASK_KINDS] = {
        [LAB_TASK_WORDS] = make_pairs,  [LAB_TASK_TREES] = make_pairs,
        [LAB_TASK_IMAGES] = make_image, [LAB_TASK_PROBLEMS] = make_pairs,
        [LAB_TASK_TEXT] = make_text,    [LAB_TASK_EXPRESSIONS] = cli_data_make_expressions,
    };
    const lab_task *task = find_task(arguments->operands[0]);
    int status = task == NULL ? 2 : refuse_strangers(arguments, task);
    return status ? status : makers[task->kind](arguments, task);
}

/* ---- inspect ---- */

static int inspect_pairs(cli_arguments *arguments, const lab_task *task) {
    lab_task_options options;
    lab_dataset set;
    int status = generate(&set, arguments, task, &options);
    if (status == 0) {
        const cli_data_subject subject = {arguments->operands[0], &set, task, &options};
        status = cli_data_describe(&subject, arguments);
        lab_dataset_destroy(&set);
    }
    return status;
}

static int inspect_images(cli_arguments *arguments, const lab_task *task) {
    return cli_data_inspect_images(arguments, task);
}

static int inspect_text(cli_arguments *arguments, const lab_task *task) {
    (void)task;
    return cli_data_inspect_text(arguments);
}

static int inspect_task(cli_arguments *arguments) {
    static task_function *const inspectors[LAB_TASK_KINDS] = {
        [LAB_TASK_WORDS] = inspect_pairs,   [LAB_TASK_TREES] = inspect_pairs,
        [LAB_TASK_IMAGES] = inspect_images, [LAB_TASK_PROBLEMS] = inspect_pairs,
        [LAB_TASK_TEXT] = inspect_text,     [LAB_TASK_EXPRESSIONS] = cli_data_inspect_expressions,
    };
    const lab_task *task = find_task(arguments->operands[0]);
    int status = task == NULL ? 2 : refuse_strangers(arguments, task);
    return status ? status : inspectors[task->kind](arguments, task);
}

static int inspect_file(cli_arguments *arguments) {
    cli_data_subject subject = {arguments->operands[0], NULL, NULL, NULL};
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
        {"n", 'n', CLI_INTEGER, "N", "1000", "number of samples", 1, 4294967295.0}, \
        {"seed", 's', CLI_INTEGER, "S", "0", "seed of the data; training uses 0", 0, 9007199254740991.0}, \
        {"symbols", 0,  CLI_INTEGER, "N", NULL, "letters; words, trees 20, substring-index 26, substring-search 4", \
         1,         1e6}, \
        {"length", 'l', CLI_NUMBER, "MEAN", NULL, "mean length; words 100, substring-index 13, -search exactly 16", \
         1,        1e6}, \
        {"length-deviation", 0, CLI_NUMBER, "SD", NULL, "words: a tenth of the mean, substring-index: 0", 0, 1e6}, \
        {"depth", 0, CLI_NUMBER, "MEAN", NULL, "trees: their mean depth (7)", 0, 1000}, \
        {"depth-deviation", 0, CLI_NUMBER, "SD", NULL, "trees: its standard deviation (1)", 0, 1000}, \
        {"arity", 0, CLI_INTEGER, "K", NULL, "trees: children of a node (2)", 1, 16}, \
        {"order", 0, CLI_CHOICE, "breadth|depth", NULL, "trees: order in which targets are written", 0, 0}, \
        {"digits", 0, CLI_INTEGER, "N", NULL, "addition: most digits of a number (8)", 1, 18}, \
        {"sequence", 0,    CLI_INTEGER, \
         "N",        NULL, "characters of a training sequence (641; substring-search: of a sample, 513)", \
         2,          1e6}, \
        CLI_EXPRESSION_OPTIONS, { \
        "data", 0, CLI_TEXT, "PATH", NULL, "images, listops: what to read; text: its folder (data/NAME)", 0, 0 \
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
        "Arena. Images: cifar10, one image as a PNG. Text: text, which makes token files of UTF-8 files.",
    .examples = "locus data make copy --set test -n 100 --length 24 -o copy.jsonl\n"
                "locus data make tree-ops --order depth --set test -n 5 -o ops.jsonl\n"
                "locus data make addition --digits 3 --set test -n 3 -o -\n"
                "locus data make listops --set test -n 100 -o basic_test.tsv\n"
                "locus data make text --train-text book.txt --vocabulary 8000 -o data/book\n"
                "locus data make cifar10 --set test --image 3 -o plane.png\n",
    .shared = CLI_QUIET | CLI_JSON,
    CLI_OPTIONS(make_options),
    .run = run_make,
};

const cli_command cli_command_data_inspect = {
    .name = "data inspect",
    .summary = "shows samples and statistics of a task or of a file",
    .operands = "TASK|FILE",
    .details = "Lengths, depths of trees, vocabulary, and the chance rate: the share of the most common target token,\n"
               "or class. Images: classes, means and deviations of the channels, and whether the files are as "
               "published.\n"
               "Files: what data make has written, and the .tsv of Long Range Arena.",
    .examples = "locus data inspect reverse --length 24\nlocus data inspect tree-c3 --depth 3\n"
                "locus data inspect substring-search --show 1\n"
                "locus data inspect copy.jsonl --json\nlocus data inspect cifar10\n",
    .shared = CLI_JSON | CLI_FORMAT,
    CLI_OPTIONS(inspect_options),
    .run = run_inspect,
};
