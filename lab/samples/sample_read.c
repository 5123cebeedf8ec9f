/* SPDX-License-Identifier: MIT */
/* Samples read back from JSON lines. Apart from what writes them: the lines of problems name their task, which may be
 * any. */
#include "samples/sample_lines.h"

#include "io/fail.h"
#include "io/file.h"
#include "io/grow.h"
#include "task/symbol_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct tokens {
    int32_t *ids;
    lab_tree_nodes nodes; /* NULLs: words */
    size_t count, room, *offsets, samples, sample_room;
    bool trees;
} tokens;

static bool push_sample(tokens *list) {
    if (!LAB_GROW(list->offsets, list->samples + 1, list->sample_room, 64))
        return false;
    list->offsets[0] = 0;
    list->offsets[++list->samples] = list->count;
    return true;
}

static bool make_room(tokens *list) {
    if (list->count < list->room)
        return true;
    size_t room = list->room == 0 ? 1024 : 2 * list->room;
    if (!lab_enlarge(&list->ids, room) ||
        (list->trees && (!lab_enlarge(&list->nodes.parents, room) || !lab_enlarge(&list->nodes.branches, room))))
        return false;
    list->room = room;
    return true;
}

static locus_status fail_memory(const lab_line_place *at) {
    return lab_fail(at->error, LOCUS_ERROR_MEMORY, NULL, "out of memory for a line of %s", at->path);
}

static const char no_memory[] = "memory";

/* Appends one array of ids. NULL, or what it needs. */
static const char *push_ids(tokens *list, const cJSON *array) {
    const cJSON *item;
    if (!cJSON_IsArray(array))
        return "an array of token ids";
    if (!make_room(list)) /* where all samples are empty, too: a set has arrays */
        return no_memory;
    cJSON_ArrayForEach(item, array) {
        if (!cJSON_IsNumber(item) || item->valuedouble < 0 || item->valuedouble > 1e9 ||
            floor(item->valuedouble) != item->valuedouble)
            return "whole numbers from 0";
        if (!make_room(list))
            return no_memory;
        list->ids[list->count++] = (int32_t)item->valuedouble;
    }
    return push_sample(list) ? NULL : no_memory;
}

static bool are_strings(const cJSON *array, size_t n) {
    const cJSON *item;
    size_t count = 0;
    cJSON_ArrayForEach(item, array) {
        if (!cJSON_IsString(item))
            return false;
        count++;
    }
    return count == n;
}

/* The nodes of the sample that was pushed last: the tree's nodes stand in the order of the tokens. */
static locus_status push_nodes(tokens *list, const cJSON *array, locus_error *error) {
    size_t start = list->offsets[list->samples - 1], n = list->count - start;
    if (n == 0 || !are_strings(array, n)) {
        snprintf(error->message, sizeof error->message, "one path (a string) for each token, of one token at least");
        return LOCUS_ERROR_SPEC;
    }
    const char **paths = calloc(n, sizeof *paths);
    if (paths == NULL)
        return LOCUS_ERROR_MEMORY;
    const cJSON *item = array->child;
    for (size_t i = 0; i < n; i++, item = item->next)
        paths[i] = item->valuestring;
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

static locus_status read_side(const lab_line_place *at, const cJSON *root, const char *name, tokens *list) {
    char field[32];
    locus_error error;
    snprintf(field, sizeof field, "%s_paths", name);
    const cJSON *paths = cJSON_GetObjectItemCaseSensitive(root, field);
    if (list->samples == 0)
        list->trees = paths != NULL;
    const char *wrong = push_ids(list, cJSON_GetObjectItemCaseSensitive(root, name));
    if (wrong != NULL)
        return wrong == no_memory ? fail_memory(at) : lab_place_fail(at, "\"%s\" needs %s", name, wrong);
    if (list->trees != (paths != NULL)) {
        return lab_place_fail(at, "\"%s\" is %s, unlike the lines before: a file holds words or trees", field,
                              paths == NULL ? "missing" : "there");
    }
    const locus_status status = paths != NULL ? push_nodes(list, paths, &error) : LOCUS_OK;
    if (status == LOCUS_ERROR_MEMORY)
        return fail_memory(at);
    return status == LOCUS_OK ? LOCUS_OK : lab_place_fail(at, "\"%s\": %s", field, error.message);
}

/* A file while it is read. */
typedef struct reading {
    tokens input, target;
    const lab_task *task; /* whose problems they are; NULL: words or trees */
} reading;

/* The lines of problems name their task, the first one decides. */
static locus_status read_task(const lab_line_place *at, const cJSON *root, reading *into) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(root, "task");
    const lab_task *task = cJSON_IsString(name) ? lab_task_find(name->valuestring) : NULL;
    if (name != NULL && (task == NULL || task->characters == NULL))
        return lab_place_fail(at, "\"task\" is none of characters");
    if (into->input.samples > 0 && task != into->task) {
        return lab_place_fail(at, "\"task\" is %s, unlike the lines before: a file is of one task",
                              task == NULL ? "missing" : task->name);
    }
    into->task = task;
    return LOCUS_OK;
}

