/* SPDX-License-Identifier: MIT */
/* Metrics by step and final scores of the run store. A value that is not finite is stored as NULL and read as NaN. */
#include "io/fail.h"
#include "train/store_sql.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void bind_value(sqlite3_stmt *statement, int index, double value) {
    if (isfinite(value)) {
        sqlite3_bind_double(statement, index, value);
    } else {
        sqlite3_bind_null(statement, index);
    }
}

static double column_value(sqlite3_stmt *statement, int column) {
    return sqlite3_column_type(statement, column) == SQLITE_NULL ? (double)NAN
                                                                 : sqlite3_column_double(statement, column);
}

locus_status lab_store_metric_add(lab_store *store, int64_t run, const char *name, uint64_t step, double value,
                                  locus_error *error) {
    sqlite3_stmt *statement;
    locus_status status = lab_store_prepare(
        store, &statement, "INSERT OR REPLACE INTO metric(run, name, step, value) VALUES(?,?,?,?)", error);
    if (status != LOCUS_OK) {
        return status;
    }
    sqlite3_bind_int64(statement, 1, run);
    sqlite3_bind_text(statement, 2, name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 3, (int64_t)step);
    bind_value(statement, 4, value);
    return lab_store_finish(store, statement, error);
}

locus_status lab_store_metrics_cut(lab_store *store, int64_t run, uint64_t step, locus_error *error) {
    sqlite3_stmt *statement;
    locus_status status = lab_store_prepare(store, &statement, "DELETE FROM metric WHERE run = ? AND step > ?", error);
    if (status != LOCUS_OK) {
        return status;
    }
    sqlite3_bind_int64(statement, 1, run);
    sqlite3_bind_int64(statement, 2, (int64_t)step);
    return lab_store_finish(store, statement, error);
}

/* Makes room for one more item of `size` bytes; the arrays grow by doubling from 64. */
static bool grow(void **items, size_t count, size_t size) {
    if (count != 0 && (count < 64 || (count & (count - 1)) != 0)) {
        return true;
    }
    void *grown = realloc(*items, (count == 0 ? 64 : 2 * count) * size);
    if (grown != NULL) {
        *items = grown;
    }
    return grown != NULL;
}

/* Steps through the rows; `take` fills item `count` of the array from the row, false without memory. */
static locus_status collect(lab_store *store, sqlite3_stmt *statement, size_t size,
                            bool (*take)(sqlite3_stmt *statement, void *item), void **items, size_t *count,
                            locus_error *error) {
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        if (!grow(items, *count, size) || !take(statement, (char *)*items + *count * size)) {
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
    locus_status status = lab_store_prepare(
        store, &statement, "SELECT step, value FROM metric WHERE run = ? AND name = ? ORDER BY step", error);
    if (status != LOCUS_OK) {
        return status;
    }
    sqlite3_bind_int64(statement, 1, run);
    sqlite3_bind_text(statement, 2, name, -1, SQLITE_STATIC);
    void *items = NULL;
    status = collect(store, statement, sizeof **metrics, take_metric, &items, count, error);
    *metrics = items;
    return status;
}

locus_status lab_store_final_set(lab_store *store, int64_t run, const char *set, const char *name, double value,
                                 locus_error *error) {
    sqlite3_stmt *statement;
    locus_status status = lab_store_prepare(
        store, &statement, "INSERT OR REPLACE INTO final(run, \"set\", name, value) VALUES(?,?,?,?)", error);
    if (status != LOCUS_OK) {
        return status;
    }
    sqlite3_bind_int64(statement, 1, run);
    sqlite3_bind_text(statement, 2, set, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 3, name, -1, SQLITE_STATIC);
    bind_value(statement, 4, value);
    return lab_store_finish(store, statement, error);
}

static bool take_final(sqlite3_stmt *statement, void *item) {
    lab_final *final = item;
    const char *set = lab_store_text(statement, 0), *name = lab_store_text(statement, 1);
    if (set == NULL || name == NULL) {
        return false;
    }
    snprintf(final->set, sizeof final->set, "%s", set);
    snprintf(final->name, sizeof final->name, "%s", name);
    final->value = column_value(statement, 2);
    return true;
}

locus_status lab_store_finals(lab_store *store, int64_t run, lab_final **finals, size_t *count, locus_error *error) {
    *finals = NULL;
    *count = 0;
    sqlite3_stmt *statement;
    locus_status status = lab_store_prepare(
        store, &statement, "SELECT \"set\", name, value FROM final WHERE run = ? ORDER BY \"set\", name", error);
    if (status != LOCUS_OK) {
        return status;
    }
    sqlite3_bind_int64(statement, 1, run);
    void *items = NULL;
    status = collect(store, statement, sizeof **finals, take_final, &items, count, error);
    *finals = items;
    return status;
}
