/* SPDX-License-Identifier: MIT */
/* Writes files of runs (run_file.h): a line for each field, set and curve, so that versions of a file can be
 * compared. */
#include "train/store/run_file_fields.h"

#include "io/csv.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

static cJSON *number(double value) {
    char text[32];
    if (!isfinite(value))
        return cJSON_CreateNull();
    lab_number_exact(value, text);
    return cJSON_CreateRaw(text);
}

static void make_exact(cJSON *value) {
    char *text = cJSON_IsNumber(value) ? cJSON_malloc(32) : NULL;
    if (text != NULL) {
        snprintf(text, 32, "%.17g", value->valuedouble);
        value->valuestring = text;
        value->type = (value->type & ~0xff) | cJSON_Raw;
    }
    for (cJSON *item = value->child; item != NULL; item = item->next)
        make_exact(item);
}

char *lab_run_file_exact(cJSON *value) {
    const size_t losses = lab_json_losses();
    make_exact(value);
    char *text = cJSON_PrintUnformatted(value);
    if (lab_json_losses() != losses) { /* a number may have kept fewer digits */
        cJSON_free(text);
        text = NULL;
    }
    return text;
}

/* ---- parts of a run ---- */

static locus_status add_fields(cJSON *object, const lab_run *run, locus_error *error) {
    for (size_t i = 0; i < LAB_RUN_FIELDS; i++) {
        const lab_run_field *field = &lab_run_fields[i];
        const void *at = (const char *)run + field->offset;
        if (field->kind == LAB_RUN_TEXT) {
            const char *text = *(char *const *)at != NULL ? *(char *const *)at : "";
            if (text[0] != '\0' || i < LAB_RUN_NEEDED)
                cJSON_AddStringToObject(object, field->name, text);
            continue;
        }
        const double value = field->kind == LAB_RUN_REAL ? *(const double *)at : (double)*(const int64_t *)at;
        if (!(value >= 0 && value <= LAB_RUN_FILE_MOST_INTEGER)) {
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, "runs",
                            "the run '%s' cannot be written as JSON: its %s is below 0 or above 2^53", run->name,
                            field->name);
        }
        lab_json_put(object, field->name, number(value));
    }
    return LOCUS_OK;
}

static locus_status add_config(cJSON *object, const lab_run *run, locus_error *error) {
    bool out_of_memory;
    cJSON *config = lab_json_parse(run->config, strlen(run->config), false, NULL, &out_of_memory);
    if (!cJSON_IsObject(config)) {
        cJSON_Delete(config);
        return out_of_memory ? lab_fail_memory(error, "a configuration")
                             : lab_fail(error, LOCUS_ERROR_ARGUMENT, "runs",
                                        "the run '%s' cannot be written as JSON: its configuration is none", run->name);
    }
    char *text = lab_run_file_exact(config);
    cJSON_Delete(config);
    if (text == NULL)
        return lab_fail_memory(error, "a configuration");
    cJSON_AddRawToObject(object, "config", text);
    cJSON_free(text);
    return LOCUS_OK;
}

static locus_status add_scores(cJSON *object, lab_store *store, const lab_run *run, locus_error *error) {
    lab_final *finals;
    size_t count;
    const locus_status status = lab_store_finals(store, run->id, &finals, &count, error);
    cJSON *sets = cJSON_AddObjectToObject(object, "scores"), *set = NULL;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(finals[i].set, finals[i - 1].set) != 0)
            set = cJSON_AddObjectToObject(sets, finals[i].set);
        lab_json_put(set, finals[i].name, number(finals[i].value));
    }
    free(finals);
    return status;
}

static locus_status add_curve(cJSON *curves, lab_store *store, const lab_run *run, const char *name,
                              locus_error *error) {
    lab_metric *metrics;
    size_t count;
    const locus_status status = lab_store_metrics(store, run->id, name, &metrics, &count, error);
    cJSON *curve = cJSON_AddObjectToObject(curves, name);
    cJSON *steps = cJSON_AddArrayToObject(curve, "steps"), *values = cJSON_AddArrayToObject(curve, "values");
    for (size_t i = 0; i < count; i++) {
        lab_json_put(steps, NULL, number((double)metrics[i].step));
        lab_json_put(values, NULL, number(metrics[i].value));
    }
    free(metrics);
    return status;
}

static locus_status add_curves(cJSON *object, lab_store *store, const lab_run *run, locus_error *error) {
    const char **names;
    size_t count;
    locus_status status = lab_store_metric_names(store, run->id, &names, &count, error);
    cJSON *curves = cJSON_AddObjectToObject(object, "curves");
    for (size_t i = 0; status == LOCUS_OK && i < count; i++)
        status = add_curve(curves, store, run, names[i], error);
    free(names);
    return status;
}

