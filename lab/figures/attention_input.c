/* SPDX-License-Identifier: MIT */
/* See attention_input.h. An encoder reads the input; a decoder behind it start and target, each but the last of a tree
 * and all of a word. A decoder alone reads all of a text, so that a token that nobody reads stands behind it. */
#include "figures/attention_input.h"

#include "io/fail.h"
#include "model/architecture.h"
#include "text/tokenizer.h"
#include "text/wordpiece.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static locus_status refuse(locus_error *error, const char *text) {
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, "input", "%s", text);
}

/* ---- the set ---- */

static locus_status check(const lab_train_config *config, const char *text, locus_error *error) {
    const lab_task_class *class = config->task->class;
    if (class->vocabulary == NULL)
        return refuse(error, "pictures have no tokens that could be named: attention is drawn of words, trees, "
                             "problems, texts, expressions, labelled sequences and pairs");
    if (text != NULL && (class->read_input == NULL || config->pretrained_digest != 0))
        return refuse(error, config->pretrained_digest != 0
                                 ? "--input: what a pretrained encoder reads comes from the test set: --sample N"
                                 : "--input: this task's samples are no text: --sample N takes one of the test set");
    if (text == NULL && config->task->open_sequences != NULL && config->task->generate == NULL)
        return refuse(error, "a text has no samples of a size that can be drawn: --input TEXT says what is read");
    return LOCUS_OK;
}

static locus_status open_typed(lab_dataset *set, const lab_train_config *config, const lab_task_options *options,
                               const char *text, locus_error *error) {
    const lab_task_class *class = config->task->class;
    locus_error local;
    const locus_status status = class->read_input(set, config->task, options, text, &local);
    if (status == LOCUS_ERROR_ARGUMENT)
        return lab_fail(error, status, "input", "--input: %s", local.message);
    if (status != LOCUS_OK)
        return lab_fail(error, status, local.argument, "%s", local.message);
    if (class->architecture == LAB_ENCODER_DECODER && set->target_offsets == NULL)
        return refuse(error,
                      "--input: an input alone has no target, which the decoder reads: --sample N takes both from "
                      "the test set");
    return LOCUS_OK;
}

static locus_status open_set(lab_dataset *set, const lab_train_config *config, const char *folder, const char *text,
                             size_t number, locus_error *error) {
    lab_task_options options = config->data;
    options.kept = folder;
    if (text != NULL)
        return open_typed(set, config, &options, text, error);
    lab_train_set_request request = {.which = LAB_SET_TEST, .samples = number, .tokenizer = folder};
    if (config->task->generate != NULL && config->task->open_sequences != NULL) {
        const lab_draw draw = {config->task, &options, LAB_SET_TEST, number, config->data_seed};
        return lab_dataset_generate(set, &draw, error);
    }
    return lab_train_set(set, config, &request, error);
}

static size_t length_of(const size_t *offsets, size_t sample) {
    return offsets != NULL ? offsets[sample + 1] - offsets[sample] : 0;
}

/* ---- the batch ---- */

/* Prompt and answer of a problem, or a text; the last token once more, since a decoder's last one is not read. */
static locus_status make_sequence(lab_attention_input *input, size_t sample, locus_error *error) {
    const lab_dataset *set = &input->set;
    const size_t prompt = length_of(set->input_offsets, sample), answer = length_of(set->target_offsets, sample);
    if (prompt + answer == 0)
        return refuse(error, "--input: the text has no tokens");
    input->tokens = calloc(prompt + answer + 1, sizeof *input->tokens);
    if (input->tokens == NULL)
        return lab_fail_memory(error, "a sample");
    if (prompt > 0)
        memcpy(input->tokens, set->input + set->input_offsets[sample], prompt * sizeof *input->tokens);
    if (answer > 0)
        memcpy(input->tokens + prompt, set->target + set->target_offsets[sample], answer * sizeof *input->tokens);
    input->read_count = prompt + answer;
    input->tokens[input->read_count] = input->tokens[input->read_count - 1];
    input->offsets[1] = input->read_count + 1;
    input->batch = (lab_batch){.samples = 1, .input_offsets = input->offsets, .input = input->tokens};
    return LOCUS_OK;
}

