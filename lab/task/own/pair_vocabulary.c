/* SPDX-License-Identifier: MIT */
/* See pair_vocabulary.h. */
#include "task/own/pair_vocabulary.h"

#include "io/json.h"
#include "task/own/own_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TOKENS = 1 << 24, NAME = 16 };

/* ---- tokens ---- */

size_t lab_pair_encode(const lab_pair_vocabulary *of, const lab_own_side *side, int32_t *tokens) {
    return lab_own_encode(&of->words, of->kind, of->first, side, tokens);
}

static size_t count_tokens(const lab_pair_vocabulary *of) {
    return of->ids ? of->first + of->most + 1 : lab_own_vocabulary(&of->words, of->kind);
}

size_t lab_pair_vocabulary_size(const lab_pair_vocabulary *of) {
    return of->token_count + !of->trees;
}

/* ---- learning ---- */

static bool learn_tokens(lab_pair_vocabulary *of, const lab_own_side *side) {
    for (size_t i = 0; side->ids != NULL && i < side->count; i++) {
        of->first = side->ids[i] == 0 ? 1 : of->first;
        of->most = (size_t)side->ids[i] > of->most ? (size_t)side->ids[i] : of->most;
    }
    return lab_own_learn(&of->words, of->kind, side);
}

static size_t arity_of(const lab_own_side *side) {
    size_t most = 0;
    for (size_t i = 0; side->branches != NULL && i < side->count; i++)
        most = (size_t)side->branches[i] > most ? (size_t)side->branches[i] : most;
    return most;
}

/* How many children the tokens of a target have. */
static locus_status learn_children(lab_pair_vocabulary *of, const lab_own_side *target, locus_error *error) {
    int32_t *tokens = calloc(2 * target->count + 1, sizeof *tokens), *counts = tokens + target->count;
    if (tokens == NULL)
        return lab_fail_memory(error, "a vocabulary");
    lab_pair_encode(of, target, tokens);
    for (size_t i = 1; i < target->count; i++)
        counts[target->parents[i]]++;
    for (size_t i = 0; i < target->count; i++) {
        int32_t *known = &of->children[tokens[i]];
        *known = *known == LAB_CHILDREN_UNSEEN || *known == counts[i] ? counts[i] : LAB_CHILDREN_VARY;
    }
    of->orders &= target->orders;
    free(tokens);
    return LOCUS_OK;
}

static locus_status learn_trees(lab_pair_vocabulary *of, const lab_own_rows *rows, locus_error *error) {
    locus_status status = LOCUS_OK;
    of->children = malloc((of->token_count + 1) * sizeof *of->children);
    if (of->children == NULL)
        return lab_fail_memory(error, "a vocabulary");
    for (size_t i = 0; i < of->token_count; i++)
        of->children[i] = LAB_CHILDREN_UNSEEN;
    of->orders = 1u << LAB_ORDER_BREADTH | 1u << LAB_ORDER_DEPTH;
    for (size_t i = 0; status == LOCUS_OK && i < rows->count; i++)
        if (rows->rows[i].set == LAB_SET_TRAIN)
            status = learn_children(of, &rows->rows[i].sides[LAB_OWN_TARGET], error);
    return status;
}

locus_status lab_pair_vocabulary_learn(lab_pair_vocabulary *of, const lab_own_rows *rows, locus_error *error) {
    locus_status status = LOCUS_OK;
    *of = (lab_pair_vocabulary){.kind = rows->kind, .ids = rows->ids, .trees = rows->trees, .arity = rows->trees};
    for (size_t i = 0; status == LOCUS_OK && i < 2 * rows->count; i++) {
        const lab_own_row *row = &rows->rows[i / 2];
        const lab_own_side *side = &row->sides[i % 2];
        if (row->set != LAB_SET_TRAIN)
            continue;
        status = learn_tokens(of, side) ? LOCUS_OK : lab_fail_memory(error, "a vocabulary");
        const size_t arity = arity_of(side);
        of->arity = arity > of->arity ? arity : of->arity;
        of->longest = i % 2 == LAB_OWN_TARGET && side->count > of->longest ? side->count : of->longest;
    }
    of->token_count = count_tokens(of);
    if (status == LOCUS_OK && of->trees)
        status = learn_trees(of, rows, error);
    if (status != LOCUS_OK)
        lab_pair_vocabulary_free(of);
    return status;
}

