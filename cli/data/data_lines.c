/* SPDX-License-Identifier: MIT */
#include "data_lines.h"

#include "io/file.h"
#include "io/json.h"
#include "output.h"
#include "task/symbol_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

/* The text of a path: the generator's trees are at most 1000 deep and have at most 16 branches. */
#define PATH_TEXT 4096

/* One side of a sample: input or target. */
typedef struct side {
    const char *name;
    const lab_task *problems; /* the task whose characters the tokens are; NULL: words or trees */
    const int32_t *tokens;    /* of the whole set, as the nodes are */
    const lab_tree_nodes *nodes;
    const size_t *offsets; /* [2] */
} side;

static void write_ids(FILE *out, const side *row, const char *between) {
    for (size_t i = row->offsets[0]; i < row->offsets[1]; i++)
        fprintf(out, "%s%d", i == row->offsets[0] ? "" : between, (int)row->tokens[i]);
}

char *cli_data_tree_text(const int32_t *tokens, const lab_tree_nodes *nodes, const size_t offsets[2]) {
    lab_tree tree = {0};
    locus_error error;
    char *text = NULL;
    size_t start = offsets[0];
    if (lab_tree_from_parents(&tree, offsets[1] - start, tokens + start, nodes->parents + start,
                              nodes->branches + start, &error) != LOCUS_OK)
        cli_error(&error);
    else if ((text = lab_tree_string(&tree)) == NULL)
        cli_failure("out of memory for the text of a tree");
    lab_tree_destroy(&tree);
    return text;
}

/* No task has a quotation mark or a backslash. */
static void write_characters(FILE *out, const side *row) {
    for (size_t i = row->offsets[0]; i < row->offsets[1]; i++)
        putc(row->problems->characters[row->tokens[i]], out);
}

static int write_text(FILE *out, const side *row) {
    fprintf(out, ", \"%s_text\": \"", row->name);
    if (row->problems != NULL) {
        write_characters(out, row);
    } else if (row->nodes->parents == NULL) {
        write_ids(out, row, " ");
    } else {
        char *text = cli_data_tree_text(row->tokens, row->nodes, row->offsets);
        if (text == NULL)
            return 1;
        fputs(text, out);
        free(text);
    }
    fputs("\"", out);
    return 0;
}

static void write_paths(FILE *out, const side *row) {
    char text[PATH_TEXT];
    size_t start = row->offsets[0];
    fprintf(out, ", \"%s_paths\": [", row->name);
    for (size_t i = 0; i < row->offsets[1] - start; i++) {
        lab_tree_path_text(row->nodes->parents + start, row->nodes->branches + start, i, text, sizeof text);
        fprintf(out, "%s\"%s\"", i == 0 ? "" : ", ", text);
    }
    fputs("]", out);
}

static int write_sample(FILE *out, const side rows[2]) {
    for (size_t r = 0; r < 2; r++) {
        fprintf(out, "%s\"%s\": [", r == 0 ? "" : ", ", rows[r].name);
        write_ids(out, &rows[r], ", ");
        fputs("]", out);
    }
    int status = write_text(out, &rows[0]);
    status = status ? status : write_text(out, &rows[1]);
    for (size_t r = 0; r < 2 && rows[r].nodes->parents != NULL; r++)
        write_paths(out, &rows[r]);
    return status;
}

static int write_samples(FILE *out, const lab_dataset *set, const lab_task *task) {
    const lab_task *problems = task->characters != NULL ? task : NULL;
    int status = 0;
    for (size_t s = 0; status == 0 && s < set->samples; s++) {
        const side rows[] = {{"input", problems, set->input, &set->input_tree, set->input_offsets + s},
                             {"target", problems, set->target, &set->target_tree, set->target_offsets + s}};
        putc('{', out);
        if (problems != NULL)
            fprintf(out, "\"task\": \"%s\", ", problems->name);
        status = write_sample(out, rows);
        fputs("}\n", out);
    }
    return status;
}

int cli_data_write(const lab_dataset *set, const lab_task *task, const char *path) {
    if (strcmp(path, "-") == 0)
        return write_samples(stdout, set, task);
    lab_output output;
    locus_error error;
    if (lab_output_open(&output, path, &error) != LOCUS_OK)
        return cli_error(&error);
    int status = write_samples(output.stream, set, task);
    if (status == 0 && lab_output_commit(&output, &error) != LOCUS_OK)
        status = cli_error(&error);
    lab_output_discard(&output);
    return status;
}

