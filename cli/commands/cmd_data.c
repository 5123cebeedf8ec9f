/* SPDX-License-Identifier: MIT */
/* locus data make, inspect: samples of the tasks, and what a set looks like (lab/samples). */
#include "command.h"
#include "io/folder.h"
#include "output.h"
#include "samples/portrait.h"
#include "samples/sample_lines.h"
#include "stop.h"
#include "task/text_task.h"
#include "task_options.h"
#include "text/text_folder.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- options of a set ---- */

static const lab_task *find_task(const char *name) {
    const lab_task *task = lab_task_find(name);
    if (task == NULL)
        cli_usage_error("unknown task '%s'; did you mean '%s'?", name, lab_task_nearest(name));
    return task;
}

static bool makes_tokens(const lab_task_class *class, const char *option) {
    (void)option;
    return class->makes == LAB_MAKES_TOKENS;
}

/* 0, or 2 where an option belongs to other tasks. */
static int refuse_strangers(const cli_arguments *arguments, const lab_task *task) {
    static const char *const of_drawing[] = {"n", "seed"};
    if (arguments->command == &cli_command_data_make && cli_flag(arguments, "json") && !makes_tokens(task->class, NULL))
        return cli_refuse_kind(arguments, task, "json", makes_tokens);
    for (size_t i = 0; task->class->read && i < sizeof of_drawing / sizeof *of_drawing; i++)
        if (cli_given_by_user(arguments, of_drawing[i]))
            return cli_usage_error("--%s needs a task whose samples are drawn; those of %s are read", of_drawing[i],
                                   task->name);
    return cli_refuse_other_kinds(arguments, task);
}

/* What is asked for: -n samples (of a file all, unless it is given) of --set with the task's own options, which
 * `config` receives. */
static lab_draw read_draw(const cli_arguments *arguments, const lab_task *task, lab_train_config *config) {
    *config = (lab_train_config){.task = task, .data = lab_task_default(task)};
    (void)cli_put_options(arguments, config);
    const bool all = task->class->read || (config->data.path != NULL && !cli_given_by_user(arguments, "n"));
    return (lab_draw){task, &config->data, (lab_set)cli_choice(arguments, "set"),
                      all ? 0 : (size_t)cli_integer(arguments, "n"), (uint64_t)cli_integer(arguments, "seed")};
}

/* Own data lie nowhere by themselves. */
static int require_data(const cli_arguments *arguments, const lab_task *task) {
    return task->class->read && lab_class_option(task->class, "dev") != NULL ? cli_require(arguments, "data") : 0;
}

/* A value of the user's that a generator refuses is bad usage; what is wrong with files is not. */
static int draw_failed(const lab_task *task, locus_error *error) {
    if (!task->class->read && error->status == LOCUS_ERROR_UNSUPPORTED)
        error->status = LOCUS_ERROR_ARGUMENT;
    return task->class->read ? cli_error(error) : cli_refusal(error);
}

/* ---- make ---- */

static int write_lines(const char *path, const lab_task *task, const lab_dataset *set) {
    const bool printed = strcmp(path, "-") == 0;
    const locus_status done = printed ? task->class->write(stdout, set, task, false, &cli_fault)
                                      : lab_samples_save(set, task, path, &cli_fault);
    if (done == LOCUS_OK && !printed)
        cli_note("%zu samples of %s in %s", set->samples, task->name, path);
    return cli_done(done);
}

