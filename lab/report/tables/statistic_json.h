/* SPDX-License-Identifier: MIT */
/* Numbers, statistics over seeds and published numbers as members of a JSON object. What memory fails for is missing
 * (io/json.h). */
#ifndef LAB_STATISTIC_JSON_H
#define LAB_STATISTIC_JSON_H

#include "report/tables/published.h"
#include "report/tables/statistic.h"

struct cJSON;

/* null where it is not finite. */
void lab_json_number(struct cJSON *object, const char *name, double value);
/* {"mean", "deviation", "seeds", "half_width_95"}, or null over no seeds. */
void lab_json_statistic(struct cJSON *object, const char *name, const lab_statistic *statistic);
/* {"budget", "mean", "deviation"} of a published number, returned; null, and NULL, where nothing is published. */
struct cJSON *lab_json_published(struct cJSON *object, const char *name, const lab_published *found);

#endif