/* ---- reading ---- */

typedef struct tokens {
    int32_t *ids;
    lab_tree_nodes nodes; /* NULLs: words */
    size_t count, room, *offsets, samples, sample_room;
    bool trees;
} tokens;

static bool push_sample(tokens *list) {
    if (list->samples + 2 > list->sample_room) {
        size_t room = list->sample_room == 0 ? 64 : 2 * list->sample_room;
        size_t *grown = realloc(list->offsets, room * sizeof *grown);
        if (grown == NULL)
            return false;
        list->offsets = grown;
        list->sample_room = room;
        list->offsets[0] = 0;
    }
    list->offsets[++list->samples] = list->count;
    return true;
}

static bool enlarge(int32_t **numbers, size_t room) {
    int32_t *grown = realloc(*numbers, room * sizeof *grown);
    *numbers = grown == NULL ? *numbers : grown;
    return grown != NULL;
}

static bool make_room(tokens *list) {
    if (list->count < list->room)
        return true;
    size_t room = list->room == 0 ? 1024 : 2 * list->room;
    if (!enlarge(&list->ids, room) ||
        (list->trees && (!enlarge(&list->nodes.parents, room) || !enlarge(&list->nodes.branches, room))))
        return false;
    list->room = room;
    return true;
}

/* Appends one array of ids; "memory", or what is wrong with it. */
static const char *push_ids(tokens *list, const cJSON *array) {
    const cJSON *item;
    if (!cJSON_IsArray(array))
        return "an array of token ids";
    cJSON_ArrayForEach(item, array) {
        if (!cJSON_IsNumber(item) || item->valuedouble < 0 || item->valuedouble > 1e9 ||
            floor(item->valuedouble) != item->valuedouble)
            return "whole numbers from 0";
        if (!make_room(list))
            return "memory";
        list->ids[list->count++] = (int32_t)item->valuedouble;
    }
    return push_sample(list) ? NULL : "memory";
}

/* The texts of an array of n strings, from malloc; NULL: it is no such array. */
static const char **strings(const cJSON *array, size_t n) {
    const char **texts = calloc(n + 1, sizeof *texts);
    const cJSON *item;
    size_t count = 0;
    cJSON_ArrayForEach(item, array) {
        if (texts == NULL || count >= n || !cJSON_IsString(item)) {
            free(texts);
            return NULL;
        }
        texts[count++] = item->valuestring;
    }
    if (count != n) {
        free(texts);
        return NULL;
    }
    return texts;
}

/* The nodes of the sample that was pushed last: the tree's nodes stand in the order of the tokens. */
static locus_status push_nodes(tokens *list, const cJSON *array, locus_error *error) {
    size_t start = list->offsets[list->samples - 1], n = list->count - start;
    const char **paths = n > 0 ? strings(array, n) : NULL;
    if (paths == NULL) {
        snprintf(error->message, sizeof error->message, "one path (a string) for each token, of one token at least");
        return LOCUS_ERROR_SPEC;
    }
    lab_tree tree = {0};
    locus_status status = lab_tree_from_paths(&tree, n, list->ids + start, paths, error);
    for (size_t i = 0; status == LOCUS_OK && i < n; i++) {
        list->nodes.parents[start + i] = tree.nodes[i].parent;
        list->nodes.branches[start + i] = tree.nodes[i].branch;
    }
    lab_tree_destroy(&tree);
    free(paths);
    return status;
}

typedef struct place {
    const char *path;
    size_t line;
} place;

static int read_side(const place *at, const cJSON *root, const char *name, tokens *list) {
    char field[32];
    locus_error error;
    snprintf(field, sizeof field, "%s_paths", name);
    const cJSON *paths = cJSON_GetObjectItemCaseSensitive(root, field);
    if (list->samples == 0)
        list->trees = paths != NULL;
    const char *wrong = push_ids(list, cJSON_GetObjectItemCaseSensitive(root, name));
    if (wrong != NULL)
        return cli_failure("%s, line %zu: \"%s\" needs %s", at->path, at->line, name, wrong);
    if (list->trees != (paths != NULL)) {
        return cli_failure("%s, line %zu: \"%s\" is %s, unlike the lines before: a file holds words or trees", at->path,
                           at->line, field, paths == NULL ? "missing" : "there");
    }
    if (paths != NULL && push_nodes(list, paths, &error) != LOCUS_OK)
        return cli_failure("%s, line %zu: \"%s\": %s", at->path, at->line, field, error.message);
    return 0;
}

