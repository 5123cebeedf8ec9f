/* SPDX-License-Identifier: MIT */
/* Numbers and statistics over seeds as members of a JSON object. What memory fails for is missing (io/json.h). */
#ifndef LAB_STATISTIC_JSON_H
#define LAB_STATISTIC_JSON_H

#include "report/tables/statistic.h"

struct cJSON;

/* null where it is not finite. */
void lab_json_number(struct cJSON *object, const char *name, double value);
/* {"mean", "deviation", "seeds", "half_width_95"}, or null over no seeds. */
void lab_json_statistic(struct cJSON *object, const char *name, const lab_statistic *statistic);

#endif