static locus_status check_characters(const lab_line_place *at, const lab_task *task, const tokens *list) {
    const size_t known = strlen(task->characters);
    for (size_t i = list->offsets[list->samples - 1]; i < list->count; i++)
        if ((size_t)list->ids[i] >= known)
            return lab_place_fail(at, "token %d: %s has characters 0 to %zu", (int)list->ids[i], task->name, known - 1);
    return LOCUS_OK;
}

static locus_status check_sides(const lab_line_place *at, const reading *into) {
    if (into->input.trees != into->target.trees)
        return lab_place_fail(at, "input and target must both have paths, or none");
    if (into->task == NULL)
        return LOCUS_OK;
    if (into->input.trees)
        return lab_place_fail(at, "problems of %s have no paths", into->task->name);
    const locus_status status = check_characters(at, into->task, &into->input);
    return status != LOCUS_OK ? status : check_characters(at, into->task, &into->target);
}

static locus_status read_line(const lab_line_place *at, const char *line, reading *into) {
    cJSON *root;
    locus_status status = lab_place_parse(at, line, &root);
    if (status == LOCUS_OK)
        status = read_task(at, root, into);
    if (status == LOCUS_OK)
        status = read_side(at, root, "input", &into->input);
    if (status == LOCUS_OK)
        status = read_side(at, root, "target", &into->target);
    if (status == LOCUS_OK)
        status = check_sides(at, into);
    cJSON_Delete(root);
    return status;
}

static locus_status read_lines(char *text, lab_line_place *at, reading *into) {
    locus_status status = LOCUS_OK;
    for (char *line = text, *next; status == LOCUS_OK && line != NULL && *line != '\0'; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        at->line++;
        if (line[strspn(line, " \t\r")] != '\0')
            status = read_line(at, line, into);
    }
    return status == LOCUS_OK && into->input.samples == 0
               ? lab_fail(at->error, LOCUS_ERROR_IO, NULL, "%s: there is no sample in it", at->path)
               : status;
}

/* The set takes over the lists' memory. */
locus_status lab_samples_read(lab_dataset *set, const lab_task **task, const char *path, locus_error *error) {
    char *text;
    size_t bytes;
    reading into = {0};
    lab_line_place at = {path, 0, error};
    memset(set, 0, sizeof *set);
    locus_status status = lab_file_read(path, &text, &bytes, error);
    if (status != LOCUS_OK)
        return status;
    if (strlen(text) == bytes)
        status = read_lines(text, &at, &into);
    else
        status = lab_fail(error, LOCUS_ERROR_IO, NULL, "%s: this is no text (it holds a zero byte)", path);
    free(text);
    *task = into.task;
    set->samples = into.input.samples;
    set->input_offsets = into.input.offsets;
    set->target_offsets = into.target.offsets;
    set->input = into.input.ids;
    set->target = into.target.ids;
    set->input_tree = into.input.nodes;
    set->target_tree = into.target.nodes;
    if (status != LOCUS_OK)
        lab_dataset_destroy(set);
    return status;
}
