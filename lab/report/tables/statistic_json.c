/* SPDX-License-Identifier: MIT */
/* See statistic_json.h. */
#include "report/tables/statistic_json.h"

#include <cjson/cJSON.h>
#include <math.h>

void lab_json_number(struct cJSON *object, const char *name, double value) {
    if (isfinite(value))
        cJSON_AddNumberToObject(object, name, value);
    else
        cJSON_AddNullToObject(object, name);
}

void lab_json_statistic(struct cJSON *object, const char *name, const lab_statistic *statistic) {
    if (statistic->count == 0) {
        cJSON_AddNullToObject(object, name);
        return;
    }
    cJSON *entry = cJSON_AddObjectToObject(object, name);
    cJSON_AddNumberToObject(entry, "mean", statistic->mean);
    cJSON_AddNumberToObject(entry, "deviation", statistic->deviation);
    cJSON_AddNumberToObject(entry, "seeds", (double)statistic->count);
    lab_json_number(entry, "half_width_95", statistic->half_width);
}

struct cJSON *lab_json_published(struct cJSON *object, const char *name, const lab_published *found) {
    if (found == NULL) {
        cJSON_AddNullToObject(object, name);
        return NULL;
    }
    cJSON *entry = cJSON_AddObjectToObject(object, name);
    cJSON_AddStringToObject(entry, "budget", found->budget);
    cJSON_AddNumberToObject(entry, "mean", found->accuracy);
    lab_json_number(entry, "deviation", found->deviation < 0 ? INFINITY : found->deviation);
    return entry;
}
