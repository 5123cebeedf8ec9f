/* SPDX-License-Identifier: MIT */
/* How a summary's sections are filled: what their data are, and their scores. */
#ifndef LAB_SUMMARY_PARTS_H
#define LAB_SUMMARY_PARTS_H

#include "report/tables/summary.h"

/* Kind, order, title, data and sizes, from the task and the section's configuration. */
void lab_summary_describe(lab_summary_section *section);

/* A configuration without the fields in which runs of a section may differ, or that say nothing of a training. NULL:
 * there is none, or no memory (io/json.h). cJSON_Delete() */
struct cJSON *lab_summary_shared(const char *config);

/* What sections of one name differ in. */
void lab_summary_tell_apart(lab_summary *summary);

/* Lengths and bins of the section, and all statistics of its rows, from the finals and metrics of finished runs. */
locus_status lab_summary_score_section(lab_summary_section *section, lab_store *store, locus_error *error);

#endif
