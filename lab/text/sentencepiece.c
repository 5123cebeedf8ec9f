/* SPDX-License-Identifier: MIT */
/* Training and applying SentencePiece models: text is cut into lines for the programs, and their lines are put together
 * again (sentencepiece.h). */
#include "text/sentencepiece.h"

#include "io/fail.h"
#include "io/grow.h"
#include "io/text_stream.h"
#include "text/child.h"
#include "text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PACKAGE "sentencepiece"
#define MOST_TOKENS ((size_t)1 << 31)

/* ---- cutting ---- */

/* What a text is cut at: ends of lines, NUL, which programs may take for the end of a string, and the mark for spaces.
 * Training also leaves out tabs and U+2585, since spm_train passes over lines that have them. */
typedef struct knife {
    bool marks, training;
} knife;

/* Bytes of the separator that stands at `at`; 0: none does. */
static size_t separator(knife how, const char *at, size_t left) {
    const unsigned char *bytes = (const unsigned char *)at;
    if (*bytes == '\n' || *bytes == '\0')
        return 1;
    if (how.training && *bytes == '\t')
        return 1;
    const bool block = left >= 3 && bytes[0] == 0xE2 && bytes[1] == 0x96;
    return block && ((how.marks && bytes[2] == 0x81) || (how.training && bytes[2] == 0x85)) ? 3 : 0;
}

/* Bytes before the next separator. */
static size_t segment(knife how, const char *at, size_t left) {
    size_t length = 0;
    while (length < left && separator(how, at + length, left - length) == 0)
        length++;
    return length;
}

/* The segments, each ending in a line end, those of no bytes left out; `lines` of them. From malloc. */
static char *cut_lines(knife how, const char *text, size_t bytes, size_t *used, size_t *lines) {
    char *cut = malloc(bytes + 1);
    *used = *lines = 0;
    for (size_t i = 0; cut != NULL && i < bytes;) {
        const size_t length = segment(how, text + i, bytes - i);
        memcpy(cut + *used, text + i, length);
        *used += length;
        if (length > 0) {
            cut[(*used)++] = '\n';
            ++*lines;
        }
        i += length;
        i += i < bytes ? separator(how, text + i, bytes - i) : 0;
    }
    return cut;
}

/* "--input=/tmp/…/text" */
typedef struct word {
    char text[640];
} word;

static word option(const char *name, const lab_child_folder *folder, const char *file) {
    word made;
    snprintf(made.text, sizeof made.text, "--%s=%s/%s", name, folder->path, file);
    return made;
}

/* ---- training ---- */

static locus_status run_training(const lab_child_folder *folder, size_t vocabulary, locus_error *error) {
    char size[48];
    const word input = option("input", folder, "text"), prefix = option("model_prefix", folder, "made");
    snprintf(size, sizeof size, "--vocab_size=%zu", vocabulary);
    const char *const words[] = {"spm_train",
                                 input.text,
                                 prefix.text,
                                 size,
                                 "--model_type=bpe",
                                 "--byte_fallback=true",
                                 "--normalization_rule_name=identity",
                                 "--add_dummy_prefix=false",
                                 "--remove_extra_whitespaces=false",
                                 "--allow_whitespace_only_pieces=true",
                                 "--bos_id=-1",
                                 "--eos_id=-1",
                                 "--pad_id=-1",
                                 "--max_sentence_length=1000000000",
                                 "--num_threads=2",
                                 "--minloglevel=1",
                                 NULL};
    return lab_child_run(folder, words, PACKAGE, error);
}

