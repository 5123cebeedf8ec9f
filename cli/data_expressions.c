/* SPDX-License-Identifier: MIT */
#include "data_expressions.h"

#include "io/file.h"
#include "output.h"
#include "task/listops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static void put_size(const cli_arguments *arguments, const char *name, size_t *value) {
    if (cli_given_by_user(arguments, name)) {
        *value = (size_t)cli_integer(arguments, name);
    }
}

/* The preset's sizes, and over them what is given; --data is a folder or file to read instead of drawing. */
static void read_options(const cli_arguments *arguments, lab_task_options *options) {
    lab_listops_preset_apply(&lab_listops_presets[cli_choice(arguments, "preset")], options);
    put_size(arguments, "expression-depth", &options->expression_depth);
    put_size(arguments, "arguments", &options->arity);
    put_size(arguments, "shortest", &options->shortest);
    put_size(arguments, "longest", &options->longest);
    options->asked = (lab_asked)cli_choice(arguments, "target");
    options->path = cli_text(arguments, "data");
}

/* Draws or reads the set. A value of the user's that the generator refuses is bad usage. */
static int generate(lab_dataset *set, const cli_arguments *arguments, const lab_task *task, lab_task_options *options) {
    locus_error error;
    *options = lab_task_default(task);
    read_options(arguments, options);
    const bool all = options->path != NULL && !cli_given_by_user(arguments, "n");
    const lab_draw draw = {task, options, (lab_set)cli_choice(arguments, "set"),
                           all ? 0 : (size_t)cli_integer(arguments, "n"), (uint64_t)cli_integer(arguments, "seed")};
    const locus_status made = lab_dataset_generate(set, &draw, &error);
    if (made == LOCUS_ERROR_ARGUMENT || made == LOCUS_ERROR_UNSUPPORTED) {
        return cli_usage_error("--%s: %s", error.argument, error.message);
    }
    return made == LOCUS_OK ? 0 : cli_error(&error);
}

/* ---- make ---- */

/* One sample: what of the set's arrays is its own. */
typedef struct sample {
    size_t count;
    const int32_t *tokens, *parents, *branches;
    int32_t label;
} sample;

static sample sample_at(const lab_dataset *set, size_t index) {
    const size_t start = set->input_offsets[index];
    return (sample){set->input_offsets[index + 1] - start, set->input + start, set->input_tree.parents + start,
                    set->input_tree.branches + start, set->labels[index]};
}

static char *text_of(const sample *s) {
    char *text = lab_listops_string(s->count, s->tokens, s->parents, s->branches);
    if (text == NULL) {
        cli_failure("out of memory for an expression's text");
    }
    return text;
}

/* The branches on the way from the root; `steps` has room for as many as there are tokens. */
static void write_path(FILE *out, const sample *s, size_t token, int32_t *steps) {
    size_t count = 0;
    for (int32_t at = (int32_t)token; s->parents[at] >= 0; at = s->parents[at]) {
        if (s->branches[at] > 0) {
            steps[count++] = s->branches[at];
        }
    }
    fputs(count == 0 ? "0" : "", out);
    for (size_t i = count; i > 0; i--) {
        fprintf(out, "%s%d", i < count ? "+" : "", (int)steps[i - 1]);
    }
}

static int write_sample(FILE *out, const sample *s) {
    char *text = text_of(s);
    int32_t *steps = calloc(s->count + 1, sizeof *steps);
    const bool good = text != NULL && steps != NULL;
    if (text != NULL && steps == NULL) {
        cli_failure("out of memory for a path");
    }
    for (size_t t = 0; good && t < s->count; t++) {
        fprintf(out, "%s%d", t == 0 ? "{\"input\": [" : ", ", (int)s->tokens[t]);
    }
    if (good) {
        fprintf(out, "], \"target\": %d, \"input_text\": \"%s\", \"input_paths\": [", (int)s->label, text);
    }
    for (size_t t = 0; good && t < s->count; t++) {
        fputs(t == 0 ? "\"" : ", \"", out);
        write_path(out, s, t, steps);
        fputs("\"", out);
    }
    fputs(good ? "]}\n" : "", out);
    free(text);
    free(steps);
    return !good;
}

