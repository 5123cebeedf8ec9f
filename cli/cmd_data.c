/* SPDX-License-Identifier: MIT */
/* locus data make, inspect, get: samples of the tasks as JSON lines, and what a set looks like.
 *
 * A line is one object: input, target (token ids, without start and end tokens), input_text, target_text (the same as
 * numbers between spaces). */
#include "command.h"
#include "io/file.h"
#include "output.h"
#include "task/task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- make ---- */

static void write_ids(FILE *out, const char *name, const char *open, const char *between, const char *close,
                      const int32_t *tokens, size_t count) {
    fprintf(out, "\"%s\": %s", name, open);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s%d", i == 0 ? "" : between, (int)tokens[i]);
    }
    fputs(close, out);
}

static void write_samples(FILE *out, const lab_dataset *set) {
    for (size_t s = 0; s < set->samples; s++) {
        const int32_t *input = set->input + set->input_offsets[s], *target = set->target + set->target_offsets[s];
        size_t n = set->input_offsets[s + 1] - set->input_offsets[s];
        size_t m = set->target_offsets[s + 1] - set->target_offsets[s];
        fputs("{", out);
        write_ids(out, "input", "[", ", ", "], ", input, n);
        write_ids(out, "target", "[", ", ", "], ", target, m);
        write_ids(out, "input_text", "\"", " ", "\", ", input, n);
        write_ids(out, "target_text", "\"", " ", "\"}\n", target, m);
    }
}

static int write_set(const lab_dataset *set, const char *path) {
    if (strcmp(path, "-") == 0) {
        write_samples(stdout, set);
        return 0;
    }
    lab_output output;
    locus_error error;
    if (lab_output_open(&output, path, &error) != LOCUS_OK) {
        return cli_error(&error);
    }
    write_samples(output.stream, set);
    locus_status status = lab_output_commit(&output, &error);
    lab_output_discard(&output);
    return status == LOCUS_OK ? 0 : cli_error(&error);
}

static const lab_task *find_task(const char *name) {
    const lab_task *task = lab_task_find(name);
    if (task == NULL) {
        cli_usage_error("unknown task '%s'; did you mean '%s'?", name, lab_task_nearest(name));
    }
    return task;
}

/* The options of a task's set; 0 or 2. */
static int read_options(const cli_arguments *arguments, const lab_task *task, lab_task_options *options) {
    *options = lab_task_default(task);
    double mean = options->length_mean;
    options->length_mean = cli_number(arguments, "length");
    options->length_deviation = cli_given_by_user(arguments, "length-deviation")
                                    ? cli_number(arguments, "length-deviation")
                                    : options->length_deviation * options->length_mean / mean;
    options->symbols = (size_t)cli_integer(arguments, "symbols");
    return options->length_deviation <= options->length_mean
               ? 0
               : cli_usage_error("--length-deviation: %g is more than the mean length %g", options->length_deviation,
                                 options->length_mean);
}

static int generate(lab_dataset *set, cli_arguments *arguments, const lab_task *task, lab_task_options *options) {
    locus_error error;
    int status = read_options(arguments, task, options);
    if (status != 0) {
        return status;
    }
    const lab_draw draw = {task, options, (lab_set)cli_choice(arguments, "set"), (size_t)cli_integer(arguments, "n"),
                           (uint64_t)cli_integer(arguments, "seed")};
    if (lab_dataset_generate(set, &draw, &error) != LOCUS_OK) {
        return cli_error(&error);
    }
    return 0;
}

static int run_make(cli_arguments *arguments) {
    const lab_task *task = find_task(arguments->operands[0]);
    lab_task_options options;
    lab_dataset set;
    int status = task == NULL ? 2 : cli_require(arguments, "output");
    status = status ? status : generate(&set, arguments, task, &options);
    if (status != 0) {
        return status;
    }
    const char *path = cli_text(arguments, "output");
    status = write_set(&set, path);
    if (status == 0 && strcmp(path, "-") != 0) {
        cli_note("%zu samples of %s in %s", set.samples, task->name, path);
    }
    lab_dataset_destroy(&set);
    return status;
}

/* ---- reading JSON lines back ---- */

typedef struct tokens {
    int32_t *ids;
    size_t count, room, *offsets, samples, sample_room;
} tokens;

