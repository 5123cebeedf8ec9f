/* SPDX-License-Identifier: MIT */
/* See expression_lines.h. */
#include "samples/expression_lines.h"

#include "io/fail.h"
#include "io/file.h"
#include "samples/sample_lines.h"
#include "task/listops/listops.h"

#include <stdlib.h>
#include <string.h>

lab_expression lab_expression_at(const lab_dataset *set, size_t index) {
    const size_t start = set->input_offsets[index];
    return (lab_expression){set->input_offsets[index + 1] - start, set->input + start, set->input_tree.parents + start,
                            set->input_tree.branches + start, set->labels[index]};
}

/* ---- writing ---- */

/* The branches on the way from the root; `steps` has room for as many as there are tokens. */
static void write_path(FILE *out, const lab_expression *s, size_t token, int32_t *steps) {
    size_t count = 0;
    for (int32_t at = (int32_t)token; s->parents[at] >= 0; at = s->parents[at])
        if (s->branches[at] > 0)
            steps[count++] = s->branches[at];
    fputs(count == 0 ? "0" : "", out);
    for (size_t i = count; i > 0; i--)
        fprintf(out, "%s%d", i < count ? "+" : "", (int)steps[i - 1]);
}

static locus_status write_sample(FILE *out, const lab_expression *s, locus_error *error) {
    char *text = lab_listops_string(s->count, s->tokens, s->parents, s->branches);
    int32_t *steps = calloc(s->count + 1, sizeof *steps);
    const bool good = text != NULL && steps != NULL;
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
    return good ? LOCUS_OK : lab_fail_memory(error, "an expression's text");
}

locus_status lab_expressions_write(FILE *out, const lab_dataset *set, const lab_task *task, bool tabbed,
                                   locus_error *error) {
    locus_status status = LOCUS_OK;
    (void)task;
    if (tabbed)
        return lab_listops_write(out, set, error);
    for (size_t i = 0; status == LOCUS_OK && i < set->samples; i++) {
        const lab_expression s = lab_expression_at(set, i);
        status = write_sample(out, &s, error);
    }
    return status;
}

/* ---- reading ---- */

/* The classes of words and trees are lists. */
static bool is_class_line(const char *line) {
    cJSON *root = cJSON_Parse(line);
    const bool found = cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(root, "target"));
    cJSON_Delete(root);
    return found;
}

bool lab_expressions_are_in(const char *path) {
    lab_input input;
    char *line = NULL;
    size_t room = 0;
    bool found = lab_name_ends(path, ".tsv");
    if (!found && lab_input_open(&input, path, NULL) == LOCUS_OK) {
        found = getline(&line, &room, input.stream) > 0 && is_class_line(line);
        lab_input_close(&input);
    }
    free(line);
    return found;
}

/* Whether `array` holds the tokens that the text has. */
static bool same_tokens(const cJSON *array, const lab_listops_reader *reader) {
    const cJSON *item;
    size_t t = 0;
    cJSON_ArrayForEach(item, array) {
        if (t >= reader->count || !cJSON_IsNumber(item) || item->valueint != reader->tokens[t++])
            return false;
    }
    return t == reader->count;
}

static locus_status read_object(const lab_line_place *at, const cJSON *root, lab_listops_builder *builder) {
    const cJSON *target = cJSON_GetObjectItemCaseSensitive(root, "target");
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "input_text"));
    locus_error error;
    if (!cJSON_IsNumber(target) || target->valuedouble < 0 || target->valuedouble > 9 ||
        target->valuedouble > target->valueint)
        return lab_place_fail(at, "\"target\" is no class from 0 to 9");
    if (text == NULL)
        return lab_place_fail(at, "\"input_text\" is missing: the expression as text");
    const locus_status status = lab_listops_append(builder, text, target->valueint, &error);
    if (status != LOCUS_OK)
        return status == LOCUS_ERROR_MEMORY ? lab_fail_memory(at->error, "an expression")
                                            : lab_place_fail(at, "%s", error.message);
    return same_tokens(cJSON_GetObjectItemCaseSensitive(root, "input"), &builder->reader)
               ? LOCUS_OK
               : lab_place_fail(at, "\"input\" is not the tokens of \"input_text\"");
}

static locus_status read_line(const lab_line_place *at, const char *line, lab_listops_builder *builder) {
    cJSON *root;
    if (line[strspn(line, " \t\r\n")] == '\0')
        return LOCUS_OK;
    locus_status status = lab_place_parse(at, line, &root);
    if (status == LOCUS_OK)
        status = read_object(at, root, builder);
    cJSON_Delete(root);
    return status;
}

static locus_status read_json(lab_dataset *set, const char *path, lab_asked asked, locus_error *error) {
    lab_listops_builder builder = {.set = set, .asked = asked, .arguments = SIZE_MAX};
    lab_line_place at = {path, 0, error};
    lab_input input;
    char *line = NULL;
    size_t room = 0;
    locus_status status = lab_input_open(&input, path, error);
    if (status != LOCUS_OK)
        return status;
    while (status == LOCUS_OK && getline(&line, &room, input.stream) >= 0) {
        at.line++;
        status = read_line(&at, line, &builder);
    }
    if (status == LOCUS_OK && set->samples == 0)
        status = lab_fail(error, LOCUS_ERROR_IO, NULL, "%s: there is no expression in it", path);
    free(line);
    lab_input_close(&input);
    lab_listops_reader_destroy(&builder.reader);
    return status;
}

locus_status lab_expressions_read(lab_dataset *set, const lab_task *task, const char *path, lab_asked asked,
                                  locus_error *error) {
    lab_task_options options = lab_task_default(task);
    if (!lab_name_ends(path, ".tsv"))
        return read_json(set, path, asked, error);
    options.path = path;
    LAB_EXPRESSIONS(&options)->asked = asked;
    LAB_EXPRESSIONS(&options)->arguments = SIZE_MAX;
    const lab_draw draw = {.task = task, .options = &options};
    return lab_listops_load(set, &draw, error);
}
