/* SPDX-License-Identifier: MIT */
/* See labelled.h. */
#include "task/labelled.h"

#include "io/digest.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/json.h"
#include "task/labelled_rows.h"
#include "task/word_index.h"

#include <locus/random.h>
#include <stdlib.h>
#include <string.h>

enum { UNKNOWN = 1, FIRST = 2, BYTE_VALUES = 256 };

static const char *const token_names[] = {"words", "characters", "bytes"};

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

/* ---- tokens of a text ---- */

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Bytes of the character at `at`; what is no UTF-8 stands for itself. */
static size_t character_bytes(const char *at, const char *end) {
    const unsigned char first = (unsigned char)*at;
    const size_t wanted = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    size_t bytes = 1;
    while (bytes < wanted && at + bytes < end && ((unsigned char)at[bytes] & 0xC0) == 0x80)
        bytes++;
    return bytes == wanted ? bytes : 1;
}

/* The next token from *at on, which then stands behind it; 0 bytes: there is none. */
static size_t next_token(lab_token_kind kind, const char **at, const char *end, const char **token) {
    while (kind == LAB_TOKENS_WORDS && *at < end && is_space(**at))
        (*at)++;
    *token = *at;
    if (*at == end)
        return 0;
    if (kind == LAB_TOKENS_WORDS)
        while (*at < end && !is_space(**at))
            (*at)++;
    else
        *at += kind == LAB_TOKENS_BYTES ? 1 : character_bytes(*at, end);
    return (size_t)(*at - *token);
}

static int32_t token_of(const collection *all, const char *token, size_t bytes) {
    if (all->options->labelled.tokens == LAB_TOKENS_BYTES)
        return FIRST + (unsigned char)*token;
    const size_t found = lab_word_find(&all->words, token, bytes);
    return found == SIZE_MAX ? UNKNOWN : FIRST + (int32_t)found;
}

static size_t vocabulary_of(const collection *all) {
    if (all->rows.ids || all->ids > 0)
        return FIRST + all->ids;
    return FIRST + (all->options->labelled.tokens == LAB_TOKENS_BYTES ? BYTE_VALUES : all->words.count);
}

/* ---- the vocabulary ---- */

static locus_status learn_row(collection *all, const lab_labelled_row *row, locus_error *error) {
    const char *at = row->text, *token;
    bool good = lab_word_add(&all->labels, row->label, strlen(row->label)) != SIZE_MAX;
    for (size_t i = 0; i < row->id_count; i++)
        all->ids = (size_t)row->ids[i] + 1 > all->ids ? (size_t)row->ids[i] + 1 : all->ids;
    if (row->text != NULL && all->options->labelled.tokens != LAB_TOKENS_BYTES)
        for (size_t n;
             good && (n = next_token(all->options->labelled.tokens, &at, row->text + row->bytes, &token)) > 0;)
            good = lab_word_add(&all->words, token, n) != SIZE_MAX;
    if (!good)
        return lab_fail_memory(error, "a vocabulary");
    if (all->labels.count > LAB_LABELLED_MOST_CLASSES) {
        return lab_fail(error, LOCUS_ERROR_IO, "data", "'%s', line %zu: the training set has more than %d labels",
                        row->path, row->line, LAB_LABELLED_MOST_CLASSES);
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

/* ---- splitting ---- */

/* Which rows of the first file are of which set: a tenth each of those sets that have no file. */
static locus_status split(collection *all, uint64_t seed, locus_error *error) {
    const bool wanted[] = {false, all->options->labelled.dev == NULL, all->options->labelled.test == NULL};
    const locus_random random = {seed, LAB_PURPOSE_DATA + 0x100u, 0};
    const size_t count = all->rows.count, share = count / 10 > 0 ? count / 10 : 1;
    size_t *order = calloc(count + 1, sizeof *order), taken = 0;
    if (order == NULL)
        return lab_fail_memory(error, "samples");
    if (count < 1 + (size_t)wanted[1] + (size_t)wanted[2]) {
        free(order);
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "data", "'%s' has %zu samples: too few for %s", all->options->path,
                        count, "a training, a development and a test set: give --dev and --test");
    }
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i > 1; i--) {
        const size_t j = (size_t)locus_random_below(&random, i, i), kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
    for (int set = LAB_SET_TEST; set >= LAB_SET_DEV; set--)
        for (size_t i = 0; wanted[set] && i < share; i++)
            all->rows.rows[order[taken++]].set = (lab_set)set;
    free(order);
    return LOCUS_OK;
}

/* ---- reading ---- */

/* A vocabulary that was kept. */
static locus_status recall(collection *all, const char *path, locus_error *error) {
    char *text = NULL;
    size_t bytes;
    bool out_of_memory = false, good = true;
    locus_status status = lab_file_read(path, &text, &bytes, error);
    cJSON *root = status == LOCUS_OK ? lab_json_parse(text, bytes, false, NULL, &out_of_memory) : NULL;
    const char *const names[] = {"words", "labels"};
    lab_word_index *const indices[] = {&all->words, &all->labels};
    const cJSON *item, *ids = cJSON_GetObjectItemCaseSensitive(root, "ids");
    for (size_t i = 0; i < 2; i++) {
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, names[i])) {
            const char *word = cJSON_GetStringValue(item);
            good = good && word != NULL && lab_word_add(indices[i], word, strlen(word)) != SIZE_MAX;
        }
    }
    all->ids = cJSON_IsNumber(ids) && ids->valuedouble > 0 && ids->valuedouble < 1e8 ? (size_t)ids->valuedouble : 0;
    cJSON_Delete(root);
    free(text);
    if (status == LOCUS_OK && (!good || all->labels.count < 2))
        status = out_of_memory ? lab_fail_memory(error, "a vocabulary")
                               : lab_fail(error, LOCUS_ERROR_IO, "data", "'%s' is no vocabulary", path);
    return status;
}

