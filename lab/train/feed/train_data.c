/* SPDX-License-Identifier: MIT */
/* Makes or opens the sets of a training, fills into its configuration what files say, and checks that they are those.
 * */
#include "train/feed/train_data.h"

#include "io/digest.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/folder.h"
#include "io/text_stream.h"
#include "model/pretrained/pretrained.h"
#include "task/own/own_sets.h"
#include "text/child.h"
#include "text/wordpiece.h"
#include "train/configuration/config.h"
#include "train/feed/pieces.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- sets ---- */

lab_train_set_request lab_train_set_ask(const lab_train_config *config, lab_set which) {
    const size_t samples[] = {config->train_samples, config->dev_samples, config->test_samples};
    return (lab_train_set_request){.which = which, .samples = samples[which]};
}

/* A part of what is read whole is its beginning; to score, however much there is. For training the number must be
 * right, since epochs are counted by it. */
static locus_status open_sequences(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    const bool whole = draw->task->class->whole && draw->which != LAB_SET_TRAIN;
    lab_draw all = *draw;
    all.samples = whole ? 0 : draw->samples;
    const locus_status status = lab_dataset_sequences(set, &all, error);
    if (status == LOCUS_OK && whole && draw->samples > 0 && draw->samples < set->samples)
        set->samples = draw->samples;
    return status;
}

locus_status lab_train_pieces(lab_dataset *set, const lab_draw *draw, const char *folder, locus_error *error) {
    if (folder == NULL) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "pretrained",
                        "the run began from a pretrained encoder: --pretrained names its folder");
    }
    lab_tokenizer *tokenizer = NULL;
    locus_status status = lab_tokenizer_open_folder(&tokenizer, folder, error);
    if (status == LOCUS_OK)
        status = lab_pieces_check(tokenizer, draw->task->class, folder, error);
    if (status == LOCUS_OK && lab_tokenizer_vocabulary(tokenizer) > draw->options->pieces) {
        status = lab_fail_file(error, folder, "has a vocabulary of %zu pieces, but an encoder of %zu",
                               lab_tokenizer_vocabulary(tokenizer), draw->options->pieces);
    }
    if (status == LOCUS_OK && set->samples == 0)
        status = lab_dataset_generate(set, draw, error);
    if (status == LOCUS_OK)
        status = lab_pieces_make(set, tokenizer, draw, error);
    if (status != LOCUS_OK)
        lab_dataset_destroy(set);
    lab_tokenizer_close(&tokenizer);
    return status;
}

locus_status lab_train_set(lab_dataset *set, const lab_train_config *config, const lab_train_set_request *request,
                           locus_error *error) {
    lab_task_options options = request->mean == 0 ? config->data : lab_config_data(config, request->mean);
    const lab_length_axis *axis = config->task->class->lengths;
    size_t samples = request->samples;
    if (request->mean != 0 && axis != NULL && axis->samples != NULL)
        samples = axis->samples(&config->data, &options, samples);
    const lab_draw draw = {config->task, &options, request->which, samples, config->data_seed};
    *set = (lab_dataset){0};
    if (request->tokenizer != NULL)
        options.kept = request->tokenizer;
    if (draw.task->open_sequences != NULL)
        return open_sequences(set, &draw, error);
    if (config->pretrained_digest != 0)
        return lab_train_pieces(set, &draw, request->tokenizer != NULL ? request->tokenizer : config->pretrained,
                                error);
    return lab_dataset_generate(set, &draw, error);
}

/* ---- what follows from files ---- */

/* The vocabulary decides what is read as much as the weights do. */
static locus_status add_vocabulary(const char *folder, uint64_t *digest, locus_error *error) {
    lab_tokenizer *tokenizer = NULL;
    char head[48];
    locus_status status = lab_tokenizer_open_folder(&tokenizer, folder, error);
    const lab_wordpiece *words = status == LOCUS_OK ? lab_tokenizer_words(tokenizer) : NULL;
    if (words != NULL) { /* without one there is a line when pieces are made */
        snprintf(head, sizeof head, "%llu %s\n", (unsigned long long)*digest,
                 lab_wordpiece_uncased(words) ? "uncased" : "cased");
        lab_digest sum = lab_digest_begin(LAB_DIGEST_SHA256);
        lab_digest_add(&sum, head, strlen(head));
        for (size_t i = 0; i < lab_wordpiece_count(words); i++) {
            const char *entry = lab_wordpiece_text(words, (int32_t)i);
            lab_digest_add(&sum, entry, strlen(entry) + 1);
        }
        status = lab_digest_close_number(&sum, digest, error);
    }
    lab_tokenizer_close(&tokenizer);
    return status;
}

