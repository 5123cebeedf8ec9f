/* SPDX-License-Identifier: MIT */
/* See prompts.h. Refused: what is empty, is no UTF-8, has a zero byte, or a character that the vocabulary
 * lacks. */
#include "samples/prompts.h"

#include "io/fail.h"
#include "io/file.h"
#include "task/problem.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

static locus_status no_memory(locus_error *error) {
    return lab_fail(error, LOCUS_ERROR_MEMORY, NULL, "out of memory");
}

/* ---- tokens and text ---- */

locus_status lab_writing_open(lab_writing *writing, const lab_train_config *config, const char *folder,
                              locus_error *error) {
    *writing = (lab_writing){.task = config->task, .options = config->data, .vocabulary = config->model.vocabulary};
    if (writing->task->characters != NULL)
        return LOCUS_OK;
    const locus_status status = lab_tokenizer_open_folder(&writing->tokenizer, folder, error);
    if (status != LOCUS_OK || lab_tokenizer_vocabulary(writing->tokenizer) == writing->vocabulary)
        return status;
    return lab_fail(error, LOCUS_ERROR_IO, NULL,
                    "the tokenizer in '%s' has %zu tokens, the model %zu: put back the files that the training wrote",
                    folder, lab_tokenizer_vocabulary(writing->tokenizer), writing->vocabulary);
}

void lab_writing_close(lab_writing *writing) {
    lab_tokenizer_close(&writing->tokenizer);
}

lab_writer lab_writer_begin(const lab_writing *writing, const int32_t *prompt, size_t count) {
    lab_writer writer = {.writing = writing, .detokenizer = {.tokenizer = writing->tokenizer}};
    char ignored[LAB_PIECE];
    for (size_t t = 0; t < count; t++)
        lab_writer_add(&writer, prompt[t], ignored);
    return writer;
}

size_t lab_writer_add(lab_writer *writer, int32_t token, char text[LAB_PIECE]) {
    if (writer->writing->tokenizer != NULL)
        return lab_detokenizer_add(&writer->detokenizer, token, text, LAB_PIECE);
    text[0] = writer->writing->task->characters[token];
    return 1;
}

size_t lab_writer_end(lab_writer *writer, char text[LAB_PIECE]) {
    return writer->writing->tokenizer != NULL ? lab_detokenizer_end(&writer->detokenizer, text, LAB_PIECE) : 0;
}

/* Where a prompt was read, for messages: "--prompt", "'F.txt', line 3". */
typedef struct prompt_source {
    const char *name;
    size_t line; /* from 1; 0: it has no lines */
    char text[320];
} prompt_source;

static const char *place_text(prompt_source *source) {
    if (source->line == 0)
        return source->name;
    snprintf(source->text, sizeof source->text, "'%.256s', line %zu", source->name, source->line);
    return source->text;
}

static locus_status problem_tokens(const lab_writing *writing, const char *text, prompt_source *source, int32_t *tokens,
                                   locus_error *error) {
    locus_error found;
    return lab_problem_encode(writing->task, &writing->options, text, tokens, &found) == LOCUS_OK
               ? LOCUS_OK
               : lab_fail(error, LOCUS_ERROR_IO, NULL, "%s: %s", place_text(source), found.message);
}

/* *tokens from malloc. */
static locus_status prompt_tokens(const lab_writing *writing, const char *text, size_t bytes, prompt_source *source,
                                  int32_t **tokens, size_t *count, locus_error *error) {
    locus_error found;
    const size_t good = lab_utf8_check(text, bytes);
    if (good < bytes) {
        return lab_fail(error, LOCUS_ERROR_IO, NULL, "%s: byte %zu (0x%02X) is no UTF-8", place_text(source), good + 1,
                        (unsigned char)text[good]);
    }
    if (memchr(text, '\0', bytes) != NULL) {
        return lab_fail(error, LOCUS_ERROR_IO, NULL, "%s: byte %zu is zero, which no text has", place_text(source),
                        (size_t)((const char *)memchr(text, '\0', bytes) - text) + 1);
    }
    if (writing->tokenizer == NULL) {
        *count = bytes;
        *tokens = malloc((bytes + 1) * sizeof **tokens);
        return *tokens == NULL ? no_memory(error) : problem_tokens(writing, text, source, *tokens, error);
    }
    const locus_status status = lab_tokenizer_encode(writing->tokenizer, text, bytes, tokens, count, &found);
    if (status != LOCUS_OK)
        return status == LOCUS_ERROR_MEMORY
                   ? no_memory(error)
                   : lab_fail(error, LOCUS_ERROR_IO, NULL, "%s: %s", place_text(source), found.message);
    return *count > 0 ? LOCUS_OK
                      : lab_fail(error, LOCUS_ERROR_IO, NULL,
                                 "%s: the text has no tokens; a decoder needs one to begin with", place_text(source));
}

/* ---- prompts ---- */

