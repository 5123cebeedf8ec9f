/* SPDX-License-Identifier: MIT */
/* The lines of files of labelled sequences (labelled.h). */
#include "io/json.h"
#include "task/own/own_rows.h"

#include <math.h>
#include <string.h>

enum { MOST_LABEL = 200 };

static locus_status take(lab_own_row *row, const char *text, size_t bytes, lab_token_kind kind, locus_error *error) {
    return lab_own_take_text(&row->sides[LAB_OWN_INPUT], text, bytes, kind) ? LOCUS_OK
                                                                            : lab_fail_memory(error, "samples");
}

static locus_status read_tabbed(lab_own_row *row, const char *line, size_t bytes, lab_token_kind kind,
                                locus_error *error) {
    const char *tab = memchr(line, '\t', bytes);
    const size_t text = tab != NULL ? (size_t)(tab - line) : 0, label = tab != NULL ? bytes - text - 1 : 0;
    if (tab == NULL)
        return lab_own_fail(row, error, "there is no tab: a line is a text, a tab and its label");
    if (memchr(tab + 1, '\t', label) != NULL)
        return lab_own_fail(row, error, "there is more than one tab: a line is a text, a tab and its label");
    if (label == 0 || label > MOST_LABEL)
        return lab_own_fail(row, error, "behind its tab stands no label of 1 to 200 bytes");
    row->label = strndup(tab + 1, label);
    return row->label != NULL ? take(row, line, text, kind, error) : lab_fail_memory(error, "samples");
}

/* A label as text: a string, or a whole number, which is written into `number`. NULL: it is none. */
static const char *label_of(const cJSON *item, char number[32]) {
    if (cJSON_IsString(item))
        return item->valuestring[0] != '\0' && strlen(item->valuestring) <= MOST_LABEL ? item->valuestring : NULL;
    if (!cJSON_IsNumber(item) || !(fabs(item->valuedouble) < 1e15) || floor(item->valuedouble) != item->valuedouble)
        return NULL;
    snprintf(number, 32, "%.0f", item->valuedouble);
    return number;
}

static locus_status read_object(lab_own_row *row, const cJSON *root, lab_token_kind kind, locus_error *error) {
    char number[32];
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "input_text"));
    const cJSON *ids = cJSON_GetObjectItemCaseSensitive(root, "input");
    const char *label = label_of(cJSON_GetObjectItemCaseSensitive(root, "label"), number);
    if (label == NULL)
        return lab_own_fail(row, error, "\"label\" is missing: a text of 1 to 200 bytes, or a whole number");
    row->label = strdup(label);
    if (row->label == NULL)
        return lab_fail_memory(error, "samples");
    if (text != NULL)
        return take(row, text, strlen(text), kind, error);
    if (!cJSON_IsArray(ids) || cJSON_GetArraySize(ids) == 0)
        return lab_own_fail(row, error, "it needs \"input_text\", a text, or \"input\", an array of ids");
    return lab_own_take_ids(row, LAB_OWN_INPUT, "input", ids, error);
}

const lab_own_form lab_labelled_form = {"labelled samples", read_object, read_tabbed};
