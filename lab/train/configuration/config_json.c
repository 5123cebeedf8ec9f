/* SPDX-License-Identifier: MIT */
/* The tables of options (config_options.h, and the kind's class) write, read, compare and hash a configuration. Seeds
 * are texts in the JSON: a double would cut them at 53 bits. Fields that later versions brought are neither written nor
 * hashed at the value that earlier ones had: their runs stay what they are. */
#include "train/configuration/config.h"

#include "io/fail.h"
#include "io/json.h"
#include "model/architecture.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool add_field(cJSON *root, const lab_option *f, const lab_train_config *config) {
    char text[LAB_FIELD_SIZE];
    lab_option_text(f, config, text, sizeof text);
    if (lab_option_is_silent(f, text))
        return true;
    /* cJSON's own numbers may lose the last bit */
    const bool number = f->offset == LAB_OPTION_OF_KIND || f->type == LAB_OPTION_SIZE || f->type == LAB_OPTION_COUNT ||
                        f->type == LAB_OPTION_REAL;
    return (number ? cJSON_AddRawToObject(root, f->field, text) : cJSON_AddStringToObject(root, f->field, text)) !=
           NULL;
}

char *lab_config_json(const lab_train_config *config) {
    cJSON *root = cJSON_CreateObject();
    const lab_option *field;
    bool good = root != NULL;
    for (size_t i = 0; good && (field = lab_config_field(config->task->class, i)) != NULL; i++)
        good = add_field(root, field, config);
    cJSON *lengths = good ? cJSON_AddArrayToObject(root, "test_lengths") : NULL;
    good = lengths != NULL;
    for (size_t i = 0; good && i < config->test_length_count; i++) {
        cJSON *length = cJSON_CreateNumber((double)config->test_lengths[i]);
        good = length != NULL && cJSON_AddItemToArray(lengths, length);
    }
    char *text = good ? cJSON_PrintUnformatted(root) : NULL;
    cJSON_Delete(root);
    return text;
}

static bool read_integer(const cJSON *item, uint64_t *value) {
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0.0 && item->valuedouble <= 9007199254740992.0) ||
        floor(item->valuedouble) != item->valuedouble)
        return false;
    *value = (uint64_t)item->valuedouble;
    return true;
}

static bool read_seed(const cJSON *item, uint64_t *value) {
    char *end;
    if (!cJSON_IsString(item) || item->valuestring[0] < '0') /* a sign, space or nothing */
        return false;
    errno = 0;
    *value = strtoull(item->valuestring, &end, 10);
    return *end == '\0' && errno == 0;
}

static bool read_named(const cJSON *item, const lab_option *f, void *at) {
    for (unsigned i = 0; cJSON_IsString(item) && f->names[i] != NULL; i++) {
        if (strcmp(f->names[i], item->valuestring) == 0) {
            memcpy(at, &i, sizeof i);
            return true;
        }
    }
    return false;
}

static bool read_field(const cJSON *root, const lab_option *f, lab_train_config *config) {
    if (f->field == NULL || f->offset == LAB_OPTION_OF_KIND)
        return true;
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, f->field);
    void *at = (char *)config + f->offset;
    uint64_t value = 0;
    if (item == NULL)
        return f->silent != NULL; /* all of them are 0, or the kind's */
    switch (f->type) {
    case LAB_OPTION_TASK:
    case LAB_OPTION_TEXT:
        return cJSON_IsString(item); /* the caller fills it from the row */
    case LAB_OPTION_SIZE:
        if (!read_integer(item, &value))
            return false;
        *(size_t *)at = (size_t)value;
        return true;
    case LAB_OPTION_COUNT:
        return read_integer(item, at);
    case LAB_OPTION_SEED:
        return read_seed(item, at);
    case LAB_OPTION_REAL:
        /* 1e999 is a number to cJSON, and infinite. */
        if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
            return false;
        *(double *)at = item->valuedouble;
        return true;
    case LAB_OPTION_NAMED:
        return read_named(item, f, at);
    case LAB_OPTION_ATTENTION:
        return cJSON_IsString(item) && lab_model_attention(&config->model, item->valuestring, NULL) == LOCUS_OK;
    case LAB_OPTION_ARCHITECTURE:
        return cJSON_IsString(item) && strcmp(item->valuestring, config->model.architecture->name) == 0;
    case LAB_OPTION_LIST:
        break;
    }
    return false;
}

