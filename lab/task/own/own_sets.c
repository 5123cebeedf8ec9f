/* SPDX-License-Identifier: MIT */
/* See own_sets.h. */
#include "task/own/own_sets.h"

#include "io/digest.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/json.h"
#include "io/text_stream.h"

#include <stdlib.h>
#include <string.h>

bool lab_own_only_test(const lab_task_options *options) {
    return options->path == NULL && options->test != NULL && options->kept != NULL;
}

/* ---- splitting ---- */

/* Which samples of the first source are of which set: a tenth each of those sets that have no source of their own. */
locus_status lab_own_split(const lab_task_options *options, uint64_t seed, size_t count, lab_set *sets,
                           locus_error *error) {
    const bool wanted[] = {false, options->dev == NULL, options->test == NULL};
    const locus_random random = {seed, LAB_PURPOSE_DATA + 0x100u, 0};
    const size_t share = count / 10 > 0 ? count / 10 : 1;
    size_t *order = calloc(count + 1, sizeof *order), taken = 0;
    if (order == NULL)
        return lab_fail_memory(error, "samples");
    if (count < 1 + (size_t)wanted[1] + (size_t)wanted[2]) {
        free(order);
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "data", "'%s' has %zu samples: too few for %s", options->path,
                        count, "a training, a development and a test set: give --dev and --test");
    }
    for (size_t i = 0; i < count; i++) {
        order[i] = i;
        sets[i] = LAB_SET_TRAIN;
    }
    for (size_t i = count; i > 1; i--) {
        const size_t j = (size_t)locus_random_below(&random, i, i), kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
    for (int set = LAB_SET_TEST; set >= LAB_SET_DEV; set--)
        for (size_t i = 0; wanted[set] && i < share; i++)
            sets[order[taken++]] = (lab_set)set;
    free(order);
    return LOCUS_OK;
}

/* ---- a part of a set ---- */

lab_own_choice lab_own_choice_of(const lab_draw *draw, size_t have, size_t wanted) {
    return (lab_own_choice){
        .random = {draw->seed, LAB_PURPOSE_DATA + 0x110u + (uint32_t)draw->which, 0}, .left = have, .wanted = wanted};
}

/* Selection sampling: of what is left, each has the same chance. */
bool lab_own_chosen(lab_own_choice *choice) {
    const bool taken = choice->wanted == choice->left ||
                       locus_random_below(&choice->random, choice->at, choice->left) < choice->wanted;
    choice->at++;
    choice->left--;
    choice->wanted -= taken;
    return taken;
}

/* ---- what sets share ---- */

void lab_class_facts_free(lab_class_facts *facts) {
    lab_word_index_free(&facts->classes);
}

locus_status lab_own_count_shared(const void *all, size_t count, lab_own_key *key_of, size_t shared[3],
                                  locus_error *error) {
    lab_word_index seen = {0};
    bool good = true;
    for (size_t i = 0; good && i < 2 * count; i++) { /* the training set first, then the others */
        const bool learns = i < count;
        lab_set set;
        char *key;
        size_t bytes;
        // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): where there is no sample there is no turn
        good = key_of(all, i % count, &set, &key, &bytes);
        if (good && learns && set == LAB_SET_TRAIN)
            good = lab_word_add(&seen, key, bytes) != SIZE_MAX;
        else if (good && !learns && set != LAB_SET_TRAIN)
            shared[set] += lab_word_find(&seen, key, bytes) != SIZE_MAX;
        free(key);
    }
    lab_word_index_free(&seen);
    return good ? LOCUS_OK : lab_fail_memory(error, "samples");
}

/* ---- digests ---- */

locus_status lab_own_digest(const lab_task_options *options, uint64_t *digest, locus_error *error) {
    const char *const paths[] = {options->path, options->dev, options->test};
    lab_digest sum = lab_digest_begin(LAB_DIGEST_SHA256);
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < 3 && status == LOCUS_OK; i++) {
        lab_digest_add(&sum, paths[i] != NULL ? "+" : "-", 1);
        if (paths[i] != NULL)
            status = lab_digest_add_file(&sum, paths[i], error);
    }
    if (status == LOCUS_OK)
        status = lab_digest_close_number(&sum, digest, error);
    lab_digest_discard(&sum);
    return status;
}

locus_status lab_own_check_digest(const lab_task_options *options, const uint64_t *now, locus_error *error) {
    uint64_t found = now != NULL ? *now : 0;
    if (options->digest == 0 || options->path == NULL)
        return LOCUS_OK;
    const locus_status status = now != NULL ? LOCUS_OK : lab_own_digest(options, &found, error);
    if (status != LOCUS_OK || found == options->digest)
        return status;
    return lab_fail(error, LOCUS_ERROR_IO, "data",
                    "'%s' holds other samples than the run was made for: name the same "
                    "files, or with --test alone one to score",
                    options->path);
}

/* ---- what is kept ---- */

locus_status lab_own_keep(cJSON *root, size_t losses, const char *folder, locus_error *error) {
    char *text = cJSON_PrintUnformatted(root), *path = lab_text_print("%s/" LAB_OWN_KEPT, folder);
    const locus_status status = text == NULL || path == NULL || lab_json_losses() != losses
                                    ? lab_fail_memory(error, "a vocabulary")
                                    : lab_file_write(path, text, strlen(text), error);
    cJSON_free(text);
    free(path);
    cJSON_Delete(root);
    return status;
}

locus_status lab_own_recall(cJSON **root, const char *folder, locus_error *error) {
    char *text = NULL, *path = lab_text_print("%s/" LAB_OWN_KEPT, folder);
    size_t bytes;
    bool out_of_memory = path == NULL;
    *root = NULL;
    locus_status status = path != NULL ? lab_file_read(path, &text, &bytes, error) : LOCUS_OK;
    if (status == LOCUS_OK && path != NULL)
        *root = lab_json_parse(text, bytes, false, NULL, &out_of_memory);
    if (status == LOCUS_OK && *root == NULL) {
        status = out_of_memory ? lab_fail_memory(error, "a vocabulary")
                               : lab_fail(error, LOCUS_ERROR_IO, "data", "'%s' is no vocabulary", path);
    }
    free(text);
    free(path);
    return status;
}

locus_status lab_own_recall_words(lab_word_index *words, const cJSON *array, locus_error *error) {
    const cJSON *item;
    cJSON_ArrayForEach(item, array) {
        const char *word = cJSON_GetStringValue(item);
        if (word == NULL)
            return LOCUS_ERROR_IO;
        if (lab_word_add(words, word, strlen(word)) == SIZE_MAX)
            return lab_fail_memory(error, "a vocabulary");
    }
    return LOCUS_OK;
}

locus_status lab_own_fail_kept(locus_status status, const char *folder, const char *what, locus_error *error) {
    return status == LOCUS_OK || status == LOCUS_ERROR_IO
               ? lab_fail(error, LOCUS_ERROR_IO, "data", "'%s/" LAB_OWN_KEPT "' is no %s", folder, what)
               : status;
}

cJSON *lab_own_words_json(const lab_word_index *words) {
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < words->count; i++)
        lab_json_put(list, NULL, cJSON_CreateString(words->words[i]));
    return list;
}

locus_status lab_own_take(lab_dataset *set, const lab_draw *draw, size_t have, locus_error *error) {
    set->samples = draw->samples > 0 ? draw->samples : have;
    return set->samples <= have && have > 0
               ? LOCUS_OK
               : lab_fail(error, LOCUS_ERROR_ARGUMENT, "n", "%zu samples are asked for, the set has %zu", set->samples,
                          have);
}