locus_status lab_sentencepiece_train(const char *text, size_t bytes, size_t vocabulary, char **model,
                                     size_t *model_bytes, locus_error *error) {
    lab_child_folder folder;
    size_t used, lines;
    *model = NULL;
    *model_bytes = 0;
    char *cut = cut_lines((knife){true, true}, text, bytes, &used, &lines);
    if (cut == NULL)
        return lab_fail_memory(error, "the lines of a text");
    if (lines == 0) {
        free(cut);
        return lab_fail(error, LOCUS_ERROR_IO, "text", "the text is empty: there is nothing to train a vocabulary on");
    }
    locus_status status = lab_child_open(&folder, error);
    if (status == LOCUS_OK)
        status = lab_child_write(&folder, "text", cut, used, error);
    free(cut);
    if (status == LOCUS_OK)
        status = run_training(&folder, vocabulary, error);
    if (status == LOCUS_OK)
        status = lab_child_read(&folder, "made.model", model, model_bytes, error);
    lab_child_close(&folder);
    return status;
}

/* ---- applying ---- */

static locus_status run_encoding(const lab_child_folder *folder, const char *path, const char *format,
                                 locus_error *error) {
    const word input = option("input", folder, "text"), output = option("output", folder, format);
    char *model = lab_text_print("--model=%s", path), kind[48];
    if (model == NULL)
        return lab_fail_memory(error, "the name of a model");
    snprintf(kind, sizeof kind, "--output_format=%s", format);
    const char *const words[] = {"spm_encode", model, kind, input.text, output.text, NULL};
    const locus_status status = lab_child_run(folder, words, PACKAGE, error);
    free(model);
    return status;
}

/* Tokens of a text while they are put together. */
typedef struct joint {
    const lab_sentencepiece_model *model;
    const char *path, *text;
    size_t bytes;
    int32_t *tokens;
    size_t count, room;
} joint;

static locus_status push(joint *to, int32_t token, locus_error *error) {
    if (to->count >= MOST_TOKENS || !LAB_GROW(to->tokens, to->count, to->room, 64))
        return lab_fail_memory(error, "the tokens of a text");
    to->tokens[to->count++] = token;
    return LOCUS_OK;
}

static size_t line_of(const joint *of, size_t offset) {
    size_t line = 1;
    for (size_t i = 0; i < offset; i++)
        line += of->text[i] == '\n';
    return line;
}

static locus_status fail_lacks(const joint *of, const char *what, size_t offset, locus_error *error) {
    return lab_fail(error, LOCUS_ERROR_IO, "model",
                    "the vocabulary of '%s' lacks %s of line %zu: take a model that has bytes for what is rare "
                    "(byte_fallback)",
                    of->path, what, line_of(of, offset));
}

/* The separator at `offset` as pieces: the model's own for a line end, else its bytes. */
static locus_status push_separator(joint *to, size_t offset, size_t length, locus_error *error) {
    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = (unsigned char)to->text[offset + i];
        const int32_t token = byte == '\n' ? to->model->line_end : to->model->bytes[byte];
        if (token < 0)
            return fail_lacks(to, byte == '\n' ? "the line end" : byte == 0 ? "the NUL" : "the '▁'", offset, error);
        const locus_status status = push(to, token, error);
        if (status != LOCUS_OK)
            return status;
    }
    return LOCUS_OK;
}

/* The first character of piece `index` of a segment, which the model does not know: a second run says it as text. */
static locus_status fail_unknown(const joint *of, size_t offset, size_t length, size_t index, locus_error *error) {
    lab_child_folder folder;
    char *pieces = NULL, what[64] = "a character";
    size_t bytes = 0;
    if (lab_child_open(&folder, NULL) == LOCUS_OK &&
        lab_child_write(&folder, "text", of->text + offset, length, NULL) == LOCUS_OK &&
        run_encoding(&folder, of->path, "piece", NULL) == LOCUS_OK &&
        lab_child_read(&folder, "piece", &pieces, &bytes, NULL) == LOCUS_OK) {
        const char *at = pieces;
        for (; index > 0 && *at != '\0'; index--) {
            at += strcspn(at, " \n");
            at += *at != '\0';
        }
        at += strncmp(at, "\xE2\x96\x81", 3) == 0 ? 3 : 0;
        const unsigned char *character = (const unsigned char *)at;
        const int size = lab_utf8_sequence(character, strlen(at));
        if (size > 0 && character[0] > ' ') {
            snprintf(what, sizeof what, "the character '%.*s' (U+%04lX)", size, at,
                     (unsigned long)lab_utf8_code(character, size));
        }
    }
    lab_child_close(&folder);
    free(pieces);
    return fail_lacks(of, what, offset, error);
}