static locus_status make_slice(lab_attention_input *input, size_t sample, locus_error *error) {
    const lab_batch *batch;
    locus_status status = lab_batcher_create(&input->batcher, &input->set, 1, 0, error);
    if (status == LOCUS_OK)
        status = lab_batcher_slice(&input->batcher, sample, 1, &batch, error);
    if (status != LOCUS_OK)
        return status;
    input->batch = *batch;
    input->read_count = length_of(input->set.input_offsets, sample);
    const bool trees = batch->target_tree.parents != NULL;
    if (batch->target_offsets != NULL)
        input->made_count = length_of(input->set.target_offsets, sample) + !trees;
    return LOCUS_OK;
}

/* ---- names ---- */

static locus_status name_pieces(lab_token_name *names, const char *folder, const int32_t *tokens, size_t count,
                                locus_error *error) {
    lab_tokenizer *tokenizer = NULL;
    const locus_status status = lab_tokenizer_open_folder(&tokenizer, folder, error);
    const lab_wordpiece *words = status == LOCUS_OK ? lab_tokenizer_words(tokenizer) : NULL;
    for (size_t i = 0; words != NULL && i < count; i++)
        snprintf(names[i].text, sizeof names[i].text, "%.*s", (int)sizeof names[i].text - 1,
                 lab_wordpiece_text(words, tokens[i]));
    lab_tokenizer_close(&tokenizer);
    return status;
}

static locus_status name(lab_token_name *names, const lab_train_config *config, const char *folder,
                         const int32_t *tokens, size_t count, locus_error *error) {
    lab_task_options options = config->data;
    options.kept = folder;
    if (config->pretrained_digest != 0)
        return name_pieces(names, folder, tokens, count, error);
    if (config->task->class->name_tokens != NULL)
        return config->task->class->name_tokens(names, config->task, &options, tokens, count, error);
    for (size_t i = 0; i < count; i++)
        snprintf(names[i].text, sizeof names[i].text, "%d", (int)tokens[i]);
    return LOCUS_OK;
}

static locus_status make_names(lab_attention_input *input, const lab_train_config *config, const char *folder,
                               locus_error *error) {
    const lab_batch *batch = &input->batch;
    input->read = calloc(input->read_count + 1, sizeof *input->read);
    input->made = calloc(input->made_count + 1, sizeof *input->made);
    if (input->read == NULL || input->made == NULL)
        return lab_fail_memory(error, "names of tokens");
    locus_status status = name(input->read, config, folder, batch->input, input->read_count, error);
    if (status == LOCUS_OK && input->made_count > 0) {
        snprintf(input->made[0].text, sizeof input->made[0].text, "start");
        status = name(input->made + 1, config, folder, batch->target, input->made_count - 1, error);
    }
    return status;
}

/* ---- all ---- */

static locus_status check_size(const lab_attention_input *input, locus_error *error) {
    const size_t most = input->read_count > input->made_count ? input->read_count : input->made_count;
    return most <= LAB_ATTENTION_MOST_TOKENS
               ? LOCUS_OK
               : lab_fail(error, LOCUS_ERROR_ARGUMENT, "input",
                          "the sample has %zu tokens, and %d can be drawn so that one reads them: give a shorter one",
                          most, LAB_ATTENTION_MOST_TOKENS);
}

locus_status lab_attention_input_make(lab_attention_input *input, const lab_train_config *config, const char *folder,
                                      const char *text, size_t number, locus_error *error) {
    const size_t sample = text != NULL ? 0 : number - 1;
    *input = (lab_attention_input){.read_count = 0};
    locus_status status = check(config, text, error);
    if (status == LOCUS_OK)
        status = open_set(&input->set, config, folder, text, number, error);
    if (status == LOCUS_OK)
        status = config->task->open_sequences != NULL ? make_sequence(input, sample, error)
                                                      : make_slice(input, sample, error);
    if (status == LOCUS_OK)
        status = check_size(input, error);
    if (status == LOCUS_OK)
        status = make_names(input, config, folder, error);
    if (status != LOCUS_OK)
        lab_attention_input_free(input);
    return status;
}

void lab_attention_input_free(lab_attention_input *input) {
    lab_batcher_destroy(&input->batcher);
    lab_dataset_destroy(&input->set);
    free(input->tokens);
    free(input->read);
    free(input->made);
    *input = (lab_attention_input){.read_count = 0};
}
