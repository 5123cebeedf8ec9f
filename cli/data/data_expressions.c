/* SPDX-License-Identifier: MIT */
#include "data_expressions.h"

#include "expression.h"
#include "io/file.h"
#include "output.h"
#include "task/listops.h"

#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static void put_size(const cli_arguments *arguments, const char *name, size_t *value) {
    if (cli_given_by_user(arguments, name))
        *value = (size_t)cli_integer(arguments, name);
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
    if (made == LOCUS_ERROR_ARGUMENT || made == LOCUS_ERROR_UNSUPPORTED)
        return cli_usage_error("--%s: %s", error.argument, error.message);
    return made == LOCUS_OK ? 0 : cli_error(&error);
}

/* ---- make ---- */

/* The branches on the way from the root; `steps` has room for as many as there are tokens. */
static void write_path(FILE *out, const cli_expression *s, size_t token, int32_t *steps) {
    size_t count = 0;
    for (int32_t at = (int32_t)token; s->parents[at] >= 0; at = s->parents[at])
        if (s->branches[at] > 0)
            steps[count++] = s->branches[at];
    fputs(count == 0 ? "0" : "", out);
    for (size_t i = count; i > 0; i--)
        fprintf(out, "%s%d", i < count ? "+" : "", (int)steps[i - 1]);
}

static int write_sample(FILE *out, const cli_expression *s) {
    char *text = cli_expression_text(s);
    int32_t *steps = calloc(s->count + 1, sizeof *steps);
    const bool good = text != NULL && steps != NULL;
    if (text != NULL && steps == NULL)
        cli_failure("out of memory for a path");
    for (size_t t = 0; good && t < s->count; t++)
        fprintf(out, "%s%d", t == 0 ? "{\"input\": [" : ", ", (int)s->tokens[t]);
    if (good)
        fprintf(out, "], \"target\": %d, \"input_text\": \"%s\", \"input_paths\": [", (int)s->label, text);
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
    if (tabbed)
        return lab_listops_write(out, set, &error) == LOCUS_OK ? 0 : cli_error(&error);
    int status = 0;
    for (size_t i = 0; status == 0 && i < set->samples; i++) {
        const cli_expression s = cli_expression_at(set, i);
        status = write_sample(out, &s);
    }
    return status;
}

static int write_set(const lab_dataset *set, const char *path) {
    lab_output output;
    locus_error error;
    if (strcmp(path, "-") == 0)
        return write_stream(stdout, set, false);
    if (lab_output_open(&output, path, &error) != LOCUS_OK)
        return cli_error(&error);
    int status = write_stream(output.stream, set, cli_expressions_are_tabbed(path));
    if (status == 0 && lab_output_commit(&output, &error) != LOCUS_OK)
        status = cli_error(&error);
    lab_output_discard(&output);
    return status;
}

int cli_data_make_expressions(cli_arguments *arguments, const lab_task *task) {
    lab_task_options options;
    lab_dataset set;
    int status = cli_require(arguments, "output");
    status = status ? status : generate(&set, arguments, task, &options);
    if (status != 0)
        return status;
    const char *path = cli_text(arguments, "output");
    status = write_set(&set, path);
    if (status == 0 && strcmp(path, "-") != 0)
        cli_note("%zu samples of %s in %s", set.samples, task->name, path);
    lab_dataset_destroy(&set);
    return status;
}

/* ---- inspect ---- */

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
