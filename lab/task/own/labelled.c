/* SPDX-License-Identifier: MIT */
/* See labelled.h. */
#include "task/own/labelled.h"

#include "io/fail.h"
#include "io/json.h"
#include "task/own/labelled_rows.h"
#include "task/own/own_sets.h"
#include "task/own/own_text.h"

#include <stdlib.h>
#include <string.h>

enum { UNKNOWN = 1, FIRST = 2, BYTE_VALUES = 256 };

/* Everything that was read. */
typedef struct collection {
    const lab_task_options *options;
    lab_labelled_rows rows;
    lab_word_index words, labels;
    size_t ids; /* of rows of ids: one more than the training set's largest */
} collection;

static void collection_free(collection *all) {
    lab_labelled_rows_free(&all->rows);
    lab_word_index_free(&all->words);
    lab_word_index_free(&all->labels);
}

/* ---- the vocabulary ---- */

static int32_t token_of(const collection *all, lab_own_token token) {
    if (all->options->labelled.tokens == LAB_TOKENS_BYTES)
        return FIRST + (unsigned char)*token.text;
    const size_t found = lab_word_find(&all->words, token.text, token.bytes);
    return found == SIZE_MAX ? UNKNOWN : FIRST + (int32_t)found;
}

static size_t vocabulary_of(const collection *all) {
    if (all->rows.ids || all->ids > 0)
        return FIRST + all->ids;
    return FIRST + (all->options->labelled.tokens == LAB_TOKENS_BYTES ? BYTE_VALUES : all->words.count);
}

static locus_status learn_row(collection *all, const lab_labelled_row *row, locus_error *error) {
    const lab_token_kind kind = all->options->labelled.tokens;
    const char *at = row->text;
    bool good = lab_word_add(&all->labels, row->label, strlen(row->label)) != SIZE_MAX;
    for (size_t i = 0; i < row->id_count; i++)
        all->ids = (size_t)row->ids[i] + 1 > all->ids ? (size_t)row->ids[i] + 1 : all->ids;
    if (row->text != NULL && kind != LAB_TOKENS_BYTES)
        for (lab_own_token token; good && (token = lab_own_next(kind, &at, row->text + row->bytes)).bytes > 0;)
            good = lab_word_add(&all->words, token.text, token.bytes) != SIZE_MAX;
    if (!good)
        return lab_fail_memory(error, "a vocabulary");
    if (all->labels.count > LAB_OWN_MOST_CLASSES) {
        return lab_fail(error, LOCUS_ERROR_IO, "data", "'%s', line %zu: the training set has more than %d labels",
                        row->path, row->line, LAB_OWN_MOST_CLASSES);
    }
    return LOCUS_OK;
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
static locus_status check_row(const collection *all, const lab_labelled_row *row, locus_error *error) {
    if (lab_word_find(&all->labels, row->label, strlen(row->label)) == SIZE_MAX) {
        return lab_fail(error, LOCUS_ERROR_IO, "data", "'%s', line %zu: no training sample has the label '%s'",
                        row->path, row->line, row->label);
    }
    if ((row->ids != NULL) != (all->ids > 0)) {
        return lab_fail(error, LOCUS_ERROR_IO, "data", "'%s', line %zu: the training set has %s", row->path, row->line,
                        all->ids > 0 ? "ids, not texts" : "texts, not ids");
    }
    for (size_t i = 0; i < row->id_count; i++) {
        if ((size_t)row->ids[i] >= all->ids) {
            return lab_fail(error, LOCUS_ERROR_IO, "data",
                            "'%s', line %zu: id %d is beyond the vocabulary: the training set has ids 0 to %zu",
                            row->path, row->line, (int)row->ids[i], all->ids - 1);
        }
    }
    return LOCUS_OK;
}

/* ---- reading ---- */

/* Which rows of the first file are of which set. */
static locus_status split(collection *all, uint64_t seed, locus_error *error) {
    lab_set *sets = calloc(all->rows.count + 1, sizeof *sets);
    if (sets == NULL)
        return lab_fail_memory(error, "samples");
    const locus_status status = lab_own_split(all->options, seed, all->rows.count, sets, error);
    for (size_t i = 0; status == LOCUS_OK && i < all->rows.count; i++)
        all->rows.rows[i].set = sets[i];
    free(sets);
    return status;
}

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
    const lab_task_options *options = all->options;
    if (options->path == NULL)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "data", "labelled samples are read from a file: --data FILE");
    locus_status status = lab_labelled_rows_read(&all->rows, options->path, LAB_SET_TRAIN, error);
    if (status == LOCUS_OK && (options->dev == NULL || options->test == NULL))
        status = split(all, seed, error);
    if (status == LOCUS_OK && options->dev != NULL)
        status = lab_labelled_rows_read(&all->rows, options->dev, LAB_SET_DEV, error);
    if (status == LOCUS_OK && options->test != NULL)
        status = lab_labelled_rows_read(&all->rows, options->test, LAB_SET_TEST, error);
    return status == LOCUS_OK ? learn(all, error) : status;
}

