/* SPDX-License-Identifier: MIT */
/* See attention_input.h. An encoder reads the input; a decoder behind it start and target, each but the last of a tree
 * and all of a word; where nobody knows the target, what the model itself makes of the input. A decoder alone reads all
 * of a text, so that a token that nobody reads stands behind it. A picture's tokens are the places of its grid. */
#include "figures/attention_input.h"

#include "io/fail.h"
#include "model/architecture.h"
#include "nn/convolution.h"
#include "text/tokenizer.h"
#include "text/wordpiece.h"
#include "train/decoded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static locus_status refuse(locus_error *error, const char *text) {
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, "input", "%s", text);
}

/* ---- the set ---- */

/* What the model makes of an input whose target nobody knows. */
static locus_status decode(lab_dataset *set, const lab_attention_request *request, locus_error *error) {
    lab_decoded made;
    if (set->input_tree.parents != NULL && set->children == NULL)
        return refuse(error, "--input: outputs of this run do not grow from their symbols, so that nothing is decoded: "
                             "--sample N takes input and target from the test set");
    locus_status status = lab_decoded_make(&made, request->model, request->config, set, error);
    if (status == LOCUS_OK) {
        set->target = made.tokens;
        set->target_tree = made.nodes;
        set->target_offsets = made.offsets;
        set->target_offsets[1] = made.lengths[0];
        made.tokens = NULL;
        made.offsets = NULL;
        made.nodes = (lab_tree_nodes){NULL, NULL};
    }
    lab_decoded_free(&made);
    return status;
}

static locus_status open_typed(lab_dataset *set, const lab_attention_request *request, const lab_task_options *options,
                               locus_error *error) {
    const lab_train_config *config = request->config;
    const lab_task_class *class = config->task->class;
    locus_error local;
    const locus_status status = class->read_input(set, config->task, options, request->text, &local);
    if (status == LOCUS_ERROR_ARGUMENT)
        return lab_fail(error, status, "input", "--input: %s", local.message);
    if (status != LOCUS_OK)
        return lab_fail(error, status, local.argument, "%s", local.message);
    const lab_draw draw = {config->task, options, LAB_SET_TEST, 1, config->data_seed};
    return config->pretrained_digest != 0 ? lab_train_pieces(set, &draw, request->folder, error)
           : class->architecture->memory && set->target_offsets == NULL ? decode(set, request, error)
                                                                        : LOCUS_OK;
}

/* Own data are numbered as the run's test set has them, or as the file that is named in its place. */
static locus_status open_sample(lab_dataset *set, const lab_attention_request *request, const lab_task_options *options,
                                locus_error *error) {
    const lab_train_config *config = request->config;
    const lab_task *task = config->task;
    const bool own = task->class->read && task->class->whole;
    const size_t samples = !own ? request->number : config->data.path != NULL ? config->test_samples : 0;
    const lab_train_set_request whole = {.which = LAB_SET_TEST, .samples = samples, .tokenizer = request->folder};
    const lab_draw draw = {task, options, LAB_SET_TEST, samples, config->data_seed};
    const locus_status status = task->open_sequences != NULL ? lab_dataset_generate(set, &draw, error)
                                                             : lab_train_set(set, config, &whole, error);
    if (status == LOCUS_OK && request->number > set->samples)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "sample", "sample %zu is asked for, the set has %zu",
                        request->number, set->samples);
    return status;
}

