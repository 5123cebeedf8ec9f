/* SPDX-License-Identifier: MIT */
/* Reads a model's configuration from its file: JSON as plain values, in one piece of memory that points into cJSON's
 * texts. */
#include "io/rope_file.h"

#include "io/fail.h"
#include "io/file.h"
#include "io/json.h"

#include <stdlib.h>
#include <string.h>

#define BYTES_MOST ((size_t)64 << 20)

/* ---- JSON ---- */

static locus_status fail_syntax(const char *path, const char *text, const char *at, locus_error *error) {
    size_t line = 1;
    for (const char *c = text; c < at; c++)
        line += *c == '\n';
    return lab_fail_file(error, path, "is not JSON: it cannot be read from line %zu on", line);
}

/* Whoever names a checkpoint instead need not wait until it is in memory. */
static locus_status check_size(const char *path, locus_error *error) {
    lab_input input;
    locus_status status = lab_input_open(&input, path, error);
    if (status == LOCUS_OK && input.bytes_left != SIZE_MAX && input.bytes_left > BYTES_MOST)
        status = lab_fail_file(error, path, "has %zu MiB: a model's configuration has a few KiB; is it config.json?",
                               input.bytes_left >> 20);
    lab_input_close(&input);
    return status;
}

static locus_status parse_file(const char *path, cJSON **root, locus_error *error) {
    char *text = NULL;
    const char *end = NULL;
    size_t bytes = 0;
    locus_status status = check_size(path, error);
    if (status == LOCUS_OK)
        status = lab_file_read(path, &text, &bytes, error);
    if (status != LOCUS_OK)
        return status;
    bool out_of_memory;
    *root = lab_json_parse(text, bytes + 1, true, &end, &out_of_memory);
    if (out_of_memory)
        status = lab_fail_memory(error, "a model's configuration");
    else if (!*root || strlen(text) != bytes)
        status = fail_syntax(path, text, end && end >= text && end <= text + bytes ? end : text, error);
    else if (!cJSON_IsObject(*root))
        status = lab_fail_file(error, path, "holds no JSON object: a model's configuration is one");
    free(text);
    return status;
}

/* ---- plain values ---- */

static size_t count_nodes(const cJSON *item) {
    size_t count = 0;
    for (; item; item = item->next)
        count += 1 + count_nodes(item->child);
    return count;
}

static lab_value_kind kind_of(const cJSON *item) {
    if (cJSON_IsNumber(item))
        return LAB_VALUE_NUMBER;
    if (cJSON_IsString(item))
        return LAB_VALUE_TEXT;
    if (cJSON_IsArray(item))
        return LAB_VALUE_LIST;
    if (cJSON_IsObject(item))
        return LAB_VALUE_OBJECT;
    return cJSON_IsTrue(item) ? LAB_VALUE_TRUE : cJSON_IsFalse(item) ? LAB_VALUE_FALSE : LAB_VALUE_NULL;
}

/* Items that follow one another, and what is in them; *nodes moves behind those that were taken. */
static lab_value *take_items(const cJSON *item, lab_value **nodes) {
    lab_value *first = NULL, **place = &first;
    for (; item; item = item->next) {
        lab_value *value = (*nodes)++;
        *value = (lab_value){.kind = kind_of(item), .key = item->string};
        if (value->kind == LAB_VALUE_NUMBER)
            value->number = item->valuedouble;
        if (value->kind == LAB_VALUE_TEXT)
            value->text = item->valuestring;
        value->child = take_items(item->child, nodes);
        *place = value;
        place = &value->next;
    }
    return first;
}

static locus_status read_root(lab_rope_config *config, const char *path, const cJSON *root, locus_error *error) {
    locus_error own;
    lab_value *nodes = calloc(count_nodes(root), sizeof *nodes), *next = nodes;
    if (!nodes)
        return lab_fail_memory(error, "a model's configuration");
    locus_status status = lab_rope_read(config, take_items(root, &next), &own);
    if (status == LOCUS_ERROR_ARGUMENT)
        status = lab_fail_file(error, path, "%s", own.message);
    else if (status != LOCUS_OK)
        status = lab_fail(error, status, NULL, "%s", own.message);
    free(nodes);
    return status;
}

locus_status lab_rope_file_read(lab_rope_config *config, const char *path, locus_error *error) {
    cJSON *root = NULL;
    *config = (lab_rope_config){0};
    locus_status status = parse_file(path, &root, error);
    if (status == LOCUS_OK)
        status = read_root(config, path, root, error);
    cJSON_Delete(root);
    return status;
}