void lab_pair_vocabulary_free(lab_pair_vocabulary *of) {
    lab_word_index_free(&of->words);
    free(of->children);
    *of = (lab_pair_vocabulary){0};
}

/* ---- growth ---- */

lab_order lab_pair_vocabulary_order(const lab_pair_vocabulary *of) {
    return of->orders == 1u << LAB_ORDER_DEPTH ? LAB_ORDER_DEPTH : LAB_ORDER_BREADTH;
}

const char *lab_pair_vocabulary_stuck(const lab_pair_vocabulary *of) {
    if (of->trees && of->orders == 0)
        return "targets stand neither all level by level nor all depth first";
    for (size_t i = 0; of->trees && i < of->token_count; i++)
        if (of->children[i] == LAB_CHILDREN_VARY)
            return "one symbol has now more, now fewer children in the targets";
    return NULL;
}

/* ---- other rows ---- */

static locus_status check_side(const lab_pair_vocabulary *of, const lab_own_row *row, size_t which,
                               locus_error *error) {
    const lab_own_side *side = &row->sides[which];
    for (size_t i = 0; side->ids != NULL && i < side->count; i++) {
        const size_t id = (size_t)side->ids[i];
        if (id > of->most || id + of->first == 0)
            return lab_own_fail(row, error, "id %zu is beyond the vocabulary: the training set has ids %d to %zu", id,
                                of->first == 0, of->most);
    }
    if (arity_of(side) > of->arity)
        return lab_own_fail(row, error, "a node has %zu children, and in the training set none more than %zu",
                            arity_of(side), of->arity);
    return LOCUS_OK;
}

locus_status lab_pair_vocabulary_check(const lab_pair_vocabulary *of, const lab_own_row *row, locus_error *error) {
    const bool ids = row->sides[0].ids != NULL, trees = row->sides[0].parents != NULL;
    if (ids != of->ids)
        return lab_own_fail(row, error, "the training set has %s", of->ids ? "ids, not texts" : "texts, not ids");
    if (trees != of->trees)
        return lab_own_fail(row, error, "%s",
                            of->trees ? "the training set has trees, and here are no paths"
                                      : "here are trees, and the training set has no paths");
    locus_status status = check_side(of, row, LAB_OWN_INPUT, error);
    if (status == LOCUS_OK)
        status = check_side(of, row, LAB_OWN_TARGET, error);
    if (status == LOCUS_OK && of->orders != 0 &&
        (row->sides[LAB_OWN_TARGET].orders & 1u << lab_pair_vocabulary_order(of)) == 0)
        status = lab_own_fail(row, error, "the target does not stand %s, as those of the training set do",
                              lab_pair_vocabulary_order(of) == LAB_ORDER_DEPTH ? "depth first" : "level by level");
    return status;
}

/* ---- kept ---- */

locus_status lab_pair_vocabulary_keep(const lab_pair_vocabulary *of, const char *folder, locus_error *error) {
    const size_t losses = lab_json_losses();
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "tokens", lab_token_names[of->ids ? LAB_TOKENS_IDS : of->kind]);
    cJSON_AddNumberToObject(root, "first", (double)of->first);
    cJSON_AddNumberToObject(root, "most", (double)of->most);
    cJSON_AddNumberToObject(root, "arity", (double)of->arity);
    cJSON_AddNumberToObject(root, "orders", of->orders);
    cJSON_AddNumberToObject(root, "longest", (double)of->longest);
    lab_json_put(root, "words", lab_own_words_json(&of->words));
    if (of->trees)
        lab_json_put(root, "children", cJSON_CreateIntArray(of->children, (int)of->token_count));
    return lab_own_keep(root, losses, folder, error);
}

/* A whole number of 0 … `most`; false: there is none. */
static bool take(const cJSON *root, const char *name, size_t most, size_t *value) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, name);
    const bool good = cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= (double)most &&
                      floor(item->valuedouble) == item->valuedouble;
    *value = good ? (size_t)item->valuedouble : 0;
    return good;
}

