/* SPDX-License-Identifier: MIT */
/* data inspect of files of expressions: .tsv, and JSON lines, of which input, target and input_text are read and held
 * against each other. */
#include "data_expressions.h"

#include "expression.h"
#include "io/file.h"
#include "io/json.h"
#include "output.h"
#include "task/listops/listops.h"

#include <stdlib.h>
#include <string.h>

/* The classes of words and trees are lists. */
static bool is_class_line(const char *line) {
    cJSON *root = cJSON_Parse(line);
    const bool found = cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(root, "target"));
    cJSON_Delete(root);
    return found;
}

bool cli_data_is_expressions(const char *path) {
    lab_input input;
    char *line = NULL;
    size_t room = 0;
    bool found = cli_expressions_are_tabbed(path);
    if (!found && lab_input_open(&input, path, NULL) == LOCUS_OK) {
        found = getline(&line, &room, input.stream) > 0 && is_class_line(line);
        lab_input_close(&input);
    }
    free(line);
    return found;
}

typedef struct place {
    const char *path;
    size_t line;
} place;

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

static int read_object(const place *at, const cJSON *root, lab_listops_builder *builder) {
    const cJSON *target = cJSON_GetObjectItemCaseSensitive(root, "target");
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "input_text"));
    locus_error error;
    if (!cJSON_IsNumber(target) || target->valuedouble < 0 || target->valuedouble > 9 ||
        target->valuedouble > target->valueint)
        return cli_failure("%s, line %zu: \"target\" is no class from 0 to 9", at->path, at->line);
    if (text == NULL)
        return cli_failure("%s, line %zu: \"input_text\" is missing: the expression as text", at->path, at->line);
    if (lab_listops_append(builder, text, target->valueint, &error) != LOCUS_OK)
        return cli_failure("%s, line %zu: %s", at->path, at->line, error.message);
    return same_tokens(cJSON_GetObjectItemCaseSensitive(root, "input"), &builder->reader)
               ? 0
               : cli_failure("%s, line %zu: \"input\" is not the tokens of \"input_text\"", at->path, at->line);
}

static int read_line(const place *at, const char *line, lab_listops_builder *builder) {
    if (line[strspn(line, " \t\r\n")] == '\0')
        return 0;
    bool out_of_memory;
    cJSON *root = lab_json_parse(line, strlen(line), false, NULL, &out_of_memory);
    const int status = cJSON_IsObject(root) ? read_object(at, root, builder)
                       : out_of_memory      ? cli_failure("out of memory for a line of %s", at->path)
                                            : cli_failure("%s, line %zu: this is no JSON object", at->path, at->line);
    cJSON_Delete(root);
    return status;
}

/* The set is to be destroyed by the caller, in any case. */
static int read_json(lab_dataset *set, const char *path, lab_asked asked) {
    lab_listops_builder builder = {.set = set, .asked = asked, .arguments = SIZE_MAX};
    place at = {path, 0};
    lab_input input;
    locus_error error;
    char *line = NULL;
    size_t room = 0;
    if (lab_input_open(&input, path, &error) != LOCUS_OK)
        return cli_error(&error);
    int status = 0;
    while (status == 0 && getline(&line, &room, input.stream) >= 0) {
        at.line++;
        status = read_line(&at, line, &builder);
    }
    if (status == 0 && set->samples == 0)
        status = cli_failure("%s: there is no expression in it", path);
    free(line);
    lab_input_close(&input);
    lab_listops_builder_destroy(&builder);
    return status;
}

static int read_tabbed(lab_dataset *set, const char *path, lab_asked asked) {
    const lab_task *task = lab_task_find("listops");
    lab_task_options options = lab_task_default(task);
    locus_error error;
    options.path = path;
    options.expressions.asked = asked;
    options.expressions.arguments = SIZE_MAX;
    const lab_draw draw = {.task = task, .options = &options};
    return lab_listops_load(set, &draw, &error) == LOCUS_OK ? 0 : cli_error(&error);
}

int cli_data_inspect_expression_file(cli_arguments *arguments, const char *path) {
    const lab_asked asked = (lab_asked)cli_choice(arguments, "target");
    lab_dataset set = {0};
    int status = cli_expressions_are_tabbed(path) ? read_tabbed(&set, path, asked) : read_json(&set, path, asked);
    if (status == 0)
        status = cli_data_describe_expressions(path, &set, asked, arguments);
    lab_dataset_destroy(&set);
    return status;
}
