/* SPDX-License-Identifier: MIT */
/* The kinds of tokenizers behind one face, and their files in a folder. */
#include "io/fail.h"
#include "io/file.h"
#include "io/json.h"
#include "io/text_stream.h"
#include "text/tokenizer_kinds.h"
#include "text/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- opening ---- */

/* `path` NULL: bytes. */
static locus_status open_kind(lab_tokenizer **tokenizer, lab_tokenizer_kind kind, const char *path, bool uncased,
                              locus_error *error) {
    lab_tokenizer *made = calloc(1, sizeof *made);
    locus_status status = LOCUS_OK;
    *tokenizer = made;
    if (made != NULL) {
        made->kind = kind;
        made->path = path == NULL ? NULL : strdup(path);
    }
    if (made == NULL || (path != NULL && made->path == NULL))
        status = lab_fail_memory(error, "a tokenizer");
    else if (kind == LAB_TOKENIZER_SENTENCEPIECE)
        status = lab_sentencepiece_read(&made->pieces, path, error);
    else if (kind == LAB_TOKENIZER_WORDPIECE)
        status = lab_wordpiece_open(&made->words, path, uncased, error);
    if (status != LOCUS_OK)
        lab_tokenizer_close(tokenizer);
    return status;
}

locus_status lab_tokenizer_open_bytes(lab_tokenizer **tokenizer, locus_error *error) {
    return open_kind(tokenizer, LAB_TOKENIZER_BYTES, NULL, false, error);
}

locus_status lab_tokenizer_open_sentencepiece(lab_tokenizer **tokenizer, const char *model, locus_error *error) {
    return open_kind(tokenizer, LAB_TOKENIZER_SENTENCEPIECE, model, false, error);
}

locus_status lab_tokenizer_open_wordpiece(lab_tokenizer **tokenizer, const char *vocabulary, bool uncased,
                                          locus_error *error) {
    return open_kind(tokenizer, LAB_TOKENIZER_WORDPIECE, vocabulary, uncased, error);
}

/* What tokenizer_config.json says; without it, or without a word on it: lower case. */
static locus_status read_uncased(const char *folder, bool *uncased, locus_error *error) {
    char *path = lab_text_print("%s/" LAB_TOKENIZER_WORDS_CONFIG, folder), *text = NULL;
    size_t bytes;
    *uncased = true;
    if (path == NULL)
        return lab_fail_memory(error, "a file name");
    bool there;
    locus_status status = lab_file_exists(path, &there, error);
    if (status == LOCUS_OK && there)
        status = lab_file_read(path, &text, &bytes, error);
    if (status == LOCUS_OK && text != NULL) {
        bool out_of_memory;
        cJSON *root = lab_json_parse(text, bytes, false, NULL, &out_of_memory);
        if (out_of_memory)
            status = lab_fail_memory(error, "a tokenizer's configuration");
        else if (!cJSON_IsObject(root))
            status = lab_fail_file(error, path, "is no JSON object");
        *uncased = !cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(root, "do_lower_case"));
        cJSON_Delete(root);
    }
    free(text);
    free(path);
    return status;
}

locus_status lab_tokenizer_open_folder(lab_tokenizer **tokenizer, const char *folder, locus_error *error) {
    struct stat facts;
    *tokenizer = NULL;
    if (stat(folder, &facts) != 0)
        return lab_fail_system(error, "read", folder, errno);
    char *model = lab_text_print("%s/" LAB_TOKENIZER_MODEL, folder);
    char *words = lab_text_print("%s/" LAB_TOKENIZER_WORDS, folder);
    bool has_model = false, has_words = false, uncased;
    locus_status status = model == NULL || words == NULL ? lab_fail_memory(error, "a file name")
                                                         : lab_file_exists(model, &has_model, error);
    if (status == LOCUS_OK)
        status = lab_file_exists(words, &has_words, error);
    if (status == LOCUS_OK && has_model) {
        status = lab_tokenizer_open_sentencepiece(tokenizer, model, error);
    } else if (status == LOCUS_OK && has_words) {
        status = read_uncased(folder, &uncased, error);
        status = status == LOCUS_OK ? lab_tokenizer_open_wordpiece(tokenizer, words, uncased, error) : status;
    } else if (status == LOCUS_OK) {
        status = lab_tokenizer_open_bytes(tokenizer, error);
    }
    free(model);
    free(words);
    return status;
}

