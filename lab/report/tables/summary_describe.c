/* SPDX-License-Identifier: MIT */
/* What a section is about, in words and sizes: read from its task and from the configuration that its runs share.
 * Fields that a configuration does not write have the value that earlier versions had. */
#include "report/tables/summary_parts.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

static double number_of(const cJSON *config, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(config, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static const char *text_of(const cJSON *config, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(config, name);
    return cJSON_IsString(item) ? item->valuestring : NULL;
}

/* Softmax, and as many heads of keys as of queries, are not written. */
static void describe_attention(lab_summary_section *section, const cJSON *config) {
    const char *attention = text_of(config, "attention");
    size_t used = strlen(section->data);
    if (used > 0 && attention) {
        snprintf(section->data + used, sizeof section->data - used, ", attention %.95s", attention);
        used = strlen(section->data);
    }
    if (used > 0 && number_of(config, "kv_heads") > 0) {
        snprintf(section->data + used, sizeof section->data - used, ", %g key-value heads",
                 number_of(config, "kv_heads"));
    }
}

/* None is written where it is as it always was. */
static void describe_scales(lab_summary_section *section, const cJSON *config) {
    snprintf(section->scales, sizeof section->scales, "%s%s%s",
             text_of(config, "position_scale") ? ", positions times √D" : "",
             text_of(config, "logit_scale") ? ", logits over √D" : "",
             text_of(config, "precision") ? ", bfloat16 products" : "");
}

void lab_summary_describe(lab_summary_section *section) {
    const lab_task *task = lab_task_find(section->task);
    cJSON *config = cJSON_Parse(section->config ? section->config : "");
    lab_data_facts facts = {0};
    section->class = task ? task->class : lab_class_at(0);
    section->class->describe(config, section->task, &facts);
    snprintf(section->title, sizeof section->title, "%.60s", facts.title[0] ? facts.title : section->task);
    snprintf(section->data, sizeof section->data, "%s", facts.data);
    snprintf(section->note, sizeof section->note, "%s", facts.note);
    section->trained_length = facts.mean_size;
    section->order = facts.order;
    section->variant = facts.variant;
    section->unpublished = facts.unpublished;
    section->epoch_steps = facts.epoch_steps;
    section->epochs = facts.epochs;
    describe_attention(section, config);
    describe_scales(section, config);
    cJSON_Delete(config);
}