static bool push_sample(tokens *list) {
    if (list->samples + 2 > list->sample_room) {
        size_t room = list->sample_room == 0 ? 64 : 2 * list->sample_room;
        size_t *grown = realloc(list->offsets, room * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        list->offsets = grown;
        list->sample_room = room;
        list->offsets[0] = 0;
    }
    list->offsets[++list->samples] = list->count;
    return true;
}

/* Appends one array of ids; "memory", or what is wrong with it. */
static const char *push_ids(tokens *list, const cJSON *array) {
    const cJSON *item;
    if (!cJSON_IsArray(array)) {
        return "an array of token ids";
    }
    cJSON_ArrayForEach(item, array) {
        if (!cJSON_IsNumber(item) || item->valuedouble < 0 || item->valuedouble > 1e9 ||
            floor(item->valuedouble) != item->valuedouble) {
            return "whole numbers from 0";
        }
        if (list->count == list->room) {
            list->room = list->room == 0 ? 1024 : 2 * list->room;
            int32_t *grown = realloc(list->ids, list->room * sizeof *grown);
            if (grown == NULL) {
                return "memory";
            }
            list->ids = grown;
        }
        list->ids[list->count++] = (int32_t)item->valuedouble;
    }
    return push_sample(list) ? NULL : "memory";
}

static int read_line(const char *path, size_t number, const char *line, tokens *input, tokens *target) {
    cJSON *root = cJSON_Parse(line);
    if (!cJSON_IsObject(root)) {
        cJSON_Delete(root);
        return cli_failure("%s, line %zu: this is no JSON object", path, number);
    }
    const char *wrong = push_ids(input, cJSON_GetObjectItemCaseSensitive(root, "input")), *field = "input";
    if (wrong == NULL) {
        wrong = push_ids(target, cJSON_GetObjectItemCaseSensitive(root, "target"));
        field = "target";
    }
    cJSON_Delete(root);
    return wrong == NULL ? 0 : cli_failure("%s, line %zu: \"%s\" needs %s", path, number, field, wrong);
}

/* The set takes over the lists' memory. */
static int read_file(lab_dataset *set, const char *path) {
    char *text;
    size_t bytes, number = 0;
    locus_error error;
    tokens input = {0}, target = {0};
    memset(set, 0, sizeof *set);
    if (lab_file_read(path, &text, &bytes, &error) != LOCUS_OK) {
        return cli_error(&error);
    }
    int status = strlen(text) == bytes ? 0 : cli_failure("%s: this is no text (it holds a zero byte)", path);
    for (char *line = text, *next; status == 0 && line != NULL && *line != '\0'; line = next) {
        next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        number++;
        if (line[strspn(line, " \t\r")] != '\0') {
            status = read_line(path, number, line, &input, &target);
        }
    }
    if (status == 0 && input.samples == 0) {
        status = cli_failure("%s: there is no sample in it", path);
    }
    free(text);
    set->samples = input.samples;
    set->input_offsets = input.offsets;
    set->target_offsets = target.offsets;
    set->input = input.ids;
    set->target = target.ids;
    if (status != 0) {
        lab_dataset_destroy(set);
    }
    return status;
}

/* ---- inspect ---- */

typedef struct lengths {
    size_t least, most;
    double mean, deviation;
} lengths;

static lengths measure(const size_t *offsets, size_t samples) {
    lengths found = {SIZE_MAX, 0, 0, 0};
    double squares = 0;
    for (size_t i = 0; i < samples; i++) {
        size_t n = offsets[i + 1] - offsets[i];
        found.least = n < found.least ? n : found.least;
        found.most = n > found.most ? n : found.most;
    }
    found.mean = (double)offsets[samples] / (double)samples;
    for (size_t i = 0; i < samples; i++) {
        double off = (double)(offsets[i + 1] - offsets[i]) - found.mean;
        squares += off * off;
    }
    found.deviation = samples > 1 ? sqrt(squares / (double)(samples - 1)) : 0;
    return found;
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

static void print_word(const char *label, const int32_t *ids, size_t count) {
    printf("%s", label);
    for (size_t i = 0; i < count && i < 40; i++) {
        printf(" %d", (int)ids[i]);
    }
    printf("%s\n", count > 40 ? " …" : "");
}

static void print_lengths(const char *label, const lengths *found) {
    printf("%-8s length %zu … %zu, mean %.2f, deviation %.2f\n", label, found->least, found->most, found->mean,
           found->deviation);
}

static void add_lengths(cJSON *root, const char *name, const lengths *found) {
    cJSON *object = cJSON_AddObjectToObject(root, name);
    cJSON_AddNumberToObject(object, "least", (double)found->least);
    cJSON_AddNumberToObject(object, "most", (double)found->most);
    cJSON_AddNumberToObject(object, "mean", found->mean);
    cJSON_AddNumberToObject(object, "deviation", found->deviation);
}

static int show(const char *subject, const lab_dataset *set, size_t symbols, size_t shown, bool json) {
    size_t most = largest(set->input, set->input_offsets[set->samples]);
    size_t other = largest(set->target, set->target_offsets[set->samples]);
    most = other > most ? other : most;
    size_t vocabulary = (symbols > 0 ? symbols : most) + 2;
    lengths input = measure(set->input_offsets, set->samples), target = measure(set->target_offsets, set->samples);
    double chance = lab_dataset_chance(set, vocabulary);
    size_t kinds = distinct(set, most);
    if (json) {
        cJSON *root = cJSON_CreateObject();
        cJSON_AddStringToObject(root, "subject", subject);
        cJSON_AddNumberToObject(root, "samples", (double)set->samples);
        add_lengths(root, "input_length", &input);
        add_lengths(root, "target_length", &target);
        cJSON_AddNumberToObject(root, "symbols_seen", (double)kinds);
        cJSON_AddNumberToObject(root, "vocabulary", (double)vocabulary);
        cJSON_AddNumberToObject(root, "chance", chance);
        return cli_json_print(root);
    }
    printf("%s: %zu samples\n", subject, set->samples);
    print_lengths("input", &input);
    print_lengths("target", &target);
    printf("%-8s %zu symbols seen, vocabulary %zu (with start and end token)\n", "symbols", kinds, vocabulary);
    printf("%-8s %.2f %% of target tokens (the end token counts) are the most common one\n", "chance", 100 * chance);
    for (size_t s = 0; s < shown && s < set->samples; s++) {
        print_word("\ninput ", set->input + set->input_offsets[s], set->input_offsets[s + 1] - set->input_offsets[s]);
        print_word("target", set->target + set->target_offsets[s], set->target_offsets[s + 1] - set->target_offsets[s]);
    }
    return 0;
}

/* An operand that looks like a file is one: it has a dot or a slash. */
static int run_inspect(cli_arguments *arguments) {
    const char *subject = arguments->operands[0];
    bool file = strpbrk(subject, "./") != NULL;
    lab_task_options options = {0};
    lab_dataset set;
    int status;
    if (file) {
        status = read_file(&set, subject);
    } else {
        const lab_task *task = find_task(subject);
        status = task == NULL ? 2 : generate(&set, arguments, task, &options);
    }
    if (status != 0) {
        return status;
    }
    status = show(subject, &set, file ? 0 : options.symbols, (size_t)cli_integer(arguments, "show"),
                  cli_flag(arguments, "json"));
    lab_dataset_destroy(&set);
    return status;
}

/* ---- get ---- */

static int run_get(cli_arguments *arguments) {
    const char *name = arguments->operands[0];
    if (lab_task_find(name) != NULL) {
        printf("%s: nothing to download, 'locus data make %s' draws its samples from a seed\n", name, name);
        return 0;
    }
    char list[256] = "";
    for (size_t i = 0; i < lab_task_count(); i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ", lab_task_at(i)->name);
    }
    return cli_usage_error("data get: there is no set '%s'; this version has %s, which need no download", name, list);
}

#define SET_OPTIONS \
    {"set", 0, CLI_CHOICE, "train|dev|test", NULL, "which set", 0, 0}, \
        {"n", 'n', CLI_INTEGER, "N", "1000", "number of samples", 1, 4294967295.0}, \
        {"seed", 's', CLI_INTEGER, "S", "0", "seed of the data; training uses 0", 0, 9007199254740991.0}, \
        {"length", 'l', CLI_NUMBER, "MEAN", "100", "mean length of the words", 1, 1e6}, \
        {"length-deviation", 0, CLI_NUMBER, "SD", NULL, "its standard deviation (a tenth of the mean)", 0, 1e6}, { \
        "symbols", 0, CLI_INTEGER, "N", "20", "size of the alphabet", 1, 1e6 \
    }

static const cli_option make_options[] = {
    SET_OPTIONS,
    {"output", 'o', CLI_TEXT, "FILE", NULL, "the .jsonl to write; - for standard output", 0, 0},
};

static const cli_option inspect_options[] = {
    SET_OPTIONS,
    {"show", 0, CLI_INTEGER, "N", "3", "samples to print", 0, 1e6},
};

const cli_command cli_command_data_make = {
    .name = "data make",
    .summary = "writes samples of a task as JSON lines",
    .operands = "TASK",
    .details =
        "Tasks: copy, reverse, repeat. A line holds input and target (token ids without start and end tokens) and the\n"
        "same as text. Sample i of a set depends on the seed, the set and i only.",
    .examples = "locus data make copy --set test -n 100 --length 24 -o copy.jsonl\n",
    .shared = CLI_QUIET,
    CLI_OPTIONS(make_options),
    .run = run_make,
};

const cli_command cli_command_data_inspect = {
    .name = "data inspect",
    .summary = "shows samples and statistics of a task or of a .jsonl",
    .operands = "TASK|FILE",
    .details = "Lengths, vocabulary, and the chance rate: the share of the most common target token.",
    .examples = "locus data inspect reverse --length 24\nlocus data inspect copy.jsonl --json\n",
    .shared = CLI_JSON,
    CLI_OPTIONS(inspect_options),
    .run = run_inspect,
};

const cli_command cli_command_data_get = {
    .name = "data get",
    .summary = "downloads a data set (the tasks of this version need none)",
    .operands = "NAME",
    .details = "",
    .examples = "locus data get copy\n",
    .run = run_get,
};
