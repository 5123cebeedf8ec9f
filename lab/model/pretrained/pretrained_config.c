/* SPDX-License-Identifier: MIT */
/* config.json of a BERT-style encoder. Sizes must be there; what has a default in Hugging Face's BertConfig may be
 * missing. */
#include "model/pretrained/pretrained.h"

#include "io/fail.h"
#include "io/file.h"
#include "io/json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PATH = 4096 };

typedef struct reading {
    const char *path;
    cJSON *json;
    locus_status status; /* the first failure stays */
    locus_error *error;
} reading;

/* NULL: not there, or null. */
static const cJSON *item_of(const reading *r, const char *key) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(r->json, key);
    return item && !cJSON_IsNull(item) ? item : NULL;
}

static size_t read_size(reading *r, const char *key, size_t missing) {
    const cJSON *item = item_of(r, key);
    if (r->status != LOCUS_OK)
        return 0;
    if (item == NULL && missing != SIZE_MAX)
        return missing;
    const double value = item && cJSON_IsNumber(item) ? item->valuedouble : -1.0;
    if (!(value >= 0.0 && value <= 1e9) || (double)(size_t)value != value) {
        r->status = lab_fail_file(r->error, r->path, item ? "has a '%s' that is no size" : "has no '%s'", key);
        return 0;
    }
    return (size_t)value;
}

static double read_number(reading *r, const char *key, double missing) {
    const cJSON *item = item_of(r, key);
    if (r->status != LOCUS_OK || item == NULL)
        return missing;
    if (cJSON_IsNumber(item))
        return item->valuedouble;
    r->status = lab_fail_file(r->error, r->path, "has a '%s' that is no number", key);
    return missing;
}

static const char *read_text(reading *r, const char *key, const char *missing) {
    const cJSON *item = item_of(r, key);
    if (r->status != LOCUS_OK || item == NULL)
        return missing;
    if (cJSON_IsString(item))
        return item->valuestring;
    r->status = lab_fail_file(r->error, r->path, "has a '%s' that is no text", key);
    return missing;
}

static void refuse(reading *r, const char *key, const char *value, const char *known) {
    if (r->status == LOCUS_OK)
        r->status = lab_fail(r->error, LOCUS_ERROR_UNSUPPORTED, key, "'%s' has %s %s: %s", r->path, key, value, known);
}

/* A text that must be one of two, if it is there; else it is the first. */
static const char *check_text(reading *r, const char *key, const char *one, const char *other, const char *known) {
    const char *value = read_text(r, key, one);
    char quoted[48];
    (void)snprintf(quoted, sizeof quoted, "'%.40s'", value);
    if (strcmp(value, one) != 0 && strcmp(value, other) != 0)
        refuse(r, key, quoted, known);
    return value;
}

static void check_false(reading *r, const char *key, const char *known) {
    const cJSON *item = item_of(r, key);
    if (item && !cJSON_IsFalse(item))
        refuse(r, key, cJSON_IsTrue(item) ? "true" : "a value that is not false", known);
}

static void check_kind(reading *r) {
    (void)check_text(r, "model_type", "bert", "bert", "encoders of the kind 'bert' are read");
    (void)check_text(r, "position_embedding_type", "absolute", "absolute", "learned absolute positions are read");
    check_false(r, "is_decoder", "encoders are read");
    check_false(r, "add_cross_attention", "encoders without cross-attention are read");
    const cJSON *pruned = item_of(r, "pruned_heads");
    if (pruned && cJSON_GetArraySize(pruned) > 0)
        refuse(r, "pruned_heads", "of its own", "layers whose heads are all there are read");
}

static lab_activation read_activation(reading *r) {
    const char *value = check_text(r, "hidden_act", "gelu", "relu", "gelu (by the error function) and relu are known");
    return strcmp(value, "relu") == 0 ? LAB_RELU : LAB_GELU;
}

static void read_config(reading *r, lab_model_config *config) {
    check_kind(r);
    config->vocabulary = read_size(r, "vocab_size", SIZE_MAX);
    config->dim = read_size(r, "hidden_size", SIZE_MAX);
    config->heads = read_size(r, "num_attention_heads", SIZE_MAX);
    if (r->status == LOCUS_OK && (config->heads == 0 || config->dim % config->heads != 0))
        r->status = lab_fail_file(r->error, r->path, "has a hidden_size of %zu, which %zu heads do not divide",
                                  config->dim, config->heads);
    config->feed_forward = read_size(r, "intermediate_size", SIZE_MAX);
    config->encoder_layers = read_size(r, "num_hidden_layers", SIZE_MAX);
    config->token_types = read_size(r, "type_vocab_size", 2);
    config->activation = read_activation(r);
    config->norm = LAB_NORM_AFTER;
    config->norm_epsilon = read_number(r, "layer_norm_eps", 1e-12);
    config->embedding_norm = 1;
    config->embedding_init = LAB_EMBEDDING_PLAIN;
    config->dropout = read_number(r, "hidden_dropout_prob", 0.1);
    config->attention_dropout = read_number(r, "attention_probs_dropout_prob", 0.1);
    config->decoder_layers = config->tree_arity = config->kv_heads = 0;
}

static locus_status write_encoding(reading *r, const char *more, char *encoding, size_t size) {
    const size_t places = read_size(r, "max_position_embeddings", SIZE_MAX);
    const bool adds = more && *more && strcmp(more, "none") != 0;
    if (r->status != LOCUS_OK)
        return r->status;
    const int length = snprintf(encoding, size, "learned(size=%zu)%s%s", places, adds ? " + " : "", adds ? more : "");
    if (length >= 0 && (size_t)length < size)
        return LOCUS_OK;
    return lab_fail(r->error, LOCUS_ERROR_ARGUMENT, "encoding", "the encoding's text is longer than %zu bytes", size);
}

static void parse(reading *r) {
    char *text = NULL;
    size_t bytes = 0;
    r->status = lab_file_read(r->path, &text, &bytes, r->error);
    if (r->status != LOCUS_OK)
        return;
    bool out_of_memory;
    r->json = lab_json_parse(text, bytes, false, NULL, &out_of_memory);
    free(text);
    if (out_of_memory)
        r->status = lab_fail_memory(r->error, "a model's configuration");
    else if (!cJSON_IsObject(r->json))
        r->status = lab_fail_file(r->error, r->path, "is not a JSON object: it should describe a pretrained encoder");
}

locus_status lab_pretrained_config(const char *folder, const char *more, char *encoding, size_t size,
                                   lab_model_config *config, locus_error *error) {
    char path[MOST_PATH];
    reading r = {.path = path, .error = error};
    lab_model_config read = *config;
    if ((size_t)snprintf(path, sizeof path, "%s/config.json", folder) >= sizeof path)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "pretrained", "the folder's path is too long");
    parse(&r);
    if (r.status == LOCUS_OK)
        read_config(&r, &read);
    if (r.status == LOCUS_OK)
        r.status = write_encoding(&r, more, encoding, size);
    if (r.status == LOCUS_OK) {
        read.encoding = encoding;
        *config = read;
    }
    cJSON_Delete(r.json);
    return r.status;
}
