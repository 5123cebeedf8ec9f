/* SPDX-License-Identifier: MIT */
/* Reads files of runs (run_file.h). The file may be a stranger's: every field of a run is looked at before the run is
 * written, and all is written in one transaction. A field that is not known is refused, since it would be lost. */
#include "train/store/run_file_fields.h"

#include "io/fail.h"
#include "io/file.h"
#include "io/json.h"
#include "train/configuration/config.h"
#include "train/store/run_folder.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SETS = 512, MOST_NAMES = LAB_MOST_MEASURED, MOST_NAME = 64 };

/* A file that is being read. */
typedef struct reader {
    lab_store *store;
    const char *path;
    size_t run; /* the one that is looked at, from 1 */
    locus_error *error;
} reader;

LAB_PRINTF(2, 3)
static locus_status wrong(const reader *from, const char *format, ...) {
    char what[320];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    return lab_fail_file(from->error, from->path, "cannot be imported: run %zu: %s", from->run, what);
}

/* ---- JSON ---- */

static bool is_integer(const cJSON *item, double most) {
    return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= most &&
           floor(item->valuedouble) == item->valuedouble;
}

/* A score may be null: it was not finite. 1e999 is a number to cJSON, and infinite. */
static bool is_score(const cJSON *item) {
    return cJSON_IsNull(item) || (cJSON_IsNumber(item) && isfinite(item->valuedouble));
}

static double score_of(const cJSON *item) {
    return cJSON_IsNull(item) ? (double)NAN : item->valuedouble;
}

static bool is_name(const char *text) {
    return text[0] != '\0' && strnlen(text, MOST_NAME + 1) <= MOST_NAME && lab_run_name_fits(text);
}

/* Whether two members have the name of this one: only the first is looked at. */
static bool is_first(const cJSON *object, const cJSON *item) {
    return cJSON_GetObjectItemCaseSensitive(object, item->string) == item;
}

static locus_status check_members(const reader *from, const cJSON *object) {
    static const char *const parts[] = {"config", "scores", "curves"};
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        bool known = false;
        for (size_t i = 0; i < LAB_RUN_FIELDS; i++)
            known = known || strcmp(item->string, lab_run_fields[i].name) == 0;
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            known = known || strcmp(item->string, parts[i]) == 0;
        if (!known || !is_first(object, item))
            return wrong(from, known ? "\"%.60s\" twice" : "\"%.60s\" is unknown", item->string);
    }
    return LOCUS_OK;
}

/* ---- a run's row ---- */

/* Its texts stay the JSON's. */
static locus_status take_field(const reader *from, const cJSON *object, const lab_run_field *field, lab_run *run) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, field->name);
    char *at = (char *)run + field->offset;
    switch (field->kind) {
    case LAB_RUN_TEXT:
        if (!cJSON_IsString(item) || strlen(item->valuestring) > field->most)
            return wrong(from, "\"%s\" is no text of at most %zu bytes", field->name, field->most);
        *(char **)(void *)at = item->valuestring;
        return LOCUS_OK;
    case LAB_RUN_INTEGER:
        if (!is_integer(item, LAB_RUN_FILE_MOST_INTEGER))
            return wrong(from, "\"%s\" is no integer from 0 to 2^53", field->name);
        *(int64_t *)(void *)at = (int64_t)item->valuedouble;
        return LOCUS_OK;
    case LAB_RUN_REAL:
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= LAB_RUN_FILE_MOST_INTEGER))
            return wrong(from, "\"%s\" is no number from 0 to 2^53", field->name);
        *(double *)(void *)at = item->valuedouble;
        return LOCUS_OK;
    }
    return LOCUS_OK;
}

/* A row repeats what its configuration says. */
static locus_status check_config(const reader *from, const lab_run *run) {
    lab_train_config config;
    const size_t losses = lab_json_losses();
    const locus_status status = lab_config_parse(&config, run->config, run, from->path, NULL);
    if (status != LOCUS_OK) {
        return status == LOCUS_ERROR_MEMORY ? lab_fail_memory(from->error, "a configuration")
                                            : wrong(from, "\"config\" is no configuration that this version knows");
    }
    const bool same = lab_config_same_texts(&config, run->config) && config.seed == run->seed &&
                      config.data_seed == run->data_seed && strcmp(lab_setup_name(config.setup), run->setup) == 0 &&
                      strcmp(lab_embedding_init_name(config.model.embedding_init), run->embedding_init) == 0;
    if (lab_json_losses() != losses)
        return lab_fail_memory(from->error, "a configuration");
    return same ? LOCUS_OK : wrong(from, "\"config\" is of another run than the fields beside it");
}