/* Another file alone, by the vocabulary that a run has kept. */
static locus_status read_kept(collection *all, locus_error *error) {
    const locus_status status = recall(all, error);
    return status == LOCUS_OK ? lab_labelled_rows_read(&all->rows, all->options->test, LAB_SET_TEST, error) : status;
}

static locus_status collect(collection *all, const lab_task_options *options, uint64_t seed, locus_error *error) {
    *all = (collection){.options = options};
    const bool kept = options->path == NULL && options->test != NULL && options->kept != NULL;
    locus_status status = kept ? read_kept(all, error) : read_training(all, seed, error);
    for (size_t i = 0; i < all->rows.count && status == LOCUS_OK; i++)
        status = check_row(all, &all->rows.rows[i], error);
    if (status != LOCUS_OK)
        collection_free(all);
    return status;
}

/* ---- sets ---- */

/* Tokens of a row, the start token first; `tokens` NULL: their number alone. */
static size_t encode(const collection *all, const lab_labelled_row *row, int32_t *tokens) {
    const lab_token_kind kind = all->options->labelled.tokens;
    const char *at = row->text;
    size_t count = 0;
    if (tokens != NULL)
        tokens[count] = 0;
    count++;
    for (size_t i = 0; i < row->id_count; i++, count++)
        if (tokens != NULL)
            tokens[count] = FIRST + row->ids[i];
    if (row->text == NULL)
        return count;
    for (lab_own_token token; (token = lab_own_next(kind, &at, row->text + row->bytes)).bytes > 0; count++)
        if (tokens != NULL)
            tokens[count] = token_of(all, token);
    return count;
}

static locus_status fill(const collection *all, lab_dataset *set, lab_set which, locus_error *error) {
    size_t at = 0;
    set->input_offsets = calloc(set->samples + 1, sizeof *set->input_offsets);
    set->labels = calloc(set->samples + 1, sizeof *set->labels);
    if (set->input_offsets == NULL || set->labels == NULL)
        return lab_fail_memory(error, "a data set");
    for (size_t i = 0; i < all->rows.count && at < set->samples; i++) {
        const lab_labelled_row *row = &all->rows.rows[i];
        if (row->set != which)
            continue;
        set->labels[at] = (int32_t)lab_word_find(&all->labels, row->label, strlen(row->label));
        set->input_offsets[at + 1] = set->input_offsets[at] + encode(all, row, NULL);
        at++;
    }
    set->input = calloc(set->input_offsets[set->samples] + 1, sizeof *set->input);
    if (set->input == NULL)
        return lab_fail_memory(error, "a data set");
    at = 0;
    for (size_t i = 0; i < all->rows.count && at < set->samples; i++)
        if (all->rows.rows[i].set == which)
            encode(all, &all->rows.rows[i], set->input + set->input_offsets[at++]);
    return LOCUS_OK;
}

static size_t count_rows(const collection *all, lab_set which) {
    size_t count = 0;
    for (size_t i = 0; i < all->rows.count; i++)
        count += all->rows.rows[i].set == which;
    return count;
}

locus_status lab_labelled_generate(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    collection all;
    locus_status status = lab_own_check_digest(draw->options, NULL, error);
    if (status == LOCUS_OK)
        status = collect(&all, draw->options, draw->seed, error);
    if (status != LOCUS_OK)
        return status;
    const size_t have = count_rows(&all, draw->which);
    status = lab_own_take(set, draw, have, error);
    if (status == LOCUS_OK)
        status = fill(&all, set, draw->which, error);
    collection_free(&all);
    return status;
}

/* ---- what the files say ---- */

/* What two rows with the same input share. */
static bool key_of(const void *context, size_t sample, lab_set *set, char **key, size_t *bytes) {
    const lab_labelled_row *row = &((const collection *)context)->rows.rows[sample];
    *set = row->set;
    *bytes = row->text != NULL ? row->bytes : row->id_count * sizeof *row->ids;
    *key = malloc(*bytes + 1);
    if (*key != NULL)
        memcpy(*key, row->text != NULL ? (const void *)row->text : row->ids, *bytes);
    return *key != NULL;
}