static locus_status read_training(collection *all, uint64_t seed, locus_error *error) {
    const lab_task_options *options = all->options;
    if (options->path == NULL)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "data", "labelled samples are read from a file: --data FILE");
    locus_status status = lab_labelled_rows_read(&all->rows, options->path, LAB_SET_TRAIN, error);
    if (status == LOCUS_OK && (options->labelled.dev == NULL || options->labelled.test == NULL))
        status = split(all, seed, error);
    if (status == LOCUS_OK && options->labelled.dev != NULL)
        status = lab_labelled_rows_read(&all->rows, options->labelled.dev, LAB_SET_DEV, error);
    if (status == LOCUS_OK && options->labelled.test != NULL)
        status = lab_labelled_rows_read(&all->rows, options->labelled.test, LAB_SET_TEST, error);
    return status == LOCUS_OK ? learn(all, error) : status;
}

/* Another file alone, by the vocabulary that a run has kept. */
static locus_status read_kept(collection *all, locus_error *error) {
    const size_t size = strlen(all->options->kept) + sizeof LAB_LABELLED_VOCABULARY + 2;
    char *path = malloc(size);
    if (path == NULL)
        return lab_fail_memory(error, "a path");
    snprintf(path, size, "%s/" LAB_LABELLED_VOCABULARY, all->options->kept);
    locus_status status = recall(all, path, error);
    free(path);
    return status == LOCUS_OK ? lab_labelled_rows_read(&all->rows, all->options->labelled.test, LAB_SET_TEST, error)
                              : status;
}