static bool read_lengths(const cJSON *root, lab_train_config *config) {
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "test_lengths"), *item;
    config->test_length_count = 0;
    if (!cJSON_IsArray(list))
        return false;
    cJSON_ArrayForEach(item, list) {
        uint64_t value;
        if (config->test_length_count == LAB_MAX_TEST_LENGTHS || !read_integer(item, &value))
            return false;
        config->test_lengths[config->test_length_count++] = (size_t)value;
    }
    return true;
}

void lab_config_read_data(lab_train_config *config, const struct cJSON *json) {
    const lab_task_class *class = config->task->class;
    for (size_t i = 0; i < class->option_count; i++)
        if (class->options[i].field != NULL)
            (void)read_field(json, &class->options[i], config);
}

/* The name of what cannot be read; NULL: all can. */
static const char *read_all(const cJSON *root, lab_train_config *config) {
    const lab_option *field;
    for (size_t i = 0; (field = lab_config_field(config->task->class, i)) != NULL; i++)
        if (!read_field(root, field, config))
            return field->field;
    return read_lengths(root, config) ? NULL : "test_lengths";
}

locus_status lab_config_parse(lab_train_config *config, const char *json, const lab_run *run, const char *place,
                              locus_error *error) {
    memset(config, 0, sizeof *config);
    config->task = lab_task_find(run->task);
    if (config->task == NULL) {
        return lab_fail(error, LOCUS_ERROR_IO, "config",
                        "the configuration in %s is of the task '%s', which this version does not have", place,
                        run->task);
    }
    config->model.architecture = config->task->class->architecture;
    bool out_of_memory;
    cJSON *root = lab_json_parse(json, strlen(json), false, NULL, &out_of_memory);
    if (out_of_memory)
        return lab_fail_memory(error, "a configuration");
    const char *bad = root == NULL ? "its JSON" : read_all(root, config);
    cJSON_Delete(root);
    if (bad != NULL) {
        return lab_fail(error, LOCUS_ERROR_IO, "config",
                        "the configuration in %s cannot be read (%s): train again with --restart", place, bad);
    }
    config->encoding = run->encoding;
    config->budget = run->budget;
    config->model.encoding = run->encoding;
    lab_config_fill(config);
    return LOCUS_OK;
}

static uint64_t hash_text(uint64_t hash, const char *text) {
    for (const char *c = text; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    return hash;
}

/* Most fields are told apart by their values and places; `called`: the others by their names. */
static uint64_t hash_fields(const lab_train_config *config, bool called) {
    uint64_t hash = 0xcbf29ce484222325u;
    const lab_option *field;
    for (size_t i = 0; (field = lab_config_field(config->task->class, i)) != NULL; i++) {
        char text[LAB_FIELD_SIZE];
        lab_option_text(field, config, text, sizeof text);
        if ((field->flags & LAB_OPTION_APART) != 0 || lab_option_is_silent(field, text))
            continue;
        if (called && (field->flags & LAB_OPTION_CALLED) != 0)
            hash = hash_text(hash_text(hash, field->field), "=");
        hash = hash_text(hash, text) * 0x100000001b3u; /* the 0 at its end */
    }
    return hash;
}

uint64_t lab_config_hash(const lab_train_config *config) {
    return hash_fields(config, true);
}

uint64_t lab_config_older_hash(const lab_train_config *config) {
    return hash_fields(config, false);
}

const char *lab_config_difference(const lab_train_config *a, const lab_train_config *b) {
    const lab_option *field;
    if (a->task != b->task)
        return "task";
    for (size_t i = 0; (field = lab_config_field(a->task->class, i)) != NULL; i++) {
        char left[LAB_FIELD_SIZE], right[LAB_FIELD_SIZE];
        lab_option_text(field, a, left, sizeof left);
        lab_option_text(field, b, right, sizeof right);
        if ((field->flags & LAB_OPTION_APART) == 0 && strcmp(left, right) != 0)
            return field->field;
    }
    return NULL;
}

static bool same_text(const cJSON *root, const char *name, const char *value) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, name));
    return text != NULL && strcmp(text, value == NULL ? "" : value) == 0;
}

bool lab_config_same_texts(const lab_train_config *config, const char *json) {
    cJSON *root = cJSON_Parse(json);
    const bool same = same_text(root, "task", config->task->name) && same_text(root, "encoding", config->encoding) &&
                      same_text(root, "budget", config->budget);
    cJSON_Delete(root);
    return same;
}
