/* SPDX-License-Identifier: MIT */
/* locus data make, inspect: samples of the tasks as JSON lines (data_lines.h), and what a set looks like; images are in
 * data_images.h. */
#include "command.h"
#include "data_images.h"
#include "data_lines.h"
#include "output.h"
#include "task/symbol_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- options of a set ---- */

static const lab_task *find_task(const char *name) {
    const lab_task *task = lab_task_find(name);
    if (task == NULL) {
        cli_usage_error("unknown task '%s'; did you mean '%s'?", name, lab_task_nearest(name));
    }
    return task;
}

enum { WORDS = 1 << LAB_TASK_WORDS, TREES = 1 << LAB_TASK_TREES, IMAGES = 1 << LAB_TASK_IMAGES };

/* Options that some kinds of tasks have and others have not. */
static const struct {
    const char *name;
    unsigned kinds;
} kind_options[] = {
    {"n", WORDS | TREES},
    {"seed", WORDS | TREES},
    {"symbols", WORDS | TREES},
    {"length", WORDS},
    {"length-deviation", WORDS},
    {"depth", TREES},
    {"depth-deviation", TREES},
    {"arity", TREES},
    {"order", TREES},
    {"data", IMAGES},
    {"image", IMAGES},
};

static const struct {
    const char *plural, *options;
} kind_words[] = {
    [LAB_TASK_WORDS] = {"words", "--n, --seed, --symbols, --length and --length-deviation"},
    [LAB_TASK_TREES] = {"trees", "--n, --seed, --symbols, --depth, --depth-deviation, --arity and --order"},
    [LAB_TASK_IMAGES] = {"images", "--data, and of make --image"}};

/* 0, or 2 where an option belongs to another kind of task. */
static int refuse_strangers(const cli_arguments *arguments, const lab_task *task) {
    const cli_option *option;
    for (size_t i = 0; (option = cli_option_at(arguments->command, i)) != NULL; i++) {
        for (size_t k = 0; k < sizeof kind_options / sizeof *kind_options; k++) {
            if (strcmp(option->name, kind_options[k].name) == 0 && (kind_options[k].kinds & 1u << task->kind) == 0 &&
                cli_given_by_user(arguments, option->name)) {
                return cli_usage_error("--%s: %s is a task on %s: it takes --set, %s", option->name, task->name,
                                       kind_words[task->kind].plural, kind_words[task->kind].options);
            }
        }
    }
    return 0;
}

static int read_word_options(const cli_arguments *arguments, lab_task_options *options) {
    double mean = options->length_mean;
    options->length_mean = cli_number(arguments, "length");
    options->length_deviation = cli_given_by_user(arguments, "length-deviation")
                                    ? cli_number(arguments, "length-deviation")
                                    : options->length_deviation * options->length_mean / mean;
    return options->length_deviation <= options->length_mean
               ? 0
               : cli_usage_error("--length-deviation: %g is more than the mean length %g", options->length_deviation,
                                 options->length_mean);
}

static int read_tree_options(const cli_arguments *arguments, lab_task_options *options) {
    options->depth_mean = cli_number(arguments, "depth");
    options->depth_deviation = cli_number(arguments, "depth-deviation");
    options->arity = (size_t)cli_integer(arguments, "arity");
    options->order = (lab_order)cli_choice(arguments, "order");
    return 0;
}

/* 0 or 2. */
static int read_options(const cli_arguments *arguments, const lab_task *task, lab_task_options *options) {
    *options = lab_task_default(task);
    if (cli_given_by_user(arguments, "symbols")) {
        options->symbols = (size_t)cli_integer(arguments, "symbols");
    }
    return task->kind == LAB_TASK_TREES ? read_tree_options(arguments, options) : read_word_options(arguments, options);
}

/* A value of the user's that the generator refuses is bad usage. */
static int generate(lab_dataset *set, cli_arguments *arguments, const lab_task *task, lab_task_options *options) {
    locus_error error;
    int status = read_options(arguments, task, options);
    if (status != 0) {
        return status;
    }
    const lab_draw draw = {task, options, (lab_set)cli_choice(arguments, "set"), (size_t)cli_integer(arguments, "n"),
                           (uint64_t)cli_integer(arguments, "seed")};
    locus_status made = lab_dataset_generate(set, &draw, &error);
    if (made == LOCUS_ERROR_ARGUMENT || made == LOCUS_ERROR_UNSUPPORTED) {
        return cli_usage_error("--%s: %s", error.argument, error.message);
    }
    return made == LOCUS_OK ? 0 : cli_error(&error);
}

