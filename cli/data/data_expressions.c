/* SPDX-License-Identifier: MIT */
#include "data_expressions.h"

#include "data_draw.h"
#include "expression.h"
#include "io/file.h"
#include "output.h"
#include "task/listops/listops.h"

#include <stdlib.h>
#include <string.h>

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
    lab_train_config config = {.task = task};
    lab_dataset set;
    int status = cli_require(arguments, "output");
    status = status ? status : cli_data_draw(&set, arguments, &config);
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
    lab_train_config config = {.task = task};
    lab_dataset set;
    int status = cli_data_draw(&set, arguments, &config);
    if (status == 0) {
        status = cli_data_describe_expressions(arguments->operands[0], &set, config.data.expressions.asked, arguments);
        lab_dataset_destroy(&set);
    }
    return status;
}