void lab_tokenizer_close(lab_tokenizer **tokenizer) {
    if (tokenizer == NULL || *tokenizer == NULL)
        return;
    lab_sentencepiece_release(&(*tokenizer)->pieces);
    lab_wordpiece_close(&(*tokenizer)->words);
    free((*tokenizer)->path);
    free(*tokenizer);
    *tokenizer = NULL;
}

/* ---- copying ---- */

static locus_status write_file(const char *folder, const char *name, const char *data, size_t bytes,
                               locus_error *error) {
    char *path = lab_text_print("%s/%s", folder, name);
    const locus_status status =
        path != NULL ? lab_file_write(path, data, bytes, error) : lab_fail_memory(error, "a file name");
    free(path);
    return status;
}

locus_status lab_tokenizer_copy(const lab_tokenizer *tokenizer, const char *folder, locus_error *error) {
    static const char cased[] = "{\"do_lower_case\": false}\n", uncased[] = "{\"do_lower_case\": true}\n";
    char *data;
    size_t bytes;
    if (tokenizer->kind == LAB_TOKENIZER_BYTES)
        return LOCUS_OK;
    locus_status status = lab_file_read(tokenizer->path, &data, &bytes, error);
    if (status != LOCUS_OK)
        return status;
    const bool words = tokenizer->kind == LAB_TOKENIZER_WORDPIECE;
    status = write_file(folder, words ? LAB_TOKENIZER_WORDS : LAB_TOKENIZER_MODEL, data, bytes, error);
    free(data);
    if (status == LOCUS_OK && words) {
        const char *config = lab_wordpiece_uncased(tokenizer->words) ? uncased : cased;
        status = write_file(folder, LAB_TOKENIZER_WORDS_CONFIG, config, strlen(config), error);
    }
    return status;
}

/* ---- use ---- */

lab_tokenizer_kind lab_tokenizer_get_kind(const lab_tokenizer *tokenizer) {
    return tokenizer->kind;
}

size_t lab_tokenizer_vocabulary(const lab_tokenizer *tokenizer) {
    switch (tokenizer->kind) {
    case LAB_TOKENIZER_BYTES:
        return 256;
    case LAB_TOKENIZER_SENTENCEPIECE:
        return tokenizer->pieces.count;
    case LAB_TOKENIZER_WORDPIECE:
        return lab_wordpiece_count(tokenizer->words);
    }
    return 0;
}

const lab_wordpiece *lab_tokenizer_words(const lab_tokenizer *tokenizer) {
    return tokenizer->words;
}

static locus_status encode_bytes(const char *text, size_t bytes, int32_t **tokens, size_t *count, locus_error *error) {
    int32_t *made = malloc((bytes + 1) * sizeof *made);
    if (made == NULL)
        return lab_fail_memory(error, "the tokens of a text");
    for (size_t i = 0; i < bytes; i++)
        made[i] = (unsigned char)text[i];
    *tokens = made;
    *count = bytes;
    return LOCUS_OK;
}

locus_status lab_tokenizer_encode(const lab_tokenizer *tokenizer, const char *text, size_t bytes, int32_t **tokens,
                                  size_t *count, locus_error *error) {
    *tokens = NULL;
    *count = 0;
    const locus_status status = lab_utf8_require(text, bytes, "the text", error);
    if (status != LOCUS_OK)
        return status;
    switch (tokenizer->kind) {
    case LAB_TOKENIZER_BYTES:
        break;
    case LAB_TOKENIZER_SENTENCEPIECE:
        return lab_sentencepiece_encode(&tokenizer->pieces, tokenizer->path, text, bytes, tokens, count, error);
    case LAB_TOKENIZER_WORDPIECE:
        return lab_wordpiece_encode(tokenizer->words, text, bytes, tokens, count, error);
    }
    return encode_bytes(text, bytes, tokens, count, error);
}