/* ---- make ---- */

static int run_make(cli_arguments *arguments) {
    const lab_task *task = find_task(arguments->operands[0]);
    lab_task_options options;
    lab_dataset set;
    int status = task == NULL ? 2 : refuse_strangers(arguments, task);
    if (status == 0 && task->kind == LAB_TASK_IMAGES) {
        return cli_data_make_image(arguments, task);
    }
    status = status ? status : cli_require(arguments, "output");
    status = status ? status : generate(&set, arguments, task, &options);
    if (status != 0) {
        return status;
    }
    const char *path = cli_text(arguments, "output");
    status = cli_data_write(&set, path);
    if (status == 0 && strcmp(path, "-") != 0) {
        cli_note("%zu samples of %s in %s", set.samples, task->name, path);
    }
    lab_dataset_destroy(&set);
    return status;
}

/* ---- inspect ---- */

typedef struct spread {
    size_t least, most;
    double mean, deviation;
} spread;

static spread measure(const size_t *values, size_t count) {
    spread found = {SIZE_MAX, 0, 0, 0};
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        found.least = values[i] < found.least ? values[i] : found.least;
        found.most = values[i] > found.most ? values[i] : found.most;
        found.mean += (double)values[i];
    }
    found.mean /= (double)count;
    for (size_t i = 0; i < count; i++) {
        double off = (double)values[i] - found.mean;
        squares += off * off;
    }
    found.deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
    return found;
}

/* One side of a set: inputs or targets. */
typedef struct side {
    const char *name;
    const size_t *offsets;
    const int32_t *tokens;
    const lab_tree_nodes *nodes; /* parents NULL: words */
    spread length, depth;
} side;

/* 0, or 1 after one line on standard error. */
static int measure_side(side *row, size_t samples) {
    size_t *values = calloc(samples + 1, sizeof *values);
    lab_tree tree = {0};
    locus_error error;
    locus_status status = LOCUS_OK;
    if (values == NULL) {
        return cli_failure("out of memory for statistics");
    }
    for (size_t i = 0; i < samples; i++) {
        values[i] = row->offsets[i + 1] - row->offsets[i];
    }
    row->length = measure(values, samples);
    for (size_t i = 0; row->nodes->parents != NULL && status == LOCUS_OK && i < samples; i++) {
        size_t start = row->offsets[i];
        status = lab_tree_from_parents(&tree, values[i], row->tokens + start, row->nodes->parents + start,
                                       row->nodes->branches + start, &error);
        values[i] = lab_tree_depth(&tree);
    }
    row->depth = measure(values, samples);
    lab_tree_destroy(&tree);
    free(values);
    return status == LOCUS_OK ? 0 : cli_error(&error);
}

static size_t largest(const int32_t *ids, size_t count) {
    int32_t most = 0;
    for (size_t i = 0; i < count; i++) {
        most = ids[i] > most ? ids[i] : most;
    }
    return (size_t)most;
}

/* Distinct symbols among inputs and targets. */
static size_t distinct(const lab_dataset *set, size_t most) {
    size_t found = 0;
    bool *seen = calloc(most + 1, sizeof *seen);
    if (seen == NULL) {
        return 0;
    }
    for (size_t i = 0; i < set->input_offsets[set->samples]; i++) {
        found += !seen[set->input[i]];
        seen[set->input[i]] = true;
    }
    for (size_t i = 0; i < set->target_offsets[set->samples]; i++) {
        found += !seen[set->target[i]];
        seen[set->target[i]] = true;
    }
    free(seen);
    return found;
}

/* What is said of a set. */
typedef struct portrait {
    const char *subject;
    const lab_dataset *set;
    side sides[2];
    bool trees;
    size_t kinds, vocabulary;
    double chance;
} portrait;

