/* SPDX-License-Identifier: MIT */
/* See labelled_rows.h. */
#include "task/own/labelled_rows.h"

#include "io/fail.h"
#include "io/folder.h"
#include "io/grow.h"
#include "io/json.h"
#include "task/own/own_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ID = 1 << 24, MOST_LABEL = 200 };

static locus_status fail_line(const lab_labelled_row *row, locus_error *error, const char *what) {
    return lab_fail_line(row->path, row->line, what, error);
}

static char *copy_of(const char *text, size_t bytes) {
    char *copy = malloc(bytes + 1);
    if (copy != NULL) {
        memcpy(copy, text, bytes);
        copy[bytes] = '\0';
    }
    return copy;
}

/* ---- tab-separated ---- */

static locus_status read_tabbed(lab_labelled_row *row, const char *line, size_t bytes, locus_error *error) {
    const char *tab = memchr(line, '\t', bytes);
    const size_t text = tab != NULL ? (size_t)(tab - line) : 0, label = tab != NULL ? bytes - text - 1 : 0;
    if (tab == NULL)
        return fail_line(row, error, "there is no tab: a line is a text, a tab and its label");
    if (memchr(tab + 1, '\t', label) != NULL)
        return fail_line(row, error, "there is more than one tab: a line is a text, a tab and its label");
    if (label == 0 || label > MOST_LABEL)
        return fail_line(row, error, "behind its tab stands no label of 1 to 200 bytes");
    row->text = copy_of(line, text);
    row->bytes = text;
    row->label = copy_of(tab + 1, label);
    return row->text == NULL || row->label == NULL ? lab_fail_memory(error, "samples") : LOCUS_OK;
}

/* ---- JSON ---- */

/* A label as text: a string, or a whole number, which is written into `number`. NULL: it is none. */
static const char *label_of(const cJSON *item, char number[32]) {
    if (cJSON_IsString(item))
        return item->valuestring[0] != '\0' && strlen(item->valuestring) <= MOST_LABEL ? item->valuestring : NULL;
    if (!cJSON_IsNumber(item) || !(fabs(item->valuedouble) < 1e15) || floor(item->valuedouble) != item->valuedouble)
        return NULL;
    snprintf(number, 32, "%.0f", item->valuedouble);
    return number;
}

static locus_status read_ids(lab_labelled_row *row, const cJSON *array, locus_error *error) {
    const cJSON *item;
    const int count = cJSON_GetArraySize(array);
    if (!cJSON_IsArray(array) || count == 0)
        return fail_line(row, error, "it needs \"input_text\", a text, or \"input\", an array of ids");
    row->ids = calloc((size_t)count, sizeof *row->ids);
    if (row->ids == NULL)
        return lab_fail_memory(error, "samples");
    cJSON_ArrayForEach(item, array) {
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= MOST_ID) ||
            floor(item->valuedouble) != item->valuedouble)
            return fail_line(row, error, "\"input\" needs whole numbers from 0 to 16777216");
        row->ids[row->id_count++] = (int32_t)item->valuedouble;
    }
    return LOCUS_OK;
}

static locus_status read_object(lab_labelled_row *row, const cJSON *root, locus_error *error) {
    char number[32];
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "input_text"));
    if (!cJSON_IsObject(root))
        return fail_line(row, error, "this is no JSON object");
    const char *label = label_of(cJSON_GetObjectItemCaseSensitive(root, "label"), number);
    if (label == NULL)
        return fail_line(row, error, "\"label\" is missing: a text of 1 to 200 bytes, or a whole number");
    row->label = copy_of(label, strlen(label));
    if (row->label == NULL)
        return lab_fail_memory(error, "samples");
    if (text == NULL)
        return read_ids(row, cJSON_GetObjectItemCaseSensitive(root, "input"), error);
    row->bytes = strlen(text);
    row->text = copy_of(text, row->bytes);
    return row->text == NULL ? lab_fail_memory(error, "samples") : LOCUS_OK;
}

static locus_status read_json(lab_labelled_row *row, const char *line, size_t bytes, locus_error *error) {
    bool out_of_memory;
    cJSON *root = lab_json_parse(line, bytes, false, NULL, &out_of_memory);
    const locus_status status = out_of_memory ? lab_fail_memory(error, "samples") : read_object(row, root, error);
    cJSON_Delete(root);
    return status;
}

/* ---- files ---- */

/* A file while its lines are read. */
typedef struct reading {
    lab_labelled_rows *rows;
    lab_labelled_row place;
} reading;

static locus_status read_line(void *context, size_t number, const char *line, size_t bytes, locus_error *error) {
    const reading *now = context;
    lab_labelled_rows *rows = now->rows;
    if (!LAB_GROW(rows->rows, rows->count, rows->room, 256))
        return lab_fail_memory(error, "samples");
    lab_labelled_row *row = &rows->rows[rows->count];
    *row = now->place;
    row->line = number;
    rows->count++; /* so that it is freed with the others */
    const locus_status status =
        lab_name_ends(row->path, ".tsv") ? read_tabbed(row, line, bytes, error) : read_json(row, line, bytes, error);
    if (status != LOCUS_OK)
        return status;
    if (rows->count > 1 && rows->ids != (row->ids != NULL))
        return fail_line(row, error, "texts and ids don't go together: this line is unlike those before");
    rows->ids = row->ids != NULL;
    return LOCUS_OK;
}

locus_status lab_labelled_rows_read(lab_labelled_rows *rows, const char *path, lab_set set, locus_error *error) {
    reading now = {rows, {.path = path, .set = set}};
    const size_t before = rows->count;
    const locus_status status = lab_own_lines(path, read_line, &now, error);
    return status == LOCUS_OK && rows->count == before
               ? lab_fail(error, LOCUS_ERROR_IO, "data", "'%s' has no sample in it", path)
               : status;
}

void lab_labelled_rows_free(lab_labelled_rows *rows) {
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->rows[i].text);
        free(rows->rows[i].label);
        free(rows->rows[i].ids);
    }
    free(rows->rows);
    *rows = (lab_labelled_rows){0};
}
