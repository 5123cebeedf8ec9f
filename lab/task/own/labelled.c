/* SPDX-License-Identifier: MIT */
/* See labelled.h. */
#include "task/own/labelled.h"

#include "io/json.h"
#include "task/own/own_lengths.h"
#include "task/own/own_sets.h"

#include <stdlib.h>
#include <string.h>

/* Everything that was read. */
typedef struct collection {
    const lab_task_options *options;
    lab_own_rows rows;
    lab_word_index words, labels;
    size_t ids; /* of rows of ids: one more than the training set's largest */
} collection;

static void collection_free(collection *all) {
    lab_own_rows_free(&all->rows);
    lab_word_index_free(&all->words);
    lab_word_index_free(&all->labels);
}

/* ---- the vocabulary ---- */

static size_t vocabulary_of(const collection *all) {
    return all->rows.ids || all->ids > 0 ? LAB_OWN_FIRST + all->ids : lab_own_vocabulary(&all->words, all->rows.kind);
}

static locus_status learn_row(collection *all, const lab_own_row *row, locus_error *error) {
    const lab_own_side *side = &row->sides[LAB_OWN_INPUT];
    for (size_t i = 0; side->ids != NULL && i < side->count; i++)
        all->ids = (size_t)side->ids[i] + 1 > all->ids ? (size_t)side->ids[i] + 1 : all->ids;
    if (lab_word_add(&all->labels, row->label, strlen(row->label)) == SIZE_MAX ||
        !lab_own_learn(&all->words, all->rows.kind, side))
        return lab_fail_memory(error, "a vocabulary");
    return all->labels.count <= LAB_OWN_MOST_CLASSES
               ? LOCUS_OK
               : lab_own_fail(row, error, "the training set has more than %d labels", LAB_OWN_MOST_CLASSES);
}

static locus_status learn(collection *all, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < all->rows.count && status == LOCUS_OK; i++)
        if (all->rows.rows[i].set == LAB_SET_TRAIN)
            status = learn_row(all, &all->rows.rows[i], error);
    if (status == LOCUS_OK && all->labels.count < 2) {
        status = lab_fail(error, LOCUS_ERROR_IO, "data",
                          "'%s': all training samples have one label: there is nothing "
                          "to tell apart",
                          all->options->path);
    }
    return status;
}

/* Whether all labels, and ids, are known. */
static locus_status check_row(const collection *all, const lab_own_row *row, locus_error *error) {
    const lab_own_side *side = &row->sides[LAB_OWN_INPUT];
    if (lab_word_find(&all->labels, row->label, strlen(row->label)) == SIZE_MAX)
        return lab_own_fail(row, error, "no training sample has the label '%s'", row->label);
    if ((side->ids != NULL) != (all->ids > 0))
        return lab_own_fail(row, error, "the training set has %s", all->ids > 0 ? "ids, not texts" : "texts, not ids");
    for (size_t i = 0; side->ids != NULL && i < side->count; i++)
        if ((size_t)side->ids[i] >= all->ids)
            return lab_own_fail(row, error, "id %d is beyond the vocabulary: the training set has ids 0 to %zu",
                                (int)side->ids[i], all->ids - 1);
    return LOCUS_OK;
}

/* ---- reading ---- */

/* A vocabulary that was kept. */
static locus_status recall(collection *all, locus_error *error) {
    cJSON *root;
    const char *folder = all->options->kept;
    locus_status status = lab_own_recall(&root, folder, error);
    if (status != LOCUS_OK)
        return status;
    const cJSON *ids = cJSON_GetObjectItemCaseSensitive(root, "ids");
    all->ids = cJSON_IsNumber(ids) && ids->valuedouble > 0 && ids->valuedouble < 1e8 ? (size_t)ids->valuedouble : 0;
    status = lab_own_recall_words(&all->words, cJSON_GetObjectItemCaseSensitive(root, "words"), error);
    if (status == LOCUS_OK)
        status = lab_own_recall_words(&all->labels, cJSON_GetObjectItemCaseSensitive(root, "labels"), error);
    cJSON_Delete(root);
    return status == LOCUS_OK && all->labels.count >= 2 ? LOCUS_OK
                                                        : lab_own_fail_kept(status, folder, "vocabulary", error);
}