/* `symbols` 0: as many as the largest that is seen. */
static int take_portrait(portrait *of, const char *subject, const lab_dataset *set, size_t symbols) {
    size_t most = largest(set->input, set->input_offsets[set->samples]);
    size_t other = largest(set->target, set->target_offsets[set->samples]);
    most = other > most ? other : most;
    of->subject = subject;
    of->set = set;
    of->trees = set->input_tree.parents != NULL;
    of->vocabulary = (symbols > 0 ? symbols : most) + (of->trees ? 1 : 2);
    of->kinds = distinct(set, most);
    of->chance = lab_dataset_chance(set, of->vocabulary);
    of->sides[0] =
        (side){.name = "input", .offsets = set->input_offsets, .tokens = set->input, .nodes = &set->input_tree};
    of->sides[1] =
        (side){.name = "target", .offsets = set->target_offsets, .tokens = set->target, .nodes = &set->target_tree};
    int status = measure_side(&of->sides[0], set->samples);
    return status ? status : measure_side(&of->sides[1], set->samples);
}

static void add_spread(cJSON *root, const char *side_name, const char *what, const spread *found) {
    char name[32];
    snprintf(name, sizeof name, "%s_%s", side_name, what);
    cJSON *object = cJSON_AddObjectToObject(root, name);
    cJSON_AddNumberToObject(object, "least", (double)found->least);
    cJSON_AddNumberToObject(object, "most", (double)found->most);
    cJSON_AddNumberToObject(object, "mean", found->mean);
    cJSON_AddNumberToObject(object, "deviation", found->deviation);
}

static int print_json(const portrait *of) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "subject", of->subject);
    cJSON_AddNumberToObject(root, "samples", (double)of->set->samples);
    for (size_t i = 0; i < 2; i++) {
        add_spread(root, of->sides[i].name, "length", &of->sides[i].length);
        if (of->trees) {
            add_spread(root, of->sides[i].name, "depth", &of->sides[i].depth);
        }
    }
    cJSON_AddNumberToObject(root, "symbols_seen", (double)of->kinds);
    cJSON_AddNumberToObject(root, "vocabulary", (double)of->vocabulary);
    cJSON_AddNumberToObject(root, "chance", of->chance);
    return cli_json_print(root);
}

static void print_spread(const char *label, const char *what, const spread *found) {
    printf("%-8s %s %zu … %zu, mean %.2f, deviation %.2f\n", label, what, found->least, found->most, found->mean,
           found->deviation);
}

static void print_word(const side *row, size_t sample) {
    size_t start = row->offsets[sample], count = row->offsets[sample + 1] - start;
    for (size_t i = 0; i < count && i < 40; i++) {
        printf(" %d", (int)row->tokens[start + i]);
    }
    printf("%s\n", count > 40 ? " …" : "");
}

static int print_tree(const side *row, size_t sample) {
    char *text = cli_data_tree_text(row->tokens, row->nodes, row->offsets + sample);
    if (text != NULL) {
        size_t length = strlen(text);
        printf(" %.240s%s\n", text, length > 240 ? " …" : "");
    }
    free(text);
    return text == NULL;
}

static int print_sample(const portrait *of, size_t sample) {
    int status = 0;
    for (size_t i = 0; status == 0 && i < 2; i++) {
        printf(i == 0 ? "\n%-6s" : "%-6s", of->sides[i].name);
        if (of->trees) {
            status = print_tree(&of->sides[i], sample);
        } else {
            print_word(&of->sides[i], sample);
        }
    }
    return status;
}

static int print_portrait(const portrait *of, size_t shown) {
    int status = 0;
    printf("%s: %zu samples\n", of->subject, of->set->samples);
    for (size_t i = 0; i < 2; i++) {
        print_spread(of->sides[i].name, of->trees ? "nodes" : "length", &of->sides[i].length);
        if (of->trees) {
            print_spread("", "depth", &of->sides[i].depth);
        }
    }
    printf("%-8s %zu symbols seen, vocabulary %zu (with start%s token)\n", "symbols", of->kinds, of->vocabulary,
           of->trees ? "" : " and end");
    printf("%-8s %.2f %% of target tokens%s are the most common one\n", "chance", 100 * of->chance,
           of->trees ? "" : " (the end token counts)");
    for (size_t s = 0; status == 0 && s < shown && s < of->set->samples; s++) {
        status = print_sample(of, s);
    }
    return status;
}

static int show(const char *subject, const lab_dataset *set, size_t symbols, const cli_arguments *arguments) {
    portrait of = {0};
    int status = take_portrait(&of, subject, set, symbols);
    if (status != 0) {
        return status;
    }
    return cli_flag(arguments, "json") ? print_json(&of) : print_portrait(&of, (size_t)cli_integer(arguments, "show"));
}