static locus_status collect(collection *all, const lab_task_options *options, uint64_t seed, locus_error *error) {
    *all = (collection){.options = options};
    const bool kept = options->path == NULL && options->labelled.test != NULL && options->kept != NULL;
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
    const char *at = row->text, *token;
    size_t count = 0;
    if (tokens != NULL)
        tokens[count] = 0;
    count++;
    for (size_t i = 0; i < row->id_count; i++, count++)
        if (tokens != NULL)
            tokens[count] = FIRST + row->ids[i];
    if (row->text == NULL)
        return count;
    for (size_t n; (n = next_token(all->options->labelled.tokens, &at, row->text + row->bytes, &token)) > 0; count++)
        if (tokens != NULL)
            tokens[count] = token_of(all, token, n);
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

static locus_status add_digest(uint64_t *digest, const lab_task_options *options, locus_error *error) {
    const char *const paths[] = {options->path, options->labelled.dev, options->labelled.test};
    lab_digest sum = {0};
    locus_status status = lab_digest_open(&sum, LAB_DIGEST_SHA256, error);
    for (size_t i = 0; i < 3 && status == LOCUS_OK; i++) {
        lab_digest_add(&sum, paths[i] != NULL ? "+" : "-", 1);
        if (paths[i] != NULL)
            status = lab_digest_add_file(&sum, paths[i], error);
    }
    if (status == LOCUS_OK)
        return lab_digest_close_number(&sum, digest, error);
    lab_digest_discard(&sum);
    return status;
}

/* A digest that is given is of what was read before. */
static locus_status check_digest(const lab_task_options *options, locus_error *error) {
    uint64_t now = 0;
    if (options->digest == 0 || options->path == NULL)
        return LOCUS_OK;
    const locus_status status = add_digest(&now, options, error);
    if (status != LOCUS_OK || now == options->digest)
        return status;
    return lab_fail(error, LOCUS_ERROR_IO, "data",
                    "'%s' holds other samples than the run was made for: name the same "
                    "files, or with --test alone one to score",
                    options->path);
}

locus_status lab_labelled_generate(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    collection all;
    locus_status status = check_digest(draw->options, error);
    if (status == LOCUS_OK)
        status = collect(&all, draw->options, draw->seed, error);
    if (status != LOCUS_OK)
        return status;
    const size_t have = count_rows(&all, draw->which);
    set->samples = draw->samples > 0 ? draw->samples : have;
    if (set->samples > have || have == 0) {
        status = lab_fail(error, LOCUS_ERROR_ARGUMENT, "n", "%zu samples are asked for, the set has %zu", set->samples,
                          have);
    }
    if (status == LOCUS_OK)
        status = fill(&all, set, draw->which, error);
    collection_free(&all);
    return status;
}

/* ---- what the files say ---- */

/* What two rows with the same input share. */
static const char *key_of(const lab_labelled_row *row, size_t *bytes) {
    *bytes = row->text != NULL ? row->bytes : row->id_count * sizeof *row->ids;
    return row->text != NULL ? row->text : (const char *)row->ids;
}

static locus_status count_shared(const collection *all, lab_labelled_facts *facts, locus_error *error) {
    lab_word_index seen = {0};
    locus_status status = LOCUS_OK;
    size_t bytes;
    for (size_t i = 0; i < all->rows.count && status == LOCUS_OK; i++) {
        const char *key = key_of(&all->rows.rows[i], &bytes);
        if (all->rows.rows[i].set == LAB_SET_TRAIN && lab_word_add(&seen, key, bytes) == SIZE_MAX)
            status = lab_fail_memory(error, "samples");
    }
    for (size_t i = 0; i < all->rows.count && status == LOCUS_OK; i++) {
        const char *key = key_of(&all->rows.rows[i], &bytes);
        const lab_set set = all->rows.rows[i].set;
        facts->shared[set] += set != LAB_SET_TRAIN && lab_word_find(&seen, key, bytes) != SIZE_MAX;
    }
    lab_word_index_free(&seen);
    return status;
}

locus_status lab_labelled_look(const lab_task_options *options, uint64_t seed, lab_labelled_facts *facts,
                               locus_error *error) {
    collection all;
    *facts = (lab_labelled_facts){0};
    locus_status status = collect(&all, options, seed, error);
    if (status != LOCUS_OK)
        return status;
    facts->vocabulary = vocabulary_of(&all);
    facts->classes = all.labels.count;
    facts->shortest = SIZE_MAX;
    for (size_t i = 0; i < all.rows.count; i++) {
        const lab_labelled_row *row = &all.rows.rows[i];
        const size_t tokens = encode(&all, row, NULL) - 1;
        facts->samples[row->set]++;
        facts->of_label[row->set][lab_word_find(&all.labels, row->label, strlen(row->label))]++;
        facts->shortest = tokens < facts->shortest ? tokens : facts->shortest;
        facts->longest = tokens > facts->longest ? tokens : facts->longest;
    }
    status = count_shared(&all, facts, error);
    if (status == LOCUS_OK)
        status = add_digest(&facts->digest, options, error);
    facts->labels = all.labels;
    all.labels = (lab_word_index){0};
    collection_free(&all);
    if (status != LOCUS_OK)
        lab_labelled_facts_free(facts);
    return status;
}

void lab_labelled_facts_free(lab_labelled_facts *facts) {
    lab_word_index_free(&facts->labels);
}

static cJSON *words_json(const lab_word_index *words) {
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < words->count; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(words->words[i]));
    return list;
}

locus_status lab_labelled_keep(const lab_task_options *options, uint64_t seed, const char *folder, locus_error *error) {
    collection all;
    locus_status status = collect(&all, options, seed, error);
    if (status != LOCUS_OK)
        return status;
    const size_t losses = lab_json_losses(), size = strlen(folder) + sizeof LAB_LABELLED_VOCABULARY + 2;
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "tokens", token_names[options->labelled.tokens]);
    cJSON_AddNumberToObject(root, "ids", (double)all.ids);
    cJSON_AddItemToObject(root, "words", words_json(&all.words));
    cJSON_AddItemToObject(root, "labels", words_json(&all.labels));
    char *text = cJSON_PrintUnformatted(root), *path = malloc(size);
    lab_output output = {0};
    if (text == NULL || path == NULL || lab_json_losses() != losses)
        status = lab_fail_memory(error, "a vocabulary");
    if (status == LOCUS_OK) {
        snprintf(path, size, "%s/" LAB_LABELLED_VOCABULARY, folder);
        status = lab_output_open(&output, path, error);
    }
    if (status == LOCUS_OK) {
        fputs(text, output.stream);
        status = lab_output_commit(&output, error);
        lab_output_discard(&output);
    }
    cJSON_free(text);
    free(path);
    cJSON_Delete(root);
    collection_free(&all);
    return status;
}