static locus_status open_set(lab_dataset *set, const lab_attention_request *request, locus_error *error) {
    const lab_task *task = request->config->task;
    lab_task_options options = request->config->data;
    options.kept = request->folder;
    if (request->text == NULL && task->generate == NULL)
        return refuse(error, "a text has no samples of a size that can be drawn: --input TEXT says what is read");
    return request->text != NULL ? open_typed(set, request, &options, error)
                                 : open_sample(set, request, &options, error);
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

static locus_status make_slice(lab_attention_input *input, const lab_model *model, size_t sample, locus_error *error) {
    const lab_batch *batch;
    locus_status status = lab_feed_check(&input->set, model, error);
    if (status == LOCUS_OK)
        status = lab_feed_score(&input->feed, &input->set, 1, error);
    if (status == LOCUS_OK)
        status = lab_feed_slice(&input->feed, sample, 1, &batch, error);
    if (status != LOCUS_OK)
        return status;
    input->batch = *batch;
    if (batch->images != NULL) {
        input->grid = lab_convolution_grid(input->set.images.side);
        input->read_count = input->grid * input->grid;
        return LOCUS_OK;
    }
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

/* "row,column"; of many places the rows alone, at their first ones. */
static void name_places(lab_token_name *names, size_t grid) {
    const bool all = grid * grid <= LAB_ATTENTION_MOST_TOKENS;
    for (size_t i = 0; i < grid * grid; i++)
        if (all)
            snprintf(names[i].text, sizeof names[i].text, "%u,%u", (unsigned)(i / grid + 1), (unsigned)(i % grid + 1));
        else if (i % grid == 0)
            snprintf(names[i].text, sizeof names[i].text, "row %u", (unsigned)(i / grid + 1));
}

static locus_status name(lab_token_name *names, const lab_attention_request *request, const lab_dataset *set,
                         const int32_t *tokens, size_t count, locus_error *error) {
    const lab_train_config *config = request->config;
    lab_task_options options = config->data;
    options.kept = request->folder;
    if (config->pretrained_digest != 0)
        return name_pieces(names, request->folder, tokens, count, error);
    if (config->task->class->name_tokens != NULL)
        return config->task->class->name_tokens(names, config->task, &options, tokens, count, error);
    for (size_t i = 0; i < count; i++) {
        const int32_t token = tokens[i]; // NOLINT(clang-analyzer-core.NullDereference): what is counted is there
        if (set->names != NULL)
            snprintf(names[i].text, sizeof names[i].text, "%.*s", (int)sizeof names[i].text - 1, set->names[token]);
        else
            snprintf(names[i].text, sizeof names[i].text, "%d", (int)token);
    }
    return LOCUS_OK;
}

static locus_status make_names(lab_attention_input *input, const lab_attention_request *request, locus_error *error) {
    const lab_batch *batch = &input->batch;
    input->read = calloc(input->read_count + 1, sizeof *input->read);
    input->made = calloc(input->made_count + 1, sizeof *input->made);
    if (input->read == NULL || input->made == NULL)
        return lab_fail_memory(error, "names of tokens");
    if (input->grid > 0) {
        name_places(input->read, input->grid);
        return LOCUS_OK;
    }
    locus_status status = name(input->read, request, &input->set, batch->input, input->read_count, error);
    if (status == LOCUS_OK && input->made_count > 0) {
        snprintf(input->made[0].text, sizeof input->made[0].text, "start");
        status = name(input->made + 1, request, &input->set, batch->target, input->made_count - 1, error);
    }
    return status;
}

/* ---- all ---- */

static locus_status check_size(const lab_attention_input *input, locus_error *error) {
    const size_t most = input->read_count > input->made_count ? input->read_count : input->made_count;
    if (input->grid > 0 && most > LAB_ATTENTION_MOST_PLACES) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "input",
                        "a picture of this side has %zu places, and %d can be drawn", most, LAB_ATTENTION_MOST_PLACES);
    }
    return input->grid > 0 || most <= LAB_ATTENTION_MOST_TOKENS
               ? LOCUS_OK
               : lab_fail(error, LOCUS_ERROR_ARGUMENT, "input",
                          "the sample has %zu tokens, and %d can be drawn so that one reads them: give a shorter one",
                          most, LAB_ATTENTION_MOST_TOKENS);
}

locus_status lab_attention_input_make(lab_attention_input *input, const lab_attention_request *request,
                                      locus_error *error) {
    const size_t sample = request->text != NULL ? 0 : request->number - 1;
    *input = (lab_attention_input){.read_count = 0};
    locus_status status = open_set(&input->set, request, error);
    if (status == LOCUS_OK)
        status = request->config->task->open_sequences != NULL ? make_sequence(input, sample, error)
                                                               : make_slice(input, request->model, sample, error);
    if (status == LOCUS_OK)
        status = check_size(input, error);
    if (status == LOCUS_OK)
        status = make_names(input, request, error);
    if (status != LOCUS_OK)
        lab_attention_input_free(input);
    return status;
}

void lab_attention_input_free(lab_attention_input *input) {
    lab_feed_close(&input->feed);
    lab_dataset_destroy(&input->set);
    free(input->tokens);
    free(input->read);
    free(input->made);
    *input = (lab_attention_input){.read_count = 0};
}