static locus_status look_pretrained(lab_train_config *config, locus_error *error) {
    char encoding[LAB_SPEC_SIZE];
    uint64_t digest = 0;
    lab_model_config model = {.classes = 2};
    locus_status status = lab_pretrained_config(config->pretrained, NULL, encoding, sizeof encoding, &model, error);
    if (status == LOCUS_OK)
        status = lab_pretrained_digest(config->pretrained, &digest, error);
    if (status == LOCUS_OK)
        status = add_vocabulary(config->pretrained, &digest, error);
    config->pretrained_digest = status == LOCUS_OK ? digest : 0;
    config->data.pieces = model.vocabulary;
    return status;
}

static locus_status look_init(lab_train_config *config, locus_error *error) {
    lab_digest digest = lab_digest_begin(LAB_DIGEST_SHA256);
    locus_status status = lab_digest_add_file(&digest, config->init_from, error);
    if (status == LOCUS_OK)
        status = lab_digest_close_number(&digest, &config->init_digest, error);
    lab_digest_discard(&digest);
    return status;
}

locus_status lab_train_look(lab_train_config *config, locus_error *error) {
    const lab_task_class *class = config->task->class;
    locus_status status = class->look != NULL && config->data.digest == 0 ? class->look(config, error) : LOCUS_OK;
    if (status == LOCUS_OK && config->pretrained != NULL && config->pretrained_digest == 0)
        status = look_pretrained(config, error);
    if (status == LOCUS_OK && config->init_from != NULL && config->init_digest == 0)
        status = look_init(config, error);
    lab_config_fill(config);
    return status;
}

locus_status lab_train_keep(const lab_train_config *config, const char *folder, locus_error *error) {
    const lab_task_class *class = config->task->class;
    if (class->keep != NULL)
        return class->keep(&config->data, config->data_seed, folder, error);
    const char *from = class->tokenizer != NULL ? class->tokenizer(&config->data) : config->pretrained;
    if (from == NULL)
        return LOCUS_OK;
    lab_tokenizer *tokenizer;
    locus_status status = lab_tokenizer_open_folder(&tokenizer, from, error);
    if (status == LOCUS_OK) {
        status = lab_tokenizer_copy(tokenizer, folder, error);
        lab_tokenizer_close(&tokenizer);
    }
    return status;
}

/* ---- parameters of another training ---- */

/* What says which number a token or a class has, beside a run's parameters. */
static const char *const number_files[] = {LAB_OWN_KEPT, "tokenizer.model", "vocab.txt"};
enum { NUMBER_FILES = sizeof number_files / sizeof *number_files };

static bool is_there(const char *folder, const char *file) {
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/%s", folder, file) < (int)sizeof path && access(path, F_OK) == 0;
}

static locus_status check_file(const char *file, const char *beside, const char *folder, locus_error *error) {
    char *paths[2] = {lab_text_print("%s/%s", beside, file), lab_text_print("%s/%s", folder, file)};
    char *texts[2] = {NULL, NULL};
    size_t bytes[2] = {0, 0};
    locus_status status = paths[0] != NULL && paths[1] != NULL ? LOCUS_OK : lab_fail_memory(error, "a path");
    for (size_t i = 0; i < 2 && status == LOCUS_OK; i++)
        status = lab_file_read(paths[i], &texts[i], &bytes[i], error);
    if (status == LOCUS_OK && (bytes[0] != bytes[1] || memcmp(texts[0], texts[1], bytes[0]) != 0))
        status = lab_fail(error, LOCUS_ERROR_ARGUMENT, "init-from",
                          "'%s' numbers tokens or classes otherwise than these data: train on the same --data with the "
                          "same --data-seed, or begin from a copy of the parameters in another folder",
                          paths[0]);
    for (size_t i = 0; i < 2; i++) {
        free(paths[i]);
        free(texts[i]);
    }
    return status;
}

locus_status lab_train_check_numbers(const lab_train_config *config, locus_error *error) {
    char *beside = lab_folder_of(config->init_from);
    lab_child_folder kept = {.path = ""};
    locus_status status = beside != NULL ? LOCUS_OK : lab_fail_memory(error, "a path");
    bool any = false;
    for (size_t i = 0; status == LOCUS_OK && i < NUMBER_FILES; i++)
        any = any || is_there(beside, number_files[i]);
    if (any)
        status = lab_child_open(&kept, error);
    if (any && status == LOCUS_OK)
        status = lab_train_keep(config, kept.path, error);
    for (size_t i = 0; any && status == LOCUS_OK && i < NUMBER_FILES; i++)
        if (is_there(beside, number_files[i]) && is_there(kept.path, number_files[i]))
            status = check_file(number_files[i], beside, kept.path, error);
    lab_child_close(&kept);
    free(beside);
    return status;
}