static locus_status take_children(lab_pair_vocabulary *of, const cJSON *array, locus_error *error) {
    const cJSON *item;
    size_t count = 0;
    of->children = malloc((of->token_count + 1) * sizeof *of->children);
    if (of->children == NULL)
        return lab_fail_memory(error, "a vocabulary");
    bool good = (size_t)cJSON_GetArraySize(array) == of->token_count;
    cJSON_ArrayForEach(item, array) {
        good = good && cJSON_IsNumber(item) && item->valuedouble >= LAB_CHILDREN_VARY && item->valuedouble <= 1e9;
        if (good)
            of->children[count++] = (int32_t)item->valuedouble;
    }
    return good ? LOCUS_OK : LOCUS_ERROR_IO;
}

/* IO, without a message: something is missing, or is something else. */
static locus_status take_all(lab_pair_vocabulary *of, const cJSON *root, locus_error *error) {
    const char *tokens = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "tokens"));
    const cJSON *children = cJSON_GetObjectItemCaseSensitive(root, "children");
    size_t orders, kind = 0;
    if (tokens == NULL || !take(root, "first", 1, &of->first) || !take(root, "most", MOST_TOKENS, &of->most) ||
        !take(root, "arity", MOST_TOKENS, &of->arity) || !take(root, "orders", 3, &orders) ||
        !take(root, "longest", INT32_MAX, &of->longest))
        return LOCUS_ERROR_IO;
    const locus_status status =
        lab_own_recall_words(&of->words, cJSON_GetObjectItemCaseSensitive(root, "words"), error);
    of->orders = (unsigned)orders;
    while (lab_token_names[kind] != NULL && strcmp(lab_token_names[kind], tokens) != 0)
        kind++;
    of->kind = (lab_token_kind)kind;
    of->ids = kind == LAB_TOKENS_IDS;
    of->trees = children != NULL;
    of->token_count = count_tokens(of);
    if (status != LOCUS_OK || lab_token_names[kind] == NULL)
        return status != LOCUS_OK ? status : LOCUS_ERROR_IO;
    return of->trees ? take_children(of, children, error) : LOCUS_OK;
}

locus_status lab_pair_vocabulary_recall(lab_pair_vocabulary *of, const char *folder, locus_error *error) {
    cJSON *root;
    *of = (lab_pair_vocabulary){0};
    locus_status status = lab_own_recall(&root, folder, error);
    if (status != LOCUS_OK)
        return status;
    status = take_all(of, root, error);
    cJSON_Delete(root);
    if (status == LOCUS_OK)
        return LOCUS_OK;
    lab_pair_vocabulary_free(of);
    return lab_own_fail_kept(status, folder, "vocabulary of pairs", error);
}

/* ---- for a set ---- */

/* What a token is written as, from malloc. */
static char *name_of(const lab_pair_vocabulary *of, size_t token) {
    char text[NAME];
    if (token == 0 || token >= of->token_count)
        snprintf(text, sizeof text, "%s", token == 0 ? "<start>" : "<end>");
    else if (of->ids)
        snprintf(text, sizeof text, "%zu", token - of->first);
    else if (token == LAB_OWN_UNKNOWN)
        snprintf(text, sizeof text, "\xef\xbf\xbd");
    else if (of->kind == LAB_TOKENS_BYTES)
        snprintf(text, sizeof text, "%c", (int)(token - LAB_OWN_FIRST));
    else
        return strdup(of->words.words[token - LAB_OWN_FIRST]);
    return strdup(text);
}

/* UNSEEN tokens are leaves. */
static bool lend_children(const lab_pair_vocabulary *of, lab_dataset *set) {
    set->children = calloc(of->token_count + 1, sizeof *set->children);
    for (size_t i = 0; set->children != NULL && i < of->token_count; i++)
        set->children[i] = of->children[i] > 0 ? of->children[i] : 0;
    return set->children != NULL;
}

locus_status lab_pair_vocabulary_lend(const lab_pair_vocabulary *of, lab_dataset *set, locus_error *error) {
    const size_t count = lab_pair_vocabulary_size(of);
    bool good = true;
    set->joined = !of->ids && of->kind != LAB_TOKENS_WORDS;
    set->longest = of->longest;
    set->names = calloc(count + 1, sizeof *set->names);
    for (size_t i = 0; set->names != NULL && good && i < count; i++) {
        set->names[i] = name_of(of, i);
        good = set->names[i] != NULL;
        set->name_count += good;
    }
    if (good && of->trees && lab_pair_vocabulary_stuck(of) == NULL)
        good = lend_children(of, set);
    return good && set->names != NULL ? LOCUS_OK : lab_fail_memory(error, "a vocabulary");
}
