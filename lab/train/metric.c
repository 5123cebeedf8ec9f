/* SPDX-License-Identifier: MIT */
/* Metrics by step and final scores of the run store. A value that is not finite is stored as NULL and read as NaN. */
#include "io/fail.h"
#include "io/grow.h"
#include "train/store/store_sql.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double column_value(sqlite3_stmt *statement, int column) {
    return sqlite3_column_type(statement, column) == SQLITE_NULL ? (double)NAN
                                                                 : sqlite3_column_double(statement, column);
}

locus_status lab_store_metric_add(lab_store *store, int64_t run, const char *name, uint64_t step, double value,
                                  locus_error *error) {
    return lab_store_do(store, error, "INSERT OR REPLACE INTO metric(run, name, step, value) VALUES(?,?,?,?)", "itid",
                        run, name, (int64_t)step, value);
}

locus_status lab_store_metrics_cut(lab_store *store, int64_t run, uint64_t step, locus_error *error) {
    return lab_store_do(store, error, "DELETE FROM metric WHERE run = ? AND step > ?", "ii", run, (int64_t)step);
}

locus_status lab_store_metrics_copy(lab_store *store, int64_t from, int64_t to, uint64_t step, locus_error *error) {
    return lab_store_do(store, error,
                        "INSERT OR REPLACE INTO metric(run, name, step, value) SELECT ?2, name,"
                        " step, value FROM metric WHERE run = ?1 AND step <= ?3",
                        "iii", from, to, (int64_t)step);
}

/* Steps through the rows; `take` fills item `count` of the array from the row, false without memory. */
static locus_status collect(lab_store *store, sqlite3_stmt *statement, size_t size,
                            bool (*take)(sqlite3_stmt *statement, void *item), void **items, size_t *count,
                            locus_error *error) {
    int code;
    size_t room = 0;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        if (!lab_grow(items, *count, &room, size, 64) || !take(statement, (char *)*items + *count * size)) {
            code = SQLITE_NOMEM;
            break;
        }
        (*count)++;
    }
    sqlite3_finalize(statement);
    if (code != SQLITE_DONE) {
        free(*items);
        *items = NULL;
        *count = 0;
        return lab_store_fail(store, code, error);
    }
    return LOCUS_OK;
}

static bool take_metric(sqlite3_stmt *statement, void *item) {
    lab_metric *metric = item;
    metric->step = (uint64_t)sqlite3_column_int64(statement, 0);
    metric->value = column_value(statement, 1);
    return true;
}

locus_status lab_store_metrics(lab_store *store, int64_t run, const char *name, lab_metric **metrics, size_t *count,
                               locus_error *error) {
    *metrics = NULL;
    *count = 0;
    sqlite3_stmt *statement;
    void *items = NULL;
    locus_status status =
        lab_store_ask(store, &statement, error,
                      "SELECT step, value FROM metric WHERE run = ? AND name = ? ORDER BY step", "it", run, name);
    if (status != LOCUS_OK)
        return status;
    status = collect(store, statement, sizeof **metrics, take_metric, &items, count, error);
    *metrics = items;
    return status;
}

/* Texts one behind the other, each with its zero. */
typedef struct texts {
    char *text;
    size_t used, room;
} texts;

/* *at: where it stands. False without memory, for the text, which is NULL then, or for the list. */
static bool add_text(texts *to, const char *text, size_t *at) {
    const size_t bytes = text != NULL ? strlen(text) + 1 : 0;
    if (text != NULL && bytes > to->room - to->used) {
        const size_t room = 2 * (to->used + bytes) + 256;
        char *grown = realloc(to->text, room);
        if (grown == NULL)
            return false;
        to->text = grown;
        to->room = room;
    }
    if (text != NULL)
        memcpy(to->text + to->used, text, bytes);
    *at = to->used;
    to->used += bytes;
    return text != NULL;
}

/* The names one behind the other, behind the pointers to them. */
static const char **pack_names(const char *text, size_t bytes, size_t count) {
    const char **names = malloc((count + 1) * sizeof *names + bytes);
    char *at = (char *)(names != NULL ? names + count + 1 : NULL);
    if (names != NULL && bytes > 0)
        memcpy(at, text, bytes);
    for (size_t i = 0; names != NULL && i < count; i++) {
        names[i] = at;
        at += strlen(at) + 1;
    }
    return names;
}