/* A file while it is read. */
typedef struct reading {
    tokens input, target;
    const lab_task *task; /* whose problems they are; NULL: words or trees */
} reading;

/* The lines of problems name their task, the first one decides. */
static int read_task(const place *at, const cJSON *root, reading *into) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(root, "task");
    const lab_task *task = cJSON_IsString(name) ? lab_task_find(name->valuestring) : NULL;
    if (name != NULL && (task == NULL || task->characters == NULL))
        return cli_failure("%s, line %zu: \"task\" is none of characters", at->path, at->line);
    if (into->input.samples > 0 && task != into->task) {
        return cli_failure("%s, line %zu: \"task\" is %s, unlike the lines before: a file is of one task", at->path,
                           at->line, task == NULL ? "missing" : task->name);
    }
    into->task = task;
    return 0;
}

static int check_characters(const place *at, const lab_task *task, const tokens *list) {
    const size_t known = strlen(task->characters);
    for (size_t i = list->offsets[list->samples - 1]; i < list->count; i++) {
        if ((size_t)list->ids[i] >= known) {
            return cli_failure("%s, line %zu: token %d: %s has characters 0 to %zu", at->path, at->line,
                               (int)list->ids[i], task->name, known - 1);
        }
    }
    return 0;
}

static int check_sides(const place *at, const reading *into) {
    if (into->input.trees != into->target.trees)
        return cli_failure("%s, line %zu: input and target must both have paths, or none", at->path, at->line);
    if (into->task == NULL)
        return 0;
    if (into->input.trees)
        return cli_failure("%s, line %zu: problems of %s have no paths", at->path, at->line, into->task->name);
    int status = check_characters(at, into->task, &into->input);
    return status ? status : check_characters(at, into->task, &into->target);
}

static int read_line(const place *at, const char *line, reading *into) {
    bool out_of_memory;
    cJSON *root = lab_json_parse(line, strlen(line), false, NULL, &out_of_memory);
    int status = 0;
    if (out_of_memory)
        status = cli_failure("out of memory for a line of %s", at->path);
    else if (!cJSON_IsObject(root))
        status = cli_failure("%s, line %zu: this is no JSON object", at->path, at->line);
    status = status ? status : read_task(at, root, into);
    status = status ? status : read_side(at, root, "input", &into->input);
    status = status ? status : read_side(at, root, "target", &into->target);
    status = status ? status : check_sides(at, into);
    cJSON_Delete(root);
    return status;
}

static int read_lines(char *text, const char *path, reading *into) {
    place at = {path, 0};
    int status = 0;
    for (char *line = text, *next; status == 0 && line != NULL && *line != '\0'; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        at.line++;
        if (line[strspn(line, " \t\r")] != '\0')
            status = read_line(&at, line, into);
    }
    return status == 0 && into->input.samples == 0 ? cli_failure("%s: there is no sample in it", path) : status;
}

/* The set takes over the lists' memory. */
int cli_data_read(lab_dataset *set, const lab_task **task, const char *path) {
    char *text;
    size_t bytes;
    locus_error error;
    reading into = {0};
    memset(set, 0, sizeof *set);
    if (lab_file_read(path, &text, &bytes, &error) != LOCUS_OK)
        return cli_error(&error);
    int status = strlen(text) == bytes ? read_lines(text, path, &into)
                                       : cli_failure("%s: this is no text (it holds a zero byte)", path);
    free(text);
    *task = into.task;
    set->samples = into.input.samples;
    set->input_offsets = into.input.offsets;
    set->target_offsets = into.target.offsets;
    set->input = into.input.ids;
    set->target = into.target.ids;
    set->input_tree = into.input.nodes;
    set->target_tree = into.target.nodes;
    if (status != 0)
        lab_dataset_destroy(set);
    return status;
}
