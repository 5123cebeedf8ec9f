/* SPDX-License-Identifier: MIT */
/* The fields of a run: one table for the store's rows, for files of runs, written and read, and for what is shown.
 * Shared by store_run.c, run_file_write.c, run_file_read.c and run_json.c only. */
#ifndef LAB_RUN_FILE_FIELDS_H
#define LAB_RUN_FILE_FIELDS_H

#include "train/store/run_file.h"

#include <cjson/cJSON.h>

#define LAB_RUN_FILE_FORMAT "locus-runs"
#define LAB_RUN_FILE_MOST_INTEGER 9007199254740992.0 /* what a double holds exactly */

typedef enum lab_run_field_kind { LAB_RUN_TEXT, LAB_RUN_INTEGER, LAB_RUN_REAL } lab_run_field_kind;

typedef struct lab_run_field {
    const char *name;
    lab_run_field_kind kind;
    size_t offset; /* in lab_run; integers have 64 bits there */
    size_t most;   /* bytes of a text, in a file */
} lab_run_field;

/* The last ones are texts that a run need not have: of a file one that is empty is left out. */
enum { LAB_RUN_NEEDED = 21, LAB_RUN_FIELDS = LAB_RUN_NEEDED + 2 };
extern const lab_run_field lab_run_fields[LAB_RUN_FIELDS];

/* A run as the file has it; NULL after an error. */
cJSON *lab_run_file_item(lab_store *store, const lab_run *run, locus_error *error);

/* A value as JSON, with every number as its 17 digits say it: how configurations are recorded. NULL: out of memory;
 * cJSON_free(). Changes the value, which may be deleted only. */
char *lab_run_file_exact(cJSON *value);

#endif
