/* SPDX-License-Identifier: MIT */
/* See generate_prompts.h. Refused: what is empty, is no UTF-8, has a zero byte, or a character that the vocabulary
 * lacks. */
#include "generate_prompts.h"

#include "io/file.h"
#include "output.h"
#include "task/problem.h"
#include "text/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(void) {
    return cli_failure("out of memory");
}

/* ---- tokens and text ---- */

int cli_writing_open(cli_writing *writing, const lab_train_config *config, const char *folder) {
    locus_error error;
    *writing = (cli_writing){.task = config->task, .options = config->data, .vocabulary = config->model.vocabulary};
    if (writing->task->characters != NULL)
        return 0;
    if (lab_tokenizer_open_folder(&writing->tokenizer, folder, &error) != LOCUS_OK)
        return cli_error(&error);
    if (lab_tokenizer_vocabulary(writing->tokenizer) == writing->vocabulary)
        return 0;
    return cli_failure(
        "the tokenizer in '%s' has %zu tokens, the model %zu: put back the files that the training wrote", folder,
        lab_tokenizer_vocabulary(writing->tokenizer), writing->vocabulary);
}

void cli_writing_close(cli_writing *writing) {
    lab_tokenizer_close(&writing->tokenizer);
}

cli_writer cli_writer_begin(const cli_writing *writing, const int32_t *prompt, size_t count) {
    cli_writer writer = {.writing = writing, .detokenizer = {.tokenizer = writing->tokenizer}};
    char ignored[CLI_PIECE];
    for (size_t t = 0; t < count; t++)
        cli_writer_add(&writer, prompt[t], ignored);
    return writer;
}

size_t cli_writer_add(cli_writer *writer, int32_t token, char text[CLI_PIECE]) {
    if (writer->writing->tokenizer != NULL)
        return lab_detokenizer_add(&writer->detokenizer, token, text, CLI_PIECE);
    text[0] = writer->writing->task->characters[token];
    return 1;
}