locus_status lab_store_metric_names(lab_store *store, int64_t run, const char ***names, size_t *count,
                                    locus_error *error) {
    *names = NULL;
    *count = 0;
    sqlite3_stmt *statement;
    const locus_status status = lab_store_ask(store, &statement, error,
                                              "SELECT DISTINCT name FROM metric WHERE run = ? ORDER BY name", "i", run);
    if (status != LOCUS_OK)
        return status;
    texts list = {0};
    int code;
    size_t at, found = 0;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW && add_text(&list, lab_store_text(statement, 0), &at))
        found++;
    sqlite3_finalize(statement);
    *names = code == SQLITE_DONE ? pack_names(list.text, list.used, found) : NULL;
    *count = *names != NULL ? found : 0;
    free(list.text);
    return *names != NULL
               ? LOCUS_OK
               : lab_store_fail(store, code == SQLITE_DONE || code == SQLITE_ROW ? SQLITE_NOMEM : code, error);
}

locus_status lab_store_final_set(lab_store *store, int64_t run, const char *set, const char *name, double value,
                                 locus_error *error) {
    return lab_store_do(store, error, "INSERT OR REPLACE INTO final(run, \"set\", name, value) VALUES(?,?,?,?)", "ittd",
                        run, set, name, value);
}

/* Final scores as they are read: their names stand one behind the other in `text`. */
typedef struct final_row {
    size_t set, name; /* where in the text */
    double value;
} final_row;

typedef struct final_rows {
    final_row *rows;
    size_t count, room;
    texts names;
} final_rows;

static bool add_final(final_rows *to, sqlite3_stmt *statement) {
    if (!LAB_GROW(to->rows, to->count, to->room, 64))
        return false;
    final_row *row = &to->rows[to->count++];
    row->value = column_value(statement, 2);
    return add_text(&to->names, lab_store_text(statement, 0), &row->set) &&
           add_text(&to->names, lab_store_text(statement, 1), &row->name);
}

/* Scores and their names in one block, which the caller frees. */
static lab_final *pack_finals(const final_rows *from) {
    lab_final *finals = malloc((from->count + 1) * sizeof *finals + from->names.used);
    char *text = (char *)(finals != NULL ? finals + from->count + 1 : NULL);
    if (finals != NULL && from->names.used > 0)
        memcpy(text, from->names.text, from->names.used);
    for (size_t i = 0; finals != NULL && i < from->count; i++) {
        const final_row *row = &from->rows[i];
        finals[i] = (lab_final){text + row->set, text + row->name, row->value};
    }
    return finals;
}

locus_status lab_store_finals(lab_store *store, int64_t run, lab_final **finals, size_t *count, locus_error *error) {
    *finals = NULL;
    *count = 0;
    sqlite3_stmt *statement;
    const locus_status status =
        lab_store_ask(store, &statement, error,
                      "SELECT \"set\", name, value FROM final WHERE run = ? ORDER BY \"set\", name", "i", run);
    if (status != LOCUS_OK)
        return status;
    final_rows rows = {0};
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW && add_final(&rows, statement)) {
    }
    sqlite3_finalize(statement);
    *finals = code == SQLITE_DONE ? pack_finals(&rows) : NULL;
    *count = *finals != NULL ? rows.count : 0;
    free(rows.rows);
    free(rows.names.text);
    /* A row that was not taken, or scores that were not packed, had no memory. */
    return *finals != NULL
               ? LOCUS_OK
               : lab_store_fail(store, code == SQLITE_DONE || code == SQLITE_ROW ? SQLITE_NOMEM : code, error);
}

static bool take_score(sqlite3_stmt *statement, void *item) {
    *(lab_run_score *)item = (lab_run_score){sqlite3_column_int64(statement, 0), column_value(statement, 1)};
    return true;
}

locus_status lab_store_scores(lab_store *store, const char *set, const char *name, lab_run_score **scores,
                              size_t *count, locus_error *error) {
    *scores = NULL;
    *count = 0;
    sqlite3_stmt *statement;
    void *items = NULL;
    locus_status status =
        lab_store_ask(store, &statement, error,
                      "SELECT run, value FROM final WHERE \"set\" = ? AND name = ? ORDER BY run", "tt", set, name);
    if (status != LOCUS_OK)
        return status;
    status = collect(store, statement, sizeof **scores, take_score, &items, count, error);
    *scores = items;
    return status;
}