/* run->config is then the caller's, with cJSON_free(). */
static locus_status take_row(const reader *from, cJSON *object, lab_run *run) {
    *run = (lab_run){.state = LAB_RUN_DONE};
    if (!cJSON_IsObject(object))
        return wrong(from, "it is no object");
    locus_status status = check_members(from, object);
    for (size_t i = 0; status == LOCUS_OK && i < LAB_RUN_FIELDS; i++)
        if (i < LAB_RUN_NEEDED || cJSON_GetObjectItemCaseSensitive(object, lab_run_fields[i].name) != NULL)
            status = take_field(from, object, &lab_run_fields[i], run);
    if (status == LOCUS_OK && !lab_run_name_fits(run->name))
        status = wrong(from, "\"name\" is no file name: " LAB_RUN_NAME_RULE);
    cJSON *config = cJSON_GetObjectItemCaseSensitive(object, "config");
    if (status == LOCUS_OK && !cJSON_IsObject(config))
        status = wrong(from, "\"config\" is no object");
    if (status != LOCUS_OK)
        return status;
    run->config = lab_run_file_exact(config);
    return run->config == NULL ? lab_fail_memory(from->error, "a configuration") : check_config(from, run);
}

/* ---- scores and curves ---- */

static locus_status check_scores(const reader *from, const cJSON *sets) {
    if (!cJSON_IsObject(sets) || cJSON_GetArraySize(sets) > MOST_SETS)
        return wrong(from, "\"scores\" is no object of at most %d sets", MOST_SETS);
    for (const cJSON *set = sets->child; set != NULL; set = set->next) {
        if (!is_name(set->string) || !is_first(sets, set) || !cJSON_IsObject(set) ||
            cJSON_GetArraySize(set) > MOST_NAMES) {
            return wrong(from, "\"scores\": \"%.60s\" is no set of at most %d scores, or is there twice", set->string,
                         MOST_NAMES);
        }
        for (const cJSON *score = set->child; score != NULL; score = score->next) {
            if (!is_name(score->string) || !is_first(set, score) || !is_score(score)) {
                return wrong(from, "\"scores\": \"%.60s\", \"%.60s\" is no number, or is there twice", set->string,
                             score->string);
            }
        }
    }
    return LOCUS_OK;
}

/* Two arrays of one length, the steps ascending. */
static bool is_curve(const cJSON *curve) {
    const cJSON *steps = cJSON_GetObjectItemCaseSensitive(curve, "steps");
    const cJSON *values = cJSON_GetObjectItemCaseSensitive(curve, "values");
    if (!cJSON_IsArray(steps) || !cJSON_IsArray(values) || cJSON_GetArraySize(curve) != 2)
        return false;
    double last = -1;
    const cJSON *step = steps->child, *value = values->child;
    for (; step != NULL && value != NULL; step = step->next, value = value->next) {
        if (!is_integer(step, LAB_RUN_FILE_MOST_INTEGER) || step->valuedouble <= last || !is_score(value))
            return false;
        last = step->valuedouble;
    }
    return step == NULL && value == NULL;
}

static locus_status check_curves(const reader *from, const cJSON *curves) {
    if (!cJSON_IsObject(curves) || cJSON_GetArraySize(curves) > MOST_NAMES)
        return wrong(from, "\"curves\" is no object of at most %d curves", MOST_NAMES);
    for (const cJSON *curve = curves->child; curve != NULL; curve = curve->next) {
        if (!is_name(curve->string) || !is_first(curves, curve) || !is_curve(curve)) {
            return wrong(from,
                         "\"curves\": \"%.60s\" is no curve (ascending steps and as many values), or is there "
                         "twice",
                         curve->string);
        }
    }
    return LOCUS_OK;
}

/* ---- into the store ---- */

static locus_status add_scores(const reader *from, int64_t run, const cJSON *sets) {
    locus_status status = LOCUS_OK;
    for (const cJSON *set = sets->child; set != NULL; set = set->next)
        for (const cJSON *score = set->child; status == LOCUS_OK && score != NULL; score = score->next)
            status = lab_store_final_set(from->store, run, set->string, score->string, score_of(score), from->error);
    return status;
}

/* A curve that is being added: its next point. */
typedef struct cursor {
    const char *name;
    const cJSON *step, *value;
} cursor;