/* One line of numbers, the tokens of the segment at `offset`; *ids then points behind it. */
static locus_status push_line(joint *to, const char **ids, size_t offset, size_t length, locus_error *error) {
    const char *at = *ids;
    for (size_t index = 0; *at != '\n'; index++) {
        char *end;
        const long token = strtol(at, &end, 10);
        if (end == at || token < 0 || (size_t)token >= to->model->count) {
            return lab_fail(error, LOCUS_ERROR_IO, "model", "spm_encode gave something else than tokens of '%s'",
                            to->path);
        }
        if (token == to->model->unknown)
            return fail_unknown(to, offset, length, index, error);
        const locus_status status = push(to, (int32_t)token, error);
        if (status != LOCUS_OK)
            return status;
        at = end + strspn(end, " ");
    }
    *ids = at + 1;
    return LOCUS_OK;
}

static locus_status join(joint *to, knife how, const char *ids, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; status == LOCUS_OK && i < to->bytes;) {
        const size_t length = segment(how, to->text + i, to->bytes - i);
        if (length > 0)
            status = push_line(to, &ids, i, length, error);
        i += length;
        const size_t width = i < to->bytes ? separator(how, to->text + i, to->bytes - i) : 0;
        status = status == LOCUS_OK ? push_separator(to, i, width, error) : status;
        i += width;
    }
    return status;
}

/* spm_encode's lines of numbers, one for each segment; from malloc. */
static locus_status encode_lines(const joint *of, knife how, char **ids, locus_error *error) {
    lab_child_folder folder;
    size_t used, lines, bytes, found = 0;
    char *cut = cut_lines(how, of->text, of->bytes, &used, &lines);
    *ids = NULL;
    if (cut == NULL)
        return lab_fail_memory(error, "the lines of a text");
    locus_status status = lab_child_open(&folder, error);
    if (status == LOCUS_OK)
        status = lab_child_write(&folder, "text", cut, used, error);
    free(cut);
    if (status == LOCUS_OK)
        status = run_encoding(&folder, of->path, "id", error);
    if (status == LOCUS_OK)
        status = lab_child_read(&folder, "id", ids, &bytes, error);
    lab_child_close(&folder);
    for (const char *at = *ids; status == LOCUS_OK && (at = strchr(at, '\n')) != NULL; at++)
        found++;
    if (status == LOCUS_OK && found != lines)
        status = lab_fail(error, LOCUS_ERROR_IO, "model", "spm_encode gave %zu lines for %zu", found, lines);
    return status;
}

locus_status lab_sentencepiece_encode(const lab_sentencepiece_model *model, const char *path, const char *text,
                                      size_t bytes, int32_t **tokens, size_t *count, locus_error *error) {
    const knife how = {.marks = model->bytes[0xE2] >= 0 && model->bytes[0x96] >= 0 && model->bytes[0x81] >= 0};
    joint to = {.model = model, .path = path, .text = text, .bytes = bytes};
    char *ids = NULL;
    *tokens = NULL;
    *count = 0;
    to.room = bytes / 3 + 16;
    to.tokens = malloc(to.room * sizeof *to.tokens);
    locus_status status = to.tokens != NULL ? LOCUS_OK : lab_fail_memory(error, "the tokens of a text");
    if (status == LOCUS_OK && bytes > 0) {
        status = encode_lines(&to, how, &ids, error);
        status = status == LOCUS_OK ? join(&to, how, ids, error) : status;
    }
    free(ids);
    if (status != LOCUS_OK) {
        free(to.tokens);
        return status;
    }
    *tokens = to.tokens;
    *count = to.count;
    return LOCUS_OK;
}
