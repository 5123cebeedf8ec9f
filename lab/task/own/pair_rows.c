/* SPDX-License-Identifier: MIT */
/* See pair_rows.h. Ids go before texts, since what `locus data make` writes has both. */
#include "task/own/pair_rows.h"

#include "io/fail.h"
#include "io/grow.h"
#include "io/json.h"
#include "task/own/own_sets.h"
#include "task/own/own_text.h"
#include "task/symbol_tree.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ID = 1 << 24 };

static const char *const names[] = {"input", "target"};

LAB_PRINTF(3, 4)
static locus_status fail_row(const lab_pair_row *row, locus_error *error, const char *format, ...) {
    char what[sizeof error->message];
    va_list values;
    va_start(values, format);
    vsnprintf(what, sizeof what, format, values);
    va_end(values);
    return lab_fail_line(row->path, row->line, what, error);
}

static const cJSON *member(const cJSON *root, const char *name, const char *end) {
    char field[32];
    snprintf(field, sizeof field, "%s%s", name, end);
    return cJSON_GetObjectItemCaseSensitive(root, field);
}

/* ---- tokens ---- */

static locus_status read_ids(lab_pair_row *row, size_t which, const cJSON *array, locus_error *error) {
    lab_pair_side *side = &row->sides[which];
    const cJSON *item;
    if (!cJSON_IsArray(array))
        return fail_row(row, error, "\"%s\" needs an array of ids", names[which]);
    side->ids = calloc((size_t)cJSON_GetArraySize(array) + 1, sizeof *side->ids);
    if (side->ids == NULL)
        return lab_fail_memory(error, "samples");
    cJSON_ArrayForEach(item, array) {
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= MOST_ID) ||
            floor(item->valuedouble) != item->valuedouble)
            return fail_row(row, error, "\"%s\" needs whole numbers from 0 to %d", names[which], MOST_ID);
        side->ids[side->count++] = (int32_t)item->valuedouble;
    }
    return LOCUS_OK;
}

static locus_status read_text(lab_pair_row *row, size_t which, const cJSON *item, lab_token_kind kind,
                              locus_error *error) {
    lab_pair_side *side = &row->sides[which];
    const char *text = cJSON_GetStringValue(item);
    if (text == NULL)
        return fail_row(row, error, "\"%s_text\" needs a text", names[which]);
    side->bytes = strlen(text);
    side->text = strdup(text);
    if (side->text == NULL)
        return lab_fail_memory(error, "samples");
    for (const char *at = side->text; lab_own_next(kind, &at, side->text + side->bytes).bytes > 0;)
        side->count++;
    return LOCUS_OK;
}

/* ---- trees ---- */

/* The orders that a tree's nodes stand in. */
static unsigned orders_of(const lab_tree *tree, const lab_pair_side *side, int32_t *room) {
    unsigned orders = 0;
    int32_t *tokens = room, *parents = room + side->count, *branches = room + 2 * side->count;
    const size_t bytes = side->count * sizeof *room;
    for (unsigned order = LAB_ORDER_BREADTH; order <= LAB_ORDER_DEPTH; order++) {
        lab_tree_write(tree, (lab_order)order, tokens, parents, branches);
        if (memcmp(parents, side->parents, bytes) == 0 && memcmp(branches, side->branches, bytes) == 0)
            orders |= 1u << order;
    }
    return orders;
}

static locus_status take_tree(lab_pair_side *side, const char *const *paths, locus_error *error) {
    lab_tree tree = {0};
    int32_t *room = calloc(3 * side->count, sizeof *room); /* symbols are of no account here */
    side->parents = calloc(side->count, sizeof *side->parents);
    side->branches = calloc(side->count, sizeof *side->branches);
    locus_status status = room == NULL || side->parents == NULL || side->branches == NULL
                              ? lab_fail_memory(error, "samples")
                              : lab_tree_from_paths(&tree, side->count, room, paths, error);
    for (size_t i = 0; status == LOCUS_OK && i < side->count; i++) {
        side->parents[i] = tree.nodes[i].parent;
        side->branches[i] = tree.nodes[i].branch;
    }
    if (status == LOCUS_OK)
        side->orders = orders_of(&tree, side, room);
    lab_tree_destroy(&tree);
    free(room);
    return status;
}