/* The first step that is left; NULL: none is. */
static const cJSON *next_step(const cursor *cursors, size_t count) {
    const cJSON *first = NULL;
    for (size_t i = 0; i < count; i++)
        if (cursors[i].step != NULL && (first == NULL || cursors[i].step->valuedouble < first->valuedouble))
            first = cursors[i].step;
    return first;
}

/* What curves have at that step, which they are then past. */
static size_t take_step(cursor *cursors, size_t count, uint64_t step, lab_measured *values) {
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        if (cursors[i].step == NULL || (uint64_t)cursors[i].step->valuedouble != step)
            continue;
        values[taken++] = (lab_measured){cursors[i].name, score_of(cursors[i].value)};
        cursors[i].step = cursors[i].step->next;
        cursors[i].value = cursors[i].value->next;
    }
    return taken;
}

/* The file has curve after curve, the store step after step. */
static locus_status add_curves(const reader *from, int64_t run, const cJSON *curves) {
    cursor cursors[MOST_NAMES];
    lab_measured values[MOST_NAMES];
    size_t count = 0;
    const cJSON *first;
    locus_status status = LOCUS_OK;
    for (const cJSON *curve = curves->child; curve != NULL; curve = curve->next) {
        cursors[count++] = (cursor){curve->string, cJSON_GetObjectItemCaseSensitive(curve, "steps")->child,
                                    cJSON_GetObjectItemCaseSensitive(curve, "values")->child};
    }
    while (status == LOCUS_OK && (first = next_step(cursors, count)) != NULL) {
        const uint64_t step = (uint64_t)first->valuedouble;
        status =
            lab_store_measured(from->store, run, step, values, take_step(cursors, count, step, values), from->error);
    }
    return status;
}

/* A run of the same name that is another one is neither replaced nor passed over in silence. What the store has is
 * read back from its text, so that both are of parsed numbers. */
static locus_status compare(const reader *from, const lab_run *there, const cJSON *object, const char *config) {
    cJSON *item = there->state == LAB_RUN_DONE ? lab_run_file_item(from->store, there, from->error) : NULL;
    if (there->state == LAB_RUN_DONE && item == NULL)
        return from->error != NULL ? from->error->status : LOCUS_ERROR_MEMORY;
    const size_t losses = lab_json_losses();
    cJSON *copy = cJSON_Duplicate(object, true);
    cJSON_DeleteItemFromObjectCaseSensitive(item, "note"); /* somebody may have written another one since */
    cJSON_DeleteItemFromObjectCaseSensitive(copy, "note");
    cJSON_ReplaceItemInObjectCaseSensitive(copy, "config", cJSON_CreateRaw(config));
    char *one = item != NULL ? cJSON_PrintUnformatted(item) : NULL, *other = cJSON_PrintUnformatted(copy);
    cJSON *a = cJSON_Parse(one != NULL ? one : ""), *b = cJSON_Parse(other != NULL ? other : "");
    const bool same = a != NULL && b != NULL && cJSON_Compare(a, b, true);
    cJSON_Delete(a);
    cJSON_Delete(b);
    cJSON_Delete(item);
    cJSON_Delete(copy);
    cJSON_free(one);
    cJSON_free(other);
    if (lab_json_losses() != losses)
        return lab_fail_memory(from->error, "a run as JSON");
    return same ? LOCUS_OK
                : lab_fail(from->error, LOCUS_ERROR_ARGUMENT, "name",
                           "'%s' cannot be imported: the store has another run '%s': name another store with --store, "
                           "or delete that run",
                           from->path, there->name);
}

static locus_status add_run(const reader *from, lab_run *run, const cJSON *object, lab_run_file_content *content) {
    const cJSON *scores = cJSON_GetObjectItemCaseSensitive(object, "scores");
    const cJSON *curves = cJSON_GetObjectItemCaseSensitive(object, "curves");
    lab_run there = {0};
    assert(run->name != NULL && run->config != NULL); /* the row was taken */
    locus_status status = check_scores(from, scores);
    status = status == LOCUS_OK ? check_curves(from, curves) : status;
    status = status == LOCUS_OK ? lab_store_run_named(from->store, run->name, &there, from->error) : status;
    if (there.name != NULL) {
        status = compare(from, &there, object, run->config);
        lab_run_free(&there);
        content->known += status == LOCUS_OK;
        return status;
    }
    status = status == LOCUS_OK ? lab_store_run_insert(from->store, run, from->error) : status;
    status = status == LOCUS_OK ? add_scores(from, run->id, scores) : status;
    status = status == LOCUS_OK ? add_curves(from, run->id, curves) : status;
    status = status == LOCUS_OK ? lab_store_run_imported(from->store, run->id, from->error) : status;
    if (status == LOCUS_OK && run->note != NULL)
        status = lab_store_run_note(from->store, run->id, run->note, from->error);
    if (status == LOCUS_OK && run->parent != NULL && run->parent[0] != '\0')
        status = lab_store_run_parent(from->store, run->id, run->parent, from->error);
    content->added += status == LOCUS_OK;
    return status;
}