cJSON *lab_run_file_item(lab_store *store, const lab_run *run, locus_error *error) {
    const size_t losses = lab_json_losses();
    cJSON *object = cJSON_CreateObject();
    locus_status status = add_fields(object, run, error);
    status = status == LOCUS_OK ? add_config(object, run, error) : status;
    status = status == LOCUS_OK ? add_scores(object, store, run, error) : status;
    status = status == LOCUS_OK ? add_curves(object, store, run, error) : status;
    if (status == LOCUS_OK && lab_json_losses() != losses)
        status = lab_fail_memory(error, "a run as JSON");
    if (status != LOCUS_OK) {
        cJSON_Delete(object);
        return NULL;
    }
    return object;
}

/* ---- the file ---- */

/* {"key": value, …} with a line for each member; those of `opened` (NULL: none) are written so themselves. */
static bool put_object(const cJSON *object, const char *const *opened, FILE *file) {
    bool good = true;
    fputs("{\n", file);
    for (const cJSON *item = object->child; good && item != NULL; item = item->next) {
        cJSON *key = cJSON_CreateString(item->string);
        char *name = cJSON_PrintUnformatted(key);
        bool opens = false;
        for (size_t i = 0; opened != NULL && opened[i] != NULL; i++)
            opens = opens || strcmp(opened[i], item->string) == 0;
        char *value = opens ? NULL : cJSON_PrintUnformatted(item);
        good = name != NULL && (opens || value != NULL);
        fprintf(file, "%s: %s", name != NULL ? name : "", value != NULL ? value : "");
        good = good && (!opens || put_object(item, NULL, file));
        fputs(item->next != NULL ? ",\n" : "\n", file);
        cJSON_free(value);
        cJSON_free(name);
        cJSON_Delete(key);
    }
    fputs("}", file);
    return good;
}

static locus_status put_run(lab_store *store, const lab_run *run, FILE *file, locus_error *error) {
    static const char *const opened[] = {"scores", "curves", NULL};
    cJSON *item = lab_run_file_item(store, run, error);
    if (item == NULL)
        return error != NULL ? error->status : LOCUS_ERROR_MEMORY;
    const bool good = put_object(item, opened, file);
    cJSON_Delete(item);
    return good ? LOCUS_OK : lab_fail_memory(error, "a run as JSON");
}

static locus_status put_file(lab_store *store, const lab_run *runs, size_t count, const cJSON *table, FILE *file,
                             locus_error *error) {
    locus_status status = LOCUS_OK;
    bool any = false;
    fprintf(file, "{\n\"format\": \"%s\",\n\"version\": %d,\n", LAB_RUN_FILE_FORMAT, LAB_RUN_FILE_VERSION);
    if (table != NULL) {
        fputs("\"table\": ", file);
        status = put_object(table, NULL, file) ? LOCUS_OK : lab_fail_memory(error, "a table's head as JSON");
        fputs(",\n", file);
    }
    fputs("\"runs\": [", file);
    for (size_t i = 0; status == LOCUS_OK && i < count; i++) {
        if (runs[i].state == LAB_RUN_DONE) {
            fputs(any ? ",\n" : "\n", file);
            status = put_run(store, &runs[i], file, error);
            any = true;
        }
    }
    fputs(any ? "\n]\n}\n" : "]\n}\n", file);
    return status;
}

locus_status lab_run_file_write(lab_store *store, const lab_run *runs, size_t count, const cJSON *table,
                                const char *path, locus_error *error) {
    lab_output output;
    locus_error local = {.status = LOCUS_OK};
    locus_status status = lab_output_open(&output, path, error);
    if (status != LOCUS_OK)
        return status;
    status = put_file(store, runs, count, table, output.stream, &local);
    /* What is exported is to be imported; a table's record is kept, however large. */
    if (status == LOCUS_OK && table == NULL && ftell(output.stream) > (long)LAB_RUN_FILE_MOST_BYTES)
        status = lab_fail(&local, LOCUS_ERROR_ARGUMENT, "runs",
                          "these runs have more than %u MiB as JSON, which is more than a file of runs may have: "
                          "write fewer of them to a file",
                          LAB_RUN_FILE_MOST_BYTES >> 20);
    if (status != LOCUS_OK && error != NULL)
        *error = local;
    status = status == LOCUS_OK ? lab_output_commit(&output, error) : status;
    lab_output_discard(&output);
    return status;
}