static locus_status read_training(collection *all, uint64_t seed, locus_error *error) {
    const locus_status status = lab_own_rows_train(&all->rows, all->options, seed, error);
    return status == LOCUS_OK ? learn(all, error) : status;
}

/* Another file alone, by the vocabulary that a run has kept. */
static locus_status read_kept(collection *all, locus_error *error) {
    const locus_status status = recall(all, error);
    return status == LOCUS_OK ? lab_own_rows_read(&all->rows, all->options->test, LAB_SET_TEST, error) : status;
}

static collection collection_of(const lab_task_options *options) {
    return (collection){.options = options,
                        .rows = {.form = &lab_labelled_form, .kind = LAB_LABELLED(options)->tokens}};
}

static locus_status collect(collection *all, const lab_task_options *options, uint64_t seed, locus_error *error) {
    *all = collection_of(options);
    locus_status status = lab_own_only_test(options) ? read_kept(all, error) : read_training(all, seed, error);
    for (size_t i = 0; i < all->rows.count && status == LOCUS_OK; i++)
        status = check_row(all, &all->rows.rows[i], error);
    if (status != LOCUS_OK)
        collection_free(all);
    return status;
}

/* ---- sets ---- */

/* Tokens of a sample, the start token first. */
static size_t encode(const collection *all, const lab_own_side *side, int32_t *tokens) {
    tokens[0] = 0;
    lab_own_encode(&all->words, all->rows.kind, LAB_OWN_FIRST, side, tokens + 1);
    return 1 + side->count;
}

static locus_status fill(const collection *all, lab_dataset *set, lab_set which, locus_error *error) {
    size_t at = 0;
    set->input_offsets = calloc(set->samples + 1, sizeof *set->input_offsets);
    set->labels = calloc(set->samples + 1, sizeof *set->labels);
    if (set->input_offsets == NULL || set->labels == NULL)
        return lab_fail_memory(error, "a data set");
    for (size_t i = 0; i < all->rows.count && at < set->samples; i++) {
        const lab_own_row *row = &all->rows.rows[i];
        if (row->set != which)
            continue;
        set->labels[at] = (int32_t)lab_word_find(&all->labels, row->label, strlen(row->label));
        set->input_offsets[at + 1] = set->input_offsets[at] + 1 + row->sides[LAB_OWN_INPUT].count;
        at++;
    }
    set->input = calloc(set->input_offsets[set->samples] + 1, sizeof *set->input);
    if (set->input == NULL)
        return lab_fail_memory(error, "a data set");
    at = 0;
    for (size_t i = 0; i < all->rows.count && at < set->samples; i++)
        if (all->rows.rows[i].set == which)
            encode(all, &all->rows.rows[i].sides[LAB_OWN_INPUT], set->input + set->input_offsets[at++]);
    return LOCUS_OK;
}

locus_status lab_labelled_generate(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    collection all;
    locus_status status = lab_own_check_digest(draw->options, NULL, error);
    if (status == LOCUS_OK)
        status = collect(&all, draw->options, draw->seed, error);
    if (status != LOCUS_OK)
        return status;
    status = lab_own_take(set, draw, lab_own_rows_count(&all.rows, draw->which), error);
    if (status == LOCUS_OK) {
        lab_own_rows_choose(&all.rows, draw, set->samples);
        status = lab_own_within(&all.rows, draw, &set->samples, error);
    }
    if (status == LOCUS_OK)
        status = fill(&all, set, draw->which, error);
    collection_free(&all);
    return status;
}

/* ---- what the files say ---- */

