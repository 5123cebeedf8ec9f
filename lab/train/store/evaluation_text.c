/* SPDX-License-Identifier: MIT */
/* Writes, reads and searches evaluations; also as functions that SQLite calls. */
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

static bool is_first(const cJSON *tree, const cJSON *member) {
    return cJSON_GetObjectItemCaseSensitive(tree, member->string) == member;
}

int lab_evaluation_read(const char *text, cJSON **tree) {
    bool out_of_memory;
    *tree = lab_json_parse(text, strlen(text) + 1, true, NULL, &out_of_memory);
    if (*tree == NULL && out_of_memory)
        return SQLITE_NOMEM;
    bool good = cJSON_IsObject(*tree) && cJSON_GetArraySize(*tree) <= LAB_MOST_MEASURED;
    for (const cJSON *member = good ? (*tree)->child : NULL; good && member != NULL; member = member->next) {
        good = (cJSON_IsNull(member) || (cJSON_IsNumber(member) && isfinite(member->valuedouble))) &&
               is_first(*tree, member);
    }
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

/* Every text that is imported is looked at, which strspn() and strcspn() take longer for. */
static size_t count_digits(const char *at) {
    size_t count = 0;
    while (at[count] >= '0' && at[count] <= '9')
        count++;
    return count;
}

/* Bytes up to a quote, an escape or the end. */
static size_t count_plain(const char *at) {
    size_t count = 0;
    while (at[count] != '"' && at[count] != '\\' && at[count] != '\0')
        count++;
    return count;
}

/* Bytes of a number as it is written here, one that is certainly finite; 0: it must be read. */
static size_t number_bytes(const char *from) {
    const char *at = from + (*from == '-');
    enum { MOST = 24 };
    const size_t whole = count_digits(at);
    if (whole == 0 || whole > MOST)
        return 0;
    at += whole;
    if (*at == '.') {
        const size_t digits = count_digits(at + 1);
        if (digits == 0 || digits > MOST)
            return 0;
        at += 1 + digits;
    }
    if (*at == 'e') {
        at += 1 + (at[1] == '-' || at[1] == '+');
        const size_t digits = count_digits(at);
        if (digits == 0 || digits > 2)
            return 0;
        at += digits;
    }
    return (size_t)(at - from);
}

/* As strcmp() of text[bytes] and text[other_bytes]. */
static int compare(const char *text, size_t bytes, const char *other, size_t other_bytes) {
    size_t at = 0;
    while (at < bytes && at < other_bytes && text[at] == other[at])
        at++;
    if (at < bytes && at < other_bytes)
        return (unsigned char)text[at] - (unsigned char)other[at];
    return (bytes > other_bytes) - (bytes < other_bytes);
}

/* A text as it is written here, but without escapes in names and with numbers as trainings have them. SQLITE_MISMATCH:
 * it is another one, and must be read. */
static int find_plainly(const char *at, const char *name, double *value) {
    const char *before = NULL;
    size_t before_bytes = 0, names = 0;
    const size_t name_bytes = strlen(name);
    int found = SQLITE_DONE;
    if (*at++ != '{')
        return SQLITE_MISMATCH;
    for (;;) {
        if (*at != '"' || ++names > LAB_MOST_MEASURED)
            return SQLITE_MISMATCH;
        const char *key = at + 1;
        const size_t bytes = count_plain(key);
        if (key[bytes] != '"' || key[bytes + 1] != ':')
            return SQLITE_MISMATCH;
        if (before != NULL && compare(before, before_bytes, key, bytes) >= 0)
            return SQLITE_MISMATCH;
        at = key + bytes + 2;
        const bool empty = *at == 'n' && strncmp(at, "null", 4) == 0;
        const size_t digits = empty ? 4 : number_bytes(at);
        if (compare(key, bytes, name, name_bytes) == 0 && digits > 0) {
            *value = empty ? (double)NAN : strtod(at, NULL);
            found = SQLITE_ROW;
        }
        at += digits;
        if (digits > 0 && at[0] == '}' && at[1] == '\0')
            return found;
        if (digits == 0 || *at++ != ',')
            return SQLITE_MISMATCH;
        before = key;
        before_bytes = bytes;
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
    code = member != NULL ? SQLITE_ROW : SQLITE_DONE;
    if (member != NULL)
        *value = lab_evaluation_value(member);
    cJSON_Delete(tree);
    return code;
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

static void check(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count;
    double ignored;
    const bool is_text = sqlite3_value_type(arguments[0]) == SQLITE_TEXT;
    const char *text = (const char *)sqlite3_value_text(arguments[0]);
    if (is_text && text == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    const bool whole = is_text && strlen(text) == (size_t)sqlite3_value_bytes(arguments[0]);
    const int code = whole ? lab_evaluation_find(text, "", &ignored) : SQLITE_CORRUPT;
    if (code == SQLITE_ROW || code == SQLITE_DONE)
        sqlite3_result_int(context, 1);
    else
        sqlite3_result_error_code(context, code == SQLITE_CORRUPT ? SQLITE_MISMATCH : code);
}

int lab_evaluation_define(sqlite3 *database) {
    enum { HOW = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS };
    const int code =
        sqlite3_create_function_v2(database, "evaluation", 2, HOW, NULL, NULL, gather, write_gathered, NULL);
    return code != SQLITE_OK
               ? code
               : sqlite3_create_function_v2(database, "is_evaluation", 1, HOW, NULL, check, NULL, NULL, NULL);
}