static locus_status read_paths(lab_pair_row *row, size_t which, const cJSON *array, locus_error *error) {
    lab_pair_side *side = &row->sides[which];
    const cJSON *item;
    size_t count = 0;
    const bool fits = cJSON_IsArray(array) && (size_t)cJSON_GetArraySize(array) == side->count && side->count > 0;
    const char **paths = fits ? calloc(side->count, sizeof *paths) : NULL;
    if (!fits)
        return fail_row(row, error, "\"%s_paths\" needs one path for each of %zu tokens, of one token at least",
                        names[which], side->count);
    if (paths == NULL)
        return lab_fail_memory(error, "samples");
    locus_error local = {0};
    locus_status status = LOCUS_OK;
    cJSON_ArrayForEach(item, array) {
        paths[count] = cJSON_GetStringValue(item);
        if (paths[count++] == NULL && status == LOCUS_OK)
            status = fail_row(row, error, "\"%s_paths\" needs texts such as \"0\" and \"1+2\"", names[which]);
    }
    if (status == LOCUS_OK) {
        status = take_tree(side, paths, &local);
        if (status == LOCUS_ERROR_MEMORY)
            status = lab_fail_memory(error, "samples");
        else if (status != LOCUS_OK)
            status = fail_row(row, error, "\"%s_paths\": %s", names[which], local.message);
    }
    free(paths);
    return status;
}

/* ---- lines ---- */

static locus_status read_object(lab_pair_row *row, const cJSON *root, lab_token_kind kind, locus_error *error) {
    const bool ids = member(root, "input", "") != NULL || member(root, "target", "") != NULL;
    locus_status status = LOCUS_OK;
    if (!cJSON_IsObject(root))
        return fail_row(row, error, "this is no JSON object");
    if (!ids && (member(root, "input", "_text") == NULL || member(root, "target", "_text") == NULL)) {
        return fail_row(row, error,
                        "it needs \"input\" and \"target\", arrays of ids, or \"input_text\" and \"target_text\"");
    }
    for (size_t i = 0; status == LOCUS_OK && i < 2; i++)
        status = ids ? read_ids(row, i, member(root, names[i], ""), error)
                     : read_text(row, i, member(root, names[i], "_text"), kind, error);
    if (status == LOCUS_OK && row->sides[LAB_PAIR_INPUT].count == 0)
        status = fail_row(row, error, "its input has no token");
    for (size_t i = 0; status == LOCUS_OK && i < 2; i++)
        if (member(root, names[i], "_paths") != NULL)
            status = read_paths(row, i, member(root, names[i], "_paths"), error);
    return status;
}

static locus_status read_json(lab_pair_row *row, const char *line, size_t bytes, lab_token_kind kind,
                              locus_error *error) {
    bool out_of_memory;
    cJSON *root = lab_json_parse(line, bytes, false, NULL, &out_of_memory);
    const locus_status status = out_of_memory ? lab_fail_memory(error, "samples") : read_object(row, root, kind, error);
    cJSON_Delete(root);
    return status;
}

/* The first row decides which form all have. */
static locus_status check_form(lab_pair_rows *rows, const lab_pair_row *row, locus_error *error) {
    const bool ids = row->sides[0].ids != NULL;
    const bool trees[] = {row->sides[0].parents != NULL, row->sides[1].parents != NULL};
    if (trees[0] != trees[1])
        return fail_row(row, error, "input and target must both have paths, or none: \"%s_paths\" is missing",
                        names[trees[0]]);
    if (rows->count > 1 && ids != rows->ids)
        return fail_row(row, error, "texts and ids don't go together: this line is unlike those before");
    if (rows->count > 1 && trees[0] != rows->trees)
        return fail_row(row, error, "\"input_paths\" and \"target_paths\" are %s, unlike in the lines before",
                        trees[0] ? "there" : "missing");
    rows->ids = ids;
    rows->trees = trees[0];
    return LOCUS_OK;
}

/* ---- files ---- */

/* A file while its lines are read. */
typedef struct reading {
    lab_pair_rows *rows;
    lab_pair_row place;
    lab_token_kind kind;
} reading;

static locus_status read_line(void *context, size_t number, const char *line, size_t bytes, locus_error *error) {
    const reading *now = context;
    lab_pair_rows *rows = now->rows;
    if (!LAB_GROW(rows->rows, rows->count, rows->room, 256))
        return lab_fail_memory(error, "samples");
    lab_pair_row *row = &rows->rows[rows->count];
    *row = now->place;
    row->line = number;
    rows->count++; /* so that it is freed with the others */
    const locus_status status = read_json(row, line, bytes, now->kind, error);
    return status == LOCUS_OK ? check_form(rows, row, error) : status;
}

locus_status lab_pair_rows_read(lab_pair_rows *rows, const char *path, lab_token_kind kind, lab_set set,
                                locus_error *error) {
    reading now = {rows, {.path = path, .set = set}, kind};
    const size_t before = rows->count;
    const locus_status status = lab_own_lines(path, read_line, &now, error);
    return status == LOCUS_OK && rows->count == before
               ? lab_fail(error, LOCUS_ERROR_IO, "data", "'%s' has no sample in it", path)
               : status;
}

void lab_pair_rows_free(lab_pair_rows *rows) {
    for (size_t i = 0; i < 2 * rows->count; i++) {
        lab_pair_side *side = &rows->rows[i / 2].sides[i % 2];
        free(side->text);
        free(side->ids);
        free(side->parents);
        free(side->branches);
    }
    free(rows->rows);
    *rows = (lab_pair_rows){0};
}