locus_status lab_labelled_look(const lab_task_options *options, uint64_t seed, lab_class_facts *facts,
                               locus_error *error) {
    collection all;
    *facts = (lab_class_facts){0};
    locus_status status = collect(&all, options, seed, error);
    if (status != LOCUS_OK)
        return status;
    facts->vocabulary = vocabulary_of(&all);
    facts->trained = lab_own_longest(&all.rows);
    facts->shortest = SIZE_MAX;
    for (size_t i = 0; i < all.rows.count; i++) {
        const lab_own_row *row = &all.rows.rows[i];
        const size_t tokens = row->sides[LAB_OWN_INPUT].count;
        facts->samples[row->set]++;
        facts->of_class[row->set][lab_word_find(&all.labels, row->label, strlen(row->label))]++;
        facts->shortest = tokens < facts->shortest ? tokens : facts->shortest;
        facts->longest = tokens > facts->longest ? tokens : facts->longest;
    }
    status = lab_own_rows_shared(&all.rows, facts->shared, error);
    if (status == LOCUS_OK)
        status = lab_own_digest(options, &facts->digest, error);
    facts->classes = all.labels;
    all.labels = (lab_word_index){0};
    collection_free(&all);
    if (status != LOCUS_OK)
        lab_class_facts_free(facts);
    return status;
}

locus_status lab_labelled_keep(const lab_task_options *options, uint64_t seed, const char *folder, locus_error *error) {
    collection all;
    locus_status status = collect(&all, options, seed, error);
    if (status != LOCUS_OK)
        return status;
    const size_t losses = lab_json_losses();
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "tokens", lab_token_names[LAB_LABELLED(options)->tokens]);
    cJSON_AddNumberToObject(root, "ids", (double)all.ids);
    lab_json_put(root, "words", lab_own_words_json(&all.words));
    lab_json_put(root, "labels", lab_own_words_json(&all.labels));
    status = lab_own_keep(root, losses, folder, error);
    collection_free(&all);
    return status;
}

/* ---- a sample alone ---- */

static locus_status recall_kept(collection *all, const lab_task_options *options, locus_error *error) {
    *all = collection_of(options);
    return recall(all, error);
}

static locus_status fill_sample(const collection *all, lab_dataset *set, const lab_own_side *side, locus_error *error) {
    set->samples = 1;
    set->input_offsets = calloc(2, sizeof *set->input_offsets);
    set->labels = calloc(1, sizeof *set->labels);
    set->input = calloc(1 + side->count, sizeof *set->input);
    if (set->input_offsets == NULL || set->labels == NULL || set->input == NULL)
        return lab_fail_memory(error, "a sample");
    set->input_offsets[1] = encode(all, side, set->input);
    return side->count > 0 ? LOCUS_OK : lab_fail(error, LOCUS_ERROR_ARGUMENT, "input", "the text has no tokens");
}

locus_status lab_labelled_sample(lab_dataset *set, const lab_task *task, const lab_task_options *options,
                                 const char *text, locus_error *error) {
    collection all;
    lab_own_side side = {0};
    (void)task;
    locus_status status = recall_kept(&all, options, error);
    const lab_own_ids ids = {0, all.ids - 1};
    if (status == LOCUS_OK)
        status = lab_own_typed(&side, text, all.rows.kind, all.ids > 0 ? &ids : NULL, error);
    if (status == LOCUS_OK)
        status = fill_sample(&all, set, &side, error);
    free(side.text);
    free(side.ids);
    collection_free(&all);
    return status;
}

static void name_token(const collection *all, int32_t token, lab_token_name *name) {
    const size_t size = sizeof name->text, at = (size_t)(token - LAB_OWN_FIRST);
    if (token < LAB_OWN_FIRST)
        snprintf(name->text, size, "%s", token == LAB_OWN_UNKNOWN ? "unknown" : "start");
    else if (all->ids > 0)
        snprintf(name->text, size, "%zu", at);
    else if (LAB_LABELLED(all->options)->tokens == LAB_TOKENS_BYTES)
        snprintf(name->text, size, at > ' ' && at < 0x7F ? "%c" : "x%02X", (unsigned)at);
    else
        snprintf(name->text, size, "%.*s", (int)size - 1, at < all->words.count ? all->words.words[at] : "unknown");
}

locus_status lab_labelled_names(lab_token_name *names, const lab_task *task, const lab_task_options *options,
                                const int32_t *tokens, size_t count, locus_error *error) {
    collection all;
    (void)task;
    const locus_status status = recall_kept(&all, options, error);
    for (size_t i = 0; status == LOCUS_OK && i < count; i++)
        name_token(&all, tokens[i], &names[i]);
    collection_free(&all);
    return status;
}