static int write_stream(FILE *out, const lab_dataset *set, bool tabbed) {
    locus_error error;
    if (tabbed) {
        return lab_listops_write(out, set, &error) == LOCUS_OK ? 0 : cli_error(&error);
    }
    int status = 0;
    for (size_t i = 0; status == 0 && i < set->samples; i++) {
        const sample s = sample_at(set, i);
        status = write_sample(out, &s);
    }
    return status;
}

static int write_set(const lab_dataset *set, const char *path) {
    lab_output output;
    locus_error error;
    if (strcmp(path, "-") == 0) {
        return write_stream(stdout, set, false);
    }
    if (lab_output_open(&output, path, &error) != LOCUS_OK) {
        return cli_error(&error);
    }
    int status = write_stream(output.stream, set, cli_data_is_tabbed(path));
    if (status == 0 && lab_output_commit(&output, &error) != LOCUS_OK) {
        status = cli_error(&error);
    }
    lab_output_discard(&output);
    return status;
}

int cli_data_make_expressions(cli_arguments *arguments, const lab_task *task) {
    lab_task_options options;
    lab_dataset set;
    int status = cli_require(arguments, "output");
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

/* ---- inspect ---- */

enum { DIGITS = 10, SHOWN_TEXT = 240 };

typedef struct spread {
    size_t least, most;
    double sum, squares;
} spread;

static void add(spread *of, size_t samples_before, size_t value) {
    of->least = samples_before == 0 || value < of->least ? value : of->least;
    of->most = value > of->most ? value : of->most;
    of->sum += (double)value;
    of->squares += (double)value * (double)value;
}

static double deviation(const spread *of, size_t n) {
    const double off = n > 1 ? (of->squares - of->sum * of->sum / (double)n) / (double)(n - 1) : 0;
    return off > 0 ? sqrt(off) : 0;
}

/* What is said of a set. Lengths are without the start token; a digit alone has depth 1. */
typedef struct look {
    const char *subject, *asked;
    const lab_dataset *set;
    size_t class_count, classes[DIGITS], majority;
    size_t operator_count, digit_count;
    spread length, depth, arguments;
} look;

/* `levels` and `arguments` (how many each operator has had) have room for the sample. */
static void look_at(look *at, const sample *s, size_t index, size_t *levels, size_t *arguments) {
    size_t deepest = 0;
    levels[0] = arguments[0] = 0;
    for (size_t t = 1; t < s->count; t++) {
        const size_t parent = (size_t)s->parents[t];
        levels[t] = levels[parent] + (s->branches[t] > 0);
        deepest = levels[t] > deepest ? levels[t] : deepest;
        arguments[t] = 0;
        arguments[parent] += s->branches[t] > 0;
        if (s->tokens[t] == LAB_LISTOPS_END) {
            add(&at->arguments, at->operator_count++, arguments[parent]);
        }
        at->digit_count += s->tokens[t] >= LAB_LISTOPS_ZERO && s->tokens[t] < LAB_LISTOPS_MIN;
    }
    add(&at->length, index, s->count - 1);
    add(&at->depth, index, deepest + 1);
    at->classes[s->label]++;
}

/* 0, or 1 after one line on standard error. */
static int look_around(look *at) {
    size_t longest = 0;
    for (size_t i = 0; i < at->set->samples; i++) {
        const sample s = sample_at(at->set, i);
        longest = s.count > longest ? s.count : longest;
    }
    size_t *levels = calloc(2 * (longest + 1), sizeof *levels);
    if (levels == NULL) {
        return cli_failure("out of memory for statistics");
    }
    for (size_t i = 0; i < at->set->samples; i++) {
        const sample s = sample_at(at->set, i);
        look_at(at, &s, i, levels, levels + longest + 1);
    }
    free(levels);
    for (size_t c = 0; c < at->class_count; c++) {
        at->majority = at->classes[c] > at->classes[at->majority] ? c : at->majority;
    }
    return 0;
}

static void add_spread(cJSON *root, const char *name, const spread *of, size_t n) {
    cJSON *object = cJSON_AddObjectToObject(root, name);
    cJSON_AddNumberToObject(object, "least", (double)of->least);
    cJSON_AddNumberToObject(object, "most", (double)of->most);
    cJSON_AddNumberToObject(object, "mean", n > 0 ? of->sum / (double)n : 0);
    cJSON_AddNumberToObject(object, "deviation", deviation(of, n));
}

static double share_of(const look *at, size_t class) {
    return (double)at->classes[class] / (double)at->set->samples;
}

static int print_json(const look *at) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "subject", at->subject);
    cJSON_AddStringToObject(root, "target", at->asked);
    cJSON_AddNumberToObject(root, "samples", (double)at->set->samples);
    add_spread(root, "length", &at->length, at->set->samples);
    add_spread(root, "depth", &at->depth, at->set->samples);
    add_spread(root, "arguments", &at->arguments, at->operator_count);
    cJSON_AddNumberToObject(root, "operators", (double)at->operator_count);
    cJSON_AddNumberToObject(root, "digits", (double)at->digit_count);
    cJSON_AddNumberToObject(root, "vocabulary", LAB_LISTOPS_TOKENS);
    cJSON *classes = cJSON_AddArrayToObject(root, "classes");
    for (size_t c = 0; c < at->class_count; c++) {
        cJSON_AddItemToArray(classes, cJSON_CreateNumber((double)at->classes[c]));
    }
    cJSON_AddNumberToObject(root, "chance", 1.0 / (double)at->class_count);
    cJSON_AddNumberToObject(root, "majority", share_of(at, at->majority));
    return cli_json_print(root);
}