static int write_image(const cli_arguments *arguments, const lab_images *images) {
    static const char *const names[] = {"training", "development", "test"};
    const char *set = names[cli_choice(arguments, "set")], *path = cli_text(arguments, "output");
    const size_t index = (size_t)cli_integer(arguments, "image");
    if (index >= images->count)
        return cli_usage_error("--image: %zu; the %s set has images 0 to %zu", index, set, images->count - 1);
    if (lab_images_write(images, index, path, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    cli_note("image %zu of the %s set, class %s, in %s", index, set, images->class_names[images->labels[index]], path);
    return 0;
}

/* Which form a picture's file has follows from its name. */
static int make_set(const cli_arguments *arguments, const lab_task *task) {
    const bool picture = task->class->makes == LAB_MAKES_PICTURES;
    const char *path = cli_text(arguments, "output");
    lab_train_config config;
    lab_dataset set;
    int status = cli_require(arguments, "output");
    if (status == 0 && picture && !lab_name_ends(path, ".png") && !lab_name_ends(path, ".ppm"))
        return cli_usage_error("data make: --output '%s' is no .png or .ppm", path);
    if (status == 0 && task->solved && cli_given_by_user(arguments, "sequence"))
        return cli_usage_error("--sequence: %s is written problem by problem; data inspect counts sequences",
                               task->name);
    status = status ? status : require_data(arguments, task);
    if (status != 0)
        return status;
    const lab_draw draw = read_draw(arguments, task, &config);
    if (lab_dataset_generate(&set, &draw, &cli_fault) != LOCUS_OK)
        return draw_failed(task, &cli_fault);
    status = picture ? write_image(arguments, &set.images) : write_lines(path, task, &set);
    lab_dataset_destroy(&set);
    return status;
}

/* What is done is told on a terminal only. `context`: whether somebody reads it. */
static bool tell(void *context, const char *phase, uint64_t done, uint64_t total) {
    (void)done, (void)total;
    if (*(const bool *)context) {
        fprintf(stderr, "\r%s …\033[K", phase);
        fflush(stderr);
    }
    return !cli_stop_asked();
}

static locus_status make_files(const char *folder, const lab_text_source *source, lab_text_facts *facts,
                               locus_error *error) {
    bool told = !cli_quiet && isatty(STDERR_FILENO);
    const lab_watch watch = {tell, &told};
    cli_stop_catch();
    const locus_status status = lab_text_make(folder, source, &watch, facts, error);
    cli_stop_release();
    cli_line_wipe(&told);
    return status;
}

/* Prints and frees it. */
static int print_portrait(lab_portrait *portrait, bool json) {
    int status = json ? cli_json_print(portrait->json) : cli_shown_print(&portrait->shown);
    if (!json)
        cJSON_Delete(portrait->json);
    else
        lab_shown_free(&portrait->shown);
    return status == 0 && portrait->fault.status != LOCUS_OK ? cli_error(&portrait->fault) : status;
}

static int open_portrait(lab_portrait *portrait) {
    *portrait = (lab_portrait){.json = cJSON_CreateObject()};
    const int status = cli_done(lab_shown_open(&portrait->shown, &cli_fault));
    if (status != 0) {
        cJSON_Delete(portrait->json);
        portrait->json = NULL;
    }
    return status;
}

static int make_tokens(const cli_arguments *arguments) {
    const char *folder = cli_given_by_user(arguments, "output") ? cli_text(arguments, "output") : LAB_TEXT_FOLDER;
    const lab_text_source source = {
        .texts = {cli_text(arguments, "train-text"), cli_text(arguments, "dev-text"), cli_text(arguments, "test-text")},
        .vocabulary = (size_t)cli_integer(arguments, "vocabulary"),
        .model = cli_text(arguments, "model")};
    const bool json = cli_flag(arguments, "json");
    lab_text_facts facts;
    lab_portrait portrait;
    if (cli_given_by_user(arguments, "set"))
        return cli_usage_error("--set: data make text makes all three sets");
    if (source.texts[0] == NULL)
        return cli_usage_error("data make text: give --train-text FILE, any text in UTF-8");
    if (source.vocabulary > 0 && source.model != NULL)
        return cli_usage_error("--model brings its own vocabulary: leave out --vocabulary, or --model to train one");
    if (strcmp(folder, "-") == 0)
        return cli_usage_error("--output: token files are written to a folder, not to standard output");
    if (make_files(folder, &source, &facts, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    if (!json && cli_quiet)
        return 0;
    const int status = open_portrait(&portrait);
    if (status != 0)
        return status;
    lab_portray_token_files(&portrait, folder, &facts);
    return print_portrait(&portrait, json);
}

static int run_make(cli_arguments *arguments) {
    const lab_task *task = find_task(arguments->operands[0]);
    const int status = task == NULL ? 2 : refuse_strangers(arguments, task);
    if (status != 0)
        return status;
    return makes_tokens(task->class, NULL)           ? make_tokens(arguments)
           : task->class->makes != LAB_MAKES_NOTHING ? make_set(arguments, task)
                                                     : cli_usage_error("data make: %s reads samples of your own, there "
                                                                       "is nothing to draw",
                                                                       task->name);
}

/* ---- inspect ---- */

static int inspect_task(const cli_arguments *arguments, lab_portrait *portrait, lab_portrait_request *request) {
    const lab_task *task = find_task(request->name);
    lab_train_config config;
    int status = task == NULL ? 2 : refuse_strangers(arguments, task);
    status = status ? status : require_data(arguments, task);
    if (status != 0)
        return status;
    request->draw = read_draw(arguments, task, &config);
    return task->class->portray(portrait, request, &cli_fault) == LOCUS_OK ? 0 : draw_failed(task, &cli_fault);
}

static int inspect_file(const cli_arguments *arguments, lab_portrait *portrait, lab_portrait_request *request) {
    const char *path = request->name;
    lab_dataset set = {0};
    struct stat found;
    if (stat(path, &found) == 0 && S_ISDIR(found.st_mode))
        return cli_failure("'%s' is a folder: locus data inspect TASK --data %s", path, path);
    for (size_t c = 0; c < lab_class_count(); c++) {
        const lab_task_class *class = lab_class_at(c);
        lab_train_config config;
        if (class->owns == NULL || !class->owns(path))
            continue;
        request->draw = read_draw(arguments, &class->tasks[0], &config);
        request->file = path;
        return cli_done(class->portray(portrait, request, &cli_fault));
    }
    locus_status status = lab_samples_read(&set, &request->draw.task, path, &cli_fault);
    if (status == LOCUS_OK)
        status = lab_portray_pairs(portrait, request, &set, NULL, &cli_fault);
    lab_dataset_destroy(&set);
    return cli_done(status);
}

/* An operand that looks like a file is one: it has a dot or a slash. */
static int run_inspect(cli_arguments *arguments) {
    const bool json = cli_flag(arguments, "json");
    lab_portrait_request request = {.name = arguments->operands[0],
                                    .shown = json ? 0 : (size_t)cli_integer(arguments, "show")};
    lab_portrait portrait;
    int status = open_portrait(&portrait);
    if (status == 0) {
        const bool file = strpbrk(request.name, "./") != NULL;
        status = (file ? inspect_file : inspect_task)(arguments, &portrait, &request);
    }
    if (status == 0)
        return print_portrait(&portrait, json);
    cJSON_Delete(portrait.json);
    lab_shown_free(&portrait.shown);
    return status;
}

/* ---- the commands ---- */

#define SET_OPTIONS \
    CLI_ROW_CHOICE("set", "train|dev|test", "which set"), \
        {"n", 'n', CLI_INTEGER, "N", "1000", "number of samples", 1, 4294967295.0}, { \
        "seed", 's', CLI_INTEGER, "S", "0", "seed of the data; training uses 0", 0, 9007199254740991.0 \
    }

static const cli_option make_options[] = {
    SET_OPTIONS,
    CLI_ROW_TEXT("output", 'o', "FILE",
                 "the .jsonl to write, - for standard output; listops: or a .tsv; images: the .png; text: the folder "
                 "(data/text)"),
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
        "Words: copy, reverse, repeat. Trees: tree-copy, tree-reorder, tree-c3, tree-ops. A line of JSON holds "
        "input\nand target (token ids without start and end tokens), the same as text, trees as (op left right), and "
        "for\ntrees the paths of the tokens. Problems in characters: addition, substring-index, substring-search; "
        "input is\nthe prompt, target the rest. Sample i of a set depends on the options, the seed, the set and i "
        "only;\nthe trees are the same in either order. Expressions: listops, as JSON lines or as the .tsv of Long "
        "Range\nArena. Images: cifar10 and own images, one as a PNG. Text: text, which makes token files of UTF-8 "
        "files.",
    .examples = "locus data make copy --set test -n 100 --length 24 -o copy.jsonl\n"
                "locus data make tree-ops --order depth --set test -n 5 -o ops.jsonl\n"
                "locus data make addition --digits 3 --set test -n 3 -o -\n"
                "locus data make listops --set test -n 100 -o basic_test.tsv\n"
                "locus data make text --train-text book.txt --vocabulary 8000 -o data/book\n"
                "locus data make cifar10 --set test --image 3 -o plane.png\n",
    .shared = CLI_QUIET | CLI_JSON,
    CLI_OPTIONS(make_options),
    .tasks = LAB_OPTION_DATA | LAB_OPTION_MADE,
    .run = run_make,
};

const cli_command cli_command_data_inspect = {
    .name = "data inspect",
    .summary = "shows samples and statistics of a task or of a file",
    .operands = "TASK|FILE",
    .details =
        "Lengths, depths of trees, vocabulary, and the chance rate: the share of the most common target token,\nor "
        "class. Images: classes, means and deviations of the channels, and whether the files are as "
        "published.\nFiles: what data make has written, and the .tsv of Long Range Arena. Own data (pairs, classify, "
        "images): their\nsets, and how many samples these share.",
    .examples = "locus data inspect reverse --length 24\n"
                "locus data inspect tree-c3 --depth 3\n"
                "locus data inspect substring-search --show 1\n"
                "locus data inspect copy.jsonl --json\n"
                "locus data inspect cifar10\n"
                "locus data inspect pairs --data pairs.jsonl --tokens words\n"
                "locus data inspect images --data animals --side 32\n",
    .shared = CLI_JSON | CLI_FORMAT,
    CLI_OPTIONS(inspect_options),
    .tasks = LAB_OPTION_DATA,
    .run = run_inspect,
};
