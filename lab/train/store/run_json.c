/* SPDX-License-Identifier: MIT */
/* All that a store knows of a run, to be shown (store.h). Files of runs are others: run_file.h. */
#include "io/fail.h"
#include "io/json.h"
#include "train/store/run_file_fields.h"

#include <stdlib.h>
#include <string.h>

static const lab_run_field *field_of(const char *name) {
    for (size_t i = 0; i < LAB_RUN_FIELDS; i++)
        if (strcmp(lab_run_fields[i].name, name) == 0)
            return &lab_run_fields[i];
    return NULL;
}

/* A text that a run need not have is left out where it is empty. */
static void add_field(cJSON *root, const lab_run *run, const lab_run_field *field) {
    const void *at = (const char *)run + field->offset;
    const char *text = field->kind == LAB_RUN_TEXT ? *(char *const *)at : NULL;
    if (field->kind == LAB_RUN_REAL)
        cJSON_AddNumberToObject(root, field->name, *(const double *)at);
    else if (field->kind == LAB_RUN_INTEGER)
        cJSON_AddNumberToObject(root, field->name, (double)*(const uint64_t *)at);
    else if (text != NULL && (text[0] != '\0' || field < lab_run_fields + LAB_RUN_NEEDED))
        cJSON_AddStringToObject(root, field->name, text);
}

static void add_finals(cJSON *root, const lab_final *finals, size_t count) {
    cJSON *sets = cJSON_AddObjectToObject(root, "scores");
    for (size_t i = 0; i < count; i++) {
        cJSON *set = cJSON_GetObjectItemCaseSensitive(sets, finals[i].set);
        if (set == NULL)
            set = cJSON_AddObjectToObject(sets, finals[i].set);
        cJSON_AddNumberToObject(set, finals[i].name, finals[i].value);
    }
}

/* Texts first, the state among them, then numbers. */
static cJSON *make(const lab_run *run, const lab_final *finals, size_t count) {
    static const char *const texts[] = {"name",    "task",    "encoding", "setup",   "embedding_init", "budget", NULL,
                                        "message", "command", "version",  "machine", "started",        "ended"};
    static const char *const numbers[] = {"seed",        "data_seed",    "steps_total",       "steps_done",
                                          "tokens_seen", "wall_seconds", "tokens_per_second", "peak_bytes",
                                          "parameters"};
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "id", (double)run->id);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i] != NULL)
            add_field(root, run, field_of(texts[i]));
        else
            cJSON_AddStringToObject(root, "state", lab_run_state_name(run->state));
    for (size_t i = LAB_RUN_NEEDED; i < LAB_RUN_FIELDS; i++)
        add_field(root, run, &lab_run_fields[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        add_field(root, run, field_of(numbers[i]));
    cJSON *config = cJSON_Parse(run->config);
    if (config != NULL)
        lab_json_put(root, "config", config);
    else /* what cannot be read is shown as it is */
        cJSON_AddStringToObject(root, "config", run->config);
    add_finals(root, finals, count);
    return root;
}

cJSON *lab_run_json(lab_store *store, const lab_run *run, locus_error *error) {
    lab_final *finals;
    size_t count;
    if (lab_store_finals(store, run->id, &finals, &count, error) != LOCUS_OK)
        return NULL;
    const size_t losses = lab_json_losses();
    cJSON *root = make(run, finals, count);
    free(finals);
    if (lab_json_losses() == losses)
        return root;
    cJSON_Delete(root);
    lab_fail(error, LOCUS_ERROR_MEMORY, NULL, "out of memory for what is known of run %s", run->name);
    return NULL;
}
