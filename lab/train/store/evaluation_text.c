/* SPDX-License-Identifier: MIT */
#include "train/store/evaluation_text.h"

#include "io/csv.h"
#include "io/grow.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

/* Names come in order, or nearly so. Those that go stand behind the ones that are kept. */
static size_t sort(lab_measured *values, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const lab_measured value = values[i];
        size_t at = kept;
        while (at > 0 && strcmp(values[at - 1].name, value.name) > 0)
            at--;
        if (at > 0 && strcmp(values[at - 1].name, value.name) == 0) {
            values[i] = values[at - 1];
            values[at - 1] = value;
            continue;
        }
        values[i] = values[kept];
        memmove(values + at + 1, values + at, (kept - at) * sizeof *values);
        values[at] = value;
        kept++;
    }
    return kept;
}

/* With a point or an exponent, which make it a real number to whoever reads the store. */
static cJSON *number(double value) {
    char digits[32], text[40];
    if (!isfinite(value))
        return cJSON_CreateNull();
    lab_number_exact(value, digits);
    snprintf(text, sizeof text, "%s%s", digits, strpbrk(digits, ".e") == NULL ? ".0" : "");
    return cJSON_CreateRaw(text);
}

char *lab_evaluation_write(lab_measured *values, size_t count) {
    const size_t losses = lab_json_losses(), kept = sort(values, count);
    cJSON *object = cJSON_CreateObject();
    for (size_t i = 0; i < kept; i++)
        lab_json_put(object, values[i].name, number(values[i].value));
    char *text = cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
    if (lab_json_losses() != losses) {
        cJSON_free(text);
        text = NULL;
    }
    return text;
}

/* ---- reading ---- */

int lab_evaluation_read(const char *text, cJSON **tree) {
    bool out_of_memory;
    *tree = lab_json_parse(text, strlen(text), false, NULL, &out_of_memory);
    if (*tree == NULL && out_of_memory)
        return SQLITE_NOMEM;
    bool good = cJSON_IsObject(*tree);
    for (const cJSON *member = good ? (*tree)->child : NULL; member != NULL; member = member->next)
        good = good && (cJSON_IsNumber(member) || cJSON_IsNull(member));
    if (good)
        return SQLITE_OK;
    cJSON_Delete(*tree);
    *tree = NULL;
    return SQLITE_CORRUPT;
}

double lab_evaluation_value(const cJSON *member) {
    return cJSON_IsNumber(member) ? member->valuedouble : (double)NAN;
}

/* ---- one value ---- */

/* A text as it is written here, without escapes in names; SQLITE_MISMATCH: it is another one, and must be read. */
static int find_plainly(const char *at, const char *name, double *value) {
    const size_t bytes = strlen(name);
    if (*at++ != '{')
        return SQLITE_MISMATCH;
    for (;;) {
        const char *key = at + 1, *end = key + strcspn(key, "\"\\");
        if (*at != '"' || end[0] != '"' || end[1] != ':')
            return SQLITE_MISMATCH;
        at = end + 2;
        const size_t digits = strspn(at, "+-.0123456789eE");
        const bool empty = strncmp(at, "null", 4) == 0;
        if (digits == 0 && !empty)
            return SQLITE_MISMATCH;
        if ((size_t)(end - key) == bytes && memcmp(key, name, bytes) == 0) {
            char *behind = (char *)at + 4;
            *value = empty ? (double)NAN : strtod(at, &behind);
            return *behind == ',' || *behind == '}' ? SQLITE_ROW : SQLITE_MISMATCH;
        }
        at += empty ? 4 : digits;
        if (at[0] == '}' && at[1] == '\0')
            return SQLITE_DONE;
        if (*at++ != ',')
            return SQLITE_MISMATCH;
    }
}

int lab_evaluation_find(const char *text, const char *name, double *value) {
    cJSON *tree;
    int code = find_plainly(text, name, value);
    if (code != SQLITE_MISMATCH)
        return code;
    code = lab_evaluation_read(text, &tree);
    if (code != SQLITE_OK)
        return code;
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(tree, name);
    *value = member != NULL ? lab_evaluation_value(member) : *value;
    cJSON_Delete(tree);
    return member != NULL ? SQLITE_ROW : SQLITE_DONE;
}

/* ---- in SQL ---- */

/* Zero at first. */
typedef struct gathered {
    lab_measured *values; /* with names of their own */
    size_t count, room;
} gathered;

static void gather(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count;
    gathered *all = sqlite3_aggregate_context(context, sizeof *all);
    const char *text = (const char *)sqlite3_value_text(arguments[0]);
    char *name = text != NULL ? strdup(text) : NULL;
    if (all == NULL || name == NULL || !LAB_GROW(all->values, all->count, all->room, 8)) {
        free(name);
        sqlite3_result_error_nomem(context);
        return;
    }
    const bool finite = sqlite3_value_type(arguments[1]) != SQLITE_NULL;
    all->values[all->count++] = (lab_measured){name, finite ? sqlite3_value_double(arguments[1]) : (double)NAN};
}

static void write_gathered(sqlite3_context *context) {
    gathered *all = sqlite3_aggregate_context(context, 0);
    if (all == NULL)
        return;
    char *text = lab_evaluation_write(all->values, all->count);
    if (text != NULL)
        sqlite3_result_text(context, text, -1, cJSON_free);
    else
        sqlite3_result_error_nomem(context);
    for (size_t i = 0; i < all->count; i++)
        free((char *)all->values[i].name);
    free(all->values);
    *all = (gathered){0};
}

int lab_evaluation_define(sqlite3 *database) {
    return sqlite3_create_function_v2(database, "evaluation", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                      NULL, NULL, gather, write_gathered, NULL);
}
