/* SPDX-License-Identifier: MIT */
/* The lines of files of pairs (pairs.h). Ids go before texts, since what `locus data make` writes has both. */
#include "io/json.h"
#include "task/own/own_rows.h"
#include "task/symbol_tree.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"input", "target"};

static const cJSON *member(const cJSON *root, const char *name, const char *end) {
    char field[32];
    snprintf(field, sizeof field, "%s%s", name, end);
    return cJSON_GetObjectItemCaseSensitive(root, field);
}

/* ---- tokens ---- */

static locus_status read_ids(lab_own_row *row, size_t which, const cJSON *array, locus_error *error) {
    return cJSON_IsArray(array) ? lab_own_take_ids(row, which, names[which], array, error)
                                : lab_own_fail(row, error, "\"%s\" needs an array of ids", names[which]);
}

static locus_status read_text(lab_own_row *row, size_t which, const cJSON *item, lab_token_kind kind,
                              locus_error *error) {
    const char *text = cJSON_GetStringValue(item);
    if (text == NULL)
        return lab_own_fail(row, error, "\"%s_text\" needs a text", names[which]);
    return lab_own_take_text(&row->sides[which], text, strlen(text), kind) ? LOCUS_OK
                                                                           : lab_fail_memory(error, "samples");
}

/* ---- trees ---- */

/* The orders that a tree's nodes stand in. */
static unsigned orders_of(const lab_tree *tree, const lab_own_side *side, int32_t *room) {
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

static locus_status take_tree(lab_own_side *side, const char *const *paths, locus_error *error) {
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

static locus_status read_paths(lab_own_row *row, size_t which, const cJSON *array, locus_error *error) {
    lab_own_side *side = &row->sides[which];
    const cJSON *item;
    size_t count = 0;
    const bool fits = cJSON_IsArray(array) && (size_t)cJSON_GetArraySize(array) == side->count && side->count > 0;
    const char **paths = fits ? calloc(side->count, sizeof *paths) : NULL;
    if (!fits)
        return lab_own_fail(row, error, "\"%s_paths\" needs one path for each of %zu tokens, of one token at least",
                            names[which], side->count);
    if (paths == NULL)
        return lab_fail_memory(error, "samples");
    locus_error local = {0};
    locus_status status = LOCUS_OK;
    cJSON_ArrayForEach(item, array) {
        paths[count] = cJSON_GetStringValue(item);
        if (paths[count++] == NULL && status == LOCUS_OK)
            status = lab_own_fail(row, error, "\"%s_paths\" needs texts such as \"0\" and \"1+2\"", names[which]);
    }
    if (status == LOCUS_OK) {
        status = take_tree(side, paths, &local);
        if (status == LOCUS_ERROR_MEMORY)
            status = lab_fail_memory(error, "samples");
        else if (status != LOCUS_OK)
            status = lab_own_fail(row, error, "\"%s_paths\": %s", names[which], local.message);
    }
    free(paths);
    return status;
}

/* ---- lines ---- */

static locus_status read_object(lab_own_row *row, const cJSON *root, lab_token_kind kind, locus_error *error) {
    const bool ids = member(root, "input", "") != NULL || member(root, "target", "") != NULL;
    locus_status status = LOCUS_OK;
    if (!ids && (member(root, "input", "_text") == NULL || member(root, "target", "_text") == NULL)) {
        return lab_own_fail(row, error,
                            "it needs \"input\" and \"target\", arrays of ids, or \"input_text\" and \"target_text\"");
    }
    for (size_t i = 0; status == LOCUS_OK && i < 2; i++)
        status = ids ? read_ids(row, i, member(root, names[i], ""), error)
                     : read_text(row, i, member(root, names[i], "_text"), kind, error);
    if (status == LOCUS_OK && row->sides[LAB_OWN_INPUT].count == 0)
        status = lab_own_fail(row, error, "its input has no token");
    for (size_t i = 0; status == LOCUS_OK && i < 2; i++)
        if (member(root, names[i], "_paths") != NULL)
            status = read_paths(row, i, member(root, names[i], "_paths"), error);
    return status;
}

const lab_own_form lab_pair_form = {"pairs", read_object, NULL};