/* An operand that looks like a file is one: it has a dot or a slash. */
static int run_inspect(cli_arguments *arguments) {
    const char *subject = arguments->operands[0];
    bool file = strpbrk(subject, "./") != NULL;
    lab_task_options options = {0};
    lab_dataset set;
    int status;
    if (file) {
        status = cli_data_read(&set, subject);
    } else {
        const lab_task *task = find_task(subject);
        status = task == NULL ? 2 : refuse_strangers(arguments, task);
        if (status == 0 && task->kind == LAB_TASK_IMAGES) {
            return cli_data_inspect_images(arguments, task);
        }
        status = status ? status : generate(&set, arguments, task, &options);
    }
    if (status != 0) {
        return status;
    }
    status = show(subject, &set, options.symbols, arguments);
    lab_dataset_destroy(&set);
    return status;
}

#define SET_OPTIONS \
    {"set", 0, CLI_CHOICE, "train|dev|test", NULL, "which set", 0, 0}, \
        {"n", 'n', CLI_INTEGER, "N", "1000", "number of samples", 1, 4294967295.0}, \
        {"seed", 's', CLI_INTEGER, "S", "0", "seed of the data; training uses 0", 0, 9007199254740991.0}, \
        {"symbols", 0, CLI_INTEGER, "N", NULL, "words, tree-copy, tree-reorder: size of the alphabet (20)", 1, 1e6}, \
        {"length", 'l', CLI_NUMBER, "MEAN", "100", "words: their mean length", 1, 1e6}, \
        {"length-deviation", 0, CLI_NUMBER, "SD", NULL, "its standard deviation (a tenth of the mean)", 0, 1e6}, \
        {"depth", 0, CLI_NUMBER, "MEAN", "7", "trees: their mean depth", 0, 1000}, \
        {"depth-deviation", 0, CLI_NUMBER, "SD", "1", "its standard deviation", 0, 1000}, \
        {"arity", 0, CLI_INTEGER, "K", "2", "trees: children of an inner node", 1, 16}, { \
        "order", 0, CLI_CHOICE, "breadth|depth", NULL, "trees: order in which targets are written", 0, 0 \
    }

static const cli_option make_options[] = {
    SET_OPTIONS,
    {"data", 0, CLI_TEXT, "PATH", NULL, "images: their folder or archive (data/NAME)", 0, 0},
    {"image", 0, CLI_INTEGER, "I", "0", "images: which one of the set, counted from 0", 0, 4294967295.0},
    {"output", 'o', CLI_TEXT, "FILE", NULL, "the .jsonl to write, - for standard output; images: the .png", 0, 0},
};

static const cli_option inspect_options[] = {
    SET_OPTIONS,
    {"data", 0, CLI_TEXT, "PATH", NULL, "images: their folder or archive (data/NAME)", 0, 0},
    {"show", 0, CLI_INTEGER, "N", "3", "samples to print", 0, 1e6},
};

const cli_command cli_command_data_make = {
    .name = "data make",
    .summary = "writes samples of a task as JSON lines",
    .operands = "TASK",
    .details =
        "Words: copy, reverse, repeat. Trees: tree-copy, tree-reorder, tree-c3, tree-ops. A line holds input and\n"
        "target (token ids without start and end tokens), the same as text, trees as (op left right), and for\n"
        "trees the paths of the tokens. Sample i of a set depends on the options, the seed, the set and i only;\n"
        "the trees are the same in either order. Images: cifar10, one image as a PNG.",
    .examples = "locus data make copy --set test -n 100 --length 24 -o copy.jsonl\n"
                "locus data make tree-ops --order depth --set test -n 5 -o ops.jsonl\n"
                "locus data make cifar10 --set test --image 3 -o plane.png\n",
    .shared = CLI_QUIET,
    CLI_OPTIONS(make_options),
    .run = run_make,
};

const cli_command cli_command_data_inspect = {
    .name = "data inspect",
    .summary = "shows samples and statistics of a task or of a .jsonl",
    .operands = "TASK|FILE",
    .details = "Lengths, depths of trees, vocabulary, and the chance rate: the share of the most common target token.\n"
               "Images: classes, means and deviations of the channels, and whether the files are as published.",
    .examples = "locus data inspect reverse --length 24\nlocus data inspect tree-c3 --depth 3\n"
                "locus data inspect copy.jsonl --json\nlocus data inspect cifar10\n",
    .shared = CLI_JSON,
    CLI_OPTIONS(inspect_options),
    .run = run_inspect,
};
