/* SPDX-License-Identifier: MIT */
/* Sections that have one name and differ in other options of their configurations are told apart by these:
 * "rate 0.0003, layers 2". What they have in common does not tell anything. */
#include "report/tables/summary_parts.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As the command line calls an option; what follows from another one is named "", and that one names it. */
static const struct {
    const char *field, *name, *follows;
} words[] = {{"rate_peak", "rate", NULL},
             {"warmup_share", "warmup", NULL},
             {"encoder_layers", "layers", NULL},
             {"decoder_layers", "layers", "encoder_layers"},
             {"length_mean", "length", NULL},
             {"length_deviation", "length deviation", "length_mean"},
             {"depth_mean", "depth", NULL},
             {"attention_dropout", "attention dropout", "dropout"},
             {"continued_from", "parent", "continued_at"}};

cJSON *lab_summary_shared(const char *config) {
    static const char *const free_fields[] = {"seed", "encoding", "checkpoint_seconds", "test_lengths",
                                              "longest_input"};
    cJSON *shared = cJSON_Parse(config ? config : "");
    for (size_t i = 0; i < sizeof free_fields / sizeof *free_fields; i++)
        cJSON_DeleteItemFromObjectCaseSensitive(shared, free_fields[i]);
    return shared;
}

static bool has_one_name(const lab_summary_section *a, const lab_summary_section *b) {
    return strcmp(a->title, b->title) == 0 && strcmp(a->task, b->task) == 0 && strcmp(a->budget, b->budget) == 0 &&
           strcmp(a->setup, b->setup) == 0 && strcmp(a->embedding_init, b->embedding_init) == 0;
}

/* Whether a section of the same name has another value. */
static bool differs(const lab_summary *summary, cJSON *const *configs, size_t section, const char *field) {
    const cJSON *own = cJSON_GetObjectItemCaseSensitive(configs[section], field);
    bool other = false;
    for (size_t i = 0; !other && i < summary->section_count; i++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(configs[i], field);
        if (has_one_name(&summary->sections[i], &summary->sections[section]))
            other = (own == NULL) != (value == NULL) || (own != NULL && !cJSON_Compare(own, value, true));
    }
    return other;
}

static void add(lab_summary_section *section, const char *field, const cJSON *value) {
    char name[64], *at;
    size_t used = strlen(section->apart);
    snprintf(name, sizeof name, "%s", field);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].field, field) == 0)
            snprintf(name, sizeof name, "%s", words[i].name);
    while ((at = strchr(name, '_')) != NULL)
        *at = ' ';
    snprintf(section->apart + used, sizeof section->apart - used, "%s%s ", used > 0 ? ", " : "", name);
    used = strlen(section->apart);
    if (cJSON_IsNumber(value))
        snprintf(section->apart + used, sizeof section->apart - used, "%g", value->valuedouble);
    else
        snprintf(section->apart + used, sizeof section->apart - used, "%.80s",
                 cJSON_IsString(value) ? value->valuestring : "by default");
}

/* Two of one name that differ together are one: the layers of encoder and decoder. */
static bool is_told_by_another(const lab_summary *summary, cJSON *const *configs, size_t section, const char *field) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].field, field) == 0 && words[i].follows != NULL)
            return differs(summary, configs, section, words[i].follows);
    return false;
}

/* Every field that a configuration has, once: what nobody asked for is not written. */
static cJSON *fields_of(cJSON *const *configs, size_t count) {
    cJSON *fields = cJSON_CreateObject();
    for (size_t i = 0; i < count; i++) {
        const cJSON *item;
        cJSON_ArrayForEach(item, configs[i]) if (item->string != NULL &&
                                                 cJSON_GetObjectItemCaseSensitive(fields, item->string) == NULL)
            cJSON_AddNullToObject(fields, item->string);
    }
    return fields;
}

/* What could not be had for want of memory is missing: the caller counts losses (io/json.h). */
void lab_summary_tell_apart(lab_summary *summary) {
    cJSON **configs = calloc(summary->section_count + 1, sizeof *configs);
    for (size_t i = 0; configs != NULL && i < summary->section_count; i++)
        configs[i] = lab_summary_shared(summary->sections[i].config);
    cJSON *fields = configs != NULL ? fields_of(configs, summary->section_count) : NULL;
    for (size_t i = 0; configs != NULL && i < summary->section_count; i++) {
        const cJSON *field;
        cJSON_ArrayForEach(field, fields) if (differs(summary, configs, i, field->string) &&
                                              !is_told_by_another(summary, configs, i, field->string))
            add(&summary->sections[i], field->string, cJSON_GetObjectItemCaseSensitive(configs[i], field->string));
    }
    for (size_t i = 0; configs != NULL && i < summary->section_count; i++)
        cJSON_Delete(configs[i]);
    cJSON_Delete(fields);
    free(configs);
}