static locus_status add_runs(reader *from, const cJSON *runs, lab_run_file_content *content) {
    locus_status status = lab_store_begin(from->store, from->error);
    if (status != LOCUS_OK)
        return status;
    for (cJSON *item = runs->child; status == LOCUS_OK && item != NULL; item = item->next) {
        lab_run run;
        from->run++;
        status = take_row(from, item, &run);
        status = status == LOCUS_OK ? add_run(from, &run, item, content) : status;
        cJSON_free(run.config);
    }
    return lab_store_end(from->store, status, from->error);
}

/* ---- the file ---- */

static locus_status check_root(const cJSON *root, const char *path, locus_error *error) {
    static const char *const names[] = {"format", "version", "table", "runs"};
    const cJSON *format = cJSON_GetObjectItemCaseSensitive(root, "format");
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(root, "version");
    const cJSON *table = cJSON_GetObjectItemCaseSensitive(root, "table");
    if (!cJSON_IsString(format) || strcmp(format->valuestring, LAB_RUN_FILE_FORMAT) != 0)
        return lab_fail_file(error, path, "is no file of runs: it lacks \"format\": \"%s\"", LAB_RUN_FILE_FORMAT);
    if (!cJSON_IsNumber(version) || version->valuedouble != LAB_RUN_FILE_VERSION) {
        return lab_fail_file(error, path, "is a file of runs of another version than %d: use the newer locus",
                             LAB_RUN_FILE_VERSION);
    }
    for (const cJSON *item = root->child; item != NULL; item = item->next) {
        bool known = false;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            known = known || strcmp(item->string, names[i]) == 0;
        if (!known || !is_first(root, item))
            return lab_fail_file(error, path, "cannot be imported: \"%.60s\" is unknown, or there twice", item->string);
    }
    if ((table != NULL && !cJSON_IsObject(table)) || !cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(root, "runs")))
        return lab_fail_file(error, path, "cannot be imported: \"runs\" is no list, or \"table\" no object");
    return LOCUS_OK;
}

static size_t line_of(const char *text, const char *at) {
    size_t line = 1;
    for (; text < at; text++)
        line += *text == '\n';
    return line;
}

locus_status lab_run_file_take(lab_store *store, const char *text, size_t bytes, const char *path,
                               lab_run_file_content *content, locus_error *error) {
    const char *end = text;
    bool out_of_memory;
    *content = (lab_run_file_content){0};
    if (bytes > LAB_RUN_FILE_MOST_BYTES) {
        return lab_fail_file(error, path, "is larger than a file of runs may be, %u MiB",
                             LAB_RUN_FILE_MOST_BYTES >> 20);
    }
    cJSON *root = lab_json_parse(text, bytes, false, &end, &out_of_memory);
    if (root == NULL) {
        return out_of_memory ? lab_fail_memory(error, "a file of runs")
                             : lab_fail_file(error, path, "is no JSON: line %zu cannot be read", line_of(text, end));
    }
    reader from = {store, path, 0, error};
    while (end < text + bytes && strchr(" \t\r\n", *end) != NULL && *end != '\0')
        end++;
    locus_status status = end == text + bytes ? check_root(root, path, error)
                                              : lab_fail_file(error, path, "is no JSON: something follows in line %zu",
                                                              line_of(text, end));
    if (status == LOCUS_OK)
        status = add_runs(&from, cJSON_GetObjectItemCaseSensitive(root, "runs"), content);
    if (status == LOCUS_OK)
        content->table = cJSON_DetachItemFromObjectCaseSensitive(root, "table");
    else
        *content = (lab_run_file_content){0};
    cJSON_Delete(root);
    return status;
}

locus_status lab_run_file_read(lab_store *store, const char *path, lab_run_file_content *content, locus_error *error) {
    char *text;
    size_t bytes;
    *content = (lab_run_file_content){0};
    locus_status status = lab_file_read(path, &text, &bytes, error);
    if (status == LOCUS_OK) {
        status = lab_run_file_take(store, text, bytes, path, content, error);
        free(text);
    }
    return status;
}
