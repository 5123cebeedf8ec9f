/* SPDX-License-Identifier: MIT */
/* Text: windows of a token file. Window i of length S begins at token i·(S − 1), so neighbours share one token and each
 * token but the first of the file is predicted exactly once; the last window may be shorter and has at least 2.
 *
 *   tokens   t0 t1 t2 t3 t4 t5 t6 t7          S = 4
 *   windows  t0 t1 t2 t3
 *                     t3 t4 t5 t6
 *                              t6 t7
 *
 * They are read straight from the mapped file. */
#include "task/text_task.h"

#include "io/digest.h"
#include "io/fail.h"
#include "text/text_folder.h"
#include "text/token_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SETS = LAB_TEXT_SETS, MOST_SEQUENCE = 1 << 24 };

/* ---- the folder ---- */

static locus_status open_set(lab_token_file *file, const char *folder, lab_set which, locus_error *error) {
    char *path = lab_token_file_path(folder, lab_text_set_names[which]);
    *file = (lab_token_file){0};
    if (path == NULL)
        return lab_fail_memory(error, "a file name");
    locus_status status = LOCUS_OK;
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        status = lab_fail_file(error, folder,
                               "has no %s.tokens: make it with `locus data make text --train-text FILE -o FOLDER`, "
                               "or name another folder with --data",
                               lab_text_set_names[which]);
    } else {
        status = lab_token_file_open(file, path, error);
    }
    if (status == LOCUS_OK && file->tokens < LAB_TOKEN_FILE_LEAST)
        status = lab_fail_file(error, path, "has %zu tokens: one to read and one to predict are needed", file->tokens);
    if (status != LOCUS_OK)
        lab_token_file_close(file);
    free(path);
    return status;
}

static locus_status join_digests(const uint64_t *numbers, size_t count, uint64_t *joined, locus_error *error) {
    lab_digest sum = lab_digest_begin(LAB_DIGEST_SHA256);
    for (size_t i = 0; i < count; i++) {
        char number[24];
        snprintf(number, sizeof number, "%llu\n", (unsigned long long)numbers[i]);
        lab_digest_add(&sum, number, strlen(number));
    }
    return lab_digest_close_number(&sum, joined, error);
}

locus_status lab_text_describe(const char *folder, lab_task_options *options, locus_error *error) {
    uint64_t numbers[SETS + 1];
    for (int s = 0; s < SETS; s++) {
        lab_token_file file;
        locus_status status = open_set(&file, folder, (lab_set)s, error);
        if (status == LOCUS_OK && s > 0 && file.vocabulary != numbers[SETS]) {
            status = lab_fail_file(error, folder, "has token files of %llu and of %zu tokens: make them all anew",
                                   (unsigned long long)numbers[SETS], file.vocabulary);
        }
        numbers[s] = file.digest;
        numbers[SETS] = file.vocabulary;
        lab_token_file_close(&file);
        if (status != LOCUS_OK)
            return status;
    }
    options->path = folder;
    LAB_TEXT(options)->symbols = (size_t)numbers[SETS];
    return join_digests(numbers, SETS + 1, &options->digest, error);
}

/* ---- sequences ---- */

static uint64_t window_count(size_t tokens, size_t length) {
    return (tokens - 1 + length - 2) / (length - 1);
}

static size_t read_window(const lab_sequences *sequences, uint64_t index, int32_t *tokens) {
    const lab_token_file *file = sequences->source;
    const size_t first = (size_t)index * (sequences->length - 1), left = file->tokens - first;
    const size_t count = left < sequences->length ? left : sequences->length;
    lab_token_file_read(file, first, count, tokens);
    return count;
}

static void release(lab_sequences *sequences) {
    lab_token_file_close(sequences->source);
    free(sequences->source);
    sequences->source = NULL;
}

/* The folder is what the options were described from. */
static locus_status check_options(const lab_task_options *options, const char *folder, locus_error *error) {
    lab_task_options found = *options;
    if (LAB_TEXT(options)->sequence < 2 || LAB_TEXT(options)->sequence > MOST_SEQUENCE) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "sequence",
                        "sequences of %zu tokens: give 2 to %d, of which all but the last are read",
                        LAB_TEXT(options)->sequence, MOST_SEQUENCE);
    }
    const locus_status status = lab_text_describe(folder, &found, error);
    if (status != LOCUS_OK)
        return status;
    if (LAB_TEXT(options)->symbols != 0 && LAB_TEXT(options)->symbols != LAB_TEXT(&found)->symbols) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "data", "'%s' has a vocabulary of %zu, and %zu are wanted", folder,
                        LAB_TEXT(&found)->symbols, LAB_TEXT(options)->symbols);
    }
    if (options->digest != 0 && options->digest != found.digest) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "data",
                        "'%s' holds another text than the one that was trained on: point to that one, or train anew",
                        folder);
    }
    return LOCUS_OK;
}

locus_status lab_text_open(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    const lab_task_options *options = draw->options;
    const char *folder = options->path != NULL ? options->path : LAB_TEXT_FOLDER;
    lab_token_file *file = NULL;
    locus_status status = check_options(options, folder, error);
    if (status == LOCUS_OK) {
        file = malloc(sizeof *file);
        status = file != NULL ? open_set(file, folder, draw->which, error) : lab_fail_memory(error, "a token file");
    }
    const uint64_t count = status == LOCUS_OK ? window_count(file->tokens, LAB_TEXT(options)->sequence) : 0;
    if (status == LOCUS_OK && draw->samples > count) {
        status = lab_fail(error, LOCUS_ERROR_ARGUMENT, "n", "%zu sequences of %zu tokens: the %s set in '%s' has %llu",
                          draw->samples, LAB_TEXT(options)->sequence, lab_text_set_names[draw->which], folder,
                          (unsigned long long)count);
        lab_token_file_close(file);
    }
    if (status != LOCUS_OK) {
        free(file);
        return status;
    }
    set->sequences = (lab_sequences){
        .count = draw->samples > 0 ? draw->samples : count,
        .length = LAB_TEXT(options)->sequence,
        .read = read_window,
        .release = release,
        .source = file,
        .bytes_per_token = (double)file->predicted_bytes / (double)(file->tokens - 1),
    };
    set->samples = (size_t)set->sequences.count;
    return LOCUS_OK;
}