locus_status lab_labelled_look(const lab_task_options *options, uint64_t seed, lab_class_facts *facts,
                               locus_error *error) {
    collection all;
    *facts = (lab_class_facts){0};
    locus_status status = collect(&all, options, seed, error);
    if (status != LOCUS_OK)
        return status;
    facts->vocabulary = vocabulary_of(&all);
    facts->shortest = SIZE_MAX;
    for (size_t i = 0; i < all.rows.count; i++) {
        const lab_labelled_row *row = &all.rows.rows[i];
        const size_t tokens = encode(&all, row, NULL) - 1;
        facts->samples[row->set]++;
        facts->of_class[row->set][lab_word_find(&all.labels, row->label, strlen(row->label))]++;
        facts->shortest = tokens < facts->shortest ? tokens : facts->shortest;
        facts->longest = tokens > facts->longest ? tokens : facts->longest;
    }
    status = lab_own_count_shared(&all, all.rows.count, key_of, facts->shared, error);
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
    cJSON_AddStringToObject(root, "tokens", lab_token_names[options->labelled.tokens]);
    cJSON_AddNumberToObject(root, "ids", (double)all.ids);
    lab_json_put(root, "words", lab_own_words_json(&all.words));
    lab_json_put(root, "labels", lab_own_words_json(&all.labels));
    status = lab_own_keep(root, losses, folder, error);
    collection_free(&all);
    return status;
}

/* ---- a sample alone ---- */

static locus_status recall_kept(collection *all, const lab_task_options *options, locus_error *error) {
    *all = (collection){.options = options};
    return recall(all, error);
}

/* "3 0 7"; room for half of the text's bytes. */
static locus_status read_ids(const collection *all, const char *text, lab_labelled_row *row, locus_error *error) {
    for (const char *at = text + strspn(text, " ,\t\r\n"); *at != '\0'; at += strspn(at, " ,\t\r\n")) {
        char *end;
        const long id = strtol(at, &end, 10);
        if (end == at || id < 0 || (size_t)id >= all->ids) {
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, "input",
                            "'%.20s' is no id: give numbers from 0 to %zu between spaces", at, all->ids - 1);
        }
        row->ids[row->id_count++] = (int32_t)id;
        at = end;
    }
    return LOCUS_OK;
}

static locus_status fill_sample(const collection *all, lab_dataset *set, const lab_labelled_row *row,
                                locus_error *error) {
    set->samples = 1;
    set->input_offsets = calloc(2, sizeof *set->input_offsets);
    set->labels = calloc(1, sizeof *set->labels);
    set->input = calloc(encode(all, row, NULL), sizeof *set->input);
    if (set->input_offsets == NULL || set->labels == NULL || set->input == NULL)
        return lab_fail_memory(error, "a sample");
    set->input_offsets[1] = encode(all, row, set->input);
    return set->input_offsets[1] > 1 ? LOCUS_OK
                                     : lab_fail(error, LOCUS_ERROR_ARGUMENT, "input", "the text has no tokens");
}

locus_status lab_labelled_sample(lab_dataset *set, const lab_task *task, const lab_task_options *options,
                                 const char *text, locus_error *error) {
    collection all;
    lab_labelled_row row = {.bytes = strlen(text)};
    (void)task;
    locus_status status = recall_kept(&all, options, error);
    const bool ids = all.ids > 0;
    row.text = ids ? NULL : strdup(text);
    row.ids = ids ? calloc(row.bytes / 2 + 1, sizeof *row.ids) : NULL;
    if (status == LOCUS_OK && row.text == NULL && row.ids == NULL)
        status = lab_fail_memory(error, "a sample");
    if (status == LOCUS_OK && ids)
        status = read_ids(&all, text, &row, error);
    if (status == LOCUS_OK)
        status = fill_sample(&all, set, &row, error);
    free(row.text);
    free(row.ids);
    collection_free(&all);
    return status;
}

static void name_token(const collection *all, int32_t token, lab_token_name *name) {
    const size_t size = sizeof name->text, at = (size_t)(token - FIRST);
    if (token < FIRST)
        snprintf(name->text, size, "%s", token == UNKNOWN ? "unknown" : "start");
    else if (all->ids > 0)
        snprintf(name->text, size, "%zu", at);
    else if (all->options->labelled.tokens == LAB_TOKENS_BYTES)
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