static void print_spread(const char *name, const spread *of, size_t n) {
    printf("%-10s %zu … %zu, mean %.2f, deviation %.2f\n", name, of->least, of->most, n > 0 ? of->sum / (double)n : 0,
           deviation(of, n));
}

static void print_classes(const look *at) {
    static const char *const heads[] = {">class", ">samples", ">share"};
    cli_table *table = cli_table_create(heads, 3);
    for (size_t c = 0; c < at->class_count; c++) {
        cli_table_cell(table, "%zu", c);
        cli_table_cell(table, "%zu", at->classes[c]);
        cli_table_cell(table, "%.2f %%", 100 * share_of(at, c));
    }
    cli_table_print(table, stdout);
    cli_table_free(table);
}

static int print_text(const look *at, size_t shown) {
    printf("%s: %zu samples, %s\n", at->subject, at->set->samples, at->asked);
    print_spread("length", &at->length, at->set->samples);
    print_spread("depth", &at->depth, at->set->samples);
    print_spread("arguments", &at->arguments, at->operator_count);
    printf("%-10s %zu operators and %zu digits, vocabulary %d (with start token)\n\n", "tokens", at->operator_count,
           at->digit_count, LAB_LISTOPS_TOKENS);
    print_classes(at);
    printf("\n%-10s %.2f %%, one of %zu classes\n", "chance", 100.0 / (double)at->class_count, at->class_count);
    printf("%-10s %.2f %% of samples are of the most common class, %zu\n", "majority", 100 * share_of(at, at->majority),
           at->majority);
    for (size_t i = 0; i < shown && i < at->set->samples; i++) {
        const sample s = sample_at(at->set, i);
        char *text = text_of(&s);
        if (text == NULL) {
            return 1;
        }
        printf("\ninput  %.*s%s\ntarget %d\n", SHOWN_TEXT, text, strlen(text) > SHOWN_TEXT ? " …" : "", (int)s.label);
        free(text);
    }
    return 0;
}

int cli_data_describe_expressions(const char *subject, const lab_dataset *set, lab_asked asked,
                                  const cli_arguments *arguments) {
    look at = {.subject = subject,
               .asked = asked == LAB_ASKED_PARITY ? "parity" : "digit",
               .set = set,
               .class_count = asked == LAB_ASKED_PARITY ? 2 : DIGITS};
    const int status = look_around(&at);
    if (status != 0) {
        return status;
    }
    return cli_flag(arguments, "json") ? print_json(&at) : print_text(&at, (size_t)cli_integer(arguments, "show"));
}

int cli_data_inspect_expressions(cli_arguments *arguments, const lab_task *task) {
    lab_task_options options;
    lab_dataset set;
    int status = generate(&set, arguments, task, &options);
    if (status == 0) {
        status = cli_data_describe_expressions(arguments->operands[0], &set, options.asked, arguments);
        lab_dataset_destroy(&set);
    }
    return status;
}