size_t cli_writer_end(cli_writer *writer, char text[CLI_PIECE]) {
    return writer->writing->tokenizer != NULL ? lab_detokenizer_end(&writer->detokenizer, text, CLI_PIECE) : 0;
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

static int problem_tokens(const cli_writing *writing, const char *text, prompt_source *source, int32_t *tokens) {
    locus_error error;
    return lab_problem_encode(writing->task, &writing->options, text, tokens, &error) == LOCUS_OK
               ? 0
               : cli_failure("%s: %s", place_text(source), error.message);
}

/* *tokens from malloc. */
static int prompt_tokens(const cli_writing *writing, const char *text, size_t bytes, prompt_source *source,
                         int32_t **tokens, size_t *count) {
    locus_error error;
    const size_t good = lab_utf8_check(text, bytes);
    if (good < bytes) {
        return cli_failure("%s: byte %zu (0x%02X) is no UTF-8", place_text(source), good + 1,
                           (unsigned char)text[good]);
    }
    if (memchr(text, '\0', bytes) != NULL) {
        return cli_failure("%s: byte %zu is zero, which no text has", place_text(source),
                           (size_t)((const char *)memchr(text, '\0', bytes) - text) + 1);
    }
    if (writing->tokenizer == NULL) {
        *count = bytes;
        *tokens = malloc((bytes + 1) * sizeof **tokens);
        return *tokens == NULL ? no_memory() : problem_tokens(writing, text, source, *tokens);
    }
    if (lab_tokenizer_encode(writing->tokenizer, text, bytes, tokens, count, &error) != LOCUS_OK)
        return cli_failure("%s: %s", place_text(source), error.message);
    return *count > 0
               ? 0
               : cli_failure("%s: the text has no tokens; a decoder needs one to begin with", place_text(source));
}

/* ---- prompts ---- */

static int grow(cli_prompts *prompts, size_t more) {
    const size_t count = prompts->count, used = count ? prompts->offsets[count] : 0;
    char **texts = realloc(prompts->texts, (count + 1) * sizeof *texts);
    prompts->texts = texts ? texts : prompts->texts;
    size_t *offsets = realloc(prompts->offsets, (count + 2) * sizeof *offsets);
    prompts->offsets = offsets ? offsets : prompts->offsets;
    int32_t *tokens = realloc(prompts->tokens, (used + more + 1) * sizeof *tokens);
    prompts->tokens = tokens ? tokens : prompts->tokens;
    if (texts == NULL || offsets == NULL || tokens == NULL)
        return no_memory();
    prompts->offsets[0] = 0;
    prompts->offsets[count + 1] = used + more;
    return 0;
}

/* `text` of so many bytes, with a 0 behind it. */
static int add(cli_prompts *prompts, const cli_writing *writing, const char *text, size_t bytes,
               prompt_source *source) {
    int32_t *tokens = NULL;
    size_t count = 0;
    int status = prompt_tokens(writing, text, bytes, source, &tokens, &count);
    status = status ? status : grow(prompts, count);
    if (status == 0) {
        memcpy(prompts->tokens + prompts->offsets[prompts->count], tokens, count * sizeof *tokens);
        prompts->texts[prompts->count] = malloc(bytes + 1);
        status = prompts->texts[prompts->count] == NULL ? no_memory() : 0;
    }
    if (status == 0)
        memcpy(prompts->texts[prompts->count++], text, bytes + 1);
    free(tokens);
    return status;
}

/* All of standard input; *text from malloc, a 0 behind it. */
static int read_standard_input(char **text, size_t *bytes) {
    size_t room = 1 << 16, got;
    *bytes = 0;
    for (*text = malloc(room); *text != NULL; room *= 2) {
        got = fread(*text + *bytes, 1, room - 1 - *bytes, stdin);
        *bytes += got;
        if (ferror(stdin))
            return cli_failure("cannot read standard input: %s", strerror(errno));
        if (*bytes < room - 1) {
            (*text)[*bytes] = '\0';
            return 0;
        }
        char *larger = realloc(*text, 2 * room);
        if (larger == NULL)
            break;
        *text = larger;
    }
    return no_memory();
}

static int read_piped(cli_prompts *prompts, const cli_writing *writing) {
    prompt_source source = {.name = "standard input"};
    char *text = NULL;
    size_t bytes;
    int status = read_standard_input(&text, &bytes);
    if (status == 0) {
        bytes -= bytes > 0 && text[bytes - 1] == '\n';
        bytes -= bytes > 0 && text[bytes - 1] == '\r' && text[bytes] == '\n';
        text[bytes] = '\0';
        status = bytes == 0 ? cli_failure("standard input is empty: a decoder needs a prompt to begin with")
                            : add(prompts, writing, text, bytes, &source);
    }
    free(text);
    return status;
}

static int read_lines(cli_prompts *prompts, const cli_writing *writing, const char *path) {
    prompt_source source = {.name = path};
    locus_error error;
    char *text;
    size_t bytes;
    if (lab_file_read(path, &text, &bytes, &error) != LOCUS_OK)
        return cli_error(&error);
    int status = bytes == 0 ? cli_failure("'%s' is empty; it holds prompts, one to a line", path) : 0;
    for (size_t at = 0, end; status == 0 && at < bytes; at = end + 1) {
        const char *line_end = memchr(text + at, '\n', bytes - at);
        end = line_end == NULL ? bytes : (size_t)(line_end - text);
        const size_t length = end - at - (end > at && text[end - 1] == '\r');
        source.line++;
        text[at + length] = '\0';
        status = length == 0 ? cli_failure("%s is empty: a decoder needs a prompt to begin with", place_text(&source))
                             : add(prompts, writing, text + at, length, &source);
    }
    free(text);
    return status;
}

int cli_prompts_read(cli_prompts *prompts, const cli_arguments *arguments, const cli_writing *writing) {
    prompt_source source = {.name = "--prompt"};
    const char *text = cli_text(arguments, "prompt"), *path = cli_text(arguments, "prompts");
    *prompts = (cli_prompts){0};
    if (path != NULL)
        return read_lines(prompts, writing, path);
    if (strcmp(text, "-") == 0)
        return read_piped(prompts, writing);
    if (text[0] == '\0')
        return cli_usage_error("--prompt is empty: a decoder needs a token to begin with");
    return add(prompts, writing, text, strlen(text), &source);
}

int cli_prompts_draw(cli_prompts *prompts, const cli_arguments *arguments, const lab_train_config *config) {
    const lab_task *task = config->task;
    const lab_draw draw = {task, &config->data, LAB_SET_TEST, (size_t)cli_integer(arguments, "n"), config->data_seed};
    lab_dataset set;
    locus_error error;
    int status = 0;
    *prompts = (cli_prompts){0};
    if (lab_dataset_generate(&set, &draw, &error) != LOCUS_OK)
        return cli_error(&error);
    for (size_t s = 0; s < set.samples && status == 0; s++) {
        const size_t first = set.input_offsets[s], count = set.input_offsets[s + 1] - first;
        status = grow(prompts, count);
        char *text = status == 0 ? malloc(count + 1) : NULL;
        if (text == NULL) {
            status = status ? status : no_memory();
            break;
        }
        for (size_t t = 0; t < count; t++) {
            text[t] = task->characters[set.input[first + t]];
            prompts->tokens[prompts->offsets[s] + t] = set.input[first + t];
        }
        text[count] = '\0';
        prompts->texts[prompts->count++] = text;
    }
    prompts->drawn = set;
    return status;
}

void cli_prompts_free(cli_prompts *prompts) {
    for (size_t p = 0; p < prompts->count; p++)
        free(prompts->texts[p]);
    free(prompts->texts);
    free(prompts->offsets);
    free(prompts->tokens);
    lab_dataset_destroy(&prompts->drawn);
    *prompts = (cli_prompts){0};
}