static locus_status grow(lab_prompts *prompts, size_t more, locus_error *error) {
    const size_t count = prompts->count, used = count ? prompts->offsets[count] : 0;
    char **texts = realloc(prompts->texts, (count + 1) * sizeof *texts);
    prompts->texts = texts ? texts : prompts->texts;
    size_t *offsets = realloc(prompts->offsets, (count + 2) * sizeof *offsets);
    prompts->offsets = offsets ? offsets : prompts->offsets;
    int32_t *tokens = realloc(prompts->tokens, (used + more + 1) * sizeof *tokens);
    prompts->tokens = tokens ? tokens : prompts->tokens;
    if (texts == NULL || offsets == NULL || tokens == NULL)
        return no_memory(error);
    prompts->offsets[0] = 0;
    prompts->offsets[count + 1] = used + more;
    return LOCUS_OK;
}

/* `text` of so many bytes, with a 0 behind it. */
static locus_status add(lab_prompts *prompts, const lab_writing *writing, const char *text, size_t bytes,
                        prompt_source *source, locus_error *error) {
    int32_t *tokens = NULL;
    size_t count = 0;
    locus_status status = prompt_tokens(writing, text, bytes, source, &tokens, &count, error);
    if (status == LOCUS_OK)
        status = grow(prompts, count, error);
    if (status == LOCUS_OK) {
        memcpy(prompts->tokens + prompts->offsets[prompts->count], tokens, count * sizeof *tokens);
        prompts->texts[prompts->count] = malloc(bytes + 1);
        status = prompts->texts[prompts->count] == NULL ? no_memory(error) : LOCUS_OK;
    }
    if (status == LOCUS_OK)
        memcpy(prompts->texts[prompts->count++], text, bytes + 1);
    free(tokens);
    return status;
}

locus_status lab_prompts_piped(lab_prompts *prompts, const lab_writing *writing, locus_error *error) {
    prompt_source source = {.name = "standard input"};
    char *text = NULL;
    size_t bytes;
    lab_input in = {.stream = stdin, .path = source.name, .bytes_left = SIZE_MAX};
    locus_status status = lab_input_read_all(&in, &text, &bytes, error);
    if (status == LOCUS_OK) {
        bytes -= bytes > 0 && text[bytes - 1] == '\n';
        bytes -= bytes > 0 && text[bytes - 1] == '\r' && text[bytes] == '\n';
        text[bytes] = '\0';
        status = bytes == 0 ? lab_fail(error, LOCUS_ERROR_IO, NULL,
                                       "standard input is empty: a decoder needs a prompt to begin with")
                            : add(prompts, writing, text, bytes, &source, error);
    }
    free(text);
    return status;
}

locus_status lab_prompts_lines(lab_prompts *prompts, const lab_writing *writing, const char *path, locus_error *error) {
    prompt_source source = {.name = path};
    char *text;
    size_t bytes;
    locus_status status = lab_file_read(path, &text, &bytes, error);
    if (status != LOCUS_OK)
        return status;
    if (bytes == 0)
        status = lab_fail(error, LOCUS_ERROR_IO, NULL, "'%s' is empty; it holds prompts, one to a line", path);
    for (size_t at = 0, end; status == LOCUS_OK && at < bytes; at = end + 1) {
        const char *line_end = memchr(text + at, '\n', bytes - at);
        end = line_end == NULL ? bytes : (size_t)(line_end - text);
        const size_t length = end - at - (end > at && text[end - 1] == '\r');
        source.line++;
        text[at + length] = '\0';
        status = length == 0 ? lab_fail(error, LOCUS_ERROR_IO, NULL,
                                        "%s is empty: a decoder needs a prompt to begin with", place_text(&source))
                             : add(prompts, writing, text + at, length, &source, error);
    }
    free(text);
    return status;
}

locus_status lab_prompts_typed(lab_prompts *prompts, const lab_writing *writing, const char *text, locus_error *error) {
    prompt_source source = {.name = "--prompt"};
    return add(prompts, writing, text, strlen(text), &source, error);
}

locus_status lab_prompts_draw(lab_prompts *prompts, const lab_train_config *config, size_t count, locus_error *error) {
    const lab_task *task = config->task;
    const lab_draw draw = {task, &config->data, LAB_SET_TEST, count, config->data_seed};
    lab_dataset set;
    locus_status status = lab_dataset_generate(&set, &draw, error);
    if (status != LOCUS_OK)
        return status;
    for (size_t s = 0; s < set.samples && status == LOCUS_OK; s++) {
        const size_t first = set.input_offsets[s], tokens = set.input_offsets[s + 1] - first;
        char *text = malloc(tokens + 1);
        status = text == NULL ? no_memory(error) : grow(prompts, tokens, error);
        if (status != LOCUS_OK) {
            free(text);
            break;
        }
        lab_problem_decode(task, set.input + first, tokens, text);
        memcpy(prompts->tokens + prompts->offsets[s], set.input + first, tokens * sizeof *set.input);
        prompts->texts[prompts->count++] = text;
    }
    prompts->drawn = set;
    return status;
}

void lab_prompts_free(lab_prompts *prompts) {
    for (size_t p = 0; p < prompts->count; p++)
        free(prompts->texts[p]);
    free(prompts->texts);
    free(prompts->offsets);
    free(prompts->tokens);
    lab_dataset_destroy(&prompts->drawn);
    *prompts = (lab_prompts){0};
}
